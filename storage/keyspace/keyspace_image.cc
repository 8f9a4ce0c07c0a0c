// See keyspace_image.h. The walk is Keyspace's.
#include "storage/keyspace/keyspace_image.h"

#include <cassert>

namespace sluice {

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
