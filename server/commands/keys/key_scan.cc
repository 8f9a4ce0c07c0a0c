// Walking over the keys: KEYS all at once, SCAN in pieces. Both pass over keys past their deadline.
//
// SCAN gives a key that stays for the whole walk exactly once, whatever else changes meanwhile;
// Redis may give it twice. KEYS is O(keys) in one piece and stops the server for as long, as in
// Redis.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/glob.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/scan_args.h"
#include "server/observe/statistics.h"

namespace sluice {
namespace {

// Two passes, because the reply must say its length first. The views stay valid: this walk only
// reads. After `MSET one 1 two 2`:
//   KEYS t?[n-p]  → ["two"]
//   KEYS [^t]*    → ["one"]
void Keys(CommandCall& call) {
  const std::string_view pattern = call.args[1];
  const bool all = MatchesAll(pattern);
  const Glob glob(pattern);
  std::vector<std::string_view> found;
  call.db.ForEach([&](const Entry& entry) {
    if (entry.Expired(call.now)) return;
    if (all || glob.Matches(entry.key())) found.push_back(entry.key());
  });
  call.reply.Array(found.size());
  for (const std::string_view key : found) call.reply.Bulk(key);
}

// --- SCAN

// COUNT bounds the work, not the answer: what MATCH or TYPE drops counts as well, so an empty page
// with a cursor above 0 is normal. The cursor is a position in the hash space: the server keeps
// nothing for a walk, and takes any number for one. After `SET a 1`:
//   SCAN 0 TYPE string  → ["0", ["a"]]
//   SCAN x              → -ERR invalid cursor
//   SCAN 0 COUNT 0      → -ERR syntax error
void Scan(CommandCall& call) {
  const std::optional<uint64_t> cursor = ParseCursor(call.args[1]);
  if (!cursor) return call.reply.Error(ErrorCode::kInvalidCursor);
  ScanOptions options;
  if (!ReadScanOptions(call, 2, ScanTarget::kKeys, options)) return;

  std::vector<std::string_view> found;
  std::vector<std::string_view> expired;
  Statistics& statistics = call.part<Statistics>();
  const uint64_t next =
      call.db.Scan(*cursor, static_cast<size_t>(options.count), [&](const Entry& entry) {
        if (!options.Wants(entry.key())) return;
        if (entry.Expired(call.now)) return expired.push_back(entry.key());
        if (options.type) {
          ++statistics.keyspace_hits;  // Redis looks the key up to learn its type
          if (!IsSameInAnyCase(*options.type, TypeName(entry.type()))) return;
        }
        found.push_back(entry.key());
      });
  call.reply.Array(2);
  call.reply.Bulk(std::to_string(next));
  call.reply.Array(found.size());
  for (const std::string_view key : found) call.reply.Bulk(key);
  // Last, as it frees entries: finding a dead key removes it.
  for (const std::string_view key : expired) call.db.Find(call.keyspace.Hash(key), call.now);
}

// --- the table

// They have no key arguments: a pattern is none.
constexpr CommandRow kKeyScanRows[] = {
    {.name = "KEYS",
     .arity = 2,
     .flags = kReadOnly,
     .categories = kCatKeyspace | kCatDangerous,
     .run = Keys,
     .group = "generic",
     .since = "1.0.0",
     .complexity = "O(N) with N being the number of keys in the database, under the assumption "
                   "that the key names in the database and the given pattern have limited length.",
     .usage = "pattern",
     .summary = "All keys whose names match a pattern, in one answer.",
     .tips = "request_policy:all_shards,nondeterministic_output_order"},
    {.name = "SCAN",
     .arity = -2,
     .flags = kReadOnly,
     .categories = kCatKeyspace,
     .run = Scan,
     .group = "generic",
     .since = "2.8.0",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough command "
                   "calls for the cursor to return back to 0. N is the number of elements inside "
                   "the collection.",
     .usage = "cursor [MATCH pattern] [COUNT count] [TYPE type]@6.0.0",
     .summary = "Some more of the keys, and the cursor with which to go on; 0 at the end.",
     .history = "6.0.0 `TYPE`.",
     .tips = "nondeterministic_output,request_policy:special"},
};

}  // namespace

CommandFamily KeyScanFamily() { return {"key_scan", kSpecsOf<kKeyScanRows>}; }

}  // namespace sluice
