// Log: lines with a level and a time, to standard output, standard error or a file, in Redis's
// format.
//
// Times are local time with ms. Each line is flushed.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "server/core/log_level.h"

namespace sluice {

class Log {
 public:
  ~Log();
  // An empty path: `otherwise`. Returns an error sentence, or empty.
  std::string Open(const std::string& path, std::string_view level, std::FILE* otherwise);
  void set_level(std::string_view level);
  void Write(LogLevel level, std::string_view line);

 private:
  std::FILE* file_ = nullptr;  // ours to close; null: there is none
  std::FILE* otherwise_ = stdout;
  size_t least_ = static_cast<size_t>(LogLevel::kNotice);  // as loglevel names them
};

}  // namespace sluice
