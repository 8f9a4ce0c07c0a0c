// The OBJECT family: how a value is kept and when it was last used. Test suites and profilers look
// at it, so the answers are those that Redis would give.
//
// A look is counted as a hit or a miss of the keyspace, but sends no keymiss event.

#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/reference_count.h"
#include "server/commands/shared/rows.h"
#include "server/observe/statistics.h"

namespace sluice {
namespace {

// The entry of the key, or null after the null has been answered. No look-up of this family marks
// an access: IDLETIME would always be 0.
const Entry* FindObject(CommandCall& call) {
  const Entry* const entry = call.db.Find(call.Key(2), call.now);
  Statistics& statistics = call.part<Statistics>();
  ++(entry ? statistics.keyspace_hits : statistics.keyspace_misses);  // but no keymiss event
  if (!entry) call.reply.Null();
  return entry;
}

// Our own forms are few; the word is the one that Redis would have at this size and with this
// history. After `SET n 12`, `SET s text`, `RPUSH l a`:
//   OBJECT ENCODING n        → "int"
//   OBJECT ENCODING s        → "embstr"
//   OBJECT ENCODING nothing  → nil
void Encoding(CommandCall& call) {
  if (const Entry* const entry = FindObject(call)) call.reply.Bulk(entry->Encoding());
}

// 1, or what Redis shows for an integer that it shares.
void RefCount(CommandCall& call) {
  const Entry* const entry = FindObject(call);
  if (entry) call.reply.Integer(ReferenceCount(*entry, call.settings));
}

// In whole seconds since the last access.
void IdleTime(CommandCall& call) {
  const Entry* const entry = FindObject(call);
  if (!entry) return;
  if (call.db.counts_accesses()) {
    return call.reply.Error(
        "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when "
        "switching between policies at runtime LRU and LFU data will take some time to adjust.");
  }
  call.reply.Integer(call.db.IdleSeconds(*entry, call.now));
}

// The logarithm of its uses, as LFU policies count them. The key is looked for first, as in Redis:
// a missing one is null.
void Freq(CommandCall& call) {
  const Entry* const entry = FindObject(call);
  if (!entry) return;
  if (call.db.counts_accesses()) {
    return call.reply.Integer(call.db.AccessCounter(*entry, call.now));
  }
  call.reply.Error(
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
      "when switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

constexpr std::string_view kObjectHelp[] = {
    "ENCODING <key>",
    "    Return the kind of internal representation used in order to store the value",
    "    associated with a <key>.",
    "FREQ <key>",
    "    Return the access frequency index of the <key>. The returned integer is",
    "    proportional to the logarithm of the recent access frequency of the key.",
    "IDLETIME <key>",
    "    Return the idle time of the <key>, that is the approximated number of",
    "    seconds elapsed since the last access to the key.",
    "REFCOUNT <key>",
    "    Return the number of references of the value associated with the specified",
    "    <key>.",
};

void ObjectHelp(CommandCall& call) { ReplyHelp(call, kObjectHelp); }

// --- the table

// The key stands at 2, behind the subcommand's word.
constexpr CommandRow kObjectSubcommands[] = {
    {.name = "ENCODING",
     .arity = 3,
     .flags = kReadOnly,
     .categories = kCatKeyspace,
     .keys = KeyAt(2, kKeyRo),
     .run = Encoding,
     .group = "generic",
     .since = "2.2.3",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "In which form a value is kept: int, embstr, raw, listpack ...",
     .tips = "nondeterministic_output"},
    {.name = "FREQ",
     .arity = 3,
     .flags = kReadOnly,
     .categories = kCatKeyspace,
     .keys = KeyAt(2, kKeyRo),
     .run = Freq,
     .group = "generic",
     .since = "4.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How often a key was used, as a logarithm; only under an LFU policy.",
     .tips = "nondeterministic_output"},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .categories = kCatKeyspace,
     .run = ObjectHelp,
     .group = "generic",
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "The subcommands of OBJECT."},
    {.name = "IDLETIME",
     .arity = 3,
     .flags = kReadOnly,
     .categories = kCatKeyspace,
     .keys = KeyAt(2, kKeyRo),
     .run = IdleTime,
     .group = "generic",
     .since = "2.2.3",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "For how many seconds no client has used a key.",
     .tips = "nondeterministic_output"},
    {.name = "REFCOUNT",
     .arity = 3,
     .flags = kReadOnly,
     .categories = kCatKeyspace,
     .keys = KeyAt(2, kKeyRo),
     .run = RefCount,
     .group = "generic",
     .since = "2.2.3",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many references a value has; many for a shared small integer.",
     .tips = "nondeterministic_output"},
};

constexpr CommandRow kObjectRows[] = {
    {.name = "OBJECT",
     .arity = -2,
     .subcommands = kSpecsOf<kObjectSubcommands>,
     .group = "generic",
     .since = "2.2.3",
     .complexity = "Depends on subcommand.",
     .summary = "How a value is kept and used."},
};

}  // namespace

CommandFamily ObjectFamily() { return {"object", kSpecsOf<kObjectRows>}; }

}  // namespace sluice
