// The state of malloc, and its settings. It is mimalloc where the program that links us has put
// that in malloc's place, as the daemon does; else the C library's.
//
// mimalloc is found by weak symbols, so nothing has to be linked that is not there. Numbers are
// bytes.
#pragma once

#include <cstddef>
#include <string>

#include "server/clients/process_services.h"
#include "storage/memory/sparse_pages.h"

namespace sluice {

// Walks the pages of this thread's heap.
AllocatorUsage ReadAllocatorUsage();
// Adds the pages of this thread's heap. False: malloc does not tell of them.
bool SurveyPages(SparsePages& pages);
// Free pages go back to the system.
void ReturnFreePages();
// Whether what comes free goes back to the system at once or, as usual, some time later.
void ReturnFreedAtOnce(bool on);
// malloc takes memory from the system in regions of so many bytes, at multiples of it.
inline constexpr size_t kRegionBytes = 32 * 1024 * 1024;
// From now on malloc takes memory from there, and gives it back to the system as usual: whole
// regions of addresses that nothing may be done with yet. False: it does not.
bool GiveToAllocator(void* begin, size_t bytes);
// The allocator's own report.
std::string AllocatorReportText();

}  // namespace sluice
