// See redis_link.h.
#include "server/net/redis_link.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {

RedisLink::~RedisLink() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string RedisLink::Connect(std::string_view address) {
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
  const timeval patience = {.tv_sec = patience_.count() / 1000,
                            .tv_usec = patience_.count() % 1000 * 1000};
  int fault = 0;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    descriptor_ = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, each->ai_protocol);
    if (descriptor_ < 0) return Concat(address, ": ", std::strerror(errno));
    // Of a connect, too.
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(descriptor_, each->ai_addr, each->ai_addrlen) == 0) return {};
    fault = errno;
    ::close(std::exchange(descriptor_, -1));
  }
  return Concat(address, ": cannot be connected to: ", std::strerror(fault));
}

std::nullopt_t RedisLink::Fail(std::string_view why) {
  fault_ = why;
  return std::nullopt;
}

std::optional<Reply> RedisLink::Call(std::initializer_list<std::string_view> words) {
  std::string request = Concat('*', words.size(), "\r\n");
  for (const std::string_view word : words)
    ConcatTo(request, '$', word.size(), "\r\n", word, "\r\n");
  for (std::string_view left = request; !left.empty();) {
    const ssize_t sent = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Fail("the server cannot be written to any more");
    left.remove_prefix(static_cast<size_t>(sent));
  }
  while (true) {
    ReplyReader reader;
    if (std::optional<Reply> reply = reader.Read(received_)) {
      received_.erase(0, reader.consumed());
      return reply;
    }
    if (reader.failed() || received_.size() > kReplyBytesMax)
      return Fail("what it answers is not Redis's protocol");
    char piece[16 * 1024];
    const ssize_t got = ::recv(descriptor_, piece, sizeof piece, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return Fail(Concat("the server has not answered for ", patience_.count(), " ms"));
    if (got < 0) return Fail(std::strerror(errno));
    if (got == 0) return Fail("the server has closed the connection");
    received_.append(piece, static_cast<size_t>(got));
  }
}

}  // namespace sluice
