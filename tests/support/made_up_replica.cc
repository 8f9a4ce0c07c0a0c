// See made_up_replica.h.
#include "tests/support/made_up_replica.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace sluice {

MadeUpReplica::~MadeUpReplica() {
  if (link_ >= 0) close(link_);
}

bool MadeUpReplica::Follow(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  link_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(link_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return false;
  constexpr std::string_view kAsk = "PSYNC ? -1\r\n";
  if (send(link_, kAsk.data(), kAsk.size(), MSG_NOSIGNAL) < 0) return false;
  const std::optional<std::string> answer = ReadLine();
  if (!answer || !answer->starts_with("+FULLRESYNC ")) return false;
  const std::optional<std::string> length = ReadLine();
  if (!length || !length->starts_with('$')) return false;
  const size_t bytes = std::strtoull(length->c_str() + 1, nullptr, 10);
  while (received_.size() < bytes) {
    if (!Receive()) return false;
  }
  received_.erase(0, bytes);
  return true;
}

std::optional<std::string> MadeUpReplica::ReadBehind(std::string_view end) {
  size_t at;
  while ((at = received_.find(end)) == std::string::npos) {
    if (!Receive()) return std::nullopt;
  }
  std::string bytes = received_.substr(0, at);
  received_.erase(0, at + end.size());
  return bytes;
}

bool MadeUpReplica::Receive() {
  pollfd waiting{link_, POLLIN, 0};
  if (poll(&waiting, 1, kTimeoutMs) <= 0) return false;
  char buffer[64 * 1024];
  const ssize_t got = recv(link_, buffer, sizeof(buffer), 0);
  if (got > 0) received_.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

std::optional<std::string> MadeUpReplica::ReadLine() {
  while (true) {
    const size_t end = received_.find('\n');
    if (end == std::string::npos) {
      if (!Receive()) return std::nullopt;
      continue;
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) return line;
  }
}

}  // namespace sluice
