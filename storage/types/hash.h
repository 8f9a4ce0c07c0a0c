// Hash: a key's value of type `hash`. A small one is a StringPack of names and values in turn, in
// the order of their coming; a large one, or one with deadlines, is a SplitMap. It never goes back.
//
// Fields may have deadlines. One that has passed counts as missing from that very millisecond on;
// the hash's timer (ValueTimer) says when there are some to be taken out with TakeExpired. A hash
// of which every field has passed is over, and goes as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "storage/keyspace/value.h"
#include "storage/types/field_times.h"
#include "storage/types/split_map.h"
#include "storage/types/string_pack.h"

namespace sluice {

// A field's content; the text is valid until the next change of the hash, and with this object.
struct FieldValue {
  FieldValue() = default;
  FieldValue(const FieldValue&) = delete;  // the text may lie in the scratch
  std::string_view text;
  Deadline deadline;
  char scratch[StringPack::kTextScratch];
};

// Get, Set and Erase are O(1) in a table and O(n) in a pack, which is short. A deadline adds O(log
// n).
class Hash final : public Value {
 public:
  static constexpr ValueType kType = ValueType::kHash;
  using Visit = absl::FunctionRef<void(std::string_view name, std::string_view value)>;

  // Up to here it is a pack: fields of it, bytes of each name and value. One that is no pack any
  // more has the key of its hashes from `hash_keys`.
  struct Limits {
    size_t fields = 512;
    size_t text_bytes = 64;
    HashKeys* hash_keys = nullptr;
  };
  enum class Ttl : uint8_t { kClear, kKeep };

  // --- reading
  size_t size() const;  // with expired ones that have not been taken out yet
  bool empty() const { return size() == 0; }
  size_t CountLive(const Now& now) const;
  size_t CountTimed(const Now& now) const;  // live fields with a deadline
  // False when the field is missing, or its time is over.
  bool Get(std::string_view name, const Now& now, FieldValue& value) const;
  bool Has(std::string_view name, const Now& now) const;
  // In a pack in order. Texts live during their visit alone.
  void ForEach(const Now& now, Visit visit) const;
  // As SplitMap::Scan; a pack is visited whole, whatever the cursor.
  uint64_t Scan(uint64_t cursor, size_t count, const Now& now, Visit visit,
                ScanCache* cache = nullptr) const;
  // Visits `count` different live fields chosen at random, or all if there are no more.
  void Sample(size_t count, Random& random, const Now& now, Visit visit) const;
  // Visits live fields chosen at random, each time out of all, until `visit` says no. Requires:
  // CountLive(now) > 0.
  using VisitSome = absl::FunctionRef<bool(std::string_view name, std::string_view value)>;
  void Draw(Random& random, const Now& now, VisitSome visit) const;

  // --- changing. True when the field was not there (alive).
  bool Set(std::string_view name, std::string_view value, const Limits& limits, const Now& now,
           Ttl ttl = Ttl::kClear);
  // As Set of one field after the other while loading, of which none is there. It does not look
  // for it where that would take long: AllDiffer tells at the end, and before the first
  // SetDeadline. False where it is there, and that has shown.
  bool Load(std::string_view name, std::string_view value, const Limits& limits, const Now& now);
  // The same of some fields, SplitMap::kTogetherMax at most, whose look-ups overlap.
  bool LoadSome(std::span<const SplitMap::Named> fields, const Limits& limits, const Now& now);
  bool AllDiffer() const;
  // False when it is not there (alive).
  bool Erase(std::string_view name, const Now& now);
  // None: it stays for ever. Requires: the field is there.
  void SetDeadline(std::string_view name, const Deadline& deadline, const Limits& limits);
  // Takes out fields whose time has passed, giving each to `visit`, up to `budget`.
  size_t TakeExpired(const Now& now, size_t budget, Visit visit);
  bool has_deadlines() const { return table_ && table_->times && !table_->times->empty(); }

  ValueType type() const override { return kType; }
  std::string_view Encoding() const override;
  size_t MemoryBytes() const override;
  std::unique_ptr<Value> Clone() const override;
  size_t Elements() const override;
  size_t FreeSome(size_t budget) override;
  ValueTimer* timer() override { return table_ && table_->times ? &table_->times->timer : nullptr; }
  int64_t NextDueMs(const Now& now) const override;
  bool IsOver(const Now& now) const override;
  std::string Audit() const override;

 private:
  struct Table {
    explicit Table(HashKeys& hash_keys) : map(hash_keys) {}
    SplitMap map;
    std::unique_ptr<FieldTimes> times;  // null: none has a deadline
    // Redis keeps small hashes with deadlines in a list too, and calls that "listpackex".
    bool counts_as_list = false;
  };

  // From a pack into a table: once in the life of a hash. False where two of its names are equal,
  // of which one stays.
  bool LeavePack(HashKeys& hash_keys);
  void Put(std::string_view name, const MemberContent& content);
  // For OBJECT ENCODING: whether Redis would still have a list.
  void NoteSize(size_t text_bytes, const Limits& limits);
  const Member* FindLive(std::string_view name, const Now& now) const;
  void DrawFromPack(Random& random, VisitSome visit) const;

  StringPack pack_;  // names and values in turn; empty beside a table
  std::unique_ptr<Table> table_;
};

}  // namespace sluice
