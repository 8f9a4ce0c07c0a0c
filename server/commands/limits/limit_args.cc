// See limit_args.h.
#include "server/commands/limits/limit_args.h"

#include <cassert>
#include <string>

#include "protocol/text/concat.h"
#include "server/commands/shared/option_table.h"
#include "server/limits/request_ids.h"

namespace sluice {
namespace {

constexpr size_t kEchoBytesMax = 128;  // of a stranger's word in an error

// The numbers before BURST: only the algorithm knows whether BURST may come at all.
struct Numbers {
  LimitAlgorithm algorithm = LimitAlgorithm::kWindow;
  int64_t max = 0;
  int64_t period_ms = 0;
  CalendarUnit unit = CalendarUnit::kDay;  // of CALENDAR
};

// The words of a CALENDAR, as usual where they are not said.
struct CalendarWords {
  std::string_view zone = "UTC";
  int64_t starts = kNotGiven;
  int64_t window_end_ms = 0;  // of a logged request
};

void ReadUnit(ArgReader& args, Numbers& numbers) {
  const std::string_view word = args.Bytes();
  if (!args.failed() && !ParseCalendarUnit(word, &numbers.unit))
    args.Fail("ERR a CALENDAR is by MINUTE, HOUR, DAY, WEEK or MONTH");
  numbers.period_ms = CalendarPeriodMs(numbers.unit);
}

int64_t ReadStarts(ArgReader& args, const Numbers& numbers) {
  const CalendarStarts range = CalendarStartsOf(numbers.unit);
  if (range.low > range.high)
    args.Fail(
        Concat("ERR STARTS is of DAY, WEEK and MONTH, not of ", CalendarUnitName(numbers.unit)));
  return args.IntIn({"STARTS", range.low, range.high});
}

// Three arguments: the word, the units, the period in ms or by its name.
Numbers ReadNumbers(ArgReader& args) {
  Numbers numbers;
  const std::string_view word = args.Bytes();
  if (!ParseLimitAlgorithm(word, &numbers.algorithm)) {
    std::string known;
    for (size_t i = 0; i < kLimitAlgorithms; ++i) {
      ConcatTo(known, i == 0 ? "" : ", ", LimitAlgorithmName(static_cast<LimitAlgorithm>(i)));
    }
    args.Fail(Concat("ERR unknown limiter algorithm '", word.substr(0, kEchoBytesMax),
                     "', they are ", known));
  }
  numbers.max = args.IntIn({"max", 1, kUnitsMax});
  if (numbers.algorithm == LimitAlgorithm::kCalendar) {
    ReadUnit(args, numbers);
  } else {
    numbers.period_ms = args.IntIn({"period-ms", 1, kPeriodMsMax});
  }
  return numbers;
}

// The last step: whether the numbers make sense together.
void MakeConfig(ArgReader& args, const Numbers& numbers, int64_t burst, LimitConfig& config) {
  if (args.failed()) return;
  const LimitFault fault =
      MakeLimitConfig(numbers.algorithm, numbers.max, numbers.period_ms, burst, &config);
  if (fault == LimitFault::kBurstUnknown) args.Fail("ERR this algorithm has no BURST");
  if (fault == LimitFault::kRefill) args.Fail("ERR the burst would take too long to refill");
  assert(fault == LimitFault::kNone || args.failed());  // the reader has seen to the ranges
}

const Calendar* ReadCalendar(ArgReader& args, Calendars& calendars, const CalendarTerms& terms,
                             std::string_view zone) {
  const Calendars::Found found = calendars.Find(terms, zone);
  const std::string_view named = zone.substr(0, kEchoBytesMax);
  if (found.zone == ZoneFound::kNone) args.Fail(Concat("ERR no time zone '", named, "'"));
  if (found.zone == ZoneFound::kNotYet)
    args.Fail(Concat("TRYAGAIN the rules of time zone '", named, "' are still being read"));
  return found.calendar;
}

// The calendar of a CALENDAR limit; a logged request names its end, and needs none.
void FindCalendar(ArgReader& args, const Numbers& numbers, const CalendarWords& words,
                  LimitService& limits, bool replays, LimitConfig& config) {
  if (numbers.algorithm != LimitAlgorithm::kCalendar || args.failed()) return;
  config.window_end_ms = words.window_end_ms;
  if (words.window_end_ms != 0) return;
  const CalendarStarts range = CalendarStartsOf(numbers.unit);
  const int64_t usual = range.low > range.high ? 0 : range.low;
  const int64_t starts = words.starts == kNotGiven ? usual : words.starts;
  const CalendarTerms terms{numbers.unit, starts};
  if (replays && words.zone.size() <= kZoneNameBytesMax) {
    config.calendar = limits.calendars().Name(terms, words.zone);
  } else {
    config.calendar = ReadCalendar(args, limits.calendars(), terms, words.zone);
  }
}

// ROLLING's burst is its whole capacity, so at least 1; GCRA's is what it lets through beyond one,
// so 0 is a burst.
int64_t ReadBurst(ArgReader& args, LimitAlgorithm algorithm) {
  return args.IntIn({"BURST", algorithm == LimitAlgorithm::kRolling ? 1 : 0, kUnitsMax});
}

// A copy: a policy may change while the request waits. A log may have told of its calendar the
// zone alone; then its rules are read now.
LimitConfig ReadPolicy(ArgReader& args, LimitService& limits) {
  const std::string_view name = args.Bytes();
  const LimitConfig* const policy = args.failed() ? nullptr : limits.policies().Find(name);
  if (!policy) args.Fail(std::string(kNoSuchPolicy));
  if (!policy) return {};
  const Calendar* const calendar = policy->calendar;
  if (calendar && !calendar->has_rules())
    ReadCalendar(args, limits.calendars(), calendar->terms(), calendar->zone());
  return *policy;
}

// Above the capacity is allowed here: such a request is refused with retry -1, not with an error.
// 0 asks without taking.
int64_t ReadCost(ArgReader& args) { return args.IntIn({"COST", 0, kInt64Max}); }

// --- the options of LIMIT.TAKE, a row each; none may come twice

// Everything that stands behind the key.
struct Reading {
  TakeOptions options;
  Numbers numbers;  // of no policy
  int64_t burst = kNotGiven;
  CalendarWords calendar;
};

bool IsCalendar(const Reading& reading) {
  return reading.numbers.algorithm == LimitAlgorithm::kCalendar && reading.options.policy.empty();
}

constexpr OptionRow<Reading> kCostOption = {"COST", [](ArgReader& args, Reading& reading) {
                                              reading.options.request.cost = ReadCost(args);
                                            }};
constexpr OptionRow<Reading> kBurstOption = {"BURST", [](ArgReader& args, Reading& reading) {
                                               reading.burst =
                                                   ReadBurst(args, reading.numbers.algorithm);
                                             }};
constexpr OptionRow<Reading> kZoneOption = {
    "ZONE", [](ArgReader& args, Reading& reading) { reading.calendar.zone = args.Bytes(); }, 0,
    IsCalendar};
constexpr OptionRow<Reading> kStartsOption = {"STARTS",
                                              [](ArgReader& args, Reading& reading) {
                                                reading.calendar.starts =
                                                    ReadStarts(args, reading.numbers);
                                              },
                                              0, IsCalendar};
constexpr OptionRow<Reading> kPolicyOptions[] = {kBurstOption, kZoneOption, kStartsOption};
constexpr OptionRow<Reading> kPeekOptions[] = {kCostOption, kBurstOption, kZoneOption,
                                               kStartsOption};
constexpr OptionRow<Reading> kLimitArgsOptions[] = {
    kCostOption,
    kBurstOption,
    kZoneOption,
    kStartsOption,
    {"ENDS",
     [](ArgReader& args, Reading& reading) {
       reading.calendar.window_end_ms = args.IntIn({"ENDS", 1, kUnixUsMax / 1000});
     },
     0, IsCalendar},
    {"PEEK", [](ArgReader&, Reading& reading) { reading.options.peek = true; }},
    {"WAIT",
     [](ArgReader& args, Reading& reading) {
       reading.options.wait_ms = args.IntIn({"WAIT", 0, kPeriodMsMax, "ms"});
     }},
    {"BAN",
     [](ArgReader& args, Reading& reading) {
       reading.options.request.ban_ms = args.IntIn({"BAN", 1, kBanMsMax, "ms"});
     }},
    {"SHADOW", [](ArgReader&, Reading& reading) { reading.options.shadow = true; }},
    {"AT",
     [](ArgReader& args, Reading& reading) {
       reading.options.at_unix_us = args.IntIn({"AT", 0, kUnixUsMax});
     }},
    {"ID", [](ArgReader& args, Reading& reading) { reading.options.id = ReadRequestId(args); }},
    {"FOR",
     [](ArgReader& args, Reading& reading) { reading.options.for_ms = ReadRequestFor(args); }},
};

// The exclusions, each with its sentence: PEEK changes nothing, so there is nothing to wait for or
// to ban or to remember; a logged request happened at its moment; SHADOW may hinder no caller.
void CheckTogether(ArgReader& args, const TakeOptions& options) {
  const bool bans = options.request.ban_ms > 0;
  if (options.peek && options.wait_ms) args.Fail("ERR PEEK and WAIT exclude each other");
  if (options.at_unix_us && options.wait_ms) args.Fail("ERR AT and WAIT exclude each other");
  if (options.peek && bans) args.Fail("ERR PEEK and BAN exclude each other");
  if (options.shadow && options.wait_ms) args.Fail("ERR SHADOW and WAIT exclude each other");
  if (options.peek && !options.id.empty()) args.Fail("ERR PEEK and ID exclude each other");
  if (options.for_ms > 0 && options.id.empty()) args.Fail("ERR FOR needs an ID");
  if (options.shadow && bans) args.Fail("ERR SHADOW and BAN exclude each other");
}

// Algorithm and numbers, or a policy, and the options behind.
template <size_t kRows>
void ReadBehindKey(ArgReader& args, LimitService& limits, bool replays,
                   const OptionRow<Reading> (&rows)[kRows], Reading& reading) {
  TakeOptions& options = reading.options;
  if (args.TakeWord("POLICY")) {
    options.policy = args.Peek();
    options.request.config = ReadPolicy(args, limits);
    ReadOptionsOnce(args, rows, reading);
    if (reading.burst != kNotGiven) args.Fail("ERR BURST is the policy's to say");
  } else {
    reading.numbers = ReadNumbers(args);
    ReadOptionsOnce(args, rows, reading);
    MakeConfig(args, reading.numbers, reading.burst, options.request.config);
    FindCalendar(args, reading.numbers, reading.calendar, limits, replays, options.request.config);
  }
}

// A name at the end is left out: it is another one each time. One with a FOR, or elsewhere, is not
// kept, since what is left would be no request by itself.
void KeepWords(LimitService& limits, Args words, const TakeOptions& options) {
  if (options.id.empty()) return limits.parsed_takes().Keep(words, options);
  if (options.for_ms > 0 || !IsWord(words[words.size() - 2], "ID")) return;
  TakeOptions unnamed = options;
  unnamed.id = RequestId();
  limits.parsed_takes().Keep(words.first(words.size() - 2), unnamed);
}

}  // namespace

// The same words are read again and again by the same clients, hence the cache of parsed requests.
// A request by policy is not kept there, as its meaning changes with the policy, nor one of a log,
// which has another moment each time.
TakeOptions ReadTake(ArgReader& args, LimitService& limits, bool replays) {
  const Args words = args.rest();
  Reading reading;
  const TakeOptions& options = reading.options;
  const bool by_policy = args.more() && IsWord(args.Peek(), "POLICY");
  ReadBehindKey(args, limits, replays, kLimitArgsOptions, reading);
  if (reading.calendar.window_end_ms != 0 && !options.at_unix_us) args.Fail(ErrorCode::kSyntax);
  CheckTogether(args, options);
  if (!args.failed() && !by_policy && !options.at_unix_us) KeepWords(limits, words, options);
  return options;
}

LimitRequest ReadPeek(ArgReader& args, LimitService& limits, bool replays) {
  Reading reading;
  ReadBehindKey(args, limits, replays, kPeekOptions, reading);
  return reading.options.request;
}

// LIMIT.POLICY SET's: nothing may stand behind it.
LimitConfig ReadConfig(ArgReader& args, LimitService& limits, bool replays) {
  Reading reading{.numbers = ReadNumbers(args)};
  ReadOptionsOnce(args, kPolicyOptions, reading);
  LimitConfig config;
  if (args.Finish()) MakeConfig(args, reading.numbers, reading.burst, config);
  FindCalendar(args, reading.numbers, reading.calendar, limits, replays, config);
  return config;
}

// One part of LIMIT.ALL. All its numbers are positional, so a burst of 0 stands for none.
LimitRequest ReadPart(ArgReader& args, LimitService& limits) {
  LimitRequest request;
  if (args.TakeWord("POLICY")) {
    request.config = ReadPolicy(args, limits);
  } else {
    const Numbers numbers = ReadNumbers(args);
    if (numbers.algorithm == LimitAlgorithm::kCalendar)
      args.Fail("ERR a CALENDAR in LIMIT.ALL needs a policy");
    const int64_t burst = args.IntIn({"burst", 0, kUnitsMax});
    MakeConfig(args, numbers, burst == 0 ? kNotGiven : burst, request.config);
  }
  request.cost = ReadCost(args);
  return request;
}

}  // namespace sluice
