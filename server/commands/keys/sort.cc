// SORT and SORT_RO: the elements of a list, set or sorted set in order, by themselves or by what
// other keys hold, as they are or as other keys show them.
//
// The elements are copied first: looking other keys up may remove expired ones.
//
// Cost: O(N) to copy and weigh, O(N + M log M) to order a window of M; with BY or GET one look-up
// for each element and pattern. It runs in one piece.
//
//   SORT jobs BY job:*->rank LIMIT 0 10 GET # GET job:*->name
//
// A sort by numbers needs every element to be one: the first fault refuses the command, but only
// after all were weighed, as in Redis. STORE is logged as DEL and RPUSH, because a replay cannot
// see the same other keys.

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/keys/sort_pattern.h"
#include "server/commands/keys/sort_source.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/shared/db_index.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/access_gate.h"
#include "server/dispatch/script_state.h"

namespace sluice {
namespace {

// The request as it was read. `gets` is empty for plain elements; otherwise each element gives as
// many answers as there are patterns, null included.
struct SortRequest {
  bool may_store = false;  // STORE is an option
  bool may_read_all = true;
  bool is_in_cluster = false;  // where BY and GET would lead to other servers
  bool descending = false;
  bool alpha = false;
  bool as_stored = false;  // BY a pattern without '*': no sorting
  int64_t offset = 0;
  int64_t count = -1;
  std::optional<std::string_view> by;
  std::vector<std::string_view> gets;
  std::optional<std::string_view> store;
};

constexpr std::string_view kStoreWord = "STORE";

// SORT key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC | DESC] [ALPHA] [STORE key], in
// any order.
constexpr OptionRow<SortRequest> kSortOptions[] = {
    {"ASC", kAssign<&SortRequest::descending, false>},
    {"DESC", kAssign<&SortRequest::descending, true>},
    {"ALPHA", kRaise<&SortRequest::alpha>},
    {"LIMIT",
     [](ArgReader& args, SortRequest& request) {
       request.offset = args.Int();
       request.count = args.Int();
     },
     2},
    {kStoreWord, kTakeBytes<&SortRequest::store>, 1,
     [](const SortRequest& request) { return request.may_store; }},
    {"BY",
     [](ArgReader& args, SortRequest& request) {
       request.by = args.Bytes();
       if (!HasPlaceholder(*request.by)) {
         request.as_stored = true;
       } else if (request.is_in_cluster) {
         args.Fail("ERR BY option of SORT denied in Cluster mode.");
       } else if (!request.may_read_all) {
         args.Fail("ERR BY option of SORT denied due to insufficient ACL permissions.");
       }
     },
     1},
    {"GET",
     [](ArgReader& args, SortRequest& request) {
       request.gets.push_back(args.Bytes());
       if (request.is_in_cluster) {
         args.Fail("ERR GET option of SORT denied in Cluster mode.");
       } else if (!request.may_read_all) {
         args.Fail("ERR GET option of SORT denied due to insufficient ACL permissions.");
       }
     },
     1},
};

// False: the error has been answered. If an option comes twice, the last one counts.
bool ReadSort(CommandCall& call, SortRequest& request) {
  ArgReader args(call.args, 2);
  // Which keys BY and GET lead to nobody knows before: whoever may use them may read all.
  request.is_in_cluster = IsInCluster(call);
  request.may_read_all = call.part<AccessGate>().MayReadAnyKey(call.client, call);
  ReadOptions(args, kSortOptions, request);
  if (args.Finish()) return true;
  call.reply.Error(args.error());
  return false;
}

// --- ordering

// An element by its number, with what decides most comparisons.
struct Sortable {
  size_t index;
  double weight = 0;    // unless ALPHA is given
  uint64_t prefix = 0;  // with ALPHA, and without BY: the first bytes as a number
};

// The elements before they are ordered.
struct Unsorted {
  Elements elements;
  std::vector<std::optional<std::string>> texts;  // what they are compared by, with BY and ALPHA
};

// The elements' places `first` to `last` in what is answered.
struct Window {
  size_t first = 0;
  size_t last = 0;
};

// The number that C's strtod makes of the whole text, or null; the empty text is 0.
std::optional<double> WeightOf(std::string_view text) {
  text = text.substr(0, text.find('\0'));  // Redis reads a C string
  if (text.empty()) return 0;
  if (const std::optional<int64_t> whole = ParseInt64(text)) return static_cast<double>(*whole);
  const size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::optional<double> weight = ParseDouble(text.substr(begin));
  if (weight && std::fpclassify(*weight) == FP_SUBNORMAL) return std::nullopt;
  return weight;
}

// Big-endian, so that comparing two numbers is comparing the bytes. It spares most comparisons of
// text a miss of the cache; a tie is decided by the whole text.
uint64_t PrefixOf(std::string_view text) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < sizeof(prefix); ++i) {
    prefix = prefix << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  }
  return prefix;
}

// A pattern that leads nowhere weighs 0, or with ALPHA has no text at all, which sorts first.
// False: one cannot be made a number, which has been answered.
bool Weigh(CommandCall& call, const SortRequest& request, Unsorted& unsorted,
           std::vector<Sortable>& items) {
  bool sound = true;
  if (request.by && request.alpha) unsorted.texts.resize(items.size());
  for (Sortable& item : items) {
    const std::string_view element = unsorted.elements[item.index];
    std::optional<std::string> by;
    if (request.by) by = LookUpPattern(call, *request.by, element);
    if (request.by && !by) continue;
    const std::string_view text = by ? std::string_view(*by) : element;
    if (!request.alpha) {
      const std::optional<double> weight = WeightOf(text);
      sound = sound && weight;
      item.weight = weight.value_or(0);
    } else if (by) {
      unsorted.texts[item.index] = std::move(by);
    } else {
      item.prefix = PrefixOf(text);
    }
  }
  if (!sound) call.reply.Error("ERR One or more scores can't be converted into double");
  return sound;
}

// Elements of the same weight are in the order of their bytes, so that the outcome is one.
int Compare(const SortRequest& request, const Unsorted& unsorted, const Sortable& a,
            const Sortable& b) {
  if (a.weight != b.weight) return a.weight < b.weight ? -1 : 1;
  if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
  if (!request.alpha || !request.by) {
    return unsorted.elements[a.index].compare(unsorted.elements[b.index]);
  }
  const std::optional<std::string>& text = unsorted.texts[a.index];
  const std::optional<std::string>& other = unsorted.texts[b.index];
  if (!text || !other) return static_cast<int>(text.has_value()) - other.has_value();
  return text->compare(*other);
}

// Brings the window into order; equal elements stay as they came. Two selections (std::nth_element,
// O(N) on average) cut off what comes before and behind it, so SORT LIMIT 0 10 of a million
// elements does not sort a million.
void Order(const SortRequest& request, const Unsorted& unsorted, const Window& window,
           std::vector<Sortable>& items) {
  const auto before = [&](const Sortable& a, const Sortable& b) {
    const int order = Compare(request, unsorted, a, b);
    if (order == 0) return a.index < b.index;
    return request.descending ? order > 0 : order < 0;
  };
  const auto first = items.begin() + static_cast<ptrdiff_t>(window.first);
  const auto last = items.begin() + static_cast<ptrdiff_t>(window.last);
  if (first == last) return;
  // First cuts off the elements before the window, then those behind it.
  if (first != items.begin()) std::nth_element(items.begin(), first, items.end(), before);
  if (last != items.end()) std::nth_element(first, last, items.end(), before);
  std::sort(first, last, before);
}

// --- answering

// The elements that are answered, in order.
struct Sorted {
  const Elements& elements;
  std::span<const Sortable> order;
};

// GET patterns are looked up while answering: they may remove expired keys, which is why the
// elements are copies.
void ReplySorted(CommandCall& call, const SortRequest& request, const Sorted& sorted) {
  call.reply.Array(sorted.order.size() * std::max<size_t>(request.gets.size(), 1));
  for (const Sortable& item : sorted.order) {
    const std::string_view element = sorted.elements[item.index];
    if (request.gets.empty()) call.reply.Bulk(element);
    for (const std::string_view pattern : request.gets) {
      const std::optional<std::string> found = LookUpPattern(call, pattern, element);
      found ? call.reply.Bulk(*found) : call.reply.Null();
    }
  }
}

// An empty result deletes the target; then DEL alone is the effect.
void RecordStored(CommandCall& call, HashedKey key, const Elements& texts) {
  if (!call.wants_effects()) return;
  call.ReplaceWith({"DEL", key.bytes});
  if (texts.size() == 0) return;
  std::vector<std::string_view> command = {"RPUSH", key.bytes};
  for (size_t i = 0; i < texts.size(); ++i) command.push_back(texts[i]);
  call.ReplaceWith(Args(command));
}

// A GET that finds nothing stores an empty string, where the answer would have null. The answer is
// the length, also when that is 0 and nothing was there to delete.
void StoreSorted(CommandCall& call, const SortRequest& request, const Sorted& sorted) {
  Elements texts;
  for (const Sortable& item : sorted.order) {
    const std::string_view element = sorted.elements[item.index];
    if (request.gets.empty()) texts.Add(element);
    for (const std::string_view pattern : request.gets) {
      texts.Add(LookUpPattern(call, pattern, element).value_or(std::string()));
    }
  }
  const HashedKey key = call.keyspace.Hash(*request.store);
  call.reply.Integer(static_cast<int64_t>(texts.size()));
  auto list = std::make_unique<List>();
  const ListLimits limits = LimitsOf(call.parts);
  for (size_t i = 0; i < texts.size(); ++i) list->Push(ListEnd::kBack, texts[i], limits);
  if (StoreTyped(call, key, std::move(list), kNotifyList, "sortstore")) {
    RecordStored(call, key, texts);
  }
}

void Answer(CommandCall& call, const SortRequest& request, const Sorted& sorted) {
  request.store ? StoreSorted(call, request, sorted) : ReplySorted(call, request, sorted);
}

// LIMIT as Redis reads it: a negative offset is 0, a negative count means all.
Window WindowOf(const SortRequest& request, size_t elements) {
  const auto size = static_cast<int64_t>(elements);
  const int64_t first = std::clamp<int64_t>(request.offset, 0, size);
  const int64_t count = request.count < 0 ? size : request.count;
  return {static_cast<size_t>(first), static_cast<size_t>(first + std::min(count, size - first))};
}

std::vector<Sortable> Numbered(size_t count) {
  std::vector<Sortable> items(count);
  for (size_t i = 0; i < count; ++i) items[i].index = i;
  return items;
}

// The elements as they stand: no others are looked at.
void AnswerAsStored(CommandCall& call, const SortRequest& request, const Entry& entry) {
  const Window window = WindowOf(request, CountElements(entry));
  const size_t count = window.last - window.first;
  const Elements elements = ElementsOf(entry, request.descending, window.first, count);
  const std::vector<Sortable> order = Numbered(count);
  Answer(call, request, {elements, order});
}

// Options, then the key, then its type. A missing key is an empty list: with STORE it deletes the
// target. After `RPUSH l 3 1 2`, `MSET w_1 30 w_2 20 w_3 10`:
//   SORT l                       → ["1", "2", "3"]
//   SORT l BY w_* GET # GET w_*  → ["3", "10", "2", "20", "1", "30"]
//   SORT l BY nothing            → ["3", "1", "2"]  without a star in it: left in its order
//   SORT l LIMIT 1 1 DESC        → ["2"]
// After `RPUSH t b a`:
//   SORT t                       → -ERR One or more scores can't be converted into double
//   SORT t ALPHA STORE s         → 2                how many there are
void SortKey(CommandCall& call, bool may_store) {
  SortRequest request{.may_store = may_store};
  if (!ReadSort(call, request)) return;
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  const Elements none;
  if (!entry) return Answer(call, request, {none, {}});
  if (!IsSortable(*entry)) return call.reply.Error(ErrorCode::kWrongType);

  // A set has no order: with BY nosort, what is stored, or answered to a script, would differ from
  // run to run.
  if (request.as_stored && entry->type() == ValueType::kSet &&
      (request.store || call.part<ScriptState>().running())) {
    request.as_stored = false;
    request.alpha = true;
    request.by.reset();
  }
  if (request.as_stored) return AnswerAsStored(call, request, *entry);
  Unsorted unsorted{.elements = ElementsOf(*entry, false, 0, CountElements(*entry)), .texts = {}};
  std::vector<Sortable> items = Numbered(unsorted.elements.size());
  const Window window = WindowOf(request, items.size());
  if (!Weigh(call, request, unsorted, items)) return;
  Order(request, unsorted, window, items);
  // Only the window is in order by now.
  const auto order = std::span<const Sortable>(items).first(window.last).subspan(window.first);
  Answer(call, request, {unsorted.elements, order});
}
void Sort(CommandCall& call) { SortKey(call, true); }
void SortRo(CommandCall& call) { SortKey(call, false); }

// --- keys

// The target of the last STORE, as the handler reads it.
bool FindSortKeys(const Request& request, std::vector<KeyUse>& keys) {
  keys.push_back({1, kKeyRo | kKeyAccess});
  size_t target = 0;
  const auto see = [&](const OptionRow<SortRequest>& row, size_t at) {
    if (row.word == kStoreWord) target = at + 1;
  };
  SeeOptions(ArgReader(request.args, 2), kSortOptions, {.may_store = true}, see);
  if (target != 0) keys.push_back({static_cast<int>(target), kKeyOw | kKeyUpdate});
  return true;
}

// STORE is no option of SORT_RO, and keys that BY and GET lead to are not told.
bool FindSortRoKeys(const Request&, std::vector<KeyUse>& keys) {
  keys.push_back({1, kKeyRo | kKeyAccess});
  return true;
}

// Keys that no key spec finds: it begins nowhere.
constexpr KeySpecs UnknownKeys(uint16_t flags, ConstantText notes) {
  return KeyAt(0, flags, notes);
}
constexpr KeySpecs kReadKeys =
    KeyAt(1, kKeyRo | kKeyAccess) +
    UnknownKeys(kKeyRo | kKeyAccess, "of BY and GET: their names come from what is sorted");
constexpr KeySpecs kAllKeys =
    kReadKeys + UnknownKeys(kKeyOw | kKeyUpdate, "of STORE, which may stand anywhere");

// --- the table

constexpr uint32_t kSortCategories = kCatSet | kCatSortedSet | kCatList | kCatDangerous;
constexpr std::string_view kSortComplexity =
    "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number "
    "of "
    "returned elements. When the elements are not sorted, complexity is O(N).";

// kMovableKeys: which keys are looked at depends on the elements, and STORE's target on the
// options.
constexpr CommandRow kSortRows[] = {
    {.name = "SORT",
     .arity = -2,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .categories = kSortCategories,
     .keys = kAllKeys,
     .run = Sort,
     .group = "generic",
     .since = "1.0.0",
     .complexity = kSortComplexity,
     .usage =
         "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] order=[ASC | DESC] "
         "[ALPHA] [STORE destination]",
     .summary = "Sort the elements in a list, set or sorted set",
     .find_keys = FindSortKeys},
    {.name = "SORT_RO",
     .arity = -2,
     .flags = kReadOnly | kMovableKeys,
     .categories = kSortCategories,
     .keys = kReadKeys,
     .run = SortRo,
     .group = "generic",
     .since = "7.0.0",
     .complexity = kSortComplexity,
     .usage =
         "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] order=[ASC | DESC] "
         "[ALPHA]",
     .summary = "As SORT, without STORE.",
     .find_keys = FindSortRoKeys},
};

}  // namespace

CommandFamily SortFamily() { return {"sort", kSpecsOf<kSortRows>}; }

}  // namespace sluice
