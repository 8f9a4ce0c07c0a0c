// Many fields of a hash at once: all of them, some at random, or piece by piece.
//
// All of a hash is O(N) in one piece. A compact hash answers in the order in which the fields came;
// a large one in none.
//
//   command       missing key           form in RESP2            form in RESP3
//   HGETALL       empty                 names and values flat    a map
//   HKEYS HVALS   empty                 an array                 an array
//   HRANDFIELD    null, with a count    flat with WITHVALUES     pairs with WITHVALUES
//                 an empty array
//   HSCAN         cursor 0 and nothing  a cursor, then flat      the same

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/hashes/hash_access.h"
#include "server/commands/shared/random_count.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/scan_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- all

// The count comes first in a reply, so live fields are counted before they are walked over: fields
// past their deadline may still be stored.
void HGetAll(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  if (!hash) return call.reply.Map(0);
  call.reply.Map(hash->CountLive(call.now));
  hash->ForEach(call.now, [&call](std::string_view name, std::string_view value) {
    call.reply.Bulk(name);
    call.reply.Bulk(value);
  });
}

enum class Half : uint8_t { kNames, kValues };

// HKEYS and HVALS of one state answer in the same order, so the two lists belong together.
void ReplyHalf(CommandCall& call, Half half) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  if (!hash) return call.reply.Array(0);
  call.reply.Array(hash->CountLive(call.now));
  hash->ForEach(call.now, [&call, half](std::string_view name, std::string_view value) {
    call.reply.Bulk(half == Half::kNames ? name : value);
  });
}

void HKeys(CommandCall& call) { ReplyHalf(call, Half::kNames); }
void HVals(CommandCall& call) { ReplyHalf(call, Half::kValues); }

// --- at random

// The form of the answer. Both forms have the same bytes inside, only the array headers differ.
struct RandomFields {
  bool with_values = false;

  // RESP3 has pairs, RESP2 a flat list.
  void Begin(CommandCall& call, size_t fields) const {
    const bool flat = with_values && call.reply.version() == 2;
    call.reply.Array(flat ? 2 * fields : fields);
  }
  void Reply(CommandCall& call, std::string_view name, std::string_view value) const {
    if (with_values && call.reply.version() > 2) call.reply.Array(2);
    call.reply.Bulk(name);
    if (with_values) call.reply.Bulk(value);
  }
};

// A hash whose fields have all ended may still be a key for a moment: null, as for a missing one.
void RandomOne(CommandCall& call) {
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  if (!hash || hash->CountLive(call.now) == 0) return call.reply.Null();
  hash->Draw(call.random, call.now, [&call](std::string_view name, std::string_view) {
    call.reply.Bulk(name);
    return false;
  });
}

// count >= 0 draws distinct fields, at most all; below 0 exactly -count, each out of all. The
// latter has no bound by the data, hence the look at full().
void ReplyRandom(CommandCall& call, const Hash& hash, int64_t count, const RandomFields& form) {
  const auto reply = [&](std::string_view name, std::string_view value) {
    form.Reply(call, name, value);
  };
  const size_t live = hash.CountLive(call.now);
  if (count >= 0) {
    const size_t chosen = std::min(live, static_cast<size_t>(count));
    form.Begin(call, chosen);
    // All of them need no chance, and come in the order of the walk.
    return chosen == live ? hash.ForEach(call.now, reply)
                          : hash.Sample(chosen, call.random, call.now, reply);
  }
  if (live == 0) return form.Begin(call, 0);
  form.Begin(call, static_cast<size_t>(-count));
  hash.Draw(call.random, call.now, [&](std::string_view name, std::string_view value) {
    form.Reply(call, name, value);
    return ++count < 0 && !call.reply.full();
  });
}

// Redis's order: the count, the words, the range for pairs, then the key. After `HSET h a 1`:
//   HRANDFIELD h 5             → ["a"]            at most every field once
//   HRANDFIELD h -3            → ["a", "a", "a"]  exactly three, with repetition
//   HRANDFIELD h 1 WITHVALUES  → ["a", "1"]
//   HRANDFIELD nothing         → nil
//   HRANDFIELD nothing 1       → []
void HRandField(CommandCall& call) {
  if (call.args.size() == 2) return RandomOne(call);
  int64_t count;
  if (!ReadRandomCount(call, 2, count)) return;
  const bool with_values = call.args.size() == 4 && IsWord(call.args[3], "WITHVALUES");
  if (call.args.size() > 4 || (call.args.size() == 4 && !with_values)) {
    return call.reply.Error(ErrorCode::kSyntax);
  }
  constexpr int64_t kPairsMax = std::numeric_limits<int64_t>::max() / 2;
  if (with_values && (count < -kPairsMax || count > kPairsMax)) {
    return call.reply.Error("ERR value is out of range");
  }
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  if (!hash) return call.reply.Array(0);
  ReplyRandom(call, *hash, count, {with_values});
}

// --- piece by piece

// The cursor is checked before the key, the options after it: HSCAN nokey 0 FOO is an empty page. A
// compact hash comes as a whole with cursor 0, whatever COUNT says.
void HScan(CommandCall& call) {
  const std::optional<uint64_t> cursor = ParseCursor(call.args[2]);
  if (!cursor) return call.reply.Error(ErrorCode::kInvalidCursor);
  const auto hash = FindTyped<Hash>(call, call.Key(1));
  if (hash.refused) return;
  if (!hash) return ReplyEmptyScan(call);
  ScanOptions options;
  if (!ReadScanOptions(call, 3, ScanTarget::kMembers, options)) return;
  std::vector<std::string> found;
  const uint64_t next = hash->Scan(
      *cursor, static_cast<size_t>(options.count), call.now,
      [&](std::string_view name, std::string_view value) {
        if (!options.Wants(name)) return;
        found.emplace_back(name);
        found.emplace_back(value);
      },
      &call.keyspace.scan_cache());
  ReplyScan(call, next, found);
}

// --- the table

// No row is kFast: each may be O(N). The tips say that the order of the answer means nothing.
constexpr CommandRow kHashScanListed[] = {
    {.name = "HGETALL",
     .arity = 2,
     .flags = kReadOnly,
     .keys = kReadHash,
     .run = HGetAll,
     .since = "2.0.0",
     .complexity = "O(N) where N is the size of the hash.",
     .usage = "key",
     .summary = "All fields of a hash with their values.",
     .tips = "nondeterministic_output_order"},
    {.name = "HKEYS",
     .arity = 2,
     .flags = kReadOnly,
     .keys = kReadHash,
     .run = HKeys,
     .since = "2.0.0",
     .complexity = "O(N) where N is the size of the hash.",
     .usage = "key",
     .summary = "The names of all fields of a hash.",
     .tips = "nondeterministic_output_order"},
    {.name = "HRANDFIELD",
     .arity = -2,
     .flags = kReadOnly,
     .keys = kReadHash,
     .run = HRandField,
     .since = "6.2.0",
     .complexity = "O(N) where N is the number of fields returned",
     .usage = "key options=[count [WITHVALUES]]",
     .summary = "Fields of a hash chosen at random; below zero: with repetitions.",
     .tips = "nondeterministic_output"},
    {.name = "HSCAN",
     .arity = -3,
     .flags = kReadOnly,
     .keys = kReadHash,
     .run = HScan,
     .since = "2.8.0",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough command "
                   "calls for the cursor to return back to 0. N is the number of elements inside "
                   "the collection..",
     .usage = "key cursor [MATCH pattern] [COUNT count]",
     .summary = "Some more fields of a hash, and the cursor with which to go on.",
     .tips = "nondeterministic_output"},
    {.name = "HVALS",
     .arity = 2,
     .flags = kReadOnly,
     .keys = kReadHash,
     .run = HVals,
     .since = "2.0.0",
     .complexity = "O(N) where N is the size of the hash.",
     .usage = "key",
     .summary = "The values of all fields of a hash.",
     .tips = "nondeterministic_output_order"},
};
constexpr auto kHashScanRows = RowsOf(kHashScanListed, {.categories = kCatHash, .group = "hash"});

}  // namespace

CommandFamily HashScanFamily() { return {"hash_scan", kSpecsOf<kHashScanRows>}; }

}  // namespace sluice
