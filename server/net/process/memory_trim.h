// MemoryTrim: what the allocator keeps after a burst goes back to the system. mimalloc notes pages
// that have come free and returns them as it comes by again, which on a quiet server is never: a
// reply of a million elements would leave its 100 MB resident for good.
//
// It acts when 16 MiB, or an eighth of what is in use if that is more, could be given back.
#pragma once

#include <cstdint>

namespace sluice {

class MemoryTrim {
 public:
  // To be called when there is nothing else to do: returning memory walks the whole heap. It is
  // done when much more is resident beyond `used` than was after the last time, in proportion to
  // `used`. Returns how many bytes went back.
  uint64_t Look(uint64_t used);

 private:
  int64_t kept_ = 0;  // resident beyond what was in use, after the last time
};

}  // namespace sluice
