// SplitMap: byte strings, each with a value or without, in a hash table of small segments. Large
// hashes are maps of it and large sets are sets of it: no insert ever rehashes more than one
// segment (at most 512 members), however many there are.
//
//   SplitMap map(keyspace.hash_keys());
//   map.Put("field", {.value = "text"});            // a hash
//   map.Put("member", {});                          // a set
//   if (const Member* found = map.Find("field")) Use(found->value());
//
// An index over objects that live elsewhere and know their own key (a sorted set's nodes) does not
// need this: SegmentTableOf<Node> (storage/keyspace/segment_table.h) is the same table without
// owning.
//
// Not movable: it is what its table accounts memory in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "storage/hashing/key_hash.h"
#include "storage/keyspace/segment_table.h"
#include "storage/types/member.h"

namespace sluice {

extern template class SegmentTableOf<Member>;

// It owns its members. Find, Put and Erase are O(1), and one segment's work at most.
class SplitMap {
 public:
  // `hash_keys` outlives the map, which takes a key of its own from it; so does a copy.
  explicit SplitMap(HashKeys& hash_keys)
      : hash_keys_(&hash_keys), key_(hash_keys.Next()), table_(key_, memory_bytes_) {}
  SplitMap(const SplitMap& other);  // a copy of every member
  SplitMap& operator=(const SplitMap&) = delete;
  ~SplitMap() { FreeSome(SIZE_MAX); }

  HashKeys& hash_keys() const { return *hash_keys_; }
  size_t size() const { return table_.size(); }
  bool empty() const { return size() == 0; }
  size_t heap_bytes() const { return memory_bytes_; }  // without this object itself

  // --- reading. What is pointed to is valid until the next change.
  const Member* Find(std::string_view name) const;
  // In no order. `visit` must not change the map.
  void ForEach(absl::FunctionRef<void(const Member&)> visit) const;
  // As Database::Scan.
  uint64_t Scan(uint64_t cursor, size_t count, absl::FunctionRef<void(const Member&)> visit,
                ScanCache* cache = nullptr) const {
    return table_.Scan(cursor, count, visit, cache);
  }
  const Member* RandomMember(Random& random) const { return table_.RandomEntry(random); }
  // Visits `count` different members chosen at random, or all if there are no more.
  void Sample(size_t count, Random& random, absl::FunctionRef<void(const Member&)> visit) const;
  // Visits members chosen at random, each time out of all that are `wanted`, until `visit` says no.
  // Requires: some are wanted.
  using Test = absl::FunctionRef<bool(const Member&)>;
  void Draw(Random& random, Test wanted, Test visit) const;

  // --- changing
  // Creates the member or gives it other content; true if it was created. The content may point
  // into the member itself.
  bool Put(std::string_view name, const MemberContent& content) { return Put(Hash(name), content); }
  // The same of some members, one after the other, whose cache misses overlap. Returns how many
  // were created. Requires: kTogetherMax at most; no content points into a member.
  struct Named {
    std::string_view name;
    MemberContent content;
  };
  static constexpr size_t kTogetherMax = 32;
  size_t PutTogether(std::span<const Named> members);
  bool Erase(std::string_view name);  // false when it is not there. `name` may be the member's own
  void EraseAll(std::span<const std::string> names);  // those that are there
  // Frees up to `budget` members; returns how many. Afterwards it may only be freed further.
  size_t FreeSome(size_t budget);

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

 private:
  HashedKey Hash(std::string_view name) const;
  bool Put(HashedKey key, const MemberContent& content);
  bool Erase(HashedKey key);
  void Free(Member& member);

  HashKeys* hash_keys_;
  const TableKey key_;
  size_t memory_bytes_ = 0;
  SegmentTableOf<Member> table_;
};

}  // namespace sluice
