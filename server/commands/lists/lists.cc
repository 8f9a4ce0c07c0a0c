// The list family, its ends: pushing, popping and the length. Commands that reach into a list are
// in list_items.cc, moves between lists in list_moves.cc, waiting in list_waits.cc.
//
// Both ends are O(1) an element. A push is its own effect, and so is a pop: the state alone decides
// which element goes.
//
//   command        missing key              event         effect
//   LPUSH RPUSH    made                     lpush rpush   itself
//   LPUSHX RPUSHX  0                        lpush rpush   itself
//   LPOP RPOP      null, a null array       lpop rpop     itself
//                  if there is a count
//   LLEN           0
//
// The pop of a list's last element adds `del` behind its own event.

#include <algorithm>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/shared/rows.h"

namespace sluice {
namespace {

// The X forms never make a key; the answer 0 tells that. Their type check comes first.
//   LPUSH l a b c     → 3  the last one is the first
//   LRANGE l 0 -1     → ["c", "b", "a"]
//   LPUSHX nothing a  → 0
void PushAll(CommandCall& call, ListEnd end, bool only_if_there) {
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found && only_if_there) return call.reply.Integer(0);
  const size_t size = Push(call, key, found, end, call.args.subspan(2));
  call.reply.Integer(static_cast<int64_t>(size));
}
void LPush(CommandCall& call) { PushAll(call, ListEnd::kFront, false); }
void RPush(CommandCall& call) { PushAll(call, ListEnd::kBack, false); }
void LPushX(CommandCall& call) { PushAll(call, ListEnd::kFront, true); }
void RPushX(CommandCall& call) { PushAll(call, ListEnd::kBack, true); }

// --- LPOP and RPOP

// Redis 7's answers: null for a missing key even with count 0, an empty array for a list with count
// 0. A count below 0 is told before the key is looked at. After `RPUSH l a b`:
//   LPOP l 0   → []
//   LPOP l 5   → ["a", "b"]
//   LPOP l 5   → nil array  a missing key
//   LPOP l -1  → -ERR value is out of range, must be positive
void PopCounted(CommandCall& call, ListEnd end) {
  const std::optional<int64_t> count = ParseInt64(call.args[2]);
  if (!count || *count < 0) return call.reply.Error(ErrorCode::kPositive);
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.NullArray();
  if (*count == 0) return call.reply.Array(0);
  ReplyPopped(call, key, found, end, std::min(static_cast<size_t>(*count), found->size()));
}

// With a count the answer is an array, even of one element; without it a bulk string.
void Pop(CommandCall& call, ListEnd end, std::string_view name) {
  if (call.args.size() > 3) {
    return call.reply.Error(Concat("ERR wrong number of arguments for '", name, "' command"));
  }
  if (call.args.size() == 3) return PopCounted(call, end);
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.Null();
  char scratch[List::kTextScratch];
  call.reply.Bulk(found->AtEnd(end, scratch));
  Drop(call, key, found, end, 1);
}
void LPop(CommandCall& call) { Pop(call, ListEnd::kFront, "lpop"); }
void RPop(CommandCall& call) { Pop(call, ListEnd::kBack, "rpop"); }

// The length is kept with the list: O(1).
void LLen(CommandCall& call) {
  const Typed<List> found = FindTyped<List>(call, call.Key(1));
  if (!found.refused) call.reply.Integer(found ? static_cast<int64_t>(found->size()) : 0);
}

// --- the table

constexpr std::string_view kPushComplexity =
    "O(1) for each element added, so O(N) to add N elements when the command is called with "
    "multiple "
    "arguments.";

// LLEN only looks; a pop needs access as well, since it gives the element away.
constexpr CommandRow kListsListed[] = {
    {.name = "LPUSH",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = LPush,
     .since = "1.0.0",
     .complexity = kPushComplexity,
     .usage = "key element [element ...]",
     .summary = "Put elements at the front of a list, the last one foremost; its length then.",
     .history = "2.4.0 Several elements at once."},
    {.name = "RPUSH",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = RPush,
     .since = "1.0.0",
     .complexity = kPushComplexity,
     .usage = "key element [element ...]",
     .summary = "Put elements at the back of a list; its length then.",
     .history = "2.4.0 Several elements at once."},
    {.name = "LPUSHX",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = LPushX,
     .since = "2.2.0",
     .complexity = kPushComplexity,
     .usage = "key element [element ...]",
     .summary = "As LPUSH, if there is such a list; 0 if there is none.",
     .history = "4.0.0 Several elements at once."},
    {.name = "RPUSHX",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = RPushX,
     .since = "2.2.0",
     .complexity = kPushComplexity,
     .usage = "key element [element ...]",
     .summary = "As RPUSH, if there is such a list; 0 if there is none.",
     .history = "4.0.0 Several elements at once."},
    {.name = "LPOP",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = LPop,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of elements returned",
     .usage = "key [count@6.2.0]",
     .summary = "Take the first element of a list, or so many in an array; null without the list.",
     .history = "6.2.0 `count`."},
    {.name = "RPOP",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = RPop,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of elements returned",
     .usage = "key [count@6.2.0]",
     .summary = "Take the last element of a list, or so many in an array; null without the list.",
     .history = "6.2.0 `count`."},
    {.name = "LLEN",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = KeyAt(1, kKeyRo),
     .run = LLen,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "key",
     .summary = "How many elements a list has; 0 when there is none."},
};
constexpr auto kListsRows = RowsOf(kListsListed, {.categories = kCatList, .group = "list"});

}  // namespace

CommandFamily ListsFamily() { return {"lists", kSpecsOf<kListsRows>}; }

}  // namespace sluice
