// Log: lines with a level and a time, to standard output, standard error or a file, in Redis's
// format.
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
  // An empty path: `otherwise`. Returns an error sentence, or empty.
  std::string Open(const std::string& path, std::string_view level, std::FILE* otherwise);
  void set_level(std::string_view level);
  void Write(int level, std::string_view line);

 private:
  std::FILE* file_ = nullptr;  // ours to close; null: there is none
  std::FILE* otherwise_ = stdout;
  int level_ = kNotice;
};

}  // namespace sluice
