// ServerProcess: the process of a server as its engines see it: the server's log, the system's
// randomness, malloc's figures.
#pragma once

#include "server/clients/process_services.h"
#include "server/net/log.h"
#include "server/net/process/huge_pages.h"

namespace sluice {

class ServerProcess final : public ProcessServices {
 public:
  // `owns_process`: the server is all that the process does, and may tune malloc.
  ServerProcess(sluice::Log& log, bool owns_process) : log_(log), owns_process_(owns_process) {}

  void Log(LogLevel level, std::string_view line) override { log_.Write(level, line); }
  void FillWithRandom(std::span<uint8_t> bytes) override;
  void Sleep(int64_t micros) override;
  ProcessUsage Usage() override;
  AllocatorUsage Allocator() override;
  void ReleaseMemory() override;
  bool SurveyPages(SparsePages& pages) override;
  void ReturnFreedAtOnce(bool on) override;
  void ExpectGrowth(uint64_t bytes) override;
  std::string AllocatorReport() override;

 private:
  sluice::Log& log_;
  const bool owns_process_;
  HugePages huge_pages_;
};

}  // namespace sluice
