// See command_entry.h.
#include "server/commands/admin/command_entry.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// A bit and its word, in the order in which Redis lists them.
struct FlagWord {
  uint32_t flag;
  std::string_view word;
};

// Flags that are ours alone have no word and are not shown.
// A flag without a row here is ours alone.
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

// What a command does with a key: capitals for the access to the value, small ones for the data.
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

// A command is in a category that its row names, or that one of its flags implies.
struct CategoryWord {
  std::string_view word;  // upper case
  std::string_view shown;
  uint32_t category = 0;
  uint32_t flags = 0;
  uint32_t without_flag = 0;      // implied by the lack of this one
  uint32_t without_category = 0;  // not implied in this one
};

// In Redis's order, which is that of the bits in its ACLs; @lock and @limit follow.
constexpr CategoryWord kCategoryWords[] = {
    {"KEYSPACE", "@keyspace", kCatKeyspace},
    {"READ", "@read", 0, kReadOnly, 0, kCatScripting},
    {"WRITE", "@write", 0, kWrite},
    {"SET", "@set", kCatSet},
    {"SORTEDSET", "@sortedset", kCatSortedSet},
    {"LIST", "@list", kCatList},
    {"HASH", "@hash", kCatHash},
    {"STRING", "@string", kCatString},
    {"BITMAP", "@bitmap", kCatBitmap},
    {"HYPERLOGLOG", "@hyperloglog", kCatHyperLogLog},
    {"GEO", "@geo", kCatGeo},
    {"STREAM", "@stream", kCatStream},
    {"PUBSUB", "@pubsub", 0, kPubSub},
    {"ADMIN", "@admin", kCatAdmin, kAdmin},
    {"FAST", "@fast", 0, kFast},
    {"SLOW", "@slow", 0, 0, kFast},
    {"BLOCKING", "@blocking", 0, kBlocking},
    {"DANGEROUS", "@dangerous", kCatDangerous, kAdmin},
    {"CONNECTION", "@connection", kCatConnection},
    {"TRANSACTION", "@transaction", kCatTransaction},
    {"SCRIPTING", "@scripting", kCatScripting},
    {"LOCK", "@lock", kCatLock},
    {"LIMIT", "@limit", kCatLimit},
};

// One rule for rows and for flags; ACL CAT, COMMAND INFO and COMMAND LIST all ask here.
bool Holds(const CategoryWord& row, const CommandSpec& spec) {
  if (spec.categories & row.without_category) return false;
  return (spec.categories & row.category) || (spec.flags & row.flags) ||
         (row.without_flag && !(spec.flags & row.without_flag));
}

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
  const auto holds = [&spec](const CategoryWord& row) { return Holds(row, spec); };
  reply.Set(static_cast<size_t>(std::ranges::count_if(kCategoryWords, holds)));
  for (const CategoryWord& row : kCategoryWords) {
    if (holds(row)) reply.Status(row.shown);
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

// What an old client can understand: keys at fixed places, or up to a place from the end.
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
    range.first = range.first == 0 ? spec.begin : std::min(range.first, spec.begin);
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
  ReplyTips(reply, spec.tips);
  ReplyKeySpecs(reply, spec.keys.all());
  // Redis's own forms: a set when there are none, else an array.
  if (command.subcommands.empty()) return reply.Set(0);
  reply.Array(command.subcommands.size());
  for (const Command* sub : command.subcommands) ReplyEntry(reply, *sub);
}

void ReplyKeyFlags(ReplySink& reply, uint16_t flags) { ReplyFlags(reply, kKeyFlagWords, flags); }

// ACL CAT shows them without their "@".
std::vector<std::string_view> CategoryNames() {
  std::vector<std::string_view> names;
  for (const CategoryWord& row : kCategoryWords) names.push_back(row.shown.substr(1));
  return names;
}

// ACL CAT's argument, in any case and without its "@".
bool IsCategory(std::string_view name) {
  return std::ranges::any_of(kCategoryWords,
                             [&](const CategoryWord& row) { return IsWord(name, row.word); });
}

bool IsInCategory(const CommandSpec& spec, std::string_view name) {
  return std::ranges::any_of(kCategoryWords, [&](const CategoryWord& row) {
    return IsWord(name, row.word) && Holds(row, spec);
  });
}

}  // namespace sluice
