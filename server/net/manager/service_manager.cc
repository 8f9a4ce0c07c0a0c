// See service_manager.h.
#include "server/net/manager/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/net/manager/environment.h"

namespace sluice {
namespace {

// A process that this variable does not mean is not the one that is watched.
std::chrono::microseconds WatchdogTime() {
  const std::string_view process = Environment("WATCHDOG_PID");
  if (!process.empty() && ParseInt64(process) != int64_t{getpid()}) return {};
  const std::optional<int64_t> micros = ParseInt64(Environment("WATCHDOG_USEC"));
  return std::chrono::microseconds(micros && *micros > 0 ? std::max<int64_t>(1000, *micros / 2)
                                                         : 0);
}

}  // namespace

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

Fault ServiceManager::Begin(std::string_view supervised, const Warn& warn) {
  if (supervised != "systemd" && supervised != "auto") return {};
  const std::string_view path = Environment("NOTIFY_SOCKET");
  if (path.empty()) {
    if (supervised == "systemd")
      warn("supervised systemd: there is no NOTIFY_SOCKET to tell it by, so nothing is told");
    return {};
  }
  if (std::string fault = Connect(path); !fault.empty())
    return Concat("can't reach the service manager at ", path, ": ", fault);
  watchdog_ = WatchdogTime();
  if (watchdog_.count() > 0) AwaitWatchdog();
  return {};
}

// '@' stands for the NUL byte of an abstract name.
Fault ServiceManager::Connect(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return "its name is too long";
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (socket_ >= 0 &&
      ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
    return {};
  }
  return std::strerror(errno);
}

void ServiceManager::AwaitWatchdog() {
  Tell("WATCHDOG=1");
  call_in_(watchdog_, [this] { AwaitWatchdog(); });
}

void ServiceManager::Ready(const std::string& address) {
  Tell(Concat("READY=1\nSTATUS=Ready to accept connections on ", address));
}

void ServiceManager::MainProcessIs(int64_t process) {
  Tell(Concat("MAINPID=", process, "\nSTATUS=Handed over to process ", process));
}

void ServiceManager::Ending() { Tell("STOPPING=1\nSTATUS=Saving and ending"); }

void ServiceManager::Tell(std::string_view lines) {
  if (socket_ < 0) return;
  [[maybe_unused]] const ssize_t ignored =
      ::send(socket_, lines.data(), lines.size(), MSG_NOSIGNAL);
}

}  // namespace sluice
