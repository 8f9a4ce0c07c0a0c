// FileHost: the host of an engine that loads files, and has neither clients nor a loop: a printer.
// What the engine logs goes to two streams: notices to `out`, warnings to `errors`.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "server/clients/host.h"

namespace sluice {

// A line of the program's: "sluice: ...", harmless to a terminal.
void PrintLine(std::FILE* file, std::string_view line);

class FileHost final : private ProcessServices, public Host {
 public:
  FileHost(std::FILE* out, std::FILE* errors)
      : Host(static_cast<ProcessServices&>(*this), at_once_), out_(out), errors_(errors) {}
  void Send(Session&) override {}
  void Closed(SessionId) override {}
  void Poll() override {}
  void FillWithRandom(std::span<uint8_t> bytes) override;
  void Shutdown(int code) override { code_ = code; }
  bool Stopping() const override { return code_.has_value(); }
  void Sleep(int64_t) override {}
  void Log(LogLevel level, std::string_view line) override;

 private:
  Background at_once_;
  std::FILE* const out_;
  std::FILE* const errors_;
  std::optional<int> code_;
};

}  // namespace sluice
