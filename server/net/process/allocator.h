// The state of malloc, and its settings. It is mimalloc where the program that links us has put
// that in malloc's place, as the daemon does; else the C library's.
//
// mimalloc is found by weak symbols, so nothing has to be linked that is not there. Numbers are
// bytes.
#pragma once

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
// The allocator's own report.
std::string AllocatorReportText();

}  // namespace sluice
