// LIMIT.ALL: taking from several limits, or from none of them. Which limits there are is
// limits.cc's.
//
//   LIMIT.ALL 2 user:17 tenant:3 WINDOW 100 60000 0 1 ROLLING 1000 1000 2000 1
//
// Each limit is `algorithm max period-ms burst cost` or `POLICY name cost`; the answers stand in
// the order of the keys.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/limits/limit_answers.h"
#include "server/commands/limits/limit_args.h"
#include "server/commands/limits/limit_requests.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/limits/limit_service.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/limiter_key.h"

namespace sluice {
namespace {

constexpr size_t kNamedPartsMax = 1000;  // of a request with an ID

struct Part {
  HashedKey key;
  LimitRequest request;
  std::string_view policy;  // its name; empty: none
};

// Every fault is told before a key is looked at. The same key twice is one of them: the second part
// would be asked before the first was taken. False: the error has been answered.
bool ReadParts(CommandCall& call, std::vector<Part>& parts, RequestName& name) {
  ArgReader args(call.args);
  const auto most = static_cast<int64_t>(call.args.size()) - 2;
  const std::optional<int64_t> count = ParseInt64(args.Bytes());
  if (!count || *count < 1) args.Fail("ERR numkeys should be greater than 0");
  if (count && *count > most) args.Fail("ERR Number of keys can't be greater than number of args");
  // With a secret key, as clients choose the names.
  absl::flat_hash_set<std::string_view, KeyedHash> seen(
      0, KeyedHash(call.keyspace.hash_keys().Next()));
  for (int64_t i = 0; !args.failed() && i < *count; ++i) {
    parts.push_back({call.Key(args.position()), {}, {}});
    if (!seen.insert(args.Bytes()).second) args.Fail("ERR the same key twice");
  }
  for (Part& part : parts) {
    if (args.failed()) break;
    const size_t at = args.position();
    part.request = ReadPart(args, call.part<LimitService>());
    if (!args.failed() && IsWord(call.args[at], "POLICY")) part.policy = call.args[at + 1];
  }
  name = ReadRequestName(args);
  if (!name.id.empty() && parts.size() > kNamedPartsMax)
    args.Fail("ERR more than 1000 limits with an ID");
  if (args.Finish()) return true;
  call.reply.Error(args.error());
  return false;
}

// Asks all parts first. False: one of the keys is no such limiter, which has been answered.
bool PeekParts(CommandCall& call, const std::vector<Part>& parts,
               std::vector<LimitVerdict>& verdicts) {
  for (const Part& part : parts) {
    LimiterKey limiter(call.db, part.key, call.now);
    if (!Accepts(call.reply, limiter, part.request.config.algorithm)) return false;
    verdicts.push_back(limiter.Peek(part.request.config, part.request.cost));
  }
  return true;
}

// Requires: each of them was just allowed. Nothing came in between, so each is allowed again. A
// part that costs nothing has its answer already.
void TakeParts(CommandCall& call, const std::vector<Part>& parts,
               std::vector<LimitVerdict>& verdicts) {
  LimitService& limits = call.part<LimitService>();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].request.cost == 0) continue;
    LimiterKey limiter(call.db, parts[i].key, call.now);
    verdicts[i] =
        limits.Take(limiter, call.db.index(), parts[i].request, {.policy = parts[i].policy});
    SayTaken(call, parts[i].key.bytes, parts[i].request, call.now);
  }
}

// All that it says but the numbers of its limits; it is remembered for the longest period of them.
RequestIds::Asked AskedAll(int db, const std::vector<Part>& parts, const RequestName& name) {
  uint64_t fingerprint = 0;
  int64_t period_ms = 1;
  for (const Part& part : parts) {
    const LimitConfig& config = part.request.config;
    fingerprint = AddToFingerprint(fingerprint, Asks::kAll, db, part.key.bytes, config.algorithm,
                                   part.request.cost);
    period_ms = std::max(period_ms, config.period_ms);
  }
  return {name.id, fingerprint, RequestForMs(name.for_ms, period_ms)};
}

void ReplyAll(ReplySink& reply, bool allowed, const std::vector<LimitVerdict>& verdicts) {
  reply.Array(1 + verdicts.size());
  reply.Integer(allowed);
  for (const LimitVerdict& verdict : verdicts) ReplyVerdict(reply, verdict);
}

// True: answered, as it was before or since its id is that of another request.
bool IsAllAnswered(CommandCall& call, const RequestIds::Asked& asked, size_t parts) {
  return IsAnswered(call, asked, [&](const RequestMemory::Answer& before) {
    std::vector<LimitVerdict> verdicts;
    for (size_t i = 0; i < parts; ++i) verdicts.push_back(VerdictAt(before, 1 + 5 * i, call.now));
    ReplyAll(call.reply, !before.values.empty() && before.values[0] != 0, verdicts);
  });
}

void RememberAll(CommandCall& call, const RequestIds::Asked& asked, bool allowed,
                 const std::vector<LimitVerdict>& verdicts) {
  RequestIds::Values values{allowed};
  for (const LimitVerdict& verdict : verdicts) {
    const std::array<int64_t, 5> numbers = NumbersOf(verdict);
    values.insert(values.end(), numbers.begin(), numbers.end());
  }
  call.part<RequestIds>().Remember(ChangeRecorder(call.parts), asked, values, call.now);
}

// All or none: first every part is asked, then every part is taken. A part that would fit alone
// consumes nothing if another one does not. The effects are single LIMIT.TAKEs, as one group. After
// `LIMIT.ALL 2 a b WINDOW 2 10000 0 1 WINDOW 5 10000 0 9`, which b refuses:
//   LIMIT.INFO a                                           → []
//   LIMIT.ALL 2 a a WINDOW 2 10000 0 1 WINDOW 5 10000 0 1  → -ERR the same key twice
void TakeAll(CommandCall& call) {
  std::vector<Part> parts;
  std::vector<LimitVerdict> verdicts;
  RequestName name;
  if (!ReadParts(call, parts, name)) return;
  RequestIds::Asked asked;
  if (!name.id.empty()) asked = AskedAll(call.db.index(), parts, name);
  if (!asked.id.empty() && IsAllAnswered(call, asked, parts.size())) return;
  if (!PeekParts(call, parts, verdicts)) return;
  bool allowed = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    allowed &= verdicts[i].allowed;
    if (verdicts[i].allowed) continue;
    call.part<LimitService>().Count(call.db.index(), parts[i].key,
                                    parts[i].request.config.algorithm, {.policy = parts[i].policy},
                                    false);
  }
  if (allowed) TakeParts(call, parts, verdicts);
  if (!asked.id.empty()) RememberAll(call, asked, allowed, verdicts);
  ReplyAll(call.reply, allowed, verdicts);
}

// --- the table

constexpr CommandRow kLimitAllRows[] = {
    {.name = "LIMIT.ALL",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
     .categories = kCatLimit,
     .keys = KeysCounted(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = TakeAll,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of keys; each as LIMIT.TAKE.",
     .usage =
         "numkeys:integer key [key ...] limit=<request=<algorithm=<WINDOW | ROLLING | SLIDING | "
         "LOG | GCRA | LEAKY> max:integer(1..2^62) period-ms:integer(1..2^46) "
         "burst:integer(0..2^62) cost:integer(0..2^63-1) | "
         "POLICY name:string(0..256) cost:integer(0..2^63-1)> ...> "
         "[id=<ID token [FOR for-ms:integer(1..86400000)]>]",
     .summary = "Take from several limits, all or none: allowed, and each one's values.",
     .tells_of_grant = true},
};

}  // namespace

CommandFamily LimitAllFamily() { return {"limit_all", kSpecsOf<kLimitAllRows>}; }

}  // namespace sluice
