// See log.h.
#include "server/net/log.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"debug", "verbose", "notice", "warning",
                                                     "nothing"};

}  // namespace

Log::~Log() {
  if (file_) std::fclose(file_);
}

std::string Log::Open(const std::string& path, std::string_view level, std::FILE* otherwise) {
  set_level(level);
  otherwise_ = otherwise;
  if (path.empty()) return {};
  file_ = std::fopen(path.c_str(), "a");
  if (!file_) return Concat("can't open the log file '", path, "': ", std::strerror(errno));
  return {};
}

void Log::set_level(std::string_view level) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), level);
  if (found != kLevels.end()) least_ = static_cast<size_t>(found - kLevels.begin());
}

void Log::Write(LogLevel level, std::string_view line) {
  const auto place = static_cast<size_t>(level);
  if (place < least_) return;
  timeval now;
  gettimeofday(&now, nullptr);
  tm local;
  localtime_r(&now.tv_sec, &local);
  char stamp[64];
  const size_t length = strftime(stamp, sizeof stamp, "%d %b %Y %H:%M:%S", &local);
  std::FILE* out = file_ ? file_ : otherwise_;
  std::fprintf(out, "%d:M %.*s.%03d %c %.*s\n", getpid(), static_cast<int>(length), stamp,
               static_cast<int>(now.tv_usec / 1000), ".-*#"[place], static_cast<int>(line.size()),
               line.data());
  std::fflush(out);
}

}  // namespace sluice
