// The server family: the time, a picture, and the end.
//
// SHUTDOWN has no answer when it succeeds: the connection closes. MONITOR has one, and then a line
// for each command that any client runs.

#include <algorithm>
#include <array>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/commands/families.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/config/version.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/script_state.h"
#include "server/engine/script_engine.h"
#include "server/notify/monitors.h"
#include "server/replication/graceful_end.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

// The present: in a script and behind a slow command time goes on, as in Redis 7.0.
void Time(CommandCall& call) {
  const TurnClock& clock = call.part<TurnClock>();
  // A replica shows its master's time otherwise.
  const int64_t unix_us = clock.Present().unix_us() + clock.clock().skew_ms() * 1000;
  call.reply.Array(2);
  call.reply.Bulk(Int64Text(unix_us / 1'000'000));
  call.reply.Bulk(Int64Text(unix_us % 1'000'000));
}

// --- LOLWUT: a flight of locks, each chamber at a level of its own, and a boat in one of them

constexpr int kChambers = 4;
constexpr int kLevels = 4;
constexpr std::string_view kEmpty = "            ";
constexpr std::string_view kWater = "~~~~~~~~~~~~";
constexpr std::string_view kGround = "============";
constexpr std::string_view kBoat = "   \\__|__/  ";

// Rows are counted from the ground up; a boat floats one row above the water.
std::string_view Cell(int row, int level, bool boat) {
  if (row == 0) return kGround;
  if (row == level) return kWater;
  return boat && row == level + 1 ? kBoat : kEmpty;
}

// A gate between two chambers is as high as the higher of their waters.
std::string PaintLocks(Random& random) {
  std::array<int, kChambers> levels;
  for (int& level : levels) level = 1 + static_cast<int>(random() % kLevels);
  const int boat = static_cast<int>(random() % kChambers);
  std::string picture;
  for (int row = kLevels + 1; row >= 0; --row) {
    int left = 0;  // level on the other side of the gate
    for (int i = 0; i < kChambers; ++i) {
      picture += row <= std::max(left, levels[i]) + 1 ? '|' : ' ';
      picture += Cell(row, levels[i], i == boat);
      left = levels[i];
    }
    picture += row <= left + 1 ? "|\n" : "\n";
  }
  return picture;
}

// VERSION picks a picture in Redis; here it must be a number and there is one picture.
void LolWut(CommandCall& call) {
  if (call.args.size() >= 3 && IsWord(call.args[1], "VERSION") && !ParseInt64(call.args[2])) {
    return call.reply.Error(ErrorCode::kNotInteger);
  }
  call.reply.Verbatim(Concat(PaintLocks(call.random), "\nSluice ver. ", kSluiceVersion,
                             ", speaking as Redis ver. ", kRedisVersion, '\n'),
                      "txt");
}

// --- SHUTDOWN

// ABORT stands alone, SAVE and NOSAVE exclude each other; anything else goes together.
struct ShutdownWords {
  bool nosave = false, save = false, now = false, force = false, abort = false;
  bool any() const { return nosave || save || now || force; }
};

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT], in any order.
constexpr OptionRow<ShutdownWords> kShutdownWords[] = {
    {"NOSAVE", kRaise<&ShutdownWords::nosave>}, {"SAVE", kRaise<&ShutdownWords::save>},
    {"NOW", kRaise<&ShutdownWords::now>},       {"FORCE", kRaise<&ShutdownWords::force>},
    {"ABORT", kRaise<&ShutdownWords::abort>},
};

// False: a syntax error, whichever rule was broken.
bool ReadShutdownWords(CommandCall& call, ShutdownWords& words) {
  ArgReader args(call.args);
  ReadOptions(args, kShutdownWords, words);
  if (args.failed()) return false;
  return !(words.abort && words.any()) && !(words.save && words.nosave);
}

// Waits for replicas, then saves what is to be saved, before the answer that never comes. If that
// fails the server stays, unless FORCE says otherwise.
//   SHUTDOWN NOW LATER  → -ERR syntax error
//   SHUTDOWN ABORT      → -ERR No shutdown in progress.
void Shutdown(CommandCall& call) {
  ShutdownWords words;
  if (!ReadShutdownWords(call, words)) return call.reply.Error(ErrorCode::kSyntax);
  GracefulEnd& graceful_end = call.part<GracefulEnd>();
  if (words.abort) {
    if (!graceful_end.Abort()) return call.reply.Error("ERR No shutdown in progress.");
    return call.reply.Ok();
  }
  const bool is_busy = call.part<ScriptState>().busy();
  // Beside a script past its time only the hard way is open.
  if (is_busy && !words.nosave) {
    return call.reply.Error(call.part<ScriptState>().BusyText());
  }
  // Nor is anybody waited for there: what the script does is not told before it ends.
  const EndWords end{.save = words.save,
                     .nosave = words.nosave,
                     .force = words.force,
                     .now = words.now || is_busy};
  switch (graceful_end.Begin(end)) {
    case EndOutcome::kFailed:
      return call.reply.Error("ERR Errors trying to SHUTDOWN. Check logs.");
    case EndOutcome::kWaits:
      return graceful_end.Block(call);
    case EndOutcome::kEnds:
      break;
  }
  // No client is answered any more; that the connection closes is the answer.
  call.part<Clients>().Close(call.client, CloseMode::kNow);
  call.part<Host>().Shutdown(0);
}

// MULTI and scripts may not: a monitor's stream would stand inside their answer. A client that is a
// monitor already is not answered, as in Redis, nor is a replica.
void Monitor(CommandCall& call) {
  if (!call.may_block()) {
    return call.reply.Error("ERR MONITOR isn't allowed for DENY BLOCKING client");
  }
  if (call.client.conditions & (kMonitor | kReplicates)) return;
  call.part<Monitors>().Add(call.client);
  call.reply.Ok();
}

// --- the table

// SHUTDOWN is allowed beside a script past its time (kAllowBusy), and refused inside MULTI.
constexpr CommandRow kServerRows[] = {
    {.name = "MONITOR",
     .arity = 1,
     .flags = kAdmin | kNoScript | kLoading | kStale,
     .run = Monitor,
     .group = "server",
     .since = "1.0.0",
     .summary = "Be shown every command that the server runs."},
    {.name = "TIME",
     .arity = 1,
     .flags = kLoading | kStale | kFast,
     .run = Time,
     .group = "server",
     .since = "2.6.0",
     .complexity = "O(1)",
     .summary = "The server's wall clock: seconds and microseconds.",
     .tips = "nondeterministic_output"},
    {.name = "LOLWUT",
     .arity = -1,
     .flags = kReadOnly | kFast,
     .run = LolWut,
     .group = "server",
     .since = "5.0.0",
     .usage = "[VERSION version]",
     .summary = "A picture, and the version."},
    {.name = "SHUTDOWN",
     .arity = -1,
     .flags = kAdmin | kNoScript | kLoading | kStale | kNoMulti | kAllowBusy,
     .run = Shutdown,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(N) when saving, where N is the total number of keys in all databases when "
                   "saving data, otherwise O(1)",
     .usage = "[NOSAVE | SAVE] [NOW]@7.0.0 [FORCE]@7.0.0 [ABORT]@7.0.0",
     .summary = "End the server.",
     .history = "7.0.0 `NOW`, `FORCE` and `ABORT`."},
};

}  // namespace

CommandFamily ServerFamily() { return {"server", kSpecsOf<kServerRows>}; }

}  // namespace sluice
