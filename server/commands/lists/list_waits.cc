// The list family, waiting: as LPOP, RPOP, LMOVE and LMPOP where there is an element, else the
// client is blocked until one comes or its time is over (waiters.h). A client that was woken looks
// at the key that woke it alone.
//
// Clients are served in the order of arrival for each key. The log gets the command that did not
// have to wait, with the key that served it. Inside MULTI or a script nothing waits: an empty list
// answers at once as a deadline would. The time-out is in seconds, may have a fraction, and 0 waits
// for ever.
//
//   command        answer when it gets one    at the deadline   effect
//   BLPOP BRPOP    key, element               a null array      LPOP or RPOP key
//   BLMOVE         element                    a null array      LMOVE
//   BRPOPLPUSH     element                    a null array      RPOPLPUSH
//   BLMPOP         key, array of elements     a null array      LPOP or RPOP key count

#include <optional>
#include <span>

#include "server/commands/families.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

// The list that serves a waiter: of the key that woke it, or of the first of its keys that holds
// something.
struct Source {
  HashedKey key;
  Typed<List> list;  // null: it has to wait
};

// Null: WRONGTYPE has been answered.
std::optional<Source> FindSource(CommandCall& call, std::span<const std::string_view> keys) {
  if (call.woken) keys = {&call.woken_key, 1};
  for (const std::string_view name : keys) {
    const HashedKey key = call.keyspace.Hash(name);
    const Typed<List> list = LookUpTyped<List>(call, key);
    if (list.refused) return std::nullopt;
    if (list) return Source{key, list};
  }
  return Source{};
}

// --- BLPOP key [key ...] timeout

// The time-out is read before any key. Keys are tried in the order of the request; a key of another
// type before the first list is WRONGTYPE, but a client that waits does not mind one that appears
// later.
void BlockingPop(CommandCall& call, ListEnd end) {
  ArgReader args(call.args, call.args.size() - 1);
  const int64_t deadline_ms = ReadTimeoutSeconds(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  const auto keys = call.args.subspan(1, call.args.size() - 2);
  const std::optional<Source> source = FindSource(call, keys);
  if (!source) return;
  // A client that was woken for nothing stays in its place, on its old terms.
  if (!source->list) return Block(call, keys, {.deadline_ms = deadline_ms, .type = List::kType});
  call.ReplaceWith({PopWord(end), source->key.bytes});
  call.reply.Array(2);
  call.reply.Bulk(source->key.bytes);
  char scratch[List::kTextScratch];
  call.reply.Bulk(source->list->AtEnd(end, scratch));
  Drop(call, source->key, source->list, end, 1);
}

// After `RPUSH l a`:
//   BLPOP nothing l 0  → ["l", "a"]  the first list that has something
//   BLPOP l 0.01       → nil array
//   BLPOP l -1         → -ERR timeout is negative
void BLPop(CommandCall& call) { BlockingPop(call, ListEnd::kFront); }
void BRPop(CommandCall& call) { BlockingPop(call, ListEnd::kBack); }

// --- BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout

// True when an element was moved; blocks where there is none. The target's type is looked at only
// when there is an element, so a client may wait for a source whose target is no list; it gets
// WRONGTYPE on waking.
bool MoveOrPark(CommandCall& call, ListMove move) {
  ArgReader args(call.args, call.args.size() - 1);
  const int64_t deadline_ms = ReadTimeoutSeconds(args, call);
  if (args.failed()) {
    call.reply.Error(args.error());
    return false;
  }
  const Moved moved = MoveElement(call, call.Key(1), call.Key(2), move);
  if (moved != Moved::kNothing) return moved == Moved::kYes;
  if (!call.may_block()) {
    call.reply.Null();  // at its deadline: a null array
  } else {
    Block(call, call.args.subspan(1, 1), {.deadline_ms = deadline_ms, .type = List::kType});
  }
  return false;
}

// The words come before the time-out, the time-out before the keys. After `RPUSH l a`:
//   BLMOVE l t LEFT LEFT 0     → "a"
//   BLMOVE l t LEFT LEFT 0.01  → nil array
//   BLMOVE l t LEFT UP 0       → -ERR syntax error
void BLMove(CommandCall& call) {
  ArgReader args(call.args, 3);
  const ListEnd from = ReadEnd(args);
  const ListEnd to = ReadEnd(args);
  if (args.failed()) return call.reply.Error(args.error());
  if (!MoveOrPark(call, {from, to})) return;
  call.ReplaceWith({"LMOVE", call.args[1], call.args[2], EndWord(from), EndWord(to)});
}

// The older form; logged in its own older form as well.
void BRPopLPush(CommandCall& call) {
  if (!MoveOrPark(call, {ListEnd::kBack, ListEnd::kFront})) return;
  call.ReplaceWith({"RPOPLPUSH", call.args[1], call.args[2]});
}

// --- BLMPOP timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]

// The grammar behind the time-out is read first: a bad numkeys wins over a bad time-out. After
// `RPUSH b x y`:
//   BLMPOP 0 2 a b RIGHT COUNT 5  → ["b", ["y", "x"]]
//   BLMPOP 0.01 1 a LEFT          → nil array
//   BLMPOP x 1 a LEFT             → -ERR timeout is not a float or out of range
void BLMPop(CommandCall& call) {
  const std::optional<MultiPop> pop = ReadMultiPop(call, 2);
  if (!pop) return;
  ArgReader args(call.args);
  const int64_t deadline_ms = ReadTimeoutSeconds(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  const auto keys = call.args.subspan(pop->first_key, pop->keys);
  const std::optional<Source> source = FindSource(call, keys);
  if (!source) return;
  if (source->list) return PopMany(call, source->key, source->list, pop->end, pop->count);
  Block(call, keys, {.deadline_ms = deadline_ms, .type = List::kType});
}

// --- the table

constexpr uint32_t kWaits = kWrite | kBlocking;
constexpr KeySpecs kAllButLast = KeyRange(1, -2, 1, kKeyRw | kKeyAccess | kKeyDelete);
constexpr std::string_view kDoubleTimeout = "6.0.0 The time-out may have a fraction.";

// BLPOP and its older kin are not for scripts; BLMPOP is, and answers there at once.
constexpr CommandRow kListWaitsRows[] = {
    {.name = "BLPOP",
     .arity = -3,
     .flags = kWaits | kNoScript,
     .categories = kCatList,
     .keys = kAllButLast,
     .run = BLPop,
     .group = "list",
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of provided keys.",
     .usage = "key [key ...] timeout:double",
     .summary = "Take the first element of the first list that is there, or wait for one.",
     .history = kDoubleTimeout},
    {.name = "BRPOP",
     .arity = -3,
     .flags = kWaits | kNoScript,
     .categories = kCatList,
     .keys = kAllButLast,
     .run = BRPop,
     .group = "list",
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of provided keys.",
     .usage = "key [key ...] timeout:double",
     .summary = "Take the last element of the first list that is there, or wait for one.",
     .history = kDoubleTimeout},
    {.name = "BLMOVE",
     .arity = 6,
     .flags = kWaits | kDenyOom | kNoScript,
     .categories = kCatList,
     .keys = kSourceAndTarget,
     .run = BLMove,
     .group = "list",
     .since = "6.2.0",
     .complexity = "O(1)",
     .usage = "source destination wherefrom=<LEFT | RIGHT> whereto=<LEFT | RIGHT> "
              "timeout:double",
     .summary = "As LMOVE, or wait for an element to move."},
    {.name = "BRPOPLPUSH",
     .arity = 4,
     .flags = kWaits | kDenyOom | kNoScript,
     .categories = kCatList,
     .keys = kSourceAndTarget,
     .run = BRPopLPush,
     .group = "list",
     .since = "2.2.0",
     .complexity = "O(1)",
     .usage = "source destination timeout:double",
     .summary = "As RPOPLPUSH, or wait for an element to move.",
     .history = kDoubleTimeout,
     .deprecated_since = "6.2.0",
     .replaced_by = "`BLMOVE` with the `RIGHT` and `LEFT` arguments"},
    {.name = "BLMPOP",
     .arity = -5,
     .flags = kWaits | kMovableKeys,
     .categories = kCatList,
     .keys = KeysCounted(2, kKeyRw | kKeyAccess | kKeyDelete),
     .run = BLMPop,
     .group = "list",
     .since = "7.0.0",
     .complexity = "O(N+M) where N is the number of provided keys and M is the number of elements "
                   "returned.",
     .usage = "timeout:double numkeys:integer key [key ...] where=<LEFT | RIGHT> [COUNT count]",
     .summary = "As LMPOP, or wait for an element."},
};

}  // namespace

CommandFamily ListWaitsFamily() { return {"list_waits", kSpecsOf<kListWaitsRows>}; }

}  // namespace sluice
