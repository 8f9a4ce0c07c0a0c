// LockHolders: the holders of one lock, by token. Most locks have one, which lies in here, and
// costs no block of its own. A second holder, or a semaphore, makes the book, which has room for
// all there is to know of many; it takes the place of the one in here, and stays as long as the
// lock. The holder is then in the book as the others are.
//
//   one holder          | one     |
//   any other number    | book ---|--> holders by token, index, ...
#pragma once

#include <cassert>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "storage/locks/lock_holder.h"

namespace sluice {

// Kept by a lock with many holders: few are looked through.
struct LockIndex {
  std::map<std::string_view, int64_t> by_owner;  // views into the holders; kept ones left out
  // By (EndsAtMs, token), where there is one: whether a lease is all that the holder has.
  absl::btree_map<std::pair<int64_t, int64_t>, bool> deadlines;
  std::set<std::pair<int64_t, int64_t>> minholds;  // likewise, of those that do not linger yet
  int64_t permits = 0;                             // of all holders
  size_t outside_bytes = 0;                        // the sum of OutsideBytes
  int64_t over_until_ms = INT64_MIN;  // a crowd has ended: leases that end no later were over then
};

struct LockBook {
  std::map<int64_t, LockHolder> holders;  // by token
  std::unique_ptr<LockIndex> index;       // once made it stays
  size_t bonds = 0;                       // of all holders
  int64_t newest_token = 0;               // of those that were ever here
  int64_t broken_token = 0;               // the newest that was
  int64_t of = 1;                         // permits that there are
  BoxedText key;                          // of a lock that has left its entry
};

class LockHolders {
 public:
  // In the order of their tokens. Valid until a holder comes or goes.
  class Iterator {
   public:
    using value_type = const LockHolder;
    using reference = const LockHolder&;
    using pointer = const LockHolder*;
    using difference_type = ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    reference operator*() const { return one_ ? *one_ : place_->second; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      if (!std::exchange(one_, nullptr)) ++place_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class LockHolders;
    explicit Iterator(const LockHolder* one) : one_(one) {}
    explicit Iterator(std::map<int64_t, LockHolder>::const_iterator place) : place_(place) {}

    const LockHolder* one_ = nullptr;
    std::map<int64_t, LockHolder>::const_iterator place_;
  };

  LockHolders() {}  // NOLINT: one_ and has_book_ have their values
  LockHolders(const LockHolders&) = delete;
  ~LockHolders() { Clear(); }
  // As one that was just made.
  void Clear();

  Iterator begin() const {
    return has_book_ ? Iterator(book_->holders.begin()) : Iterator(TheOne());
  }
  Iterator end() const { return has_book_ ? Iterator(book_->holders.end()) : Iterator(); }
  size_t size() const { return has_book_ ? book_->holders.size() : TheOne() ? 1 : 0; }
  bool empty() const { return size() == 0; }
  // Requires: !empty().
  const LockHolder& newest() const { return has_book_ ? book_->holders.rbegin()->second : one_; }
  // The newest that was ever here; 0: there was none.
  int64_t newest_token() const { return has_book_ ? book_->newest_token : one_.token; }

  LockHolder* Find(int64_t token) {
    return const_cast<LockHolder*>(std::as_const(*this).Find(token));
  }
  const LockHolder* Find(int64_t token) const;
  // Requires: it has an owner, and a token that none of the others has.
  LockHolder& Put(LockHolder holder);
  void Erase(int64_t token);

  // --- the bonds of one of these holders
  SessionBond& AddBond(LockHolder& holder);  // for the last of its sessions
  void DropBond(LockHolder& holder, size_t at);
  void DropBonds(LockHolder& holder);
  // Of all holders; O(1).
  size_t bonds() const { return has_book_ ? book_->bonds : one_.extra->bonds.list.size(); }

  const LockBook* book() const { return has_book_ ? book_.get() : nullptr; }
  LockBook* book() { return has_book_ ? book_.get() : nullptr; }
  // Pointers to a holder are void.
  LockBook& MakeBook();
  size_t OutsideBytes() const;  // heap memory beside the object; O(1)

 private:
  // Requires: no book.
  const LockHolder* TheOne() const { return one_.owner.is_none() ? nullptr : &one_; }

  union {
    LockHolder one_{};  // while there is no book; the token stays when the holder has gone
    std::unique_ptr<LockBook> book_;
  };
  bool has_book_ = false;  // last: what stands behind may begin right after it
};

}  // namespace sluice
