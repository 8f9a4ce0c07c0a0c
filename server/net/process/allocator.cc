// See allocator.h. The functions of mimalloc are weak symbols: their being there tells which
// allocator the program has. Those of glibc are weak, too: a program that is linked statically has
// one allocator, and a strong symbol would bring the other along.
#include "server/net/process/allocator.h"

#include <malloc.h>
#include <mimalloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "server/clients/process_services.h"
#include "server/net/process/process.h"

#pragma weak malloc_info
#pragma weak malloc_trim
#pragma weak mallinfo2
#pragma weak mi_collect
#pragma weak mi_heap_get_default
#pragma weak mi_heap_visit_blocks
#pragma weak mi_manage_os_memory
#pragma weak mi_option_get
#pragma weak mi_option_set
#pragma weak mi_process_info
#pragma weak mi_stats_print_out

namespace sluice {
namespace {

bool IsMimalloc() { return mi_collect != nullptr; }

AllocatorUsage ReadMimalloc() {
  AllocatorUsage usage;
  const auto add = [](const mi_heap_t*, const mi_heap_area_t* area, void*, size_t, void* sums) {
    auto& of_all = *static_cast<AllocatorUsage*>(sums);
    of_all.allocated_bytes += static_cast<int64_t>(area->used * area->block_size);
    of_all.active_bytes += static_cast<int64_t>(area->committed);
    return true;
  };
  mi_heap_visit_blocks(mi_heap_get_default(), /*visit_all_blocks=*/false, add, &usage);
  size_t ignored, committed;
  mi_process_info(&ignored, &ignored, &ignored, &ignored, &ignored, &committed, &ignored, &ignored);
  // It counts what it may touch, touched or not.
  usage.resident_bytes =
      std::min(static_cast<int64_t>(committed), ReadProcessUsage().resident_bytes);
  return usage;
}

AllocatorUsage ReadLibc() {
  const struct mallinfo2 info = mallinfo2();
  AllocatorUsage usage;
  usage.allocated_bytes = static_cast<int64_t>(info.uordblks + info.hblkhd);
  usage.active_bytes = static_cast<int64_t>(info.arena - info.keepcost + info.hblkhd);
  usage.resident_bytes = static_cast<int64_t>(info.arena + info.hblkhd);
  return usage;
}

}  // namespace

AllocatorUsage ReadAllocatorUsage() { return IsMimalloc() ? ReadMimalloc() : ReadLibc(); }

// A page of mimalloc's is one slice of 64 KiB, or some; none of another page lies on them.
bool SurveyPages(SparsePages& pages) {
  if (!IsMimalloc()) return false;
  const auto add = [](const mi_heap_t*, const mi_heap_area_t* area, void*, size_t, void* into) {
    static_cast<SparsePages*>(into)->Add({.begin = reinterpret_cast<uintptr_t>(area->blocks),
                                          .bytes = area->reserved,
                                          .block_bytes = area->full_block_size,
                                          .blocks_used = area->used});
    return true;
  };
  mi_heap_visit_blocks(mi_heap_get_default(), /*visit_all_blocks=*/false, add, &pages);
  return true;
}

// mimalloc saves free pages up for some ms, and then returns up to 32 MiB in one go: 2 ms.
void ReturnFreedAtOnce(bool on) {
  if (!IsMimalloc()) return;
  static const long kUsualDelay = mi_option_get(mi_option_decommit_delay);
  mi_option_set(mi_option_decommit_delay, on ? 0 : kUsualDelay);
}

bool GiveToAllocator(void* begin, size_t bytes) {
  return mi_manage_os_memory != nullptr &&
         mi_manage_os_memory(begin, bytes, /*is_committed=*/false, /*is_large=*/false,
                             /*is_zero=*/true, /*numa_node=*/-1);
}

void ReturnFreePages() {
  if (IsMimalloc()) {
    mi_collect(true);
  } else {
    malloc_trim(0);
  }
}

std::string AllocatorReportText() {
  std::string text;
  if (IsMimalloc()) {
    mi_stats_print_out(
        [](const char* piece, void* out) { static_cast<std::string*>(out)->append(piece); }, &text);
    return text;
  }
  char* written = nullptr;
  size_t size = 0;
  std::FILE* const file = open_memstream(&written, &size);
  if (!file) return text;
  malloc_info(0, file);
  std::fclose(file);
  text.assign(written, size);
  std::free(written);
  return text;
}

}  // namespace sluice
