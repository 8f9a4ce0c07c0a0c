// See command_entry.h.
#include "server/commands/admin/command_entry.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>

#include "protocol/text/concat.h"
#include "server/access/catalogue.h"
#include "server/dispatch/categories.h"

namespace sluice {
namespace {

// A bit and its word, in the order in which Redis lists them.
struct FlagWord {
  uint32_t flag;
  std::string_view word;
};

// A flag without a row here is ours alone: it has no word and is not shown.
constexpr FlagWord kFlagWords[] = {
    {kWrite, "write"},
    {kReadOnly, "readonly"},
    {kDenyOom, "denyoom"},
    {kModule, "module"},
    {kAdmin, "admin"},
    {kPubSub, "pubsub"},
    {kNoScript, "noscript"},
    {kBlocking, "blocking"},
    {kLoading, "loading"},
    {kStale, "stale"},
    {kSkipMonitor, "skip_monitor"},
    {kSkipSlowlog, "skip_slowlog"},
    {kAsking, "asking"},
    {kFast, "fast"},
    {kNoAuth, "no_auth"},
    {kNoMandatoryKeys, "no_mandatory_keys"},
    {kNoAsyncLoading, "no_async_loading"},
    {kNoMulti, "no_multi"},
    {kMovableKeys, "movablekeys"},
    {kAllowBusy, "allow_busy"},
};

// How a command uses a key: capitals for the access to the value, small letters for the data.
constexpr FlagWord kKeyFlagWords[] = {
    {kKeyRo, "RO"},
    {kKeyRw, "RW"},
    {kKeyOw, "OW"},
    {kKeyRm, "RM"},
    {kKeyAccess, "access"},
    {kKeyUpdate, "update"},
    {kKeyInsert, "insert"},
    {kKeyDelete, "delete"},
    {kKeyNotKey, "not_key"},
    {kKeyIncomplete, "incomplete"},
    {kKeyVariableFlags, "variable_flags"},
};

// Simple strings in a set, as all words of COMMAND INFO are, except tips.
void ReplyFlags(ReplySink& reply, std::span<const FlagWord> words, uint32_t flags) {
  const auto is_set = [flags](const FlagWord& row) { return (flags & row.flag) != 0; };
  reply.Set(static_cast<size_t>(std::ranges::count_if(words, is_set)));
  for (const FlagWord& row : words) {
    if (is_set(row)) reply.Status(row.word);
  }
}

// Words with their "@", in the order of the table.
void ReplyCategories(ReplySink& reply, const CommandSpec& spec) {
  const uint32_t categories = CategoriesOf(spec);
  const std::span<const std::string_view> names = AccessCategoryNames();
  reply.Set(static_cast<size_t>(std::popcount(categories)));
  for (size_t i = 0; i < names.size(); ++i) {
    if (categories >> i & 1) reply.Status(Concat('@', names[i]));
  }
}

// Bulk strings in a set. The row has them as one text with commas.
void ReplyTips(ReplySink& reply, std::string_view tips) {
  reply.Set(tips.empty() ? 0 : static_cast<size_t>(std::ranges::count(tips, ',')) + 1);
  while (!tips.empty()) {
    const size_t end = std::min(tips.find(','), tips.size());
    reply.Bulk(tips.substr(0, end));
    tips.remove_prefix(std::min(end + 1, tips.size()));
  }
}

// --- where the keys are

// First key, last key and step, as clients older than key specs read them.
struct LegacyRange {
  int first = 0;
  int last = 0;  // negative: from the end
  int step = 0;
};

// The keys are somewhere, as with SORT's STORE; CommandSpec::find_keys knows where.
bool IsUnknown(const KeySpec& spec) { return spec.keyword.empty() && spec.begin == 0; }

// An old client understands such keys: at fixed places, or up to a place from the end.
bool IsRangeAtIndex(const KeySpec& spec) {
  return spec.keyword.empty() && !spec.keynum && !IsUnknown(spec);
}

// As Redis's populateCommandLegacyRangeSpec: one range as it is, or all the plain ranges that
// follow one another.
LegacyRange LegacyRangeOf(std::span<const KeySpec> specs) {
  const auto last_of = [](const KeySpec& spec) {
    return spec.last < 0 ? spec.last : spec.last + spec.begin;
  };
  if (specs.size() == 1 && IsRangeAtIndex(specs[0])) {
    return {specs[0].begin, last_of(specs[0]), specs[0].step};
  }
  LegacyRange range;
  for (const KeySpec& spec : specs) {
    const bool follows = range.last == 0 || range.last == spec.begin - 1;
    if (!IsRangeAtIndex(spec) || spec.step != 1 || !follows) continue;
    range.first = range.first == 0 ? spec.begin : std::min<int>(range.first, spec.begin);
    range.last = last_of(spec);
    range.step = 1;
  }
  return range;
}

// Whether the legacy range does not tell all keys.
bool KeysMove(const CommandSpec& spec) {
  if (spec.flags & kMovableKeys) return true;
  const std::span<const KeySpec> specs = spec.keys.all();
  const auto is_odd = [&](const KeySpec& keys) {
    return !IsRangeAtIndex(keys) || (keys.flags & kKeyIncomplete) ||
           (specs.size() > 1 && keys.step != 1);
  };
  if (std::ranges::any_of(specs, is_odd)) return true;
  for (size_t i = 1; i < specs.size(); ++i) {
    if (specs[i].begin != specs[i - 1].begin + specs[i - 1].last + 1) return true;
  }
  return false;
}

// A field of a key spec.
void ReplyNumber(ReplySink& reply, std::string_view name, int number) {
  reply.Bulk(name);
  reply.Integer(number);
}

// Both halves of a key spec have this form: a type and a map of its numbers.
void ReplyTypeAndSpec(ReplySink& reply, std::string_view type, size_t fields) {
  reply.Map(2);
  reply.Bulk("type");
  reply.Bulk(type);
  reply.Bulk("spec");
  reply.Map(fields);
}

// Where the search for keys begins: an index, the place behind a word, or unknown.
void ReplyBeginSearch(ReplySink& reply, const KeySpec& spec) {
  reply.Bulk("begin_search");
  if (IsUnknown(spec)) return ReplyTypeAndSpec(reply, "unknown", 0);
  if (spec.keyword.empty()) {
    ReplyTypeAndSpec(reply, "index", 1);
    ReplyNumber(reply, "index", spec.begin);
    return;
  }
  ReplyTypeAndSpec(reply, "keyword", 2);
  reply.Bulk("keyword");
  reply.Bulk(spec.keyword);
  ReplyNumber(reply, "startfrom", spec.begin);
}

// How the keys lie from there on: a range with a step, or a count with keys behind it.
void ReplyFindKeys(ReplySink& reply, const KeySpec& spec) {
  reply.Bulk("find_keys");
  if (IsUnknown(spec)) return ReplyTypeAndSpec(reply, "unknown", 0);
  if (spec.keynum) {
    ReplyTypeAndSpec(reply, "keynum", 3);
    ReplyNumber(reply, "keynumidx", spec.keynum_index);
    ReplyNumber(reply, "firstkey", spec.first_key);
    ReplyNumber(reply, "keystep", spec.step);
    return;
  }
  ReplyTypeAndSpec(reply, "range", 3);
  ReplyNumber(reply, "lastkey", spec.last);
  ReplyNumber(reply, "keystep", spec.step);
  ReplyNumber(reply, "limit", spec.limit);
}

// Each with its notes, if it has any, its flags and the two halves.
void ReplyKeySpecs(ReplySink& reply, std::span<const KeySpec> specs) {
  reply.Set(specs.size());
  for (const KeySpec& spec : specs) {
    reply.Map(3 + !spec.notes.empty());
    if (!spec.notes.empty()) {
      reply.Bulk("notes");
      reply.Bulk(spec.notes);
    }
    reply.Bulk("flags");
    ReplyKeyFlags(reply, spec.flags);
    ReplyBeginSearch(reply, spec);
    ReplyFindKeys(reply, spec);
  }
}

}  // namespace

// Ten elements in the order of Redis 7: name, arity, flags, three numbers for old clients,
// categories, tips, key specs, subcommands.
void ReplyEntry(ReplySink& reply, const Command& command) {
  const CommandSpec& spec = *command.spec;
  const LegacyRange range = LegacyRangeOf(spec.keys.all());
  reply.Array(10);
  reply.Bulk(command.full_name);
  reply.Integer(spec.arity);
  ReplyFlags(reply, kFlagWords, spec.flags | (KeysMove(spec) ? uint32_t{kMovableKeys} : 0));
  reply.Integer(range.first);
  reply.Integer(range.last);
  reply.Integer(range.step);
  ReplyCategories(reply, spec);
  ReplyTips(reply, spec.Read(spec.tips));
  ReplyKeySpecs(reply, spec.keys.all());
  // Redis's own forms: a set when there are none, else an array.
  if (command.subcommands.empty()) return reply.Set(0);
  reply.Array(command.subcommands.size());
  for (const Command* sub : command.subcommands) ReplyEntry(reply, *sub);
}

void ReplyKeyFlags(ReplySink& reply, uint16_t flags) { ReplyFlags(reply, kKeyFlagWords, flags); }

bool IsInCategory(const CommandSpec& spec, std::string_view name) {
  const std::optional<size_t> category = FindAccessCategory(name);
  return category && (CategoriesOf(spec) >> *category & 1);
}

}  // namespace sluice
