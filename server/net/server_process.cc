// See server_process.h.
#include "server/net/server_process.h"

#include <unistd.h>

#include "server/net/process/allocator.h"
#include "server/net/process/process.h"
#include "server/system/system_random.h"

namespace sluice {

void ServerProcess::FillWithRandom(std::span<uint8_t> bytes) { FillWithSystemRandom(bytes); }

void ServerProcess::Sleep(int64_t micros) { ::usleep(static_cast<useconds_t>(micros)); }

ProcessUsage ServerProcess::Usage() { return ReadProcessUsage(); }

AllocatorUsage ServerProcess::Allocator() { return ReadAllocatorUsage(); }

void ServerProcess::ReleaseMemory() { ReturnFreePages(); }

bool ServerProcess::SurveyPages(SparsePages& pages) {
  return owns_process_ && sluice::SurveyPages(pages);
}

void ServerProcess::ReturnFreedAtOnce(bool on) {
  if (owns_process_) sluice::ReturnFreedAtOnce(on);
}

void ServerProcess::ExpectGrowth(uint64_t bytes) {
  if (owns_process_) huge_pages_.Expect(bytes);
}

std::string ServerProcess::AllocatorReport() { return AllocatorReportText(); }

}  // namespace sluice
