// See work_count.h. The compiler calls __sanitizer_cov_trace_pc at the begin of each block; the
// linker puts __wrap_lzf_decompress before the library's function. Both have the names that they
// must have, and counters that only one thread touches.
#include "tests/fuzz/work_count.h"

#include <cstdlib>
#include <new>

namespace {

// The globals: what functions without arguments of ours can reach.
sluice::Work work_done;

}  // namespace

namespace sluice {

Work WorkDone() { return work_done; }

}  // namespace sluice

#ifdef SLUICE_COUNTS_WORK
extern "C" {

void __sanitizer_cov_trace_pc() { ++work_done.units; }

unsigned int __real_lzf_decompress(const void* in, unsigned int in_bytes, void* out,
                                   unsigned int out_bytes);
unsigned int __wrap_lzf_decompress(const void* in, unsigned int in_bytes, void* out,
                                   unsigned int out_bytes) {
  const unsigned int made = __real_lzf_decompress(in, in_bytes, out, out_bytes);
  work_done.made_bytes += made;
  return made;
}

}  // extern "C"

void* operator new(size_t bytes) {
  constexpr size_t kBytesPerUnit = 16;
  work_done.units += bytes / kBytesPerUnit;
  if (void* const block = std::malloc(bytes > 0 ? bytes : 1)) return block;
  std::abort();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
#endif
