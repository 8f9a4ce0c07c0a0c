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
};

// Three arguments: the word, the units, the period in ms.
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
  numbers.period_ms = args.IntIn({"period-ms", 1, kPeriodMsMax});
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

// ROLLING's burst is its whole capacity, so at least 1; GCRA's is what it lets through beyond one,
// so 0 is a burst.
int64_t ReadBurst(ArgReader& args, LimitAlgorithm algorithm) {
  return args.IntIn({"BURST", algorithm == LimitAlgorithm::kRolling ? 1 : 0, kUnitsMax});
}

// A copy: a policy may change while the request waits.
LimitConfig ReadPolicy(ArgReader& args, const PolicyTable& policies) {
  const std::string_view name = args.Bytes();
  const LimitConfig* const policy = args.failed() ? nullptr : policies.Find(name);
  if (!policy) args.Fail(std::string(kNoSuchPolicy));
  return policy ? *policy : LimitConfig();
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
};

constexpr OptionRow<Reading> kCostOption = {"COST", [](ArgReader& args, Reading& reading) {
                                              reading.options.request.cost = ReadCost(args);
                                            }};
constexpr OptionRow<Reading> kBurstOption = {"BURST", [](ArgReader& args, Reading& reading) {
                                               reading.burst =
                                                   ReadBurst(args, reading.numbers.algorithm);
                                             }};
constexpr OptionRow<Reading> kPeekOptions[] = {kCostOption, kBurstOption};
constexpr OptionRow<Reading> kLimitArgsOptions[] = {
    kCostOption,
    kBurstOption,
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
void ReadBehindKey(ArgReader& args, const PolicyTable& policies,
                   const OptionRow<Reading> (&rows)[kRows], Reading& reading) {
  TakeOptions& options = reading.options;
  if (args.TakeWord("POLICY")) {
    options.policy = args.Peek();
    options.request.config = ReadPolicy(args, policies);
    ReadOptionsOnce(args, rows, reading);
    if (reading.burst != kNotGiven) args.Fail("ERR BURST is the policy's to say");
  } else {
    reading.numbers = ReadNumbers(args);
    ReadOptionsOnce(args, rows, reading);
    MakeConfig(args, reading.numbers, reading.burst, options.request.config);
  }
}

}  // namespace

// The same words are read again and again by the same clients, hence the cache of parsed requests.
// A request by policy is not kept there, as its meaning changes with the policy.
TakeOptions ReadTake(ArgReader& args, LimitService& limits) {
  const Args words = args.rest();
  Reading reading;
  const TakeOptions& options = reading.options;
  const bool by_policy = args.more() && IsWord(args.Peek(), "POLICY");
  ReadBehindKey(args, limits.policies(), kLimitArgsOptions, reading);
  CheckTogether(args, options);
  const bool comes_again = !by_policy && options.id.empty();  // policies change
  if (!args.failed() && comes_again) limits.parsed_takes().Keep(words, options);
  return options;
}

LimitRequest ReadPeek(ArgReader& args, const PolicyTable& policies) {
  Reading reading;
  ReadBehindKey(args, policies, kPeekOptions, reading);
  return reading.options.request;
}

// LIMIT.POLICY SET's: nothing may stand behind it.
LimitConfig ReadConfig(ArgReader& args) {
  const Numbers numbers = ReadNumbers(args);
  int64_t burst = kNotGiven;
  if (args.TakeWord("BURST")) burst = ReadBurst(args, numbers.algorithm);
  LimitConfig config;
  if (args.Finish()) MakeConfig(args, numbers, burst, config);
  return config;
}

// One part of LIMIT.ALL. All its numbers are positional, so a burst of 0 stands for none.
LimitRequest ReadPart(ArgReader& args, const PolicyTable& policies) {
  LimitRequest request;
  if (args.TakeWord("POLICY")) {
    request.config = ReadPolicy(args, policies);
  } else {
    const Numbers numbers = ReadNumbers(args);
    const int64_t burst = args.IntIn({"burst", 0, kUnitsMax});
    MakeConfig(args, numbers, burst == 0 ? kNotGiven : burst, request.config);
  }
  request.cost = ReadCost(args);
  return request;
}

}  // namespace sluice
