// See listener.h. Readiness comes as an edge, so `has_waiting_` keeps it until accept() has said
// that no client is left. A fault of accept() ends the accepting for this turn and not for good.
#include "server/net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

std::string AddressText(const sockaddr_storage& address, const std::string& unix_path) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return Concat(std::string_view(text), ':', ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return Concat('[', std::string_view(text), "]:", ntohs(in.sin6_port));
  }
  return Concat(unix_path, ":0");
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_LOOPBACK);
  }
  if (address.ss_family == AF_INET6) {
    const in6_addr& in = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&in)) return in.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&in);
  }
  return true;
}

bool IsAddressMissing(int error) {
  return error == EADDRNOTAVAIL || error == EAFNOSUPPORT || error == EPFNOSUPPORT ||
         error == EPROTONOSUPPORT || error == ESOCKTNOSUPPORT || error == ENOPROTOOPT;
}

int OpenSpare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Listener::Listener(Poller& poller, Accepted accepted)
    : poller_(poller), accepted_(std::move(accepted)), spare_(OpenSpare()) {}

Listener::~Listener() {
  Close();
  if (spare_ >= 0) ::close(spare_);
}

Fault Listener::Bind(int family, const void* address, unsigned length, int backlog) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    address_missing_ = IsAddressMissing(errno);
    return std::strerror(errno);
  }
  const int on = 1;
  if (family != AF_UNIX) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd, static_cast<const sockaddr*>(address), length) < 0 || ::listen(fd, backlog) < 0 ||
      !poller_.Watch(fd, *this)) {
    address_missing_ = IsAddressMissing(errno);
    port_taken_ = errno == EADDRINUSE;
    const std::string error = std::strerror(errno);
    ::close(fd);
    return error;
  }
  descriptor_ = fd;
  return {};
}

Fault Listener::ListenTcp(const std::string& address, int port, int backlog) {
  const bool any6 = address == "::*";
  const std::string host = address == "*" ? "0.0.0.0" : any6 ? "::" : address;
  addrinfo hints{};
  // As Redis: a name such as localhost means IPv4, whatever else it stands for.
  hints.ai_family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string service = Concat(port);
  if (const int error = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found)) {
    return gai_strerror(error);
  }
  std::string error = Bind(found->ai_family, found->ai_addr, found->ai_addrlen, backlog);
  ::freeaddrinfo(found);
  return error;
}

Fault Listener::ListenUnix(const std::string& path, int mode, int backlog) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return "the path is too long for a Unix socket";
  std::memcpy(address.sun_path, path.data(), path.size());
  ::unlink(path.c_str());
  std::string error = Bind(AF_UNIX, &address, sizeof address, backlog);
  if (!error.empty()) return error;
  unix_path_ = path;
  std::error_code unknown;
  owned_path_ = std::filesystem::absolute(path, unknown).string();
  owns_path_ = true;
  if (mode != 0 && ::chmod(path.c_str(), static_cast<mode_t>(mode)) < 0)
    return std::strerror(errno);
  return {};
}

Fault Listener::Adopt(int descriptor) {
  int listens = 0;
  socklen_t size = sizeof listens;
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  const bool is_known =
      ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &length) == 0;
  std::string fault;
  if (!is_known) {
    fault = std::strerror(errno);
  } else if (listens == 0) {
    fault = "it is no socket that listens";
  } else if (::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK) < 0 ||
             !poller_.Watch(descriptor, *this)) {
    fault = std::strerror(errno);
  }
  if (!fault.empty()) {
    ::close(descriptor);
    return fault;
  }
  descriptor_ = descriptor;
  has_waiting_ = true;  // who came before this server did
  if (local.ss_family != AF_UNIX) return {};
  const auto& address = reinterpret_cast<const sockaddr_un&>(local);
  const size_t bytes = length - offsetof(sockaddr_un, sun_path);
  unix_path_.assign(address.sun_path, ::strnlen(address.sun_path, bytes));
  if (unix_path_.empty()) unix_path_ = "@";  // an abstract name
  return {};
}

std::string Listener::Address() const {
  if (is_unix()) return Concat("unix:", unix_path_);
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&local), &length);
  auto& in = reinterpret_cast<sockaddr_in&>(local);
  auto& in6 = reinterpret_cast<sockaddr_in6&>(local);
  if (local.ss_family == AF_INET && in.sin_addr.s_addr == htonl(INADDR_ANY)) {
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (local.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr)) {
    in6.sin6_addr = in6addr_loopback;
  }
  return AddressText(local, {});
}

int Listener::Port() const {
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&local), &length);
  return ntohs(local.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(local).sin_port
                                          : reinterpret_cast<sockaddr_in6&>(local).sin6_port);
}

void Listener::Close() {
  if (descriptor_ < 0) return;
  poller_.Forget(descriptor_);
  ::close(std::exchange(descriptor_, -1));
  if (owns_path_) ::unlink(owned_path_.empty() ? unix_path_.c_str() : owned_path_.c_str());
}

bool Listener::Accept(int most) {
  for (int i = 0; has_waiting_ && i < most; ++i) {
    if (!AcceptOne()) return false;
  }
  return has_waiting_;
}

// False: to be tried no more in this turn. After a fault there may be new connections yet: they are
// looked for again behind the next turn, which may have given back what was missing.
bool Listener::AcceptOne() {
  sockaddr_storage remote{};
  socklen_t length = sizeof remote;
  const int fd = ::accept4(descriptor_, reinterpret_cast<sockaddr*>(&remote), &length,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) return IsSecondTry() && TurnAway();
    has_waiting_ = errno != EAGAIN && errno != EWOULDBLOCK;
    if (!has_waiting_) ran_out_ = false;
    return errno == ECONNABORTED || errno == EINTR;
  }
  sockaddr_storage local{};
  socklen_t local_length = sizeof local;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_length);
  Peer peer;
  peer.unix_socket = !unix_path_.empty();
  peer.address = AddressText(peer.unix_socket ? local : remote, unix_path_);
  peer.local_address = AddressText(local, unix_path_);
  peer.descriptor = fd;
  peer.loopback = IsLoopback(remote);
  accepted_(fd, std::move(peer));
  return true;
}

// Clients that have left, but whose end has not been read yet, give theirs back in the next turn.
bool Listener::IsSecondTry() {
  has_waiting_ = true;
  return std::exchange(ran_out_, true);
}

bool Listener::TurnAway() {
  if (spare_ >= 0) ::close(spare_);
  const int fd = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  has_waiting_ = fd >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  if (fd >= 0) ::close(fd);
  if (!has_waiting_) ran_out_ = false;
  spare_ = OpenSpare();
  return fd >= 0;
}

}  // namespace sluice
