// SORT and SORT_RO: the elements of a list, set or sorted set in order, by themselves or by what
// other keys hold, as they are or as other keys show them.
//
// The elements are copied first: looking other keys up may remove expired ones.

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/number_text.h"
#include "server/commands/families.h"
#include "server/commands/list_access.h"
#include "server/commands/sort_pattern.h"
#include "server/commands/sort_source.h"
#include "server/engine/effects.h"

namespace sluice {
namespace {

struct SortRequest {
  bool descending = false;
  bool alpha = false;
  bool as_stored = false;  // BY a pattern without '*': no sorting
  int64_t offset = 0;
  int64_t count = -1;
  std::optional<std::string_view> by;
  std::vector<std::string_view> gets;
  std::optional<std::string_view> store;
};

// False: the error has been answered. Of options that come twice the last one counts.
bool ReadSort(CommandCall& call, bool may_store, SortRequest& request) {
  ArgReader args(call.args, 2);
  while (args.more()) {
    if (args.TakeWord("ASC")) {
      request.descending = false;
    } else if (args.TakeWord("DESC")) {
      request.descending = true;
    } else if (args.TakeWord("ALPHA")) {
      request.alpha = true;
    } else if (args.left() > 2 && args.TakeWord("LIMIT")) {
      request.offset = args.Int();
      request.count = args.Int();
    } else if (may_store && args.left() > 1 && args.TakeWord("STORE")) {
      request.store = args.Bytes();
    } else if (args.left() > 1 && args.TakeWord("BY")) {
      request.by = args.Bytes();
      if (!HasPlaceholder(*request.by)) request.as_stored = true;
    } else if (args.left() > 1 && args.TakeWord("GET")) {
      request.gets.push_back(args.Bytes());
    } else {
      args.Fail(ErrorCode::kSyntax);
    }
  }
  if (args.Finish()) return true;
  call.reply.Error(args.error());
  return false;
}

// --- ordering

struct Sortable {
  std::string element;
  double weight = 0;
  std::optional<std::string> text;  // what it is compared by, with BY and ALPHA
};

// What C's strtod makes of the whole text; the empty text is 0.
std::optional<double> WeightOf(std::string_view text) {
  if (text.empty()) return 0;
  const size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::optional<double> weight = ParseDouble(text.substr(begin));
  if (weight && std::fpclassify(*weight) == FP_SUBNORMAL) return std::nullopt;
  return weight;
}

// False: one cannot be made a number, which has been answered.
bool Weigh(CommandCall& call, const SortRequest& request, std::vector<Sortable>& items) {
  bool sound = true;
  for (Sortable& item : items) {
    std::optional<std::string> text =
        request.by ? LookUpPattern(call, *request.by, item.element) : item.element;
    if (!text) continue;
    if (request.alpha) {
      if (request.by) item.text = std::move(text);
      continue;
    }
    const std::optional<double> weight = WeightOf(*text);
    sound = sound && weight;
    item.weight = weight.value_or(0);
  }
  if (!sound) call.reply.Error("ERR One or more scores can't be converted into double");
  return sound;
}

// Elements of the same weight are in the order of their bytes, so that the outcome is one.
int Compare(const SortRequest& request, const Sortable& a, const Sortable& b) {
  if (!request.alpha) {
    if (a.weight != b.weight) return a.weight < b.weight ? -1 : 1;
    return a.element.compare(b.element);
  }
  if (!request.by) return a.element.compare(b.element);
  if (!a.text || !b.text) return static_cast<int>(a.text.has_value()) - b.text.has_value();
  return a.text->compare(*b.text);
}

void Order(const SortRequest& request, std::vector<Sortable>& items) {
  std::stable_sort(items.begin(), items.end(), [&](const Sortable& a, const Sortable& b) {
    return request.descending ? Compare(request, b, a) < 0 : Compare(request, a, b) < 0;
  });
}

// --- answering

void ReplySorted(CommandCall& call, const SortRequest& request, std::span<const Sortable> items) {
  call.reply.Array(items.size() * std::max<size_t>(request.gets.size(), 1));
  for (const Sortable& item : items) {
    if (request.gets.empty()) call.reply.Bulk(item.element);
    for (const std::string_view pattern : request.gets) {
      const std::optional<std::string> found = LookUpPattern(call, pattern, item.element);
      found ? call.reply.Bulk(*found) : call.reply.Null();
    }
  }
}

void RecordStored(CommandCall& call, HashedKey key, const std::vector<std::string>& texts) {
  if (!call.effects.wanted()) return;
  call.effects.Instead({"DEL", key.bytes});
  if (!texts.empty()) {
    std::vector<std::string_view> command = {"RPUSH", key.bytes};
    command.insert(command.end(), texts.begin(), texts.end());
    call.effects.Instead(Args(command));
  }
}

void StoreSorted(CommandCall& call, const SortRequest& request, std::span<const Sortable> items) {
  std::vector<std::string> texts;
  for (const Sortable& item : items) {
    if (request.gets.empty()) texts.push_back(item.element);
    for (const std::string_view pattern : request.gets) {
      texts.push_back(LookUpPattern(call, pattern, item.element).value_or(std::string()));
    }
  }
  const HashedKey key = call.keyspace.Hash(*request.store);
  call.reply.Integer(static_cast<int64_t>(texts.size()));
  if (texts.empty()) {
    if (!call.db.Delete(key, call.now)) return;
    call.Notify(kNotifyGeneric, "del", key.bytes);
  } else {
    auto list = std::make_unique<List>();
    const ListLimits limits = LimitsOf(call.engine);
    for (const std::string& text : texts) list->Push(ListEnd::kBack, text, limits);
    call.db.PutValue(key, std::move(list), Deadline::None(), call.now);
    call.Notify(kNotifyList, "sortstore", key.bytes);
  }
  RecordStored(call, key, texts);
}

void Answer(CommandCall& call, const SortRequest& request, std::span<const Sortable> items) {
  request.store ? StoreSorted(call, request, items) : ReplySorted(call, request, items);
}

void SortKey(CommandCall& call, bool may_store) {
  SortRequest request;
  if (!ReadSort(call, may_store, request)) return;
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (entry && !IsSortable(*entry)) return call.reply.Error(ErrorCode::kWrongType);

  // A set has no order: what is stored, or answered to a script, must not depend on chance.
  if (request.as_stored && entry && entry->type() == ValueType::kSet &&
      (request.store || call.engine.scripts().running())) {
    request.as_stored = false;
    request.alpha = true;
    request.by.reset();
  }
  std::vector<std::string> elements;
  if (entry) elements = ElementsOf(*entry, request.as_stored && request.descending);
  std::vector<Sortable> items;
  for (std::string& element : elements) items.push_back({std::move(element)});
  if (!request.as_stored) {
    if (!Weigh(call, request, items)) return;
    Order(request, items);
  }
  const auto size = static_cast<int64_t>(items.size());
  const int64_t first = std::clamp<int64_t>(request.offset, 0, size);
  const int64_t most = request.count < 0 ? size : request.count;
  const int64_t count = std::min(most, size - first);
  Answer(call, request,
         std::span<const Sortable>(items).subspan(static_cast<size_t>(first),
                                                  static_cast<size_t>(count)));
}
void Sort(CommandCall& call) { SortKey(call, true); }
void SortRo(CommandCall& call) { SortKey(call, false); }

// --- keys

// The target of the last STORE that does not stand for a value of another option.
bool FindSortKeys(Args args, std::vector<int>& positions) {
  positions.push_back(1);
  int target = 0;
  for (size_t i = 2; i < args.size(); ++i) {
    if (IsWord(args[i], "LIMIT")) {
      i += 2;
    } else if (IsWord(args[i], "GET") || IsWord(args[i], "BY")) {
      i += 1;
    } else if (IsWord(args[i], "STORE") && i + 1 < args.size()) {
      target = static_cast<int>(i + 1);
    }
  }
  if (target) positions.push_back(target);
  return true;
}

bool FindSortRoKeys(Args, std::vector<int>& positions) {
  positions.push_back(1);
  return true;
}

// Keys that no key spec finds: it begins nowhere.
constexpr KeySpecs UnknownKeys(uint16_t flags, std::string_view notes) {
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

constexpr CommandSpec kRows[] = {
    {.name = "SORT",
     .arity = -2,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .categories = kSortCategories,
     .keys = kAllKeys,
     .run = Sort,
     .group = "generic",
     .since = "1.0.0",
     .complexity = kSortComplexity,
     .usage = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] "
              "[ALPHA] [STORE destination]",
     .summary = "The elements of a list, set or sorted set in order, or what they lead to.",
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
     .usage = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] "
              "[ALPHA]",
     .summary = "As SORT, without STORE.",
     .find_keys = FindSortRoKeys},
};
static_assert(RowsAreSound(kRows));

}  // namespace

CommandFamily SortFamily() { return {"sort", kRows}; }

}  // namespace sluice
