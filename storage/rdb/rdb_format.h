// Numbers of Redis's RDB format: https://rdb.fnordig.de and redis/src/rdb.h say more.
//
//   length: 00|6 bits, 01|14 bits, 10000000 + 4 bytes, 10000001 + 8 bytes (all big-endian), or
//           11|6 bits: not a length but how the string is kept (RdbStringForm)
//   string: length and bytes; or form and an integer; or form, length when compressed, length,
//           bytes compressed by LZF
//   dump:   type 1 | value | version 2 | CRC-64 of all before 8 (both little-endian)
//
// Some strings and their bytes:
//
//   "abc"                 03 61 62 63
//   "12"                  c0 0c                form kInt8
//   "70000"               c2 70 11 01 00       form kInt32, little-endian
//   100 times "a"         c3 09 40 64 + 9      form kLzf: 9 bytes, which become 100 (40 64)
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr uint16_t kRdbVersion = 10;          // Redis 7.0
inline constexpr uint16_t kRdbVersionFieldTtl = 12;  // Redis 7.4, which has deadlines of fields
inline constexpr uint16_t kRdbVersionMax = 15;       // the highest that is read: Redis 8.10
inline constexpr uint16_t kRdbVersionValkey = 80;    // Valkey 9.0 went its own way
inline constexpr size_t kRdbFooterBytes = 10;
// A longer text is not compressed, and no text that is compressed may say that it is longer.
inline constexpr uint64_t kRdbCompressedTextMax = uint64_t{1} << 30;
// Most bytes of a text in a file, unless its reader is told otherwise.
inline constexpr uint64_t kRdbStringBytesMax = uint64_t{1} << 30;
// AUX field of our files: "1" says that deadlines which are not marked are relative
// (rdb_file_reader.h).
inline constexpr char kRdbRelativeField[] = "sluice-relative";
// And the clock and what is beside the keys (server/snapshots/snapshot_writer.h).
inline constexpr char kRdbClockField[] = "sluice-clock";
inline constexpr char kRdbSkewField[] = "sluice-skew";
inline constexpr char kRdbCommandsField[] = "sluice-commands";

enum class RdbType : uint8_t {
  kString = 0,
  kList = 1,
  kSet = 2,
  kSortedSetText = 3,  // scores as text
  kHash = 4,
  kSortedSet = 5,
  kModule = 7,  // Redis's RDB_TYPE_MODULE_2
  kHashZipmap = 9,
  kListZiplist = 10,
  kSetIntset = 11,
  kSortedSetZiplist = 12,
  kHashZiplist = 13,
  kQuicklistZiplists = 14,
  kStream1 = 15,
  kHashListpack = 16,
  kSortedSetListpack = 17,
  kQuicklist = 18,
  kStream2 = 19,
  kSetListpack = 20,
  kStream3 = 21,
  kHashFieldTtlRc = 22,  // of Redis 7.4's release candidates: Unix times, and no earliest one first
  kHashListpackFieldTtlRc = 23,
  kHashFieldTtl = 24,
  kHashListpackFieldTtl = 25,
  kStream4 = 26,  // of Redis 8.6: with ids that producers give
  kStream5 = 27,  // of Redis 8.8: with pending entries that nobody owns
  // Valkey's own, which are 22 in its files, with a Unix time behind each field: name, value, ms 8
  // (-1: none). This number stands in no file.
  kValkeyHash = 222,
};

// The type that a number stands for in a file (or a dump) of Redis's, or of Valkey's.
constexpr RdbType RdbTypeOf(uint8_t code, bool is_valkey) {
  constexpr auto kNone = static_cast<RdbType>(UINT8_MAX);
  const auto type = static_cast<RdbType>(code);
  if (type == RdbType::kValkeyHash) return kNone;
  if (!is_valkey) return type;
  if (type == RdbType::kHashFieldTtlRc) return RdbType::kValkeyHash;
  return type == RdbType::kHashListpackFieldTtlRc ? kNone : type;
}

// The first byte of a part of a file, where it is no type of a value.
enum class RdbOpcode : uint8_t {
  kSlotSize = 244,
  kFunction = 245,
  kOldFunction = 246,  // of Redis 7.0's release candidates
  kModuleAux = 247,
  kIdle = 248,
  kFrequency = 249,
  kAux = 250,
  kSizes = 251,
  kDeadlineMs = 252,
  kDeadlineSeconds = 253,
  kDatabase = 254,
  kEnd = 255
};

enum class RdbStringForm : uint8_t { kInt8 = 0, kInt16 = 1, kInt32 = 2, kLzf = 3 };

enum class RdbQuicklistNode : uint8_t { kPlain = 1, kPacked = 2 };

// The mark before each part of a module's value.
enum class RdbModulePart : uint8_t {
  kEnd = 0,
  kSigned = 1,
  kUnsigned = 2,
  kFloat = 3,
  kDouble = 4,
  kString = 5
};

}  // namespace sluice
