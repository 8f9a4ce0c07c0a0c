// See redis_link.h. The socket never blocks: Await is the one place that waits.
#include "server/net/redis_link.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include "protocol/output_buffer.h"
#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "server/net/tls/tls_client.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kUnix = "unix:";

}  // namespace

RedisLink::RedisLink(TlsWords tls, milliseconds patience)
    : RedisLink(std::move(tls), patience, Beside()) {}

RedisLink::RedisLink(TlsWords tls, milliseconds patience, Beside beside)
    : patience_(patience), tls_(std::move(tls)), beside_(std::move(beside)) {}

RedisLink::~RedisLink() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// --- connecting

Fault RedisLink::Connect(std::string_view address) {
  if (address.starts_with(kUnix)) return ConnectUnix(address.substr(kUnix.size()));
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size())
    return Concat(address, ": is no HOST:PORT");
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port(address.substr(colon + 1));
  if (const int fault = getaddrinfo(std::string(host).c_str(), port.c_str(), &wanted, &list))
    return Concat(address, ": ", gai_strerror(fault));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(list, freeaddrinfo);
  int fault = 0;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    fault = ConnectTo(each->ai_family, each->ai_addr, each->ai_addrlen);
    if (fault == 0) break;
  }
  if (fault != 0) return Concat(address, ": cannot be connected to: ", std::strerror(fault));
  if (!tls_.on) return {};
  const std::string unsecured = Secure(std::string(host));
  return unsecured.empty() ? unsecured : Concat(address, ": ", unsecured);
}

// The handshake. A sentence, or empty.
Fault RedisLink::Secure(const std::string& host) {
  secured_ = std::make_unique<TlsClient>();
  if (std::string fault = secured_->Begin(tls_, host, descriptor_); !fault.empty()) return fault;
  TlsStream& stream = secured_->stream();
  const Moment deadline = Deadline();
  while (true) {
    const TlsStream::Progress progress = stream.Shake();
    if (progress == TlsStream::Progress::kDone && !stream.has_unsent()) return {};
    if (progress == TlsStream::Progress::kFailed)
      return Concat("the TLS handshake failed: ", stream.fault());
    if (!Await(stream.has_unsent() ? POLLOUT : POLLIN, deadline)) return fault_;
  }
}

Fault RedisLink::ConnectUnix(std::string_view path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Concat(kUnix, path, ": is no path of a Unix socket");
  if (tls_.on) return Concat(kUnix, path, ": there is no TLS on Unix sockets");
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fault = ConnectTo(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (fault == 0) return {};
  return Concat(kUnix, path, ": cannot be connected to: ", std::strerror(fault));
}

// 0, or an errno value.
int RedisLink::ConnectTo(int family, const sockaddr* address, unsigned length) {
  descriptor_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) return errno;
  int fault = ::connect(descriptor_, address, length) == 0 ? 0 : errno;
  if (fault == EINPROGRESS) {
    socklen_t size = sizeof fault;
    if (!Await(POLLOUT, Deadline())) {
      fault = ETIMEDOUT;
    } else if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &fault, &size) != 0) {
      fault = errno;
    }
  }
  if (fault != 0) ::close(std::exchange(descriptor_, -1));
  return fault;
}

// --- requests

bool RedisLink::Send(std::string_view requests) {
  const Moment deadline = Deadline();
  if (secured_) return SendSecured(requests, deadline);
  while (!requests.empty()) {
    const ssize_t sent = ::send(descriptor_, requests.data(), requests.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      requests.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      // A server that answers before it has read all may wait to be read, too.
      if (!Await(POLLOUT | POLLIN, deadline) || !Fill()) return false;
    } else if (sent == 0 || errno != EINTR) {
      Fail("the server cannot be written to any more");
      return false;
    }
  }
  return true;
}

bool RedisLink::SendSecured(std::string_view requests, Moment deadline) {
  TlsStream& stream = secured_->stream();
  OutputBuffer output;
  output.Append(requests);
  while (!output.empty()) {
    if (!stream.Write(output)) {
      Fail("the server cannot be written to any more");
      return false;
    }
    if (stream.has_unsent() && (!Await(POLLOUT | POLLIN, deadline) || !Fill())) return false;
  }
  return true;
}

std::optional<Reply> RedisLink::Next() {
  const Moment deadline = Deadline();
  while (true) {
    ReplyReader reader;
    if (std::optional<Reply> reply = reader.Read(std::string_view(received_).substr(taken_))) {
      taken_ += reader.consumed();
      if (taken_ == received_.size()) {
        received_.clear();
        taken_ = 0;
      }
      return reply;
    }
    if (reader.failed()) return Fail("what it answers is not Redis's protocol");
    received_.erase(0, std::exchange(taken_, 0));
    too_large_ = received_.size() > kReplyBytesMax;
    if (too_large_) return Fail("its answer is too large");
    if (!Await(POLLIN, deadline) || !Fill()) return std::nullopt;
  }
}

std::optional<Reply> RedisLink::Call(std::initializer_list<std::string_view> words) {
  std::string request;
  AppendRequest(request, Args(words.begin(), words.size()));
  if (!Send(request)) return std::nullopt;
  return Next();
}

std::optional<std::string> RedisLink::Line() {
  const Moment deadline = Deadline();
  while (true) {
    const size_t end = received_.find('\n', taken_);
    if (end != std::string::npos) {
      std::string line = received_.substr(taken_, end - taken_);
      taken_ = end + 1;
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    received_.erase(0, std::exchange(taken_, 0));
    if (received_.size() > kLineBytesMax) return Fail("what it answers is no line");
    if (!Await(POLLIN, deadline) || !Fill()) return std::nullopt;
  }
}

std::optional<size_t> RedisLink::Read(std::span<char> into) {
  const Moment deadline = Deadline();
  while (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
    if (!Await(POLLIN, deadline) || !Fill()) return std::nullopt;
  }
  const size_t got = received_.copy(into.data(), into.size(), taken_);
  taken_ += got;
  return got;
}

// --- waiting and reading

std::nullopt_t RedisLink::Fail(std::string_view why) {
  fault_ = why;
  return std::nullopt;
}

// False: fault() says why the socket is not ready.
bool RedisLink::Await(short events, Moment deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd both[] = {{.fd = descriptor_, .events = events},
                     {.fd = beside_.descriptor, .events = POLLIN}};
    const int ready = ::poll(both, std::size(both), std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      Fail(ready < 0 ? std::string(std::strerror(errno))
                     : Concat("the server has not answered for ", patience_.count(), " ms"));
      return false;
    }
    if (both[1].revents != 0 && !beside_.ready()) {
      Fail("given up");
      return false;
    }
    if (both[0].revents != 0) return true;
  }
}

// As recv of a socket that never blocks.
ssize_t RedisLink::ReceiveSome(std::span<char> into) {
  if (!secured_) return ::recv(descriptor_, into.data(), into.size(), 0);
  const ssize_t got = secured_->stream().Read(into);
  if (got > 0) return got;
  errno = EAGAIN;
  return got == 0 ? -1 : 0;
}

// All that is there, as far as it may be kept: what is incomplete is parsed again from its start.
bool RedisLink::Fill() {
  char piece[16 * 1024];
  const size_t before = received_.size();
  while (received_.size() <= kReplyBytesMax) {
    const ssize_t got = ReceiveSome(piece);
    if (got > 0) {
      received_.append(piece, static_cast<size_t>(got));
    } else if (got == 0) {
      // Bytes that came with the end are a reply yet, if it is a whole one.
      if (received_.size() > before) return true;
      Fail("the server has closed the connection");
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    } else if (errno != EINTR) {
      Fail(std::strerror(errno));
      return false;
    }
  }
  return true;
}

}  // namespace sluice
