// See connection.h.
#include "server/net/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "server/net/loop/system_calls.h"

namespace sluice {
namespace {

// Blocks sent with one call; the rest goes with the next readiness.
constexpr size_t kVectorsMax = 64;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::Connection(Sources& sources, int descriptor, ConnectionOwner& owner)
    : owner_(&owner), place_(sources.Take(descriptor)), descriptor_(descriptor) {
  if (!owner.poller().Watch(descriptor, *this)) ::close(std::exchange(descriptor_, -1));
}

Connection::~Connection() { Close(); }

ssize_t Connection::Read(std::span<char> into) {
  if (tls_) {
    const ssize_t got = tls_->Read(into);
    if (tls_->has_unsent()) AwaitWritable();
    return got;
  }
  const ssize_t got = ReceiveBytes(descriptor_, into.data(), into.size());
  if (got > 0) return got;
  return got < 0 && WouldBlock(errno) ? 0 : -1;
}

bool Connection::Write(OutputBuffer& output) {
  if (tls_) return tls_->Write(output);
  iovec vectors[kVectorsMax];
  const size_t count = output.Peek(vectors, kVectorsMax);
  ssize_t sent;
  if (count == 1) {
    sent = SendBytes(descriptor_, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL);
  } else {
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = count;
    sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
  }
  if (sent < 0) return WouldBlock(errno);
  output.Consume(static_cast<size_t>(sent));
  return true;
}

void Connection::Readable(bool ended_too) {
  ended_ |= ended_too;
  owner_->Readable(*this);
}

// The owner may let go of this connection meanwhile. Records that are no output of its client's
// leave here; that the connection broke is found by its next read.
void Connection::Writable() {
  const boost::intrusive_ptr<Connection> self(this);
  if (tls_ && tls_->Flush() && tls_->has_unsent()) AwaitWritable();
  owner_->Writable(*this);
}

void Connection::KeepSocketAlive(int descriptor, int64_t seconds) {
  const int on = seconds > 0;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (!on) return;
  const int idle = static_cast<int>(std::min<int64_t>(seconds, SHRT_MAX));
  const int interval = std::max(1, idle / 3);
  const int probes = 3;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void Connection::WatchPeer(int64_t timeout_ms) {
  is_watched_ = timeout_ms > 0;
  // Bytes that are sent and not acknowledged count against the time-out. So that there are some, a
  // silent peer is asked after a third of it, and then every second.
  const int on = 1;
  const int interval_s = 1;
  const unsigned user_timeout_ms = static_cast<unsigned>(std::min<int64_t>(timeout_ms, INT_MAX));
  const int idle_s = static_cast<int>(std::clamp<int64_t>(timeout_ms / 3000, 1, SHRT_MAX));
  ::setsockopt(descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms,
               sizeof user_timeout_ms);
}

void Connection::GatherPackets() {
  const int off = 0;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &off, sizeof off);
}

void Connection::Close() {
  if (!open()) return;
  if (tls_) tls_->SayGoodbye();
  owner_->poller().Forget(descriptor_);
  ::close(std::exchange(descriptor_, -1));
  place_.reset();
}

}  // namespace sluice
