// REQUEST.REMEMBER: what the log and replicas are told of a request that named itself (ID): its id,
// what it asked for as a fingerprint, when it was answered, for how long that counts, and the
// answer. Clients may not send it: they would choose what others are answered.

#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/limits/request_ids.h"

namespace sluice {
namespace {

constexpr int64_t kRememberedMsMax = int64_t{1} << 50;  // as Unix time: 35,000 years
constexpr size_t kRememberedValuesMax = 6000;

// A fingerprint has all 64 bits.
uint64_t ReadFingerprint(ArgReader& args) {
  const std::string_view text = args.Bytes();
  uint64_t fingerprint = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') args.Fail(ErrorCode::kNotInteger);
    fingerprint = fingerprint * 10 + static_cast<uint64_t>(digit - '0');
  }
  if (text.empty() || text.size() > 20) args.Fail(ErrorCode::kNotInteger);
  return fingerprint;
}

//   REQUEST.REMEMBER a 5 1700000000000 60000 1  → -ERR only a log that is replayed may say this,
//   ...
void Remember(CommandCall& call) {
  ArgReader args(call.args, 1);
  const std::string_view id = args.Bytes();
  if (id.empty() || id.size() > kRequestIdBytesMax) args.Fail(ErrorCode::kSyntax);
  RequestMemory::Answer answer;
  answer.fingerprint = ReadFingerprint(args);
  answer.at_ms = args.IntIn({"at", -kRememberedMsMax, kRememberedMsMax}) - call.now.unix_offset_ms;
  answer.for_ms = args.IntIn({"for-ms", 1, kRequestForMsMax});
  if (args.left() > kRememberedValuesMax) args.Fail(ErrorCode::kSyntax);
  while (args.more() && !args.failed()) answer.values.push_back(args.Int());
  if (!args.Finish()) return call.reply.Error(args.error());
  call.part<RequestIds>().memory().Remember(id, answer, call.now);
  call.ReplaceWith(call.args);
  call.reply.Ok();
}

constexpr CommandRow kRequestRememberRows[] = {
    {.name = "REQUEST.REMEMBER",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kAdmin | kNoScript | kOnlyReplayed,
     .categories = kCatDangerous,
     .run = Remember,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of values",
     .usage = "id fingerprint at-unix-ms:integer for-ms:integer(1..86400000) [value:integer ...]",
     .summary = "What the log says of a request that named itself: what it was answered."},
};

}  // namespace

CommandFamily RequestRememberFamily() {
  return {"request_remember", kSpecsOf<kRequestRememberRows>};
}

}  // namespace sluice
