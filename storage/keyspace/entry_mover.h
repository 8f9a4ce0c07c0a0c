// EntryMover: takes entries, and what they own, off the pages that are to be emptied
// (sparse_pages.h). It goes through the keyspace segment by segment; what it moves is the same as
// before but for its address, and nobody is told.
//
// Texts go along, and values of few parts: those are copied as a whole where the object lies on
// such a page, for what it owns came and went with it and lies as sparsely. Locks stay, as others
// know their address; so do values that have a timer, and large ones.
//
//   EntryMover mover(keyspace, pages);
//   while (mover.Step()) { ... look at the clock, come again in a later turn ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/keyspace/keyspace.h"
#include "storage/memory/sparse_pages.h"

namespace sluice {

class EntryMover {
 public:
  // A copy takes as long as freeing what it replaces, which is not put off for these.
  static constexpr size_t kPartsMax = Reclaimer::kAtOnceMax;

  struct Counts {
    uint64_t blocks = 0;  // that were moved
    uint64_t keys = 0;    // of which something was
    uint64_t keys_left = 0;
  };

  // Both outlive it.
  EntryMover(Keyspace& keyspace, SparsePages& pages) : keyspace_(keyspace), pages_(pages) {}

  // Looks through a segment. False: that was all. Between two steps anything may happen to the
  // keyspace. Requires: no image is taken.
  bool Step();
  const Counts& counts() const { return counts_; }  // since it was made
  // From the beginning again.
  void Restart() {
    database_ = 0;
    position_ = 0;
  }

 private:
  bool LiesSparsely(const Entry& entry) const;
  bool IsCopied(const Entry& entry) const;
  void Move(Database& db, const Entry& found);
  void MoveText(Database& db, Entry& entry);

  Keyspace& keyspace_;
  SparsePages& pages_;
  int database_ = 0;
  uint64_t position_ = 0;  // Database::WalkSegment's
  Counts counts_;
  std::vector<const Entry*> found_;  // for the work
};

}  // namespace sluice
