// See log.h.
#include "server/net/log.h"

#include <fcntl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"debug", "verbose", "notice", "warning",
                                                     "nothing"};

}  // namespace

Log::~Log() {
  if (file_) std::fclose(file_);
}

Fault Log::Open(const std::string& path, std::string_view level, Reader otherwise) {
  set_level(level);
  otherwise_ = std::move(otherwise);
  if (path.empty()) return {};
  // A pipe that nothing reads, or not fast enough, would hold the server up.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
  const int descriptor = ::open(path.c_str(), kFlags, 0666);
  if (descriptor >= 0) file_ = ::fdopen(descriptor, "a");
  if (!file_) return Concat("can't open the log file '", path, "': ", std::strerror(errno));
  return {};
}

void Log::set_level(std::string_view level) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), level);
  if (found != kLevels.end()) least_ = static_cast<size_t>(found - kLevels.begin());
}

void Log::Write(LogLevel level, std::string_view line) {
  if (level == LogLevel::kWarning) last_warning_ = line;
  const auto place = static_cast<size_t>(level);
  if (place < least_ || (!file_ && !otherwise_)) return;
  timeval now;
  gettimeofday(&now, nullptr);
  tm local;
  localtime_r(&now.tv_sec, &local);
  char stamp[64];
  const size_t length = strftime(stamp, sizeof stamp, "%d %b %Y %H:%M:%S", &local);
  char ms[8];
  std::snprintf(ms, sizeof ms, ".%03d", static_cast<int>(now.tv_usec / 1000));
  const std::string whole =
      Concat(getpid(), ":M ", std::string_view(stamp, length), ms, ' ', ".-*#"[place], ' ', line);
  if (!file_) return otherwise_(whole);
  std::fprintf(file_, "%s\n", whole.c_str());
  std::fflush(file_);
}

}  // namespace sluice
