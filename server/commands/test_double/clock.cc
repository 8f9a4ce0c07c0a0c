// SLUICE.CLOCK: the clock of a test double (server/test_double/time_control.h).

#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/commands/test_double/families.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/arg_reader.h"
#include "server/test_double/time_control.h"

namespace sluice {
namespace {

// A hundred years: what lies beyond is a slip of the pen.
constexpr IntRange kSpan{"ms", 0, 3'155'760'000'000};
constexpr IntRange kWall{"unix-ms", 0, TimeControl::kUnixMsMax};

void ShowNow(CommandCall& call) {
  call.NoEffect();
  call.reply.Integer(call.part<TurnClock>().clock().Sample().unix_ms());
}

void Freeze(CommandCall& call) {
  call.part<TimeControl>().Freeze();
  call.reply.Status("OK");
}

void Run(CommandCall& call) {
  call.part<TimeControl>().Run();
  call.reply.Status("OK");
}

void Set(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t unix_ms = args.IntIn(kWall);
  if (!args.Finish()) return call.reply.Error(args.error());
  call.part<TimeControl>().SetWall(unix_ms);
  call.reply.Status("OK");
}

void Advance(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t ms = args.IntIn(kSpan);
  if (!args.Finish()) return call.reply.Error(args.error());
  const std::string fault = call.part<TimeControl>().Advance(call, ms);
  if (!fault.empty()) call.reply.Error(fault);
}

void Next(CommandCall& call) { call.part<TimeControl>().Next(call); }

constexpr std::string_view kClockHelp[] = {
    "NOW",
    "    Answer with the Unix time in milliseconds.",
    "FREEZE",
    "    Let the time stand still.",
    "RUN",
    "    Let it go on from where it stands.",
    "SET <unix-ms>",
    "    Step the wall clock. Relative deadlines stay, absolute ones follow.",
    "ADVANCE <ms>",
    "    Let time pass. All timers that are due on the way fire at their own time, in order.",
    "NEXT",
    "    Let time pass until a timer fires; answer how many milliseconds, -1 when there is none.",
};

void ClockHelp(CommandCall& call) { ReplyHelp(call, kClockHelp); }

constexpr uint32_t kClockFlags = kOfTestDouble | kAdmin | kNoScript | kNoMulti | kLoading | kStale;

constexpr CommandRow kClockListed[] = {
    {.name = "NOW",
     .arity = 2,
     .flags = kOfTestDouble | kNoScript | kLoading | kStale | kFast,
     .run = ShowNow,
     .complexity = "O(1)",
     .summary = "Answers the time of this double."},
    {.name = "FREEZE",
     .arity = 2,
     .flags = kClockFlags,
     .run = Freeze,
     .complexity = "O(1)",
     .summary = "Lets the time stand still."},
    {.name = "RUN",
     .arity = 2,
     .flags = kClockFlags,
     .run = Run,
     .complexity = "O(1)",
     .summary = "Lets the time go on from where it stands."},
    {.name = "SET",
     .arity = 3,
     .flags = kClockFlags,
     .run = Set,
     .complexity = "O(1); absolute deadlines are placed anew in slices.",
     .usage = "unix-ms",
     .summary = "Steps the wall clock."},
    {.name = "ADVANCE",
     .arity = 3,
     .flags = kClockFlags | kBlocking,
     .run = Advance,
     .complexity = "O(N) where N is the number of timers that are due on the way.",
     .usage = "ms",
     .summary = "Lets time pass, and answers when all that is due on the way is done."},
    {.name = "NEXT",
     .arity = 2,
     .flags = kClockFlags | kBlocking,
     .run = Next,
     .complexity = "O(1)",
     .summary = "Lets time pass until a timer fires."},
    {.name = "HELP",
     .arity = 2,
     .flags = kOfTestDouble | kLoading | kStale,
     .run = ClockHelp,
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};
constexpr auto kClockSubcommands = RowsOf(kClockListed, {.group = "test double", .since = "0.1.0"});

constexpr CommandRow kClockRows[] = {
    {.name = "SLUICE.CLOCK",
     .arity = -2,
     .flags = kOfTestDouble,
     .subcommands = kSpecsOf<kClockSubcommands>,
     .group = "test double",
     .since = "0.1.0",
     .complexity = "Depends on subcommand.",
     .summary = "The clock of this test double."},
};

}  // namespace

CommandFamily ClockFamily() { return {"clock", kSpecsOf<kClockRows>}; }

}  // namespace sluice
