// See huge_pages.h.
#include "server/net/process/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sluice {
namespace {

uint64_t RoundedUp(uint64_t bytes) {
  return (bytes + kRegionBytes - 1) / kRegionBytes * kRegionBytes;
}

uint64_t MachineBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Addresses alone: of limits only that of addresses (ulimit -v) counts them. Null: there are not so
// many.
char* Reserve(size_t bytes) {
  void* const all = mmap(nullptr, bytes + kRegionBytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  const auto first = static_cast<char*>(all);
  const size_t before =
      RoundedUp(reinterpret_cast<uintptr_t>(all)) - reinterpret_cast<uintptr_t>(all);
  if (before > 0) munmap(first, before);
  munmap(first + before + bytes, kRegionBytes - before);
  return first + before;
}

}  // namespace

void HugePages::Expect(uint64_t bytes) {
  const int error = errno;
  const uint64_t wanted = RoundedUp(std::min(bytes, MachineBytes()));
  if (wanted > region_bytes_ && !is_refused_) Add(std::max(wanted - region_bytes_, region_bytes_));
  Advise(bytes > 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  errno = error;
}

void HugePages::Add(uint64_t bytes) {
  char* const begin = Reserve(bytes);
  if (begin == nullptr) return;
  if (!give_(begin, bytes)) {
    is_refused_ = true;
    munmap(begin, bytes);
    return;
  }
  regions_.push_back({begin, bytes});
  region_bytes_ += bytes;
}

// A system that has none answers EINVAL.
void HugePages::Advise(int advice) const {
  for (const Region& region : regions_) madvise(region.begin, region.bytes, advice);
}

}  // namespace sluice
