// Entry: a key with its value in one allocation.
//
//   header 8 | timer 18 (only if volatile) | Unix deadline 8 (only if absolute) | key | value
//
// header: kind 1, flags 1, key length 1 (255: a 4-byte length stands before the key), inline value
// length 1, database id 1, access clock 3. The value is an integer of 4 or 8 bytes, up to
// kInlineBytesMax bytes of text, or a pointer to a TextBlock or a Value and the count of what it
// is accounted with, of 6 bytes each (see packed_pointer.h). So a counter with an 18-byte key and a
// TTL is one block of 48 bytes. Blocks have the sizes that malloc makes of any (block_size.h): it
// follows from the header, so a value that needs the same size is overwritten in place. Fields are
// not aligned.
//
// "counter" = 17, which expires in ten seconds of engine time; 37 bytes, in a block of 48:
//
//   0        8                    26        33       37
//   | header | next 6, previous 6, | counter | 17     |
//   |        | deadline 6          |         | int32  |
//
// Entries are made, changed and freed by Database alone (it knows their slot and their timer);
// others read them. A pointer to one is valid until the next write to its database.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "protocol/text/copy_bytes.h"
#include "storage/keyspace/value.h"
#include "storage/memory/free_later.h"
#include "storage/memory/text_block.h"
#include "storage/time/clock.h"
#include "storage/time/timer_wheel.h"

namespace sluice {

// When a key ends. Relative ones are engine time and never feel the wall clock jump; absolute ones
// are Unix times. ms is in the unit of its kind; none() has no meaning of ms.
struct Deadline {
  enum class Kind : uint8_t { kNone, kSteady, kUnix };
  Kind kind = Kind::kNone;
  int64_t ms = 0;

  static Deadline None() { return {}; }
  static Deadline Steady(int64_t ms) { return {Kind::kSteady, ms}; }
  static Deadline Unix(int64_t unix_ms) { return {Kind::kUnix, unix_ms}; }

  bool none() const { return kind == Kind::kNone; }
  // Saturates at the limits of int64. Requires: !none().
  int64_t LeftMs(const Now& now) const;  // may be negative
  int64_t UnixMs(const Now& now) const;
  bool Passed(const Now& now) const { return !none() && LeftMs(now) <= 0; }
  bool operator==(const Deadline&) const = default;
};

// The content of an entry's value field, and its form. `bytes` points at what is to be copied
// there. kInt32 and kInt64 are the number itself, little-endian; kInline is text or a packed value;
// kOutside is the 12 bytes of an address and a count.
struct EntryPayload {
  enum class Form : uint8_t { kInt32, kInt64, kInline, kOutside };
  ValueType type = ValueType::kString;
  Form form = Form::kInline;
  bool raw = false;
  std::string_view bytes;
  bool may_end = false;  // see Entry::kMayEnd
};

// Decides the size and the layout of an entry's block.
struct EntryShape {
  bool is_volatile = false;
  bool is_absolute = false;  // implies is_volatile
  size_t key_bytes = 0;
  size_t value_bytes = 0;

  size_t BlockBytes() const;
  bool operator==(const EntryShape&) const = default;
};

// A view of a block, not an object of fixed layout: `this` is its first byte, and the flags say
// what follows the header. So an Entry cannot be copied, and only Make makes one.
class Entry : public ValueHolder {
 public:
  static constexpr size_t kInlineBytesMax = 128;  // longer text has a TextBlock of its own
  static constexpr size_t kTextScratch = 24;      // room for the text of an integer
  static constexpr size_t kOutsideBytes = 12;     // of the field of what lies outside

  // A view of the block: valid until the next write to its database.
  std::string_view key() const;
  ValueType type() const;
  bool is_string() const { return type() == ValueType::kString; }
  bool is_volatile() const;
  // A lock, a limiter or a bucket: it is never evicted, for others rely on what it remembers.
  bool is_kept_always() const { return type() >= ValueType::kLimiter; }
  Deadline deadline() const;
  // The key counts as missing: its deadline has passed, or its value is over (Value::IsOver). All
  // that asks whether a key is there asks this.
  bool Expired(const Now& now) const;

  // --- strings. Requires: is_string().
  bool is_integer() const;  // kept as a number; `integer()` is it
  int64_t integer() const;
  // The bytes; an integer's text is written into `scratch` (kTextScratch bytes).
  std::string_view Text(char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND) const;
  size_t TextBytes() const;  // STRLEN
  // Redis would show "raw" whatever the length: APPEND, SETRANGE, SETBIT have written to it.
  bool is_raw() const;
  std::string_view Encoding() const;  // "int", "embstr", "raw"; a Value's own word otherwise

  // --- other types. Requires: !is_string().
  // Small limiters and buckets are packed into the entry (packed_value.h); of everything else the
  // value is an object.
  bool is_packed() const { return !outside(); }
  std::string_view packed() const;  // requires: is_packed(); valid as the entry is
  Value& value() const;             // requires: !is_packed()

  // Bring the value into the cache, and in a second step what it points to.
  void PrefetchValue() const;
  void PrefetchInside() const;
  // And what ending or moving its time will touch.
  void PrefetchTimer() const {
    if (is_volatile()) timer().PrefetchNeighbours();
  }

  // The bytes last accounted for a text or value outside of the entry's block; else 0.
  size_t OutsideBytes() const { return outside() ? accounted() : 0; }

  // Database::AccessClock of the last access, in seconds, modulo 2^24 as Redis's LRU clock; OBJECT
  // IDLETIME is the difference modulo 2^24. While accesses are counted: AccessCount's bits.
  uint32_t access_clock() const;
  size_t MemoryBytes() const;  // all in, for MEMORY USAGE

 private:
  friend class Database;
  friend class EntryMover;
  friend class Keyspace;
  friend class KeyspaceImage;
  friend class EntryTest;

  // The five lowest bits are flags, the three highest the form of the value.
  enum Flag : uint8_t {
    kVolatile = 1,
    kAbsolute = 2,
    kRaw = 4,
    kMark = 8,
    kMayEnd = 16,  // something in the value ends by itself, so all of it may be over
    kFormShift = 5
  };
  static constexpr size_t kHeaderBytes = 8;
  static constexpr size_t kLongKey = 255;  // the key length that says: see before the key
  static constexpr uint64_t kOutsideMax = (uint64_t{1} << 48) - 1;  // of an address, of a count
  friend struct EntryShape;

  // A new block of shape.BlockBytes() with header, key and value, its timer unlinked.
  static Entry* Make(const EntryShape& shape, size_t block_bytes, std::string_view key,
                     const EntryPayload& payload, uint8_t database_id);
  // Frees the block alone: not what it points to. Requires: its timer is not linked.
  static void Free(Entry* entry, size_t block_bytes, FreeLater& blocks);
  static Entry& OfTimer(TimerNode& node);

  Entry() = default;
  ~Entry() = default;

  char* base() { return reinterpret_cast<char*>(this); }
  const char* base() const { return reinterpret_cast<const char*>(this); }
  bool has(Flag flag) const { return (flags_ & flag) != 0; }
  bool absolute() const { return has(kAbsolute); }
  EntryPayload::Form form() const { return static_cast<EntryPayload::Form>(flags_ >> kFormShift); }
  bool outside() const { return form() == EntryPayload::Form::kOutside; }
  size_t key_offset() const;
  size_t value_offset() const;
  const char* value_field() const { return base() + value_offset(); }

  EntryShape shape() const;
  bool HasLayout(bool is_volatile, bool is_absolute, size_t value_bytes) const {
    return has(kVolatile) == is_volatile && has(kAbsolute) == is_absolute &&
           value_length_ == value_bytes;
  }
  EntryPayload payload() const;
  // Overwrites type, form and value field; flags of the layout and the mark stay. Requires: the
  // block has room for it.
  void Store(const EntryPayload& payload);
  static uint8_t FlagsOf(const EntryPayload& payload) {
    return static_cast<uint8_t>((payload.raw ? kRaw : 0) | (payload.may_end ? kMayEnd : 0) |
                                static_cast<uint8_t>(payload.form) << kFormShift);
  }
  // In place, for what is written most: a text where there is one of so many bytes, or a packed
  // value, and no deadline; an integer where there is one as wide (else false, and nothing has
  // changed).
  bool HasTextRoom(size_t bytes) const { return !outside() && HasLayout(false, false, bytes); }
  void OverwriteText(std::string_view text);  // requires: HasTextRoom(text.size())
  bool OverwriteInteger(int64_t integer);
  template <typename T>
  T Load(size_t at) const {
    T result;
    std::memcpy(&result, base() + at, sizeof(T));
    return result;
  }

  TimerNode& timer() { return *reinterpret_cast<TimerNode*>(base() + kHeaderBytes); }
  const TimerNode& timer() const {
    return *reinterpret_cast<const TimerNode*>(base() + kHeaderBytes);
  }
  // Requires: absolute().
  int64_t unix_deadline_ms() const { return Load<int64_t>(kHeaderBytes + sizeof(TimerNode)); }
  void set_unix_deadline_ms(int64_t ms);
  void set_access_clock(uint32_t seconds);
  // For the image that is being taken: see KeyspaceImage.
  bool mark() const { return has(kMark); }
  void set_mark(bool on) { Set(kMark, on); }
  void Set(Flag flag, bool on) {
    flags_ = static_cast<uint8_t>(on ? flags_ | flag : flags_ & ~flag);
  }
  bool DeadlinePassed(const Now& now) const;
  bool ValueIsOver(const Now& now) const;  // requires: has(kMayEnd)

  std::string_view TextElsewhere(char* scratch) const;  // Text's: an integer, or one outside
  // Requires: outside().
  TextBlock* outside_text() const;  // of a string
  Value* outside_value() const;     // of any other type
  size_t outside_bytes() const;     // what it takes now
  // Whole words are read, which is faster: the field's halves are the lower and the upper 6 bytes.
  uintptr_t outside_address() const { return Load<uint64_t>(value_offset()) & kOutsideMax; }
  size_t accounted() const { return Load<uint64_t>(value_offset() + kOutsideBytes - 8) >> 16; }
  void set_accounted(size_t bytes);

  uint8_t type_ = 0;
  uint8_t flags_ = 0;
  uint8_t key_length_ = 0;
  uint8_t value_length_ = 0;
  uint8_t database_id_ = 0;
  uint8_t access_[3] = {0, 0, 0};
};
static_assert(sizeof(Entry) == 8 && alignof(Entry) == 1);

// --- what a look-up needs, inline

inline size_t Entry::key_offset() const {
  static_assert(kVolatile == 1 && kAbsolute == 2);
  static constexpr uint8_t kOffsets[] = {kHeaderBytes, kHeaderBytes + sizeof(TimerNode),
                                         kHeaderBytes + sizeof(int64_t),
                                         kHeaderBytes + sizeof(TimerNode) + sizeof(int64_t)};
  return kOffsets[flags_ & (kVolatile | kAbsolute)] +
         (key_length_ == kLongKey ? sizeof(uint32_t) : 0);
}

inline std::string_view Entry::key() const {
  const size_t offset = key_offset();
  const size_t length =
      key_length_ < kLongKey ? key_length_ : Load<uint32_t>(offset - sizeof(uint32_t));
  return {base() + offset, length};
}

inline size_t Entry::value_offset() const { return key_offset() + key().size(); }

inline std::string_view Entry::packed() const { return {value_field(), value_length_}; }

inline void Entry::PrefetchInside() const {
  if (outside() && !is_string()) value().Prefetch();
}

inline std::string_view Entry::Text(char* scratch) const {
  if (form() == EntryPayload::Form::kInline) [[likely]]
    return {value_field(), value_length_};
  return TextElsewhere(scratch);
}

inline int64_t Entry::integer() const {
  assert(is_integer());
  const size_t at = value_offset();
  return form() == EntryPayload::Form::kInt32 ? Load<int32_t>(at) : Load<int64_t>(at);
}

inline void Entry::set_access_clock(uint32_t seconds) {
  for (int i = 0; i < 3; ++i) access_[i] = static_cast<uint8_t>(seconds >> (8 * i));
}

inline void Entry::OverwriteText(std::string_view text) {
  assert(HasTextRoom(text.size()));
  type_ = static_cast<uint8_t>(ValueType::kString);
  flags_ = static_cast<uint8_t>((flags_ & kMark) | static_cast<uint8_t>(EntryPayload::Form::kInline)
                                                       << kFormShift);
  CopyBytes(base() + value_offset(), text.data(), text.size());
}

inline bool Entry::OverwriteInteger(int64_t integer) {
  char* const field = base() + value_offset();
  const auto narrow = static_cast<int32_t>(integer);
  if (!is_integer()) return false;
  if (form() == EntryPayload::Form::kInt64) {
    std::memcpy(field, &integer, sizeof(integer));
  } else if (narrow == integer) {
    std::memcpy(field, &narrow, sizeof(narrow));
  } else {
    return false;
  }
  return true;
}

inline ValueType Entry::type() const { return static_cast<ValueType>(type_); }
inline bool Entry::is_volatile() const { return has(kVolatile); }

inline bool Entry::DeadlinePassed(const Now& now) const {
  if (!has(kVolatile)) return false;
  return has(kAbsolute) ? unix_deadline_ms() <= now.unix_ms() : timer().deadline_ms() <= now.ms();
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Entry::Expired(const Now& now) const {
  if ((flags_ & (kVolatile | kMayEnd)) == 0) return false;
  if (has(kMayEnd) && ValueIsOver(now)) [[unlikely]]
    return true;
  return DeadlinePassed(now);
}

inline bool Entry::is_integer() const {
  return type() == ValueType::kString && form() <= EntryPayload::Form::kInt64;
}

}  // namespace sluice
