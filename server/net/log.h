// Log: lines with a level and a time, in Redis's format, to a file or to whoever runs the server.
//
// Times are local time with ms. Each line of a file is flushed.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/core/log_level.h"

namespace sluice {

class Log {
 public:
  // Gets lines, without their ends, where there is no file.
  using Reader = std::function<void(std::string_view line)>;

  ~Log();
  // An empty path: `otherwise`, which may be empty too. Returns an error sentence, or empty.
  Fault Open(const std::string& path, std::string_view level, Reader otherwise);
  void set_level(std::string_view level);
  void Write(LogLevel level, std::string_view line);
  // The last line of that level, written or not: why a server has ended by itself.
  const std::string& last_warning() const { return last_warning_; }

 private:
  std::FILE* file_ = nullptr;  // ours to close; null: there is none
  Reader otherwise_;
  std::string last_warning_;
  size_t least_ = static_cast<size_t>(LogLevel::kNotice);  // as loglevel names them
};

}  // namespace sluice
