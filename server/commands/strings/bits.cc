// The bit family: strings as arrays of bits (storage/types/bits.h). Integers inside them are
// BITFIELD's work (bit_field.cc).
//
// Bit 0 is the most significant bit of the first byte. Reading behind the end gives zeros; writing
// there grows the string with zeros. A count or a search looks at each byte of its range once.
//
//   command    missing key             event      effect
//   SETBIT     made                    setbit     itself
//   BITOP      the target is deleted   set, del   itself
//   GETBIT     0
//   BITCOUNT   0
//   BITPOS     -1 for ones, 0 for zeros

#include "storage/types/bits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/commands/strings/bit_offset.h"
#include "server/commands/strings/text_edit.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- one bit

// Offset and bit are checked before the key, so their faults win over WRONGTYPE. The answer is the
// old bit. A key made for a zero bit exists: SETBIT k 7 0 leaves one zero byte.
//   SETBIT k 7 1           → 0  what the bit was
//   GET k                  → "\x01"
//   SETBIT k 7 2           → -ERR bit is not an integer or out of range
//   SETBIT k 4294967296 1  → -ERR bit offset is not an integer or out of range
void SetBit(CommandCall& call) {
  const std::optional<uint64_t> offset = ReadBitOffset(call, call.args[2]);
  if (!offset) return call.reply.Error(ErrorCode::kBitOffset);
  const std::optional<int64_t> bit = ParseInt64(call.args[3]);
  if (!bit || (*bit & ~int64_t{1})) return call.reply.Error(ErrorCode::kBitValue);
  const HashedKey key = call.Key(1);
  const Entry* const old = LookUp(call, key);
  if (!IsTextOrMissing(call, old)) return;

  const size_t bytes = *offset / 8 + 1;
  char scratch[Entry::kTextScratch];
  const std::string_view text = old ? old->Text(scratch) : std::string_view();
  const bool was = BitAt(text, *offset);
  // A bit that has this value already is not changed, and no WATCH notices. Only OBJECT ENCODING
  // does.
  if (text.size() < bytes || was != (*bit == 1)) {
    TextEdit edit(call, key);
    edit.GrowTo(bytes);
    PutBit(edit.text().bytes(), *offset, *bit == 1);
    call.Changed(kNotifyString, "setbit", key.bytes);
  } else {
    call.db.MakeRaw(*old, call.now);
  }
  call.reply.Integer(was);
}

// A bit behind the end is 0, and so is every bit of a missing key. After `SET k a`:
//   GETBIT k 1    → 1  `a` is 01100001
//   GETBIT k 999  → 0  behind the end
void GetBit(CommandCall& call) {
  const std::optional<uint64_t> offset = ReadBitOffset(call, call.args[2]);
  if (!offset) return call.reply.Error(ErrorCode::kBitOffset);
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!IsTextOrMissing(call, entry)) return;
  char scratch[Entry::kTextScratch];
  call.reply.Integer(entry && BitAt(entry->Text(scratch), *offset));
}

// --- ranges

enum class Unit : uint8_t { kByte, kBit };

// BYTE is what all commands assume without a word.
void TakeUnit(ArgReader& args, Unit& unit) {
  if (args.TakeWord("BIT")) {
    unit = Unit::kBit;
  } else if (!args.TakeWord("BYTE")) {
    args.Fail(ErrorCode::kSyntax);
  }
}

// Offsets in `unit` as bits of a string of that size, negative ones counted from its end.
BitRange Resolve(int64_t start, int64_t end, Unit unit, size_t bytes) {
  const int64_t total = static_cast<int64_t>(bytes) * (unit == Unit::kBit ? 8 : 1);
  if (start < 0) start = std::max<int64_t>(start + total, 0);
  if (end < 0) end = std::max<int64_t>(end + total, 0);
  end = std::min(end, total - 1);
  if (start > end) return {.first = 1, .last = 0};
  const auto first = static_cast<uint64_t>(start);
  const auto last = static_cast<uint64_t>(end);
  if (unit == Unit::kBit) return {first, last};
  return {first * 8, last * 8 + 7};
}

// One offset without the other is a syntax error (BITCOUNT takes none, two, or two and a unit), but
// only for a key that exists. Both offsets are read before the unit: a bad number wins over a bad
// unit. After `SET k foobar`:
//   BITCOUNT k           → 26
//   BITCOUNT k 0 0       → 4  bytes
//   BITCOUNT k 5 30 BIT  → 17
//   BITCOUNT k 0         → -ERR syntax error
void BitCount(CommandCall& call) {
  // As in Redis, a missing key is 0 whatever else is said.
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!entry) return call.reply.Integer(0);
  if (!IsTextOrMissing(call, entry)) return;
  int64_t start = 0;
  int64_t end = -1;
  Unit unit = Unit::kByte;
  ArgReader args(call.args, 2);
  if (args.left() == 2 || args.left() == 3) {
    start = args.Int();
    end = args.Int();
    if (!args.failed() && start < 0 && end < 0 && start > end) return call.reply.Integer(0);
    if (args.more()) TakeUnit(args, unit);
  }
  if (!args.Finish()) return call.reply.Error(args.error());
  char scratch[Entry::kTextScratch];
  const std::string_view text = entry->Text(scratch);
  call.reply.Integer(static_cast<int64_t>(CountBits(text, Resolve(start, end, unit, text.size()))));
}

// Without an end, a string of ones has its first zero just behind its last byte; with one, the
// answer is -1: the client asked for this only. A missing key is all zeros. After `SET k \xff\xf0`:
//   BITPOS k 0      → 12
//   BITPOS k 0 0 0  → -1  within a given end there is none
// After `SET k \xff`:
//   BITPOS k 0      → 8   without one, zeros follow the string
//   BITPOS k 1 9    → -1  an empty range
void BitPos(CommandCall& call) {
  const std::optional<int64_t> bit = ParseInt64(call.args[2]);
  if (!bit) return call.reply.Error(ErrorCode::kNotInteger);
  if (*bit != 0 && *bit != 1) return call.reply.Error("ERR The bit argument must be 1 or 0.");
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!entry) return call.reply.Integer(*bit == 1 ? -1 : 0);
  if (!IsTextOrMissing(call, entry)) return;

  int64_t start = 0;
  int64_t end = -1;
  Unit unit = Unit::kByte;
  ArgReader args(call.args, 3);
  const bool end_given = args.left() > 1;
  if (args.left() > 3) args.Fail(ErrorCode::kSyntax);
  if (args.more()) start = args.Int();
  if (args.left() == 2) {  // the unit is looked at before the end
    ArgReader last(call.args, 5);
    TakeUnit(last, unit);
    if (last.failed()) args.Fail(ErrorCode::kSyntax);
  }
  if (args.more()) end = args.Int();
  if (args.failed()) return call.reply.Error(args.error());

  char scratch[Entry::kTextScratch];
  const std::string_view text = entry->Text(scratch);
  const BitRange range = Resolve(start, end, unit, text.size());
  int64_t found = FindBit(text, *bit == 1, range);
  // Behind a string whose end was not named zeros go on for ever.
  if (found < 0 && *bit == 0 && !end_given && !range.empty()) {
    found = static_cast<int64_t>(text.size()) * 8;
  }
  call.reply.Integer(found);
}

// --- BITOP

// In any case. Null: a syntax error, which comes before any look at the keys.
std::optional<BitOperation> ReadOperation(std::string_view word) {
  constexpr std::pair<std::string_view, BitOperation> kOperations[] = {
      {"AND", BitOperation::kAnd},     {"OR", BitOperation::kOr},
      {"XOR", BitOperation::kXor},     {"NOT", BitOperation::kNot},
      {"DIFF", BitOperation::kDiff},   {"DIFF1", BitOperation::kDiff1},
      {"ANDOR", BitOperation::kAndOr}, {"ONE", BitOperation::kOne}};
  for (const auto& [name, operation] : kOperations) {
    if (IsWord(word, name)) return operation;
  }
  return std::nullopt;
}

// Redis 7.0 has not got these, and is told what comes of them.
bool IsNew(BitOperation operation) { return operation > BitOperation::kNot; }
bool NeedsTwo(BitOperation operation) {
  return IsNew(operation) && operation != BitOperation::kOne;
}

// All sources before the target: the target may be one of them. False: WRONGTYPE has been answered.
// The integers among the sources have no bytes of their own: theirs live in `scratch`.
bool ReadSources(CommandCall& call, std::vector<std::string_view>& sources, std::string& scratch) {
  scratch.resize(sources.size() * Entry::kTextScratch);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Entry* const entry = LookUpToRead(call, call.Key(i + 3));
    if (!IsTextOrMissing(call, entry)) return false;
    if (entry) sources[i] = entry->Text(scratch.data() + i * Entry::kTextScratch);
  }
  return true;
}

// A shorter source counts as filled with zeros, a missing one as empty. The result is as long as
// the longest source; with only missing sources it is empty, and the target is deleted. The target
// loses its type and its time to live, whatever it was. Cost: O(sources * bytes of the longest).
// After `SET a abc`, `SET b ab`:
//   BITOP AND t a b     → 3  the shorter one is taken to go on with zeros
//   GET t               → "ab\x00"
//   BITOP DIFF t a b    → 3  what a has, and b has not
//   BITOP NOT t a b     → -ERR BITOP NOT must be called with a single source key.
//   BITOP OR t nothing  → 0  an empty result deletes the target
//   EXISTS t            → 0
void BitOp(CommandCall& call) {
  const std::optional<BitOperation> operation = ReadOperation(call.args[1]);
  if (!operation) return call.reply.Error(ErrorCode::kSyntax);
  // Before the keys: their types do not matter yet.
  if (*operation == BitOperation::kNot && call.args.size() != 4) {
    return call.reply.Error("ERR BITOP NOT must be called with a single source key.");
  }
  if (NeedsTwo(*operation) && call.args.size() < 5) {
    return call.reply.Error(Concat("ERR BITOP ", UpperCase(call.args[1]),
                                   " must be called with at least two source keys."));
  }
  std::vector<std::string_view> sources(call.args.size() - 3);
  std::string scratch;
  if (!ReadSources(call, sources, scratch)) return;
  TextBlock result = CombineBits(*operation, sources);
  const auto bytes = static_cast<int64_t>(result.size());
  const HashedKey target = call.Key(2);
  if (bytes == 0) {
    if (call.db.Delete(target, call.now)) {
      call.Deleted(target.bytes);
      if (IsNew(*operation)) call.ReplaceWith({"DEL", target.bytes});
    }
  } else {
    if (IsNew(*operation)) call.ReplaceWith({"SET", target.bytes, result.view()});
    call.db.PutRawText(target, std::move(result), Deadline::None(), call.now);
    call.Changed(kNotifyString, "set", target.bytes);
  }
  call.reply.Integer(bytes);
}

// --- the table

// SETBIT may make a string of 512 MB by one bit, hence kDenyOom.
constexpr CommandRow kBitsListed[] = {
    {.name = "SETBIT",
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = SetBit,
     .since = "2.2.0",
     .complexity = "O(1)",
     .usage = "key offset value:integer",
     .summary = "Set or clear one bit of a string; its old value."},
    {.name = "GETBIT",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GetBit,
     .since = "2.2.0",
     .complexity = "O(1)",
     .usage = "key offset",
     .summary = "One bit of a string."},
    {.name = "BITCOUNT",
     .arity = -2,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = BitCount,
     .since = "2.6.0",
     .complexity = "O(N)",
     .usage = "key index=[start end index_unit=[BYTE | BIT]@7.0.0]",
     .summary = "How many bits of a string, or of a part of it, are set.",
     .history = "7.0.0 `BYTE` and `BIT`."},
    {.name = "BITPOS",
     .arity = -3,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = BitPos,
     .since = "2.8.7",
     .complexity = "O(N)",
     .usage = "key bit index=[start end_index=[end index_unit=[BYTE | BIT]@7.0.0]]",
     .summary = "The place of the first bit that is set, or clear.",
     .history = "7.0.0 `BYTE` and `BIT`."},
    {.name = "BITOP",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(2, kKeyOw | kKeyUpdate) + KeyRange(3, -1, 1, kKeyRo | kKeyAccess),
     .run = BitOp,
     .since = "2.6.0",
     .complexity = "O(N)",
     .usage = "operation destkey key [key ...]",
     .summary =
         "Combine strings bit by bit (AND, OR, XOR, NOT, DIFF, DIFF1, ANDOR, ONE) into another "
         "one.",
     .history = "8.2.0 `DIFF`, `DIFF1`, `ANDOR` and `ONE`."},
};
constexpr auto kBitsRows = RowsOf(kBitsListed, {.categories = kCatBitmap, .group = "bitmap"});

}  // namespace

CommandFamily BitsFamily() { return {"bits", kSpecsOf<kBitsRows>}; }

}  // namespace sluice
