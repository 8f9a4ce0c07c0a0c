// Set: a key's value of type `set`. Integers alone, up to a limit, are an IntSet; other small sets
// are a StringPack; large ones are a SplitMap. A form once left is not gone back to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "absl/functional/function_ref.h"
#include "storage/keyspace/value.h"
#include "storage/types/int_set.h"
#include "storage/types/split_map.h"
#include "storage/types/string_pack.h"

namespace sluice {

// Has, Add and Remove: O(log n) among numbers (a move of what is above), O(n) in a pack, O(1) in a
// map.
class Set final : public Value {
 public:
  static constexpr ValueType kType = ValueType::kSet;
  using Visit = absl::FunctionRef<void(std::string_view)>;

  // How many numbers are kept as such, and where a large one has the key of its hashes from.
  struct Limits {
    size_t integers = 512;
    HashKeys* hash_keys = nullptr;
  };

  size_t size() const;
  bool empty() const { return size() == 0; }
  bool Has(std::string_view member) const;
  // Numbers in ascending order, others in no order. Texts live during their visit alone.
  void ForEach(Visit visit) const;
  // As SplitMap::Scan. Numbers are visited whole, whatever the cursor. A cursor of a pack begins
  // anew when the set has become large: then what was given may come twice.
  uint64_t Scan(uint64_t cursor, size_t count, Visit visit, ScanCache* cache = nullptr) const;
  std::string RandomMember(Random& random) const;  // requires: not empty
  // Visits members chosen at random, each time out of all, until `visit` says no. Requires: not
  // empty.
  void Draw(Random& random, absl::FunctionRef<bool(std::string_view)> visit) const;
  // Visits `count` different members chosen at random, or all if there are no more.
  void Sample(size_t count, Random& random, Visit visit) const;

  bool Add(std::string_view member, const Limits& limits);  // false when it is a member already
  // The same of some members, SplitMap::kTogetherMax at most, whose look-ups overlap. False where
  // one is there already, or comes twice.
  bool AddSome(std::span<const std::string> members, const Limits& limits);
  bool Remove(std::string_view member);
  void RemoveAll(std::span<const std::string> members);  // those that are there

  ValueType type() const override { return kType; }
  std::string_view Encoding() const override;
  size_t MemoryBytes() const override;
  std::unique_ptr<Value> Clone() const override;
  size_t Elements() const override;
  size_t FreeSome(size_t budget) override;
  std::string Audit() const override;

 private:
  using Large = std::unique_ptr<SplitMap>;

  uint64_t ScanPack(const StringPack& pack, uint64_t cursor, size_t count, Visit visit) const;
  // Each goes over to the next form where the present one is too small. Precondition of AddText:
  // the members are texts, and this is none of them.
  void AddText(std::string_view member, HashKeys& hash_keys);
  void LeaveNumbers(HashKeys& hash_keys);
  void LeavePack(HashKeys& hash_keys);

  std::variant<StringPack, IntSet, Large> members_;  // in the beginning a pack without members
};

}  // namespace sluice
