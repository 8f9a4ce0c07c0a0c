// See sparse_pages.h.
#include "storage/memory/sparse_pages.h"

#include <algorithm>
#include <tuple>

namespace sluice {

void SparsePages::Clear() {
  pages_.clear();
  chosen_.clear();
  page_bytes_ = used_bytes_ = chosen_bytes_ = 0;
}

void SparsePages::Add(const Page& page) {
  page_bytes_ += page.bytes;
  used_bytes_ += page.blocks_used * page.block_bytes;
  pages_.push_back(page);
}

void SparsePages::Choose() {
  const auto by_size_and_use = [](const Page& a, const Page& b) {
    return std::tie(a.block_bytes, a.blocks_used) < std::tie(b.block_bytes, b.blocks_used);
  };
  std::ranges::sort(pages_, by_size_and_use);
  for (auto first = pages_.begin(); first != pages_.end();) {
    const auto last = std::find_if(first, pages_.end(), [first](const Page& page) {
      return page.block_bytes != first->block_bytes;
    });
    ChooseOf(first, last);
    first = last;
  }
}

// The pages have one size of blocks, in the order of use. Pages of a single block come free without
// help.
void SparsePages::ChooseOf(std::vector<Page>::iterator first, std::vector<Page>::iterator last) {
  size_t used = 0, room = 0;
  for (auto page = first; page != last; ++page) {
    used += page->blocks_used;
    room += page->bytes / page->block_bytes;
  }
  const auto pages = static_cast<size_t>(last - first);
  const size_t per_page = room / pages;
  if (per_page < 2) return;
  const size_t needed = (used + per_page - 1) / per_page;
  const size_t spare = pages - std::min(needed, pages);
  if (spare == 0 || spare < pages / kPartWorthwhile) return;
  for (auto page = first; page != first + static_cast<ptrdiff_t>(spare); ++page) {
    chosen_bytes_ += page->bytes;
    const uintptr_t end = (page->begin + page->bytes - 1) >> kSliceBits;
    for (uintptr_t slice = page->begin >> kSliceBits; slice <= end; ++slice) chosen_.insert(slice);
  }
}

}  // namespace sluice
