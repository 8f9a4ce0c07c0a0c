// See limit_args.h.
#include "server/commands/limits/limit_args.h"

#include <string>

#include "protocol/text/concat.h"
#include "server/commands/shared/option_table.h"

namespace sluice {
namespace {

constexpr size_t kEchoBytesMax = 128;  // of a stranger's word in an error

struct Numbers {
  LimitAlgorithm algorithm = LimitAlgorithm::kWindow;
  int64_t max = 0;
  int64_t period_ms = 0;
};

Numbers ReadNumbers(ArgReader& args) {
  Numbers numbers;
  const std::string_view word = args.Bytes();
  if (!ParseLimitAlgorithm(word, &numbers.algorithm)) {
    args.Fail(Concat("ERR unknown limiter algorithm '", word.substr(0, kEchoBytesMax), "'"));
  }
  numbers.max = args.Int();
  numbers.period_ms = args.Int();
  return numbers;
}

void MakeConfig(ArgReader& args, const Numbers& numbers, int64_t burst, LimitConfig& config) {
  if (args.failed()) return;
  const LimitFault fault =
      MakeLimitConfig(numbers.algorithm, numbers.max, numbers.period_ms, burst, &config);
  if (fault != LimitFault::kNone) args.Fail(std::string(LimitFaultText(fault)));
}

// An explicit -1 is no burst, though it is how "none given" is said inside.
int64_t ReadBurst(ArgReader& args) {
  const int64_t burst = args.Int();
  if (burst < 0) args.Fail(std::string(LimitFaultText(LimitFault::kBurst)));
  return burst;
}

int64_t ReadSpan(ArgReader& args, int64_t least, std::string_view fault) {
  const int64_t ms = args.Int();
  if (ms < least || ms > kPeriodMsMax) args.Fail(std::string(fault));
  return ms;
}

LimitConfig ReadPolicy(ArgReader& args, const PolicyTable& policies) {
  const std::string_view name = args.Bytes();
  const LimitConfig* const policy = args.failed() ? nullptr : policies.Find(name);
  if (!policy) args.Fail(std::string(kNoSuchPolicy));
  return policy ? *policy : LimitConfig();
}

// --- the options of LIMIT.TAKE, a row each; none may come twice

struct Reading {
  TakeOptions options;
  int64_t burst = kNotGiven;
};

static_assert(kPeriodMsMax == 70368744177664 && kBanMsMax == kPeriodMsMax);

constexpr OptionRow<Reading> kOptions[] = {
    {"COST",
     [](ArgReader& args, Reading& reading) { reading.options.request.cost = ReadUnits(args); }},
    {"BURST", [](ArgReader& args, Reading& reading) { reading.burst = ReadBurst(args); }},
    {"PEEK", [](ArgReader&, Reading& reading) { reading.options.peek = true; }},
    {"WAIT",
     [](ArgReader& args, Reading& reading) {
       reading.options.wait_ms = ReadSpan(args, 0, "ERR WAIT must be 0 to 70368744177664 ms");
     }},
    {"BAN",
     [](ArgReader& args, Reading& reading) {
       reading.options.request.ban_ms = ReadSpan(args, 1, "ERR BAN must be 1 to 70368744177664 ms");
     }},
    {"SHADOW", [](ArgReader&, Reading& reading) { reading.options.shadow = true; }},
    {"AT", [](ArgReader& args,
              Reading& reading) { reading.options.at_unix_us = args.IntIn(0, kUnixUsMax); }},
};

void CheckTogether(ArgReader& args, const TakeOptions& options) {
  const bool bans = options.request.ban_ms > 0;
  if (options.peek && options.wait_ms) args.Fail("ERR PEEK and WAIT exclude each other");
  if (options.at_unix_us && options.wait_ms) args.Fail("ERR AT and WAIT exclude each other");
  if (options.peek && bans) args.Fail("ERR PEEK and BAN exclude each other");
  if (options.shadow && options.wait_ms) args.Fail("ERR SHADOW and WAIT exclude each other");
  if (options.shadow && bans) args.Fail("ERR SHADOW and BAN exclude each other");
}

}  // namespace

int64_t ReadUnits(ArgReader& args, std::string_view name) {
  const int64_t units = args.Int();
  if (units < 1) args.Fail(Concat("ERR ", name, " must be 1 to 9223372036854775807"));
  return units;
}

TakeOptions ReadTake(ArgReader& args, LimitWaiters& desk) {
  const Args words = args.rest();
  Reading reading;
  TakeOptions& options = reading.options;
  const bool by_policy = args.TakeWord("POLICY");
  if (by_policy) {
    options.policy = args.Peek();
    options.request.config = ReadPolicy(args, desk.policies());
    ReadOptionsOnce(args, kOptions, reading);
    if (reading.burst != kNotGiven) args.Fail("ERR BURST is the policy's to say");
  } else {
    const Numbers numbers = ReadNumbers(args);
    ReadOptionsOnce(args, kOptions, reading);
    MakeConfig(args, numbers, reading.burst, options.request.config);
  }
  CheckTogether(args, options);
  if (!args.failed() && !by_policy) desk.take_memo().Keep(words, options);  // policies change
  return options;
}

LimitConfig ReadConfig(ArgReader& args) {
  const Numbers numbers = ReadNumbers(args);
  int64_t burst = kNotGiven;
  if (args.TakeWord("BURST")) burst = ReadBurst(args);
  LimitConfig config;
  if (args.Finish()) MakeConfig(args, numbers, burst, config);
  return config;
}

LimitRequest ReadPart(ArgReader& args, const PolicyTable& policies) {
  LimitRequest request;
  if (args.TakeWord("POLICY")) {
    request.config = ReadPolicy(args, policies);
  } else {
    const Numbers numbers = ReadNumbers(args);
    const int64_t burst = ReadBurst(args);
    MakeConfig(args, numbers, burst == 0 ? kNotGiven : burst, request.config);
  }
  request.cost = ReadUnits(args);
  return request;
}

}  // namespace sluice
