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
// A large entry is given in pieces. Until the last it is unmarked, and the walk waits. A change of
// one that is still to be given had better wait too (MustWait): then it is given next. A change
// that does not wait has all that is left of it saved at once.
//
// The walk always runs to its end, without a saver too (Abandon), so that all marks are equal
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/keyspace/entry.h"
#include "storage/keyspace/segment_table.h"

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
  // From so much memory of a value on a change waits: to save less takes no longer than a turn may.
  static constexpr size_t kLargeBytes = 256 * 1024;

  // `indexes`: those of the databases by id, at this instant. Requires: !is_taken().
  void Begin(EntrySaver& saver, std::vector<int> indexes);
  // The saver is called no more. Returns whether an entry was still awaited.
  bool Abandon();
  // The walk has ended.
  void End();

  // --- the walk, step by step; Keyspace has the tables
  // Goes on with the entry that is given in pieces; false: there is none.
  bool GiveNextPiece();
  // The entry to be given next, by database id and name; null: none is awaited.
  using Awaited = std::pair<size_t, std::string>;
  const Awaited* FirstAwaited() const { return first_.empty() ? nullptr : &*first_.begin(); }
  void FirstIsGiven();
  // The id of the database that the walk is in; none: it has been through all.
  std::optional<size_t> database() const {
    return database_ < indexes_.size() ? std::optional(database_) : std::nullopt;
  }
  void NextDatabase();
  // Gives about `budget` entries of the table, from where the walk is in it. True: it has been
  // through all of the table.
  bool GivePart(SegmentTable& table, size_t budget);
  void GivePiece(Entry& entry);

  bool is_taken() const { return taken_; }
  // A saver wants what has not been given yet.
  bool is_wanted() const { return taken_ && saver_ != nullptr; }
  bool mark() const { return mark_; }  // of what the image has, or need not have

  void BeforeChange(Entry& entry) {
    if (taken_) [[unlikely]]
      Give(entry);
  }
  void Give(Entry& entry);
  // The image still needs it: to change it costs more than usual.
  bool Needs(const Entry& entry) const { return is_wanted() && entry.mark() != mark_; }
  // The image still needs it, and it is large: a change of it has to wait. It is given next.
  bool MustWait(const Entry& entry) { return taken_ && GivesFirst(entry); }
  // Something waits for an entry to be given.
  bool any_awaited() const { return !first_.empty(); }
  // How often since the start an entry has come to its end that was given in pieces, or first.
  uint64_t given_first() const { return given_first_; }
  bool IsMarkSound(const Entry& entry) const;
  void set_large_bytes(size_t bytes) { large_bytes_ = bytes; }  // for tests

 private:
  bool HasRoom() const { return saver_ == nullptr || saver_->HasRoom(); }

  bool GivesFirst(const Entry& entry);

  bool taken_ = false;
  bool mark_ = false;
  EntrySaver* saver_ = nullptr;  // null: no saver wants the rest
  Entry* in_pieces_ = nullptr;   // the one that is given so now
  uint64_t given_first_ = 0;
  size_t large_bytes_ = kLargeBytes;
  std::set<Awaited> first_;   // to be given next
  std::vector<int> indexes_;  // of databases by id, at the instant
  size_t database_ = 0;       // of them, where the walk is
  uint64_t position_ = 0;     // SegmentTable::Walk's
};

}  // namespace sluice
