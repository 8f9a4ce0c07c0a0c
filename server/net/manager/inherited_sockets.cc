// See inherited_sockets.h. The variables are taken out of the environment, so that no program that
// is started from here takes the descriptors for its own.
#include "server/net/manager/inherited_sockets.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "protocol/text/number_text.h"
#include "server/net/manager/environment.h"

namespace sluice {
namespace {

constexpr int kFirst = 3;
constexpr int64_t kSocketsMax = 64;

}  // namespace

std::vector<InheritedSocket> TakeInheritedSockets(bool has_predecessor) {
  std::vector<InheritedSocket> sockets;
  const std::optional<int64_t> process = ParseInt64(Environment("LISTEN_PID"));
  if (process != int64_t{getpid()} && !has_predecessor) return sockets;
  const int64_t count = ParseInt64(Environment("LISTEN_FDS")).value_or(0);
  const std::string names(Environment("LISTEN_FDNAMES"));
  for (const char* const name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  std::string_view left = names;
  for (int64_t i = 0; i < std::min(count, kSocketsMax); ++i) {
    const auto descriptor = static_cast<int>(kFirst + i);
    const size_t colon = left.find(':');
    const std::string_view name = left.substr(0, colon);
    left = colon == left.npos ? std::string_view() : left.substr(colon + 1);
    const int flags = ::fcntl(descriptor, F_GETFD);
    if (flags < 0) continue;
    ::fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
    sockets.push_back({descriptor, std::string(name)});
  }
  return sockets;
}

}  // namespace sluice
