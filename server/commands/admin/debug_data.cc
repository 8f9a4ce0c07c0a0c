// See debug_data.h.
#include "server/commands/admin/debug_data.h"

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/log_state.h"
#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

// 512 MB, as for any string.
constexpr int64_t kSizeMax = 512 << 20;  // of a text

// A number from 0 on; null: the error has been answered.
std::optional<int64_t> ReadNatural(CommandCall& call, size_t at, int64_t most) {
  const std::optional<int64_t> value = ParseInt64(call.args[at]);
  if (value && *value >= 0 && *value <= most) return value;
  call.reply.Error("ERR value is out of range, must be positive");
  return std::nullopt;
}

// Redis's sentence; the log says what was wrong with the file.
constexpr std::string_view kNotLoaded = "ERR Error trying to load the RDB dump";

// False: the error has been answered. Scripts may call DEBUG where that is allowed
// (SET-DISABLE-DENY-SCRIPTS), but what they have done and not told yet would be lost.
bool MayLoad(CommandCall& call) {
  if (call.client.conditions & kInScript) {
    call.reply.Error("ERR DEBUG RELOAD and DEBUG LOADAOF cannot be called by a script");
  } else if (call.part<LogState>().loading) {
    call.reply.Error("LOADING Redis is loading the dataset in memory");
  } else {
    return true;
  }
  return false;
}

// Every key may have changed. No effect is told: the data came from the very files that a replay
// reads.
void SayReloaded(CommandCall& call) {
  call.ChangedDatabases();
  call.NoEffect();
}

}  // namespace

// In one piece, whatever the count. Keys that are there stay as they are.
void DebugPopulate(CommandCall& call) {
  const std::optional<int64_t> count = ReadNatural(call, 2, INT64_MAX);
  if (!count) return;
  const std::string_view prefix = call.args.size() > 3 ? call.args[3] : "key";
  const std::optional<int64_t> size =
      call.args.size() > 4 ? ReadNatural(call, 4, kSizeMax) : std::optional<int64_t>(0);
  if (!size) return;
  for (int64_t i = 0; i < *count; ++i) {
    const std::string name = Concat(prefix, ':', i);
    const HashedKey key = call.keyspace.Hash(name);
    if (call.db.Find(key, call.now)) continue;
    std::string text = Concat("value:", i);
    if (*size > 0) text.resize(static_cast<size_t>(*size), '\0');
    call.db.PutTextAsIs(key, text, Deadline::None(), call.now);
    call.ChangedUnannounced(key.bytes);
    call.ReplaceWith({"SET", name, text});  // a log takes no DEBUG
  }
  call.reply.Ok();
}

// Words are read before anything is saved. If loading fails, the data may be half there.
void DebugReload(CommandCall& call) {
  if (!MayLoad(call)) return;
  LogService::Reloading how;
  bool save = true;
  for (const std::string_view word : call.args.subspan(2)) {
    if (IsWord(word, "MERGE")) {
      how.merge = true;
    } else if (IsWord(word, "NOFLUSH")) {
      how.flush = false;
    } else if (IsWord(word, "NOSAVE")) {
      save = false;
    } else {
      return call.reply.Error(
          "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
    }
  }
  if (save && call.part<Snapshots>().SaveNow() != 0) return call.reply.Error("ERR");
  how.is_saved = save;
  const bool is_done = call.part<LogService>().ReloadSnapshot(call.client, how);
  SayReloaded(call);
  is_done ? call.reply.Ok() : call.reply.Error(kNotLoaded);
}

// In a transaction the log lacks what that has done so far.
void DebugLoadAof(CommandCall& call) {
  if (!MayLoad(call)) return;
  if (!call.may_wait()) {
    return call.reply.Error("ERR DEBUG LOADAOF is not allowed in transactions");
  }
  const bool is_done = call.part<LogService>().ReloadLog(call.client);
  SayReloaded(call);
  is_done ? call.reply.Ok()
          : call.reply.Error("ERR Error trying to load the AOF files, check server logs.");
}

}  // namespace sluice
