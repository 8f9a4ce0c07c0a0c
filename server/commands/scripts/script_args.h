// Shared by EVAL, FCALL and their kin: a row but for its words, and arguments: a count, so many
// keys, and the rest.
//
//   EVAL script numkeys key ... arg ...
//
// The count of keys is what makes positions of keys known, to ACLs and to the batch that prefetches
// them.
#pragma once

#include <optional>

#include "protocol/text/number_text.h"
#include "scripting/script_flags.h"
#include "server/core/slow_path_flags.h"
#include "server/dispatch/command.h"
#include "server/notify/monitors.h"

namespace sluice {

// Views of the request: KEYS and ARGV of the script.
struct ScriptKeys {
  Args keys;
  Args arguments;
};

// Null: the fault has been answered. Too many is told before too few, as in Redis.
inline std::optional<ScriptKeys> ReadScriptKeys(CommandCall& call) {
  const std::optional<int64_t> count = ParseInt64(call.args[2]);
  const Args rest = call.args.subspan(3);
  if (!count) {
    call.reply.Error(ErrorCode::kNotInteger);
  } else if (*count > static_cast<int64_t>(rest.size())) {
    call.reply.Error("ERR Number of keys can't be greater than number of args");
  } else if (*count < 0) {
    call.reply.Error("ERR Number of keys can't be negative");
  } else {
    const auto keys = static_cast<size_t>(*count);
    return ScriptKeys{rest.first(keys), rest.subspan(keys)};
  }
  return std::nullopt;
}

// A script's call is shown before the commands it runs, and even if it finds nothing to run.
inline void ShowScriptCall(const CommandCall& call) {
  if (call.part<SlowPathFlags>().Raised(SlowPathFlags::kCommands) && call.part<Monitors>().any())
      [[unlikely]]
    call.part<Monitors>().Show(call.client, call.args);
}

// The flags of a request for a script that says what it does: its word counts, not the command's.
inline uint32_t DeclaredFlags(uint32_t row_flags, uint32_t script_flags) {
  if (script_flags & kScriptUndeclared) return row_flags;
  const uint32_t stale = script_flags & kScriptAllowStale ? kStale : 0u;
  const uint32_t other = (row_flags & ~(kWrite | kMayReplicate | kDenyOom | kStale)) | stale;
  if (script_flags & kScriptNoWrites) return other;
  if (script_flags & kScriptAllowOom) return other | kWrite;
  return other | kWrite | kDenyOom;
}

// The fields in which the rows of EVAL, EVALSHA, FCALL and their read-only forms differ.
struct ScriptRow {
  std::string_view name;
  Handler run;
  bool read_only = false;
  std::string_view since;
  std::string_view complexity;
  std::string_view usage;
  std::string_view summary;
  uint32_t (*request_flags)(const Parts& parts, const Request& request) = nullptr;
};

// kSkipMonitor since ShowScriptCall shows them itself. A script that may write is no kWrite:
// whether it does is known by its declaration or only by its calls.
constexpr uint32_t ScriptRowFlags(bool read_only) {
  return kNoScript | kStale | kSkipMonitor | kNoMandatoryKeys | kMovableKeys |
         (read_only ? kReadOnly : kMayReplicate);
}

// Arity -3: the name, the script and the count of keys.
constexpr CommandRow RunsScript(const ScriptRow& row) {
  return {.name = row.name,
          .arity = -3,
          .flags = ScriptRowFlags(row.read_only),
          .categories = kCatScripting,
          .keys = row.read_only ? KeysCounted(2, kKeyRo | kKeyAccess)
                                : KeysCounted(2, kKeyRw | kKeyAccess | kKeyUpdate),
          .run = row.run,
          .group = "scripting",
          .since = row.since,
          .complexity = row.complexity,
          .usage = row.usage,
          .summary = row.summary,
          .request_flags = row.request_flags};
}

}  // namespace sluice
