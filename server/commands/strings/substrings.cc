// Parts of strings: APPEND and SETRANGE write them, GETRANGE reads them, STRLEN measures.
//
// Writers grow a string in place and keep its time to live. A written string is "raw" for OBJECT
// ENCODING for ever after, even if it reads as a number.
//
//   command    missing key                 event       effect
//   APPEND     made                        append      itself
//   SETRANGE   made, unless for nothing    setrange    itself
//   GETRANGE   "" (never null)
//   STRLEN     0

#include <algorithm>
#include <cstring>
#include <optional>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/commands/strings/text_edit.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// True when a string may have `bytes` + `more` bytes; else the error has been answered.
bool LengthIsAllowed(CommandCall& call, uint64_t bytes, uint64_t more) {
  const auto allowed = static_cast<uint64_t>(call.settings.proto_max_bulk_len);
  const uint64_t most = std::min(allowed, TextBlock::kBytesMax);
  if (bytes <= most && more <= most - bytes) return true;
  call.reply.Error(ErrorCode::kStringTooLong);
  return false;
}

// On a missing key it is SET, except for the event. It makes the key even with nothing to append,
// while SETRANGE does not.
//   APPEND k ab  → 2  the length it has then
//   APPEND k cd  → 4
void Append(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const std::string_view more = call.args[2];
  const Entry* const old = LookUp(call, key);
  if (!IsTextOrMissing(call, old)) return;
  if (!old) {
    PutArgument(call, key, more, Deadline::None());
    call.Changed(kNotifyString, "append", key.bytes);
    return call.reply.Integer(static_cast<int64_t>(more.size()));
  }
  if (!LengthIsAllowed(call, old->TextBytes(), more.size())) return;
  TextEdit edit(call, key);
  edit.text().Append(more);
  call.Changed(kNotifyString, "append", key.bytes);
  call.reply.Integer(static_cast<int64_t>(edit.text().size()));
}

// 0 for a missing key; of an integer it is the number of its digits and sign.
void StrLen(CommandCall& call) {
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!IsTextOrMissing(call, entry)) return;
  call.reply.Integer(entry ? static_cast<int64_t>(entry->TextBytes()) : 0);
}

// Offset first, then the type, then the length. An empty piece changes nothing and makes no key,
// but the type is checked all the same. A gap between the old end and the offset is filled with
// zeros.
//   SETRANGE k 3 x         → 4  zeros fill the gap
//   GET k                  → "\x00\x00\x00x"
//   SETRANGE nothing 3 ""  → 0  nothing to write, so no key is made
//   EXISTS nothing         → 0
//   SETRANGE k -1 x        → -ERR offset is out of range
void SetRange(CommandCall& call) {
  const std::optional<int64_t> offset = ParseInt64(call.args[2]);
  if (!offset) return call.reply.Error(ErrorCode::kNotInteger);
  if (*offset < 0) return call.reply.Error(ErrorCode::kOffsetOutOfRange);
  const HashedKey key = call.Key(1);
  const std::string_view piece = call.args[3];
  const Entry* const old = LookUp(call, key);
  if (!IsTextOrMissing(call, old)) return;
  // Redis answers the length, of a key that it has not made.
  if (piece.empty()) {
    return call.reply.Integer(old ? static_cast<int64_t>(old->TextBytes()) : 0);
  }
  const auto start = static_cast<uint64_t>(*offset);
  if (!LengthIsAllowed(call, start, piece.size())) return;
  TextEdit edit(call, key);
  edit.GrowTo(start + piece.size());
  std::memcpy(edit.text().bytes().data() + start, piece.data(), piece.size());
  call.Changed(kNotifyString, "setrange", key.bytes);
  call.reply.Integer(static_cast<int64_t>(edit.text().size()));
}

// Both ends included, negative from the end, cut to the string. The numbers are read before the key
// is, so a bad one wins over WRONGTYPE. An empty range and a missing key answer "", never null.
// After `SET k hello`:
//   GETRANGE k -3 -1  → "llo"
//   GETRANGE k 1 100  → "ello"
//   GETRANGE k 3 1    → ""
void GetRange(CommandCall& call) {
  ArgReader args(call.args, 2);
  int64_t start = args.Int();
  int64_t end = args.Int();
  if (args.failed()) return call.reply.Error(args.error());
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!IsTextOrMissing(call, entry)) return;
  if (!entry || (start < 0 && end < 0 && start > end)) return call.reply.Bulk("");

  char scratch[Entry::kTextScratch];
  const std::string_view text = entry->Text(scratch);
  const auto bytes = static_cast<int64_t>(text.size());
  if (start < 0) start = std::max<int64_t>(start + bytes, 0);
  if (end < 0) end = std::max<int64_t>(end + bytes, 0);
  end = std::min(end, bytes - 1);
  if (start > end) return call.reply.Bulk("");
  call.reply.Bulk(text.substr(static_cast<size_t>(start), static_cast<size_t>(end - start) + 1));
}

// --- the table

constexpr CommandRow kSubstringsRows[] = {
    {.name = "APPEND",
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = Append,
     .group = "string",
     .since = "2.0.0",
     .complexity =
         "O(1). The amortized time complexity is O(1) assuming the appended value is small "
         "and the already present value is of any size, since the dynamic string library "
         "used by Redis will double the free space available on every reallocation.",
     .usage = "key value",
     .summary = "Add bytes to the end of a string; its new length."},
    {.name = "STRLEN",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRo),
     .run = StrLen,
     .group = "string",
     .since = "2.2.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many bytes a string has."},
    {.name = "SETRANGE",
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = SetRange,
     .group = "string",
     .since = "2.2.0",
     .complexity = "O(1), not counting the time taken to copy the new string in place. Usually, "
                   "this string is very small so the amortized complexity is O(1). Otherwise, "
                   "complexity is O(M) with M being the length of the value argument.",
     .usage = "key offset value",
     .summary = "Write bytes into a string from an offset on, zeros filling a gap."},
    {.name = "GETRANGE",
     .arity = 4,
     .flags = kReadOnly,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GetRange,
     .group = "string",
     .since = "2.4.0",
     .complexity =
         "O(N) where N is the length of the returned string. The complexity is ultimately "
         "determined by the returned length, but because creating a substring from an "
         "existing string is very cheap, it can be considered O(1) for small strings.",
     .usage = "key start end",
     .summary = "The bytes of a string between two offsets, both included."},
    {.name = "SUBSTR",
     .arity = 4,
     .flags = kReadOnly,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GetRange,
     .group = "string",
     .since = "1.0.0",
     .complexity =
         "O(N) where N is the length of the returned string. The complexity is ultimately "
         "determined by the returned length, but because creating a substring from an "
         "existing string is very cheap, it can be considered O(1) for small strings.",
     .usage = "key start end",
     .summary = "The old name of GETRANGE.",
     .deprecated_since = "2.0.0",
     .replaced_by = "`GETRANGE`"},
};

}  // namespace

CommandFamily SubstringsFamily() { return {"substrings", kSpecsOf<kSubstringsRows>}; }

}  // namespace sluice
