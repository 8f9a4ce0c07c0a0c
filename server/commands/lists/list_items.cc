// The list family, inside a list: elements by index and by value.
//
// Everything here is O(N) in the worst case, in one piece: an index is looked for from the nearer
// end, node by node, a value from one end, element by element.
//
//   command    missing key      event             effect
//   LINDEX     null
//   LRANGE     an empty array
//   LPOS       null or []
//   LSET       an error         lset              itself
//   LINSERT    0                linsert           itself
//   LREM       0                lrem, del         itself
//   LTRIM      OK               ltrim, del        itself, unless all elements stay

#include <optional>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/shared/index_range.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"

namespace sluice {
namespace {

// The element's place, counted from the back when negative; null when it is outside the list.
std::optional<size_t> PlaceOf(int64_t index, size_t size) {
  const int64_t count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<size_t>(index);
}

// The key comes before the number, unlike in LRANGE: LINDEX of a missing key with a bad index is
// null. After `RPUSH l a b c`:
//   LINDEX l -1  → "c"
//   LINDEX l 3   → nil
void LIndex(CommandCall& call) {
  const Typed<List> found = FindTyped<List>(call, call.Key(1));
  if (found.refused) return;
  if (!found) return call.reply.Null();
  ArgReader args(call.args, 2);
  const int64_t index = args.Int();
  if (args.failed()) return call.reply.Error(args.error());
  const List& list = *found;
  const std::optional<size_t> place = PlaceOf(index, list.size());
  if (!place) return call.reply.Null();
  char scratch[List::kTextScratch];
  call.reply.Bulk(list.At(*place, scratch));
}

// The numbers come before the key. An empty range is an empty array, never null. After
// `RPUSH l a b c`:
//   LRANGE l -100 1  → ["a", "b"]
//   LRANGE l 2 1     → []
void LRange(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t first = args.Int();
  const int64_t last = args.Int();
  if (args.failed()) return call.reply.Error(args.error());
  const Typed<List> found = FindTyped<List>(call, call.Key(1));
  if (found.refused) return;
  if (!found) return call.reply.Array(0);
  const List& list = *found;
  const IndexRange range = RangeOf(first, last, list.size());
  call.reply.Array(range.count());
  size_t left = range.count();
  if (left == 0) return;
  list.Walk(range.first, ListEnd::kBack, [&](size_t, std::string_view text) {
    call.reply.Bulk(text);
    return --left > 0;
  });
}

// Key, type, number, range, in this order; a missing key is "no such key", for LSET makes no list.
// After `RPUSH l a`:
//   LSET l 1 x        → -ERR index out of range
//   LSET nothing 0 x  → -ERR no such key
void LSet(CommandCall& call) {
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.Error(ErrorCode::kNoSuchKey);
  ArgReader args(call.args, 2);
  const int64_t index = args.Int();
  if (args.failed()) return call.reply.Error(args.error());
  const std::optional<size_t> place = PlaceOf(index, found->size());
  if (!place) return call.reply.Error(ErrorCode::kIndexOutOfRange);
  const Opened<List> list = OpenFound(call, key, found);
  list->Replace(*place, call.args[3], LimitsOf(call.parts));
  call.reply.Ok();
  CloseTyped(call, list, kNotifyList, "lset");
}

// The word comes before the key. 0 for a missing key and -1 for a missing pivot, so that a length
// is always above 0. After `RPUSH l a c`:
//   LINSERT l BEFORE c b       → 3
//   LINSERT l AFTER x b        → -1  no such element
//   LINSERT nothing AFTER x b  → 0   no such key
void LInsert(CommandCall& call) {
  const bool behind = IsWord(call.args[2], "AFTER");
  if (!behind && !IsWord(call.args[2], "BEFORE")) return call.reply.Error(ErrorCode::kSyntax);
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.Integer(0);
  std::optional<size_t> pivot;
  found->Find(call.args[3], ListEnd::kBack, SIZE_MAX, [&](size_t index) {
    pivot = index;
    return false;
  });
  // Behind the look and before the change: a missing pivot leaves no trace.
  if (!pivot) return call.reply.Integer(-1);
  const Opened<List> list = OpenFound(call, key, found);
  list->Insert(*pivot + (behind ? 1 : 0), call.args[4], LimitsOf(call.parts));
  CloseTyped(call, list, kNotifyList, "linsert");
  call.reply.Integer(static_cast<int64_t>(list->size()));
}

// count > 0 removes from the front, < 0 from the back, 0 all that are equal. The list's last
// element takes the key along. After `RPUSH l a b a b a`:
//   LREM l -1 a    → 1  from the end
//   LREM l 0 a     → 2  all of them
//   LRANGE l 0 -1  → ["b", "b"]
void LRem(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t count = args.Int();
  if (args.failed()) return call.reply.Error(args.error());
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.Integer(0);
  const ListEnd from = count < 0 ? ListEnd::kBack : ListEnd::kFront;
  // The negation of the least integer does not fit into 64 bits with a sign.
  const uint64_t magnitude = count < 0 ? 0 - static_cast<uint64_t>(count) : count;
  // Looked for first: a list without such an element is not touched.
  bool there = false;
  found->Find(call.args[3], ListEnd::kBack, SIZE_MAX, [&](size_t) {
    there = true;
    return false;
  });
  if (!there) return call.reply.Integer(0);
  const Opened<List> list = OpenFound(call, key, found);
  const size_t removed = list->Remove(call.args[3], magnitude ? magnitude : SIZE_MAX, from);
  CloseTyped(call, list, kNotifyList, "lrem");
  call.reply.Integer(static_cast<int64_t>(removed));
}

// Keeps the range; an empty range deletes the key. Redis sends `ltrim` even if nothing was cut off,
// and so does this, without an effect for the log. After `RPUSH l a b c`:
//   LTRIM l 1 -1  → OK
//   LTRIM l 5 9   → OK
//   EXISTS l      → 0
void LTrim(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t first = args.Int();
  const int64_t last = args.Int();
  if (args.failed()) return call.reply.Error(args.error());
  const HashedKey key = call.Key(1);
  const Typed<List> found = LookUpTyped<List>(call, key);
  if (found.refused) return;
  if (!found) return call.reply.Ok();
  const Opened<List> list = OpenFound(call, key, found);
  const IndexRange range = RangeOf(first, last, list->size());
  if (range.count() == list->size()) call.NoEffect();  // as after most LPUSHes
  if (range.count() == 0) {
    list->Drop(ListEnd::kFront, list->size());
  } else {
    list->Drop(ListEnd::kBack, list->size() - range.end);
    list->Drop(ListEnd::kFront, range.first);
  }
  CloseTyped(call, list, kNotifyList, "ltrim");
  call.reply.Ok();
}

// --- LPOS key element [RANK rank] [COUNT count] [MAXLEN len]

// RANK -1 looks from the back; places are counted from the front all the same. MAXLEN bounds the
// comparisons, not the matches.
struct PosOptions {
  int64_t rank = 1;
  std::optional<int64_t> count;  // answers with an array; 0: all
  int64_t looks_max = 0;         // 0: no limit
};

// Takes a number that is not negative; anything else is the fault.
int64_t TakeCount(ArgReader& args, const char* fault) {
  const std::string_view text = args.Bytes();
  const std::optional<int64_t> count = ParseInt64(text);
  if (!count || *count < 0) args.Fail(std::string(fault));
  return count.value_or(0);
}

void ReadRank(ArgReader& args, PosOptions& options) {
  options.rank = args.Int();
  if (!args.failed() && options.rank == 0) {
    args.Fail(
        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or "
        "use negative to start from the end of the list");
  }
}

// LPOS key element [RANK rank] [COUNT count] [MAXLEN len], in any order.
constexpr OptionRow<PosOptions> kPosOptions[] = {
    {"RANK", ReadRank, 1},
    {"COUNT",
     [](ArgReader& args, PosOptions& options) {
       options.count = TakeCount(args, "ERR COUNT can't be negative");
     },
     1},
    {"MAXLEN",
     [](ArgReader& args, PosOptions& options) {
       options.looks_max = TakeCount(args, "ERR MAXLEN can't be negative");
     },
     1},
};

// The form of the answer depends on COUNT alone: without it an index or null, with it an array,
// which is empty where nothing was found. The options come before the key. After
// `RPUSH l a b a b a`:
//   LPOS l a RANK 2            → 2
//   LPOS l a RANK -1           → 4
//   LPOS l a COUNT 0           → [0, 2, 4]
//   LPOS l a COUNT 0 MAXLEN 3  → [0, 2]
//   LPOS l a RANK 0            → -ERR RANK can't be zero: use 1 to start from the first match, ...
void LPos(CommandCall& call) {
  ArgReader args(call.args, 3);
  PosOptions options;
  ReadOptions(args, kPosOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  const Typed<List> found = FindTyped<List>(call, call.Key(1));
  if (found.refused) return;
  if (!found) return options.count ? call.reply.Array(0) : call.reply.Null();

  const List& list = *found;
  // The lowest rank is the first from the back, as in Redis, where its negation overflows.
  const int64_t rank = options.rank == INT64_MIN ? -1 : options.rank;
  // RANK 2 passes over one match.
  int64_t to_skip = (rank < 0 ? -rank : rank) - 1;
  const int64_t wanted = options.count.value_or(1);
  std::vector<size_t> places;
  list.Find(call.args[2], options.rank < 0 ? ListEnd::kFront : ListEnd::kBack,
            options.looks_max ? static_cast<size_t>(options.looks_max) : list.size(),
            [&](size_t index) {
              if (to_skip-- > 0) return true;
              places.push_back(index);
              return wanted == 0 || static_cast<int64_t>(places.size()) < wanted;
            });
  if (options.count) {
    call.reply.Array(places.size());
    for (const size_t index : places) call.reply.Integer(static_cast<int64_t>(index));
  } else if (places.empty()) {
    call.reply.Null();
  } else {
    call.reply.Integer(static_cast<int64_t>(places[0]));
  }
}

// --- the table

// They lack kFast: each may have to walk through the list.
constexpr CommandRow kListItemsListed[] = {
    {.name = "LINDEX",
     .arity = 3,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = LIndex,
     .since = "1.0.0",
     .complexity =
         "O(N) where N is the number of elements to traverse to get to the element at index. This "
         "makes asking for the first or the last element of the list O(1).",
     .usage = "key index",
     .summary = "The element at an index, counted from the back if negative."},
    {.name = "LRANGE",
     .arity = 4,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = LRange,
     .since = "1.0.0",
     .complexity = "O(S+N) where S is the distance of start offset from HEAD for small lists, from "
                   "nearest end (HEAD or TAIL) for large lists; and N is the number of elements in "
                   "the specified range.",
     .usage = "key start stop:integer",
     .summary = "The elements from one index to another, both included."},
    {.name = "LSET",
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = LSet,
     .since = "1.0.0",
     .complexity = "O(N) where N is the length of the list. Setting either the first or the last "
                   "element of the list is O(1).",
     .usage = "key index element",
     .summary = "Put another element in the place of the one at an index."},
    {.name = "LINSERT",
     .arity = 5,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = LInsert,
     .since = "2.2.0",
     .complexity =
         "O(N) where N is the number of elements to traverse before seeing the value "
         "pivot. This means that inserting somewhere on the left end on the list (head) "
         "can be considered O(1) and inserting somewhere on the right end (tail) is O(N).",
     .usage = "key where=<BEFORE | AFTER> pivot element",
     .summary = "Put an element next to the first one equal to the pivot; the length, or -1."},
    {.name = "LREM",
     .arity = 4,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = LRem,
     .since = "1.0.0",
     .complexity = "O(N+M) where N is the length of the list and M is the number of elements "
                   "removed.",
     .usage = "key count element",
     .summary = "Remove the first (count above 0), last (below) or all elements equal to one."},
    {.name = "LTRIM",
     .arity = 4,
     .flags = kWrite,
     .keys = KeyAt(1, kKeyRw | kKeyDelete),
     .run = LTrim,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of elements to be removed by the operation.",
     .usage = "key start stop:integer",
     .summary = "Keep the elements from one index to another and remove the others."},
    {.name = "LPOS",
     .arity = -3,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = LPos,
     .since = "6.0.6",
     .complexity = "O(N) where N is the number of elements in the list, for the average case. When "
                   "searching for elements near the head or the tail of the list, or when the "
                   "MAXLEN option is provided, the command may run in constant time.",
     .usage = "key element [RANK rank:integer] [COUNT num-matches:integer] [MAXLEN len]",
     .summary = "Where an element stands; with COUNT the places of so many, 0 for all."},
};
constexpr auto kListItemsRows = RowsOf(kListItemsListed, {.categories = kCatList, .group = "list"});

}  // namespace

CommandFamily ListItemsFamily() { return {"list_items", kSpecsOf<kListItemsRows>}; }

}  // namespace sluice
