// HugePages: where much memory is about to be filled in one go, the system is asked for pages of
// 2 MiB. A page of 4 KB costs a fault when it is touched first, which in a virtual machine takes
// longer than what is written into it, and a large table on small pages misses the TLB at each key.
//
//   pages.Expect(bytes);  ... a file is loaded ...  pages.Expect(0);
//
// The allocator is given a region of addresses for it, and takes its memory there before it asks
// the system. When the filling is over the wish is taken back, for otherwise the system goes on to
// make large pages of small ones, and of what has come free between them; those that were made
// stay. So also where the system makes such pages unasked (`always`): none are made in the region
// from then on. A region stays the allocator's, and serves the next time. Where the system has no
// such pages, nothing is gained or lost.
//
// How long loads take: tools/bench --only replica-load,load-rdb,load-rdb-large. Where
// /sys/kernel/mm/transparent_hugepage/enabled is `never`, the same shows loads without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/net/process/allocator.h"

namespace sluice {

class HugePages {
 public:
  using Give = bool(void* begin, size_t bytes);

  HugePages() : HugePages(GiveToAllocator) {}
  explicit HugePages(Give* give) : give_(give) {}
  HugePages(const HugePages&) = delete;

  // So many bytes at most, by a guess, which may be far too high; 0: it is over.
  void Expect(uint64_t bytes);

 private:
  struct Region {
    char* begin = nullptr;
    size_t bytes = 0;
  };
  void Add(uint64_t bytes);
  void Advise(int advice) const;

  Give* const give_;
  std::vector<Region> regions_;  // each at least as large as those before together
  size_t region_bytes_ = 0;      // of all
  bool is_refused_ = false;      // by the allocator, which is another one then
};

}  // namespace sluice
