// Files of all data: snapshots (SAVE, BGSAVE, LASTSAVE) and a new base of the log (BGREWRITEAOF).
//
// No command here forks or blocks the server but SAVE, which writes the whole file before it
// answers. A snapshot and a new base of the log exclude each other: one of them walks the keys at a
// time.
//
//   command         runs                         answer
//   SAVE            at once, in one piece        OK when the file is on disk
//   BGSAVE          beside clients, in slices    that it has begun, or is scheduled
//   BGREWRITEAOF    beside clients, in slices    that it has begun, or is scheduled
//   LASTSAVE                                     Unix seconds
//   SLUICE.SNAPSHOT on a worker                  a piece of the file that was saved last

#include "protocol/text/concat.h"
#include "server/clients/host.h"
#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

constexpr std::string_view kSaving = "ERR Background save already in progress";

// Redis answers a bare "ERR" when it fails, and the reason stands in the log.
void Save(CommandCall& call) {
  Snapshots& snapshots = call.part<Snapshots>();
  if (snapshots.saving()) return call.reply.Error(kSaving);
  if (snapshots.Save() == 0) return call.reply.Ok();
  call.reply.Error("ERR");
}

// CANCEL, which Redis 7.0 does not know: ends what runs, or takes back what is scheduled.
void BgSaveCancel(CommandCall& call) {
  Snapshots& snapshots = call.part<Snapshots>();
  const bool was_saving = snapshots.saving();
  if (!snapshots.Cancel())
    return call.reply.Error("ERR Background saving is currently not in progress or scheduled");
  call.reply.Status(was_saving ? "Background saving cancelled"
                               : "Scheduled background saving cancelled");
}

// CANCEL, SCHEDULE or nothing. Three answers to success: started, scheduled, cancelled. In an EXEC,
// Redis forks when that is over: here too, what follows in it is in the file.
void BgSave(CommandCall& call) {
  const bool has_word = call.args.size() > 1;
  if (has_word && call.args.size() == 2 && IsWord(call.args[1], "CANCEL"))
    return BgSaveCancel(call);
  const bool may_be_later = has_word && IsWord(call.args[1], "SCHEDULE");
  if (has_word && (call.args.size() > 2 || !may_be_later))
    return call.reply.Error(ErrorCode::kSyntax);
  Snapshots& snapshots = call.part<Snapshots>();
  if (snapshots.saving()) return call.reply.Error(kSaving);
  const bool in_exec = call.client.in_exec();
  if (snapshots.can_begin() && !in_exec) {
    snapshots.SaveInBackground();
    return call.reply.Status("Background saving started");
  }
  if (!may_be_later && !in_exec) {
    return call.reply.Error(
        "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE "
        "in "
        "order to schedule a BGSAVE whenever possible.");
  }
  snapshots.Schedule();
  call.reply.Status("Background saving scheduled");
}

// Unix seconds of the last snapshot that succeeded, or of the start.
void LastSave(CommandCall& call) { call.reply.Integer(call.part<Snapshots>().saved_unix_s()); }

// It is never refused while a snapshot runs, only put off: the answer says which.
void BgRewriteAof(CommandCall& call) {
  LogService& log = call.part<LogService>();
  if (log.rewriting())
    return call.reply.Error("ERR Background append only file rewriting already in progress");
  const bool is_later = !call.part<Snapshots>().can_begin() || call.client.in_exec();
  if (const std::string fault = log.Rewrite(); !fault.empty()) {
    call.part<Host>().Log(LogLevel::kWarning, Concat("the log cannot be written: ", fault));
    return call.reply.Error(
        "ERR Can't execute an AOF background rewriting. Please check the server logs for more "
        "information.");
  }
  call.reply.Status(is_later ? "Background append only file rewriting scheduled"
                             : "Background append only file rewriting started");
}

// SLUICE.SNAPSHOT offset bytes → [mark, size of the file, bytes]. All data, whatever the keys are
// that a user may read: so it is for administrators.
void SluiceSnapshot(CommandCall& call) {
  ArgReader args(call.args);
  const int64_t offset = args.IntIn({"offset", 0, INT64_MAX});
  const int64_t bytes = args.IntIn({"bytes", 1, FileReads::kPieceBytesMax});
  if (!args.Finish()) return call.reply.Error(args.error());
  call.part<Snapshots>().ReadSaved(call, static_cast<uint64_t>(offset), static_cast<size_t>(bytes));
}

// No script may call them. SAVE is refused inside MULTI, as in Redis; the two others are put off
// there.
constexpr CommandRow kPersistenceRows[] = {
    {.name = "BGREWRITEAOF",
     .arity = 1,
     .flags = kAdmin | kNoScript | kNoAsyncLoading,
     .run = BgRewriteAof,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Writes the log anew, as small as it can be, while clients are served."},
    {.name = "SAVE",
     .arity = 1,
     .flags = kAdmin | kNoScript | kNoMulti | kNoAsyncLoading,
     .run = Save,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(N) where N is the total number of keys in all databases",
     .summary = "Saves a snapshot; no other client is served meanwhile."},
    {.name = "BGSAVE",
     .arity = -1,
     .flags = kAdmin | kNoScript | kNoAsyncLoading,
     .run = BgSave,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "[SCHEDULE | CANCEL]",
     .summary = "Saves a snapshot of this moment while clients are served."},
    {.name = "LASTSAVE",
     .arity = 1,
     .flags = kLoading | kStale | kFast,
     .categories = kCatAdmin | kCatDangerous,
     .run = LastSave,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "The Unix time of the last snapshot that was saved.",
     .tips = "nondeterministic_output"},
    {.name = "SLUICE.SNAPSHOT",
     .arity = 3,
     .flags = kAdmin | kNoScript | kNoMulti | kNoAsyncLoading,
     .run = SluiceSnapshot,
     .group = "server",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of bytes",
     .usage = "offset bytes",
     .summary = "A piece of the snapshot that was saved last, with the mark and the size of its "
                "file; as --backup reads it.",
     .tips = "nondeterministic_output"},
};

}  // namespace

CommandFamily PersistenceFamily() { return {"persistence", kSpecsOf<kPersistenceRows>}; }

}  // namespace sluice
