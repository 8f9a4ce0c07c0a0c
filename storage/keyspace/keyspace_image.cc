// See keyspace_image.h.
#include "storage/keyspace/keyspace_image.h"

#include <cassert>
#include <utility>

namespace sluice {

void KeyspaceImage::Begin(EntrySaver& saver, std::vector<int> indexes) {
  assert(!taken_);
  taken_ = true;
  mark_ = !mark_;
  saver_ = &saver;
  indexes_ = std::move(indexes);
  database_ = 0;
  position_ = 0;
}

bool KeyspaceImage::Abandon() {
  saver_ = nullptr;
  in_pieces_ = nullptr;
  return !std::exchange(first_, {}).empty();
}

void KeyspaceImage::End() {
  taken_ = false;
  saver_ = nullptr;
}

bool KeyspaceImage::GiveNextPiece() {
  if (in_pieces_ == nullptr) return false;
  GivePiece(*in_pieces_);
  return true;
}

void KeyspaceImage::FirstIsGiven() {
  first_.erase(first_.begin());
  ++given_first_;
}

void KeyspaceImage::NextDatabase() {
  ++database_;
  position_ = 0;
}

bool KeyspaceImage::GivePart(SegmentTable& table, size_t budget) {
  size_t given = 0;
  bool is_all = true;
  const uint64_t next = table.Walk(position_, budget, [&](Entry& entry) {
    if (entry.mark() == mark_) return;
    // The walk goes by whole segments: an entry too much for now stays unmarked, and is met again.
    if (in_pieces_ != nullptr || (given > 0 && (given >= budget || !HasRoom()))) {
      is_all = false;
      return;
    }
    ++given;
    GivePiece(entry);
    if (in_pieces_ != nullptr) is_all = false;
  });
  if (is_all) position_ = next;
  return is_all && position_ == 0;
}

// The whole entry, now: it is about to change. If the saver has had pieces of it, Save writes the
// rest.
void KeyspaceImage::Give(Entry& entry) {
  if (entry.mark() == mark_) return;
  entry.set_mark(mark_);
  if (saver_ != nullptr) saver_->Save(indexes_[entry.database_id_], entry);
  if (&entry != in_pieces_) return;
  in_pieces_ = nullptr;
  ++given_first_;
}

// The entry is marked with its last piece: until then a change calls Give, and the walk meets it
// again.
void KeyspaceImage::GivePiece(Entry& entry) {
  if (saver_ == nullptr) return Give(entry);
  const bool is_begun = in_pieces_ != nullptr;
  assert(!is_begun || in_pieces_ == &entry);
  const bool is_all = saver_->SavePiece(indexes_[entry.database_id_], entry);
  in_pieces_ = is_all ? nullptr : &entry;
  if (!is_all) return;
  entry.set_mark(mark_);
  given_first_ += is_begun ? 1 : 0;
}

bool KeyspaceImage::GivesFirst(const Entry& entry) {
  if (!Needs(entry) || entry.OutsideBytes() < large_bytes_) return false;
  first_.emplace(entry.database_id_, entry.key());
  return true;
}

// Without an image all marks are alike.
bool KeyspaceImage::IsMarkSound(const Entry& entry) const {
  return taken_ || entry.mark() == mark_;
}

}  // namespace sluice
