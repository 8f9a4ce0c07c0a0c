// LCS: the longest common subsequence of two strings (storage/types/lcs.h), as text, as its length,
// or as the places of its pieces.
//
// Cost: O(bytes of a * bytes of b) in time. It runs in one piece, so SizesAreAllowed is the only
// thing that bounds its turn.
//
//   > MSET a ohmytext b mynewtext
//   > LCS a b IDX
//   < matches: [4,7] in a is [5,8] in b ("text"), then [2,3] is [0,1] ("my"); len: 6

#include "storage/types/lcs.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "storage/memory/text_block.h"

namespace sluice {
namespace {

// MINMATCHLEN counts bytes and filters IDX only; "len" stays the length of the whole subsequence.
struct LcsOptions {
  bool length = false;
  bool places = false;
  bool match_lengths = false;
  size_t match_bytes_min = 0;
};

// LCS key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]
constexpr OptionRow<LcsOptions> kLcsOptions[] = {
    {"IDX", kRaise<&LcsOptions::places>},
    {"LEN", kRaise<&LcsOptions::length>},
    {"WITHMATCHLEN", kRaise<&LcsOptions::match_lengths>},
    {"MINMATCHLEN",
     [](ArgReader& args, LcsOptions& options) {
       options.match_bytes_min = static_cast<size_t>(std::max<int64_t>(args.Int(), 0));
     },
     1},
};

// The sentence about LEN and IDX comes after all words: a syntax error wins over it.
bool ReadLcsOptions(CommandCall& call, LcsOptions& options) {
  ArgReader args(call.args, 3);
  ReadOptions(args, kLcsOptions, options);
  if (!args.failed() && options.places && options.length) {
    args.Fail("ERR If you want both the length and indexes, please just use IDX.");
  }
  if (!args.failed()) return true;
  call.reply.Error(args.error());
  return false;
}

// First and last position, both included.
void ReplySpan(CommandCall& call, size_t first, size_t bytes) {
  call.reply.Array(2);
  call.reply.Integer(static_cast<int64_t>(first));
  call.reply.Integer(static_cast<int64_t>(first + bytes - 1));
}

// From the last match to the first, the order in which the table is walked back, as Redis answers.
void ReplyPlaces(CommandCall& call, const Lcs& lcs, const LcsOptions& options) {
  const auto shown = [&](const LcsMatch& match) { return match.length >= options.match_bytes_min; };
  call.reply.Map(2);
  call.reply.Bulk("matches");
  call.reply.Array(
      static_cast<size_t>(std::count_if(lcs.matches.begin(), lcs.matches.end(), shown)));
  for (const LcsMatch& match : lcs.matches) {
    if (!shown(match)) continue;
    call.reply.Array(options.match_lengths ? 3 : 2);
    ReplySpan(call, match.a, match.length);
    ReplySpan(call, match.b, match.length);
    if (options.match_lengths) call.reply.Integer(static_cast<int64_t>(match.length));
  }
  call.reply.Bulk("len");
  call.reply.Integer(static_cast<int64_t>(lcs.text.size()));
}

// The work is the product of the lengths: bounded as in Redis, by the memory it would take there,
// and by a bound of our own.
bool SizesAreAllowed(CommandCall& call, std::string_view a, std::string_view b) {
  constexpr size_t kBytesMax = std::numeric_limits<uint32_t>::max() - 1;
  if (a.size() >= kBytesMax || b.size() >= kBytesMax) {
    call.reply.Error("ERR String too long for LCS");
    return false;
  }
  const auto allowed = static_cast<uint64_t>(call.settings.proto_max_bulk_len);
  const uint64_t most = std::min(allowed, TextBlock::kBytesMax);
  if (LcsTableBytes(a.size(), b.size()) > most) {
    call.reply.Error(
        "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
    return false;
  }
  return true;
}

// The keys are looked at before the options: an unsuitable type wins over a syntax error, in words
// other than WRONGTYPE. A missing key is an empty string. After `MSET a ohmytext b mynewtext`:
//   LCS a b                    → "mytext"
//   LCS a b LEN                → 6
//   LCS a b IDX MINMATCHLEN 4  → ["matches", [[[4, 7], [5, 8]]], "len", 6]
//   LCS a b LEN IDX            → -ERR If you want both the length and indexes, please just use IDX.
void LcsCommand(CommandCall& call) {
  const Entry* const first = LookUpToRead(call, call.Key(1));
  const Entry* const second = LookUpToRead(call, call.Key(2));
  if ((first && !first->is_string()) || (second && !second->is_string())) {
    return call.reply.Error("ERR The specified keys must contain string values");
  }
  LcsOptions options;
  if (!ReadLcsOptions(call, options)) return;
  char scratch[2][Entry::kTextScratch];
  const std::string_view a = first ? first->Text(scratch[0]) : std::string_view();
  const std::string_view b = second ? second->Text(scratch[1]) : std::string_view();
  if (!SizesAreAllowed(call, a, b)) return;

  // The length alone needs no table of the whole.
  if (options.length) return call.reply.Integer(static_cast<int64_t>(LcsLength(a, b)));
  const std::optional<Lcs> lcs = FindLcs(a, b);
  if (!lcs) {
    return call.reply.Error("ERR Insufficient memory, failed allocating transient memory for LCS");
  }
  if (options.places) return ReplyPlaces(call, *lcs, options);
  call.reply.Bulk(lcs->text);
}

// --- the table

constexpr CommandRow kLcsRows[] = {
    {.name = "LCS",
     .arity = -3,
     .flags = kReadOnly,
     .categories = kCatString,
     .keys = KeyRange(1, 1, 1, kKeyRo | kKeyAccess),
     .run = LcsCommand,
     .group = "string",
     .since = "7.0.0",
     .complexity = "O(N*M) where N and M are the lengths of s1 and s2, respectively",
     .usage = "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]",
     .summary = "The longest sequence of bytes that two strings have in common, gaps allowed."},
};

}  // namespace

CommandFamily LcsFamily() { return {"lcs", kSpecsOf<kLcsRows>}; }

}  // namespace sluice
