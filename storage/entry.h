// Entry: a key with its value in one allocation.
//
//   header 8 | timer 18 (only if volatile) | Unix deadline 8 (only if absolute) | key | value
//
// header: kind 1, flags 1, key length 1 (255: a 4-byte length stands before the key), inline value
// length 1, database id 1, access clock 3. The value is an integer of 4 or 8 bytes, up to
// kInlineBytesMax bytes of text, or an 8-byte pointer to a std::string or a Value. So a counter
// with an 18-byte key and a TTL is one block of 48 bytes.
//
// Entries are made, changed and freed by Database alone (it knows their slot and their timer);
// others read them. A pointer to one is valid until the next write to its database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/clock.h"
#include "storage/timer_wheel.h"
#include "storage/value.h"

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
  // Saturates at the limits of int64. Precondition: !none().
  int64_t LeftMs(const Now& now) const;   // may be negative
  int64_t UnixMs(const Now& now) const;
  bool Passed(const Now& now) const { return !none() && LeftMs(now) <= 0; }
  bool operator==(const Deadline&) const = default;
};

class Entry {
 public:
  static constexpr size_t kInlineBytesMax = 128;   // longer text has a std::string of its own
  static constexpr size_t kTextScratch = 24;       // room for the text of an integer

  std::string_view key() const;
  ValueType type() const;
  bool is_string() const { return type() == ValueType::kString; }
  bool is_volatile() const;
  Deadline deadline() const;
  bool Expired(const Now& now) const;

  // --- strings. Precondition: is_string().
  bool is_integer() const;      // kept as a number; `integer()` is it
  int64_t integer() const;
  // The bytes; an integer's text is written into `scratch` (kTextScratch bytes).
  std::string_view Text(char* scratch) const;
  size_t TextBytes() const;     // STRLEN
  // Redis would show "raw" whatever the length: APPEND, SETRANGE, SETBIT have written to it.
  bool is_raw() const;
  std::string_view Encoding() const;  // "int", "embstr", "raw"; a Value's own word otherwise

  // --- other types. Precondition: !is_string().
  Value& value() const;

  // Redis's 24-bit access clock in seconds (LRU); OBJECT IDLETIME is derived from it.
  uint32_t access_clock() const;
  size_t MemoryBytes() const;  // all in, for MEMORY USAGE
};

}  // namespace sluice
