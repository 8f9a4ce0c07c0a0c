// KeyspaceImage: the keyspace as it was at one instant, given to a saver a slice at a time while
// clients go on.
//
// Every entry has a mark of one bit. Begin turns around what the bit means, so that at once all are
// unmarked. Keyspace::ImageSlice walks through them: what is unmarked is given to the saver, and
// marked. Before an entry is changed, moved or freed it is given too, if it is still unmarked: that
// is BeforeChange, the one place. New entries are marked from the start. So each entry is given
// once, as it was, and a walk that meets it twice, or late, does no harm.
//
// Three keys, and a client that changes c while the walk is at b:
//
//   a  b  c      begin: no entry is marked (capitals are)
//   A  b  c      the walk gives a
//   A  b  C      INCR c: BeforeChange gives the old c, then c changes
//   A  B  C      the walk gives b, passes c; the image is of the instant of the beginning
//
// A large entry is given in pieces. Until the last it is unmarked, and the walk waits. Who would
// change one that is still to be given had better wait too (MustWait): then it is given next. What
// does not wait has all that is left of it saved at once.
//
// The walk always runs to its end, without a saver too (Abandon), so that all marks are equal
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/keyspace/entry.h"

namespace sluice {

// Implemented by what writes snapshots. Entries come in no order that is promised.
class EntrySaver {
 public:
  virtual ~EntrySaver() = default;
  // The entry is that of the image, and `db` its index then. In the middle of a change: the
  // keyspace must not be touched.
  virtual void Save(int db, const Entry& entry) = 0;
  // A piece of it, or all. False: there is more to come; the entry has not been changed since, and
  // no other is given in pieces before this one has ended. Save may come before that: then the
  // entry is about to change, and all of it that is left is to be saved.
  virtual bool SavePiece(int db, const Entry& entry) {
    Save(db, entry);
    return true;
  }
  // False: it has got as much as is good for one slice.
  virtual bool HasRoom() const { return true; }
};

class KeyspaceImage {
 public:
  // Of a value's memory: to save less takes no longer than a turn may.
  static constexpr size_t kLargeBytes = 256 * 1024;

  bool is_taken() const { return taken_; }
  bool mark() const { return mark_; }  // of what the image has, or need not have

  void BeforeChange(Entry& entry) {
    if (taken_) [[unlikely]]
      Give(entry);
  }
  void Give(Entry& entry);
  // The image still needs it: to change it costs more than usual.
  bool Needs(const Entry& entry) const {
    return taken_ && saver_ != nullptr && entry.mark() != mark_;
  }
  // The image still needs it, and it is large: a change of it has to wait. It is given next.
  bool MustWait(const Entry& entry) { return taken_ && GivesFirst(entry); }
  // Something waits for an entry to be given.
  bool any_awaited() const { return !first_.empty(); }
  // How often since the start an entry has come to its end that was given in pieces, or first.
  uint64_t given_first() const { return given_first_; }
  bool IsMarkSound(const Entry& entry) const;

 private:
  friend class Keyspace;
  bool HasRoom() const { return saver_ == nullptr || saver_->HasRoom(); }

  void GivePiece(Entry& entry);
  bool GivesFirst(const Entry& entry);

  bool taken_ = false;
  bool mark_ = false;
  EntrySaver* saver_ = nullptr;  // null: no saver wants the rest
  Entry* in_pieces_ = nullptr;   // the one that is given so now
  uint64_t given_first_ = 0;
  size_t large_bytes_ = kLargeBytes;
  std::set<std::pair<size_t, std::string>> first_;  // to be given next: database id and key
  std::vector<int> indexes_;                        // of databases by id, at the instant
  size_t database_ = 0;                             // of them, where the walk is
  uint64_t position_ = 0;                           // SegmentTable::Walk's
};

}  // namespace sluice
