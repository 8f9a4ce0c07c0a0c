// FieldTimes: which fields of a hash have deadlines, earliest first. Made with the first of them.
// Those that end together do so in the order of their names: the same in every run.
//
// Relative deadlines are engine times and absolute ones Unix times, which a step of the wall clock
// moves against each other: so there are two orders, and the earliest is one of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/btree_set.h"
#include "storage/keyspace/value.h"
#include "storage/types/member.h"

namespace sluice {

// All by reference: members are the map's own. Add, Remove and FirstDue are O(log n).
class FieldTimes {
 public:
  // Members stay where they are: one that moves is removed before and added after.
  void Add(const Member& member);     // those without a deadline are left out
  void Remove(const Member& member);  // those that are not there are left alone
  size_t size() const { return steady_.size() + unix_.size(); }
  bool empty() const { return size() == 0; }
  bool any_relative() const { return !steady_.empty(); }

  int64_t NextMs(const Now& now) const;          // engine ms of the earliest; Value::kNever
  const Member* FirstDue(const Now& now) const;  // null when none is due
  size_t CountDue(const Now& now) const;         // of those that are due
  size_t heap_bytes() const { return size() * kBytesEach; }
  // Forgets up to `budget` members; returns how many.
  size_t FreeSome(size_t budget);

  ValueTimer timer;

 private:
  using At = std::pair<int64_t, const Member*>;
  struct Earlier {
    bool operator()(const At& a, const At& b) const {
      return a.first != b.first ? a.first < b.first : a.second->key() < b.second->key();
    }
  };
  using Order = absl::btree_set<At, Earlier>;
  // 16 bytes and a share of a node that is three quarters full.
  static constexpr size_t kBytesEach = 24;

  Order& OrderOf(const Deadline& deadline) {
    return deadline.kind == Deadline::Kind::kUnix ? unix_ : steady_;
  }

  Order steady_;
  Order unix_;
};

}  // namespace sluice
