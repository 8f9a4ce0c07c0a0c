// The list family, between lists: LMOVE, its older form RPOPLPUSH, and LMPOP, which pops from the
// first of several lists that is there.
//
//   command      no element           events                        effect
//   LMOVE        null                 push of the target, then pop  itself
//   RPOPLPUSH    null                 lpush, rpop                   itself
//   LMPOP        a null array         lpop or rpop                  LPOP or RPOP key count

#include "server/commands/families.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/shared/rows.h"

namespace sluice {
namespace {

// WRONGTYPE and the element are answered by MoveElement.
void Move(CommandCall& call, ListMove move) {
  if (MoveElement(call, call.Key(1), call.Key(2), move) == Moved::kNothing) call.reply.Null();
}

// Both words before any key. The effect is the command itself: which element moves is decided by
// the state alone. After `RPUSH l a b c`:
//   LMOVE l l LEFT RIGHT       → "a"  turns the list
//   LRANGE l 0 -1              → ["b", "c", "a"]
//   LMOVE nothing l LEFT LEFT  → nil
void LMove(CommandCall& call) {
  ArgReader args(call.args, 3);
  const ListEnd from = ReadEnd(args);
  const ListEnd to = ReadEnd(args);
  if (args.failed()) return call.reply.Error(args.error());
  Move(call, {from, to});
}

// LMOVE source target RIGHT LEFT. With the same key twice it turns the list round by one element.
void RPopLPush(CommandCall& call) { Move(call, {ListEnd::kBack, ListEnd::kFront}); }

// The first key that holds a list serves alone, even with fewer than COUNT elements. A key of
// another type in front of it is WRONGTYPE; behind it no key is looked at. After `RPUSH b x y z`:
//   LMPOP 2 a b LEFT COUNT 2  → ["b", ["x", "y"]]  the first list that has something
//   LMPOP 0 a LEFT            → -ERR numkeys should be greater than 0
//   LMPOP 2 a LEFT            → -ERR syntax error
void LMPop(CommandCall& call) {
  const std::optional<MultiPop> pop = ReadMultiPop(call, 1);
  if (!pop) return;
  for (size_t i = 0; i < pop->keys; ++i) {
    const HashedKey key = call.Key(pop->first_key + i);
    const Typed<List> found = LookUpTyped<List>(call, key);
    if (found.refused) return;
    if (found) return PopMany(call, key, found, pop->end, pop->count);
  }
  call.reply.NullArray();
}

// --- the table

// LMPOP's keys are counted by its first argument, which old clients cannot follow (kMovableKeys).
constexpr CommandRow kListMovesRows[] = {
    {.name = "LMOVE",
     .arity = 5,
     .flags = kWrite | kDenyOom,
     .categories = kCatList,
     .keys = kSourceAndTarget,
     .run = LMove,
     .group = "list",
     .since = "6.2.0",
     .complexity = "O(1)",
     .usage = "source destination wherefrom=<LEFT | RIGHT> whereto=<LEFT | RIGHT>",
     .summary = "Take an element off one list, put it onto another or the same, answer with it."},
    {.name = "RPOPLPUSH",
     .arity = 3,
     .flags = kWrite | kDenyOom,
     .categories = kCatList,
     .keys = kSourceAndTarget,
     .run = RPopLPush,
     .group = "list",
     .since = "1.2.0",
     .complexity = "O(1)",
     .usage = "source destination",
     .summary = "Take the last element of a list, put it at the front of another, answer with it.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`LMOVE` with the `RIGHT` and `LEFT` arguments"},
    {.name = "LMPOP",
     .arity = -4,
     .flags = kWrite | kMovableKeys,
     .categories = kCatList,
     .keys = KeysCounted(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = LMPop,
     .group = "list",
     .since = "7.0.0",
     .complexity = "O(N+M) where N is the number of provided keys and M is the number of elements "
                   "returned.",
     .usage = "numkeys:integer key [key ...] where=<LEFT | RIGHT> [COUNT count]",
     .summary = "Take elements off the first of several lists that is there; its name and they."},
};

}  // namespace

CommandFamily ListMovesFamily() { return {"list_moves", kSpecsOf<kListMovesRows>}; }

}  // namespace sluice
