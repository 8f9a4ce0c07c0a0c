// The set family: members, one by one and at random. Commands that combine sets are in
// set_algebra.cc.
//
// Looking a member up is O(1), or O(log N) while the set is a sorted array of integers. A set never
// stays empty: the last member takes the key along, with a `del` behind the command's own event.
//
//   command       missing key        event              effect
//   SADD          made               sadd               itself
//   SREM          0                  srem, del          itself
//   SMOVE         0                  srem, sadd (del)   itself
//   SPOP          null or an empty   spop, del          SREM key members, or DEL key
//                 array
//   SRANDMEMBER   null or an empty array
//   SISMEMBER     0

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/sets/set_access.h"
#include "server/commands/shared/random_count.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/scan_args.h"

namespace sluice {
namespace {

// --- members

// Members are looked for before the set is opened: SADD of known members is no change, so it
// touches no WATCH, sends no event and is not logged. The pass costs a look-up for each member.
//   SADD s a a b       → 2  new members
//   OBJECT ENCODING s  → "hashtable"
// After `SADD n 1 2`:
//   OBJECT ENCODING n  → "intset"
void SAdd(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Set>(call, key);
  if (found.refused) return;
  const Args members = call.args.subspan(2);
  const bool adds = !found || std::ranges::any_of(members, [&found](std::string_view member) {
    return !found->Has(member);
  });
  if (!adds) return call.reply.Integer(0);
  const auto set = found ? OpenFound(call, key, found) : CreateTyped<Set>(call, key);
  int64_t added = 0;
  for (const std::string_view member : members) added += set->Add(member, SetLimits(call)) ? 1 : 0;
  CloseTyped(call, set, kNotifySet, "sadd");
  call.reply.Integer(added);
}

// As in SADD, nothing is touched when nothing goes.
void SRem(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Set>(call, key);
  if (found.refused) return;
  const Args members = call.args.subspan(2);
  const bool removes = found && std::ranges::any_of(members, [&found](std::string_view member) {
                         return found->Has(member);
                       });
  if (!removes) return call.reply.Integer(0);
  const auto set = OpenFound(call, key, found);
  int64_t removed = 0;
  for (const std::string_view member : members) removed += set->Remove(member) ? 1 : 0;
  CloseTyped(call, set, kNotifySet, "srem");
  call.reply.Integer(removed);
}

// A missing key has no members, and is no error.
void SIsMember(CommandCall& call) {
  const auto set = FindTyped<Set>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Integer(set && set->Has(call.args[2]) ? 1 : 0);
}

// An answer for each member in the order of the request, duplicates included. After `SADD s a`:
//   SMISMEMBER s a b      → [1, 0]
//   SMISMEMBER nothing a  → [0]
void SMIsMember(CommandCall& call) {
  const auto set = FindTyped<Set>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view member : call.args.subspan(2)) {
    call.reply.Integer(set && set->Has(member) ? 1 : 0);
  }
}

// O(1).
void SCard(CommandCall& call) {
  const auto set = FindTyped<Set>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Integer(set ? static_cast<int64_t>(set->size()) : 0);
}

// O(N) in one piece, in the order of the walk; SSCAN is the way for big sets.
void SMembers(CommandCall& call) {
  const auto set = FindTyped<Set>(call, call.Key(1));
  if (set.refused) return;
  if (!set) return call.reply.Set(0);
  call.reply.Set(set->size());
  set->ForEach([&call](std::string_view member) { call.reply.Bulk(member); });
}

// Redis's order: a missing source is 0 whatever the target holds, then both types, then the same
// key twice (1 if the member is there, and nothing changes). A member that is in both sets only
// leaves the source. It is its own effect. After `SADD s a`:
//   SMOVE s t b  → 0
//   SMOVE s t a  → 1
//   EXISTS s     → 0
void SMove(CommandCall& call) {
  const HashedKey from_key = call.Key(1);
  const HashedKey to_key = call.Key(2);
  const std::string_view member = call.args[3];
  const Entry* const from_entry = LookUp(call, from_key);
  if (!from_entry) return call.reply.Integer(0);
  const auto from = AsTyped<Set>(call, from_entry);
  if (from.refused) return;
  const auto to = LookUpTyped<Set>(call, to_key);
  if (to.refused) return;
  // Looking up the target may have freed it, but not the source.
  if (from_key.bytes == to_key.bytes) return call.reply.Integer(from->Has(member) ? 1 : 0);
  if (!from->Has(member)) return call.reply.Integer(0);

  const bool adds = !to || !to->Has(member);
  const auto source = OpenFound(call, from_key, from);
  source->Remove(member);
  CloseTyped(call, source, kNotifySet, "srem");
  if (!adds) return call.reply.Integer(1);  // a target that does not change is not touched
  const auto target = OpenTyped<Set>(call, to_key);
  target->Add(member, SetLimits(call));
  CloseTyped(call, target, kNotifySet, "sadd");
  call.reply.Integer(1);
}

// --- at random

// As many as there are or more: the whole set goes, which needs no chance and is logged as DEL.
void PopAll(CommandCall& call, HashedKey key, const Set& set) {
  call.reply.Set(set.size());
  set.ForEach([&call](std::string_view member) { call.reply.Bulk(member); });
  call.db.Delete(key, call.now);
  call.Changed(kNotifySet, "spop", key.bytes);
  call.Deleted(key.bytes);
  call.ReplaceWith({"DEL", key.bytes});
}

// The chosen members: that is what a replay has to remove.
void RemoveChosen(CommandCall& call, HashedKey key, const Typed<Set>& found,
                  const std::vector<std::string>& chosen) {
  const auto set = OpenFound(call, key, found);
  set->RemoveAll(chosen);
  CloseTyped(call, set, kNotifySet, "spop");
  if (!call.wants_effects()) return;
  std::vector<std::string_view> removal = {"SREM", key.bytes};
  removal.insert(removal.end(), chosen.begin(), chosen.end());
  call.ReplaceWith(removal);
}

// The count is checked before the key. Members are drawn without repetition.
void PopMany(CommandCall& call) {
  const std::optional<int64_t> count = ParseInt64(call.args[2]);
  if (!count || *count < 0) return call.reply.Error(ErrorCode::kPositive);
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Set>(call, key);
  if (found.refused) return;
  if (!found || *count == 0) return call.reply.Set(0);
  // No choice is left to make.
  if (static_cast<uint64_t>(*count) >= found->size()) return PopAll(call, key, *found);
  std::vector<std::string> chosen;
  found->Sample(static_cast<size_t>(*count), call.random,
                [&chosen](std::string_view member) { chosen.emplace_back(member); });
  call.reply.Set(chosen.size());
  for (const std::string& member : chosen) call.reply.Bulk(member);
  RemoveChosen(call, key, found, chosen);
}

// A third argument beyond the count is a syntax error instead of the usual sentence on arity. After
// `SADD s a`:
//   SPOP s 0  → []
//   SPOP s    → "a"
//   SPOP s    → nil
//   SPOP s 2  → []
void SPop(CommandCall& call) {
  if (call.args.size() == 3) return PopMany(call);
  if (call.args.size() > 3) return call.reply.Error(ErrorCode::kSyntax);
  const HashedKey key = call.Key(1);
  const auto found = LookUpTyped<Set>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.Null();
  const std::vector<std::string> chosen = {found->RandomMember(call.random)};
  call.reply.Bulk(chosen.front());
  RemoveChosen(call, key, found, chosen);
}

// count >= 0: distinct members, at most all of them. Below 0: exactly -count draws, repetitions
// allowed; a reply that is full of what a client may be sent ends the drawing early.
void ReplyRandom(CommandCall& call, const Set& set, int64_t count) {
  const auto reply = [&call](std::string_view member) { call.reply.Bulk(member); };
  if (count >= 0) {
    const size_t chosen = std::min(set.size(), static_cast<size_t>(count));
    call.reply.Array(chosen);
    return chosen == set.size() ? set.ForEach(reply) : set.Sample(chosen, call.random, reply);
  }
  call.reply.Array(static_cast<size_t>(-count));
  set.Draw(call.random, [&](std::string_view member) {
    call.reply.Bulk(member);
    return ++count < 0 && !call.reply.full();
  });
}

// With a count an array, without one a member or null. SPOP's answer is a set; this is an array,
// since it may repeat. After `SADD s a`:
//   SRANDMEMBER s 5        → ["a"]
//   SRANDMEMBER s -3       → ["a", "a", "a"]
//   SRANDMEMBER nothing    → nil
//   SRANDMEMBER nothing 3  → []
void SRandMember(CommandCall& call) {
  if (call.args.size() > 3) return call.reply.Error(ErrorCode::kSyntax);
  int64_t count = 1;
  const bool many = call.args.size() == 3;
  if (many && !ReadRandomCount(call, 2, count)) return;
  const auto set = FindTyped<Set>(call, call.Key(1));
  if (set.refused) return;
  if (!set) return many ? call.reply.Array(0) : call.reply.Null();
  if (many) return ReplyRandom(call, *set, count);
  call.reply.Bulk(set->RandomMember(call.random));
}

// --- piece by piece

// The cursor comes before the key, the options behind it: with a missing key bad options are not
// told.
void SScan(CommandCall& call) {
  const std::optional<uint64_t> cursor = ParseCursor(call.args[2]);
  if (!cursor) return call.reply.Error(ErrorCode::kInvalidCursor);
  const auto set = FindTyped<Set>(call, call.Key(1));
  if (set.refused) return;
  if (!set) return ReplyEmptyScan(call);
  ScanOptions options;
  if (!ReadScanOptions(call, 3, ScanTarget::kMembers, options)) return;
  std::vector<std::string> found;
  const uint64_t next = set->Scan(
      *cursor, static_cast<size_t>(options.count),
      [&](std::string_view member) {
        if (options.Wants(member)) found.emplace_back(member);
      },
      &call.keyspace.scan_cache());
  ReplyScan(call, next, found);
}

// --- the table

constexpr uint32_t kReads = kReadOnly | kFast;
constexpr KeySpecs kRead = KeyAt(1, kKeyRo | kKeyAccess);
constexpr KeySpecs kLooked = KeyAt(1, kKeyRo);

// Only what gives members away needs kKeyAccess; SISMEMBER and SCARD look (kLooked).
constexpr CommandRow kSetsListed[] = {
    {.name = "SADD",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = SAdd,
     .since = "1.0.0",
     .complexity = "O(1) for each element added, so O(N) to add N elements when the command is "
                   "called with multiple arguments.",
     .usage = "key member [member ...]",
     .summary = "Add members to a set; how many of them are new.",
     .history = "2.4.0 Several `member` arguments."},
    {.name = "SCARD",
     .arity = 2,
     .flags = kReads,
     .keys = kLooked,
     .run = SCard,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many members a set has."},
    {.name = "SISMEMBER",
     .arity = 3,
     .flags = kReads,
     .keys = kLooked,
     .run = SIsMember,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key member",
     .summary = "Whether a set has a member."},
    {.name = "SMEMBERS",
     .arity = 2,
     .flags = kReadOnly,
     .keys = kRead,
     .run = SMembers,
     .since = "1.0.0",
     .complexity = "O(N) where N is the set cardinality.",
     .usage = "key",
     .summary = "All members of a set.",
     .tips = "nondeterministic_output_order"},
    {.name = "SMISMEMBER",
     .arity = -3,
     .flags = kReads,
     .keys = kRead,
     .run = SMIsMember,
     .since = "6.2.0",
     .complexity = "O(N) where N is the number of elements being checked for membership",
     .usage = "key member [member ...]",
     .summary = "Of each of several, whether a set has it as a member."},
    {.name = "SMOVE",
     .arity = 4,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete) + KeyAt(2, kKeyRw | kKeyInsert),
     .run = SMove,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "source destination member",
     .summary = "Move a member from one set to another."},
    {.name = "SPOP",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = SPop,
     .since = "1.0.0",
     .complexity = "Without the count argument O(1), otherwise O(N) where N is the value of the "
                   "passed count.",
     .usage = "key [count]@3.2.0",
     .summary = "Members chosen at random, which are removed.",
     .history = "3.2.0 The `count` argument.",
     .tips = "nondeterministic_output"},
    {.name = "SRANDMEMBER",
     .arity = -2,
     .flags = kReadOnly,
     .keys = kRead,
     .run = SRandMember,
     .since = "1.0.0",
     .complexity = "Without the count argument O(1), otherwise O(N) where N is the absolute value "
                   "of the passed count.",
     .usage = "key [count]@2.6.0",
     .summary = "Members chosen at random; below zero: with repetitions.",
     .history = "2.6.0 The `count` argument, which may be left out.",
     .tips = "nondeterministic_output"},
    {.name = "SREM",
     .arity = -3,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = SRem,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of members to be removed.",
     .usage = "key member [member ...]",
     .summary = "Remove members of a set; how many there were.",
     .history = "2.4.0 Several `member` arguments."},
    {.name = "SSCAN",
     .arity = -3,
     .flags = kReadOnly,
     .keys = kRead,
     .run = SScan,
     .since = "2.8.0",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough command "
                   "calls for the cursor to return back to 0. N is the number of elements inside "
                   "the collection..",
     .usage = "key cursor [MATCH pattern] [COUNT count]",
     .summary = "Some more members of a set, and the cursor with which to go on.",
     .tips = "nondeterministic_output"},
};
constexpr auto kSetsRows = RowsOf(kSetsListed, {.categories = kCatSet, .group = "set"});

}  // namespace

CommandFamily SetsFamily() { return {"sets", kSpecsOf<kSetsRows>}; }

}  // namespace sluice
