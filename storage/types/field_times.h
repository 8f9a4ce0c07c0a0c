// FieldTimes: which fields of a hash have deadlines, earliest first. Made with the first of them.
// Fields that end together do so in the order of their names: the same in every run.
//
// Relative deadlines are engine times and absolute ones Unix times, which a step of the wall clock
// moves against each other: so there are two orders, and the earliest is one of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "storage/keyspace/value.h"
#include "storage/types/member.h"

namespace sluice {

// The fields with one kind of deadline, in its own time.
class FieldOrder {
 public:
  bool empty() const { return order_.empty(); }
  size_t size() const { return order_.size(); }
  // Precondition of these two: not empty.
  int64_t first_ms() const { return order_.begin()->first; }
  int64_t last_ms() const { return order_.rbegin()->first; }
  const Member* FirstDue(int64_t ms) const;  // null when none is due
  // How many are due. It goes on counting where it stopped the last time, so many thousands that
  // end together are counted once, and not by each command until they are gone.
  size_t CountDue(int64_t ms) const;

  void Add(int64_t ms, const Member& member);
  void Remove(int64_t ms, const Member& member);
  size_t FreeSome(size_t budget);
  std::string Audit() const;

 private:
  using At = std::pair<int64_t, const Member*>;
  struct Earlier {
    using is_transparent = void;
    bool operator()(const At& a, const At& b) const {
      return a.first != b.first ? a.first < b.first : a.second->key() < b.second->key();
    }
    bool operator()(int64_t ms, const At& at) const { return ms < at.first; }
    bool operator()(const At& at, int64_t ms) const { return at.first < ms; }
  };

  absl::btree_set<At, Earlier> order_;
  // `due_` of them end at counted_ms_ or before.
  mutable int64_t counted_ms_ = INT64_MIN;
  mutable size_t due_ = 0;
};

// All by reference: members are the map's own. Add, Remove and FirstDue are O(log n).
class FieldTimes {
 public:
  // Members stay where they are: one that moves is removed before and added after.
  void Add(const Member& member);     // those without a deadline are left out
  void Remove(const Member& member);  // those that are not there are left alone
  size_t size() const { return steady_.size() + unix_.size(); }
  bool empty() const { return size() == 0; }

  int64_t NextMs(const Now& now) const;          // engine ms of the earliest; Value::kNever
  const Member* FirstDue(const Now& now) const;  // null when none is due
  size_t CountDue(const Now& now) const;         // see FieldOrder
  bool AllDue(const Now& now) const;             // O(1); of none, too
  size_t heap_bytes() const { return size() * kBytesEach; }
  // Forgets up to `budget` members; returns how many.
  size_t FreeSome(size_t budget);
  std::string Audit() const;  // the first violated invariant as a sentence, or empty

  ValueTimer timer;

 private:
  // 16 bytes and a share of a node that is three quarters full.
  static constexpr size_t kBytesEach = 24;

  FieldOrder& OrderOf(const Deadline& deadline) {
    return deadline.kind == Deadline::Kind::kUnix ? unix_ : steady_;
  }

  FieldOrder steady_;
  FieldOrder unix_;
};

}  // namespace sluice
