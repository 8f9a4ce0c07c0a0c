// Member: what a SplitMap consists of, one allocation each: the name of a hash's field or a set's
// member, with its value and its deadline where it has them.
//
//   flags 1 | name length 1 or 4 | value length 1 or 4, if any | deadline 8, if any | name | value
//
// Lengths take 4 bytes (both do) when one of them is above 255. So a set's member of 10 bytes takes
// 12, a field with a value of 10 bytes each takes 23. Blocks have the sizes of malloc, fields are
// not aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "storage/keyspace/entry.h"

namespace sluice {

// All that a member has besides its name.
struct MemberContent {
  std::optional<std::string_view> value;
  Deadline deadline;
};

// A view of its block, as Entry is. SplitMap makes, changes and frees it; views of it are valid
// until the next change of the map.
class Member {
 public:
  std::string_view key() const { return {base() + names_offset(), name_bytes()}; }
  // Empty where there is none.
  std::string_view value() const {
    return {base() + names_offset() + name_bytes(), has(kValue) ? LengthAt(1) : 0};
  }
  bool has_deadline() const { return has(kDeadline); }
  Deadline deadline() const;
  bool Expired(const Now& now) const { return has(kDeadline) && deadline().Passed(now); }
  MemberContent content() const;

 private:
  friend class SplitMap;
  enum Flag : uint8_t { kWide = 1, kValue = 2, kDeadline = 4, kUnix = 8 };
  // Decides a block's size and layout.
  struct Shape {
    Shape(std::string_view name, const MemberContent& content);
    size_t BlockBytes() const;
    uint8_t flags;
    size_t name_bytes;
    size_t value_bytes;
  };

  static Member* Make(const Shape& shape, std::string_view name, const MemberContent& content);
  static void Free(Member* member);

  Member() = default;
  char* base() { return reinterpret_cast<char*>(this); }
  const char* base() const { return reinterpret_cast<const char*>(this); }
  bool has(Flag flag) const { return (flags_ & flag) != 0; }
  size_t LengthAt(size_t index) const {
    if (!has(kWide)) return static_cast<uint8_t>(base()[1 + index]);
    uint32_t length;
    std::memcpy(&length, base() + 1 + index * sizeof(length), sizeof(length));
    return length;
  }
  size_t name_bytes() const { return LengthAt(0); }
  size_t deadline_offset() const { return 1 + (has(kWide) ? 4 : 1) * (has(kValue) ? 2 : 1); }
  size_t names_offset() const { return deadline_offset() + (has(kDeadline) ? 8 : 0); }
  size_t BlockBytes() const;
  bool HasShape(const Shape& shape) const;
  void StoreDeadline(const Deadline& deadline);
  void StoreValue(std::string_view value);

  uint8_t flags_ = 0;
};
static_assert(sizeof(Member) == 1 && alignof(Member) == 1);

}  // namespace sluice
