// SparsePages: which of the allocator's pages are to be emptied, so that they can go back to the
// system. An allocator gives a page back when the last block of it is free; after many deletions a
// few survivors hold most pages. The owner of such a survivor allocates it anew, which puts it onto
// another page, and frees the old block.
//
//   SparsePages pages;
//   ... pages.Add({...}) for each page that the allocator has ...
//   pages.Choose();
//   if (pages.Holds(block)) { copy = malloc(...); pages.Keeps(copy); free(block); }
//
// Blocks of one size lie on pages of their own. As many pages of a size are chosen, the emptiest
// first, as are more than its blocks need; a size whose pages are well used is left alone. Where
// the allocator puts a copy is its choice: a chosen page that gets one is chosen no more, lest its
// blocks are moved in a circle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace sluice {

class SparsePages {
 public:
  // Some whole slices of kSliceBytes from that of `begin` on are the page's alone.
  static constexpr int kSliceBits = 16;
  static constexpr size_t kSliceBytes = size_t{1} << kSliceBits;
  // A size of which a smaller part of the pages would come free is not worth it.
  static constexpr size_t kPartWorthwhile = 8;

  struct Page {
    uintptr_t begin = 0;  // of its first block
    size_t bytes = 0;     // of all its blocks, free ones too
    size_t block_bytes = 0;
    size_t blocks_used = 0;
  };

  // Forgets what was added and chosen.
  void Clear();
  void Add(const Page& page);
  // Once all have been added. O(n log n) in pages, of which a GiB has 16,000.
  void Choose();

  // Whether the block lies on a page that is to be emptied; any address may be asked for.
  bool Holds(const void* block) const { return chosen_.contains(SliceOf(block)); }
  // The page of that block has got it by a move.
  void Keeps(const void* block) { chosen_.erase(SliceOf(block)); }

  // The pages that were added.
  size_t pages() const { return pages_.size(); }
  size_t page_bytes() const { return page_bytes_; }
  size_t used_bytes() const { return used_bytes_; }
  // So much can come free: the chosen pages.
  size_t chosen_bytes() const { return chosen_bytes_; }

 private:
  static uint64_t SliceOf(const void* block) {
    return reinterpret_cast<uintptr_t>(block) >> kSliceBits;
  }
  void ChooseOf(std::vector<Page>::iterator first, std::vector<Page>::iterator last);

  std::vector<Page> pages_;
  size_t page_bytes_ = 0;
  size_t used_bytes_ = 0;
  size_t chosen_bytes_ = 0;
  absl::flat_hash_set<uint64_t> chosen_;  // slices
};

}  // namespace sluice
