// Log: lines with a level and a time, to standard output or to a file, in Redis's format.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sluice {

class Log {
 public:
  enum Level : int { kDebug = 0, kVerbose = 1, kNotice = 2, kWarning = 3, kNothing = 4 };

  ~Log();
  // An empty path: standard output. Returns an error sentence, or empty.
  std::string Open(const std::string& path, std::string_view level);
  void set_level(std::string_view level);
  void Write(int level, std::string_view line);

 private:
  std::FILE* file_ = nullptr;  // null: standard output
  int level_ = kNotice;
};

}  // namespace sluice
