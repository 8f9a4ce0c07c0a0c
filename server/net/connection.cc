#include "server/net/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

namespace sluice {
namespace {

// Blocks sent with one call; the rest goes with the next readiness.
constexpr size_t kVectorsMax = 64;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

ssize_t Connection::Read(std::span<char> into) {
  const ssize_t got = ::recv(socket_.native_handle(), into.data(), into.size(), 0);
  if (got > 0) return got;
  return got < 0 && WouldBlock(errno) ? 0 : -1;
}

bool Connection::Write(OutputBuffer& output) {
  iovec vectors[kVectorsMax];
  const size_t count = output.Peek(vectors, kVectorsMax);
  ssize_t sent;
  if (count == 1) {
    sent = ::send(socket_.native_handle(), vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL);
  } else {
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = count;
    sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
  }
  if (sent < 0) return WouldBlock(errno);
  output.Consume(static_cast<size_t>(sent));
  return true;
}

void Connection::WaitReadable() {
  if (waiting_to_read_ || !socket_.is_open()) return;
  waiting_to_read_ = true;
  socket_.async_wait(Socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waiting_to_read_ = false;
                       if (!error) self->owner_.Readable(self);
                     });
}

void Connection::WaitWritable() {
  if (waiting_to_write_ || !socket_.is_open()) return;
  waiting_to_write_ = true;
  socket_.async_wait(Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waiting_to_write_ = false;
                       if (!error) self->owner_.Writable(self);
                     });
}

void Connection::Close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace sluice
