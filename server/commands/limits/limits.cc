// The limiter family: six algorithms behind one command each for taking, taking from several at
// once and giving back. storage/limits decides what an algorithm says; this file reads requests,
// asks, answers and reports. What only looks is in limit_views.cc, named policies are in
// limit_policies.cc.
//
// AT, with which a log says when LIMIT.TAKE and LIMIT.REFUND were asked, is refused to clients:
// they could take at a moment at which the limit was whole, or end it for all.
//
// A refused request consumes nothing. A key that is unused again is removed by its deadline.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/limits/limit_args.h"
#include "server/commands/limits/limit_replies.h"
#include "server/commands/shared/rows.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/change_recorder.h"
#include "server/dispatch/gates.h"
#include "server/limits/limit_service.h"
#include "server/limits/limit_waiters.h"
#include "server/notify/notifications.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/limiter_key.h"

namespace sluice {
namespace {

// --- effects and events

constexpr std::string_view kTakeEvent = "limit.take";
constexpr std::string_view kShadowEvent = "limit.shadow";

// The request again, with all of its numbers and the moment at which it was made: from the same
// state it leads to the same one, whenever it is replayed.
std::vector<std::string> LoggedTake(std::string_view key, const LimitRequest& request,
                                    const Now& now) {
  const LimitConfig& config = request.config;
  std::vector<std::string> words = {"LIMIT.TAKE", std::string(key),
                                    std::string(LimitAlgorithmName(config.algorithm)),
                                    Int64Text(config.max), Int64Text(config.period_ms)};
  const auto add = [&words](std::string_view option, int64_t value) {
    words.emplace_back(option);
    words.push_back(Int64Text(value));
  };
  if (HasBurst(config.algorithm)) add("BURST", config.burst);
  if (request.cost != 1) add("COST", request.cost);
  if (request.ban_ms > 0) add("BAN", request.ban_ms);
  add("AT", now.unix_us());
  return words;
}

// A refusal may change something as well: it may bring a ban. So callers ask changed(), not
// allowed.
void SayTaken(CommandCall& call, std::string_view key, const LimitRequest& request, const Now& now,
              std::string_view event = kTakeEvent) {
  call.Changed(kNotifyModule, event, key);
  if (!call.wants_effects()) return;
  const std::vector<std::string> words = LoggedTake(key, request, now);
  const std::vector<std::string_view> views(words.begin(), words.end());
  call.ReplaceWith(views);
}

// False: a client names a moment, which has been answered.
bool MayName(CommandCall& call, const std::optional<int64_t>& at_unix_us) {
  if (!at_unix_us || call.client.replays) [[likely]]
    return true;
  call.reply.Error(kOnlyReplayedText);
  return false;
}

// The call's moment, or the one that a logged request names.
Now MomentOf(const CommandCall& call, const std::optional<int64_t>& at_unix_us) {
  if (!at_unix_us) [[likely]]
    return call.now;
  return {*at_unix_us - call.now.unix_offset_ms * 1000, call.now.unix_offset_ms};
}

// --- LIMIT.TAKE. With WAIT a request that does not fit queues at the key; what it wants is tried
// again by LimitWaiters, without a command running, until its time is over.

// As SayTaken, without a call.
void SayTakenByWaiter(const Parts& parts, KeyNameView key, const LimitRequest& request) {
  const ChangeRecorder changes(parts);
  changes.Changed(kNotifyModule, kTakeEvent, key);
  if (!changes.wants_effects()) return;
  const std::vector<std::string> words = LoggedTake(key.key, request, parts.Get<TurnClock>().now());
  const std::vector<std::string_view> views(words.begin(), words.end());
  changes.Add(key.db, views);
}

// A waiter with a policy asks with what the policy says now. Null: the policy is gone.
const LimitConfig* ConfigOf(const Parts& parts, const LimitWaiters::Ticket& ticket) {
  return ticket.policy.empty() ? &ticket.request.config
                               : parts.Get<LimitService>().policies().Find(ticket.policy);
}

// Called for the head of a queue. Either the client is answered here, or the result says when to
// try again: in ms, or nullopt for "finished".
std::optional<int64_t> TryAgain(const Parts& parts, KeyNameView key,
                                const LimitWaiters::Ticket& ticket) {
  Session& session = *parts.Get<Clients>().Find(ticket.session);
  const auto finish = [&](auto answer) {
    parts.Get<Waiters>().blocked_clients().Finish(session, answer);
    return std::nullopt;
  };
  const LimitConfig* const config = ConfigOf(parts, ticket);
  // LIMIT.POLICY DEL while it waited.
  if (!config) return finish([](ReplySink& reply) { reply.Error(kNoSuchPolicy); });
  LimitRequest request{*config, ticket.request.cost};
  Keyspace& keyspace = parts.Get<Keyspace>();
  LimiterKey limiter(keyspace.db(key.db), keyspace.Hash(key.key), parts.Get<TurnClock>().now());
  if (!limiter.IsOpenTo(config->algorithm)) {  // another command has put something else there
    return finish([&](ReplySink& reply) { Accepts(reply, limiter, config->algorithm); });
  }
  // A cost that a changed policy never admits ends the wait, with its ban.
  if (request.cost > config->Capacity()) request.ban_ms = ticket.request.ban_ms;
  const LimitVerdict verdict = limiter.Take(request);
  if (limiter.changed()) SayTakenByWaiter(parts, key, request);
  // It stays at the head, and the queue's timer is set to that.
  if (!verdict.allowed && verdict.retry_ms >= 0) return verdict.retry_ms;
  parts.Get<LimitService>().Count(key.db, limiter.key(), config->algorithm,
                                  {.policy = ticket.policy}, verdict.allowed);
  return finish([&](ReplySink& reply) { ReplyVerdict(reply, verdict); });
}

// The wait ends with a ban: a request that never fits brings it, and says it in the log.
void BanWaiter(CommandCall& call, LimitRequest request) {
  request.cost = kInt64Max;
  LimiterKey limiter(call.db, call.Key(1), call.now);
  limiter.Take(request);
  if (limiter.changed()) SayTakenByWaiter(call.parts, {call.db.index(), call.args[1]}, request);
}

// The time of a waiter is over: it gets the verdict of now. The request is read anew, since neither
// arguments nor policy are what was kept. It is refused even if it would fit: its turn has not
// come, and the one in front goes first.
void TakeTimedOut(CommandCall& call) {
  ArgReader args(call.args, 2);
  const TakeOptions options = ReadTake(args, call.part<LimitService>());
  if (args.failed()) return call.reply.Error(args.error());  // the policy is gone
  const LimitRequest& request = options.request;
  const LimiterKey found(call.db, call.Key(1), call.now);
  if (!Accepts(call.reply, found, request.config.algorithm)) return;
  if (request.ban_ms > 0) BanWaiter(call, request);
  const LimiterKey limiter(call.db, call.Key(1), call.now);
  LimitVerdict verdict = limiter.Peek(request.config, request.cost);
  if (verdict.allowed) verdict.retry_ms = 1;  // those before it in the queue go first
  verdict.allowed = false;
  call.part<LimitService>().Count(call.db.index(), call.Key(1), request.config.algorithm,
                                  {.policy = options.policy}, false);
  ReplyVerdict(call.reply, verdict);
}

// Queues the request if it has to wait and may; false when it is to be answered at once. A ban
// comes when the wait is over in vain.
bool Queues(CommandCall& call, const TakeOptions& options, const LimiterKey& limiter) {
  const int64_t wait_ms = *options.wait_ms;
  if (wait_ms == 0 || !call.may_wait()) return false;
  LimitWaiters& limit_waiters = call.part<LimitWaiters>();
  const KeyNameView key{call.db.index(), call.args[1]};
  const LimitRequest& request = options.request;
  const LimitVerdict verdict = limiter.Peek(request.config, request.cost);
  // Answered at once: what never fits, and what fits while no other request waits.
  if (verdict.retry_ms < 0 || (verdict.allowed && !limit_waiters.HasWaiters(key))) return false;
  LimitWaiters::Ticket ticket{call.client.id, request, std::string(options.policy), TryAgain};
  limit_waiters.Join(call, key, std::move(ticket), call.now.ms() + wait_ms, verdict.retry_ms,
                     TakeTimedOut);
  return true;
}

// Moment, type and algorithm are checked, then the request peeks, queues or takes. One that costs
// nothing peeks: it neither waits nor bans. SHADOW takes as well: only what counts and is told
// differs.
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 COST 3  → [1, 3, 0, 0, 3000, ...]  1 a second, 2 more
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 PEEK    → [0, 3, 0, 1000, 3000, ...]
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 COST 0  → [1, 3, 0, 0, 3000, ...]
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 COST 4  → [0, 3, 0, -1, 3000, ...]  never fits
//   LIMIT.TAKE b WINDOW 1 1000 BAN 5000        → [1, 1, 0, 0, 1000, ...]
//   LIMIT.TAKE b WINDOW 1 1000 BAN 5000        → [0, 1, 0, 5000, 5000, ...]  refused, banned
void TakeAs(CommandCall& call, const TakeOptions& options) {
  if (!MayName(call, options.at_unix_us)) return;
  const LimitRequest& request = options.request;
  const Now now = MomentOf(call, options.at_unix_us);
  LimiterKey limiter(call.db, call.Key(1), now);
  if (!Accepts(call.reply, limiter, request.config.algorithm)) return;
  if (options.peek || request.cost == 0) [[unlikely]]
    return ReplyVerdict(call.reply, limiter.Peek(request.config, request.cost));
  if (options.wait_ms && Queues(call, options, limiter)) return;
  const LimitVerdict verdict = call.part<LimitService>().Take(
      limiter, call.db.index(), request, {.policy = options.policy, .shadow = options.shadow});
  if (limiter.changed()) {
    SayTaken(call, call.args[1], request, now, options.shadow ? kShadowEvent : kTakeEvent);
  }
  ReplyVerdict(call.reply, verdict);
}

// The cache holds requests that were read before, byte for byte.
//   LIMIT.TAKE k WINDOW 2 10000         → [1, 2, 1, 0, 10000, ...]
//   LIMIT.TAKE k WINDOW 2 10000 COST 2  → [0, 2, 1, 10000, 10000, ...]
//   LIMIT.TAKE k WINDOW 2 10000 COST 3  → [0, 2, 1, -1, 10000, ...]
//   LIMIT.TAKE k GCRA 2 10000           → -ERR limiter is WINDOW, not GCRA
void Take(CommandCall& call) {
  LimitService& limits = call.part<LimitService>();
  if (const TakeOptions* const known = limits.parsed_takes().Find(call.args.subspan(2)))
      [[likely]] {
    return TakeAs(call, *known);
  }
  ArgReader args(call.args, 2);
  const TakeOptions options = ReadTake(args, limits);
  if (args.failed()) return call.reply.Error(args.error());
  TakeAs(call, options);
}

// --- LIMIT.ALL

struct Part {
  HashedKey key;
  LimitRequest request;
  std::string_view policy;  // its name; empty: none
};

// Every fault is told before a key is looked at. The same key twice is one of them: the second part
// would be asked before the first was taken. False: the error has been answered.
bool ReadParts(CommandCall& call, std::vector<Part>& parts) {
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
    part.request = ReadPart(args, call.part<LimitService>().policies());
    if (!args.failed() && IsWord(call.args[at], "POLICY")) part.policy = call.args[at + 1];
  }
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

// All or none: first every part is asked, then every part is taken. A part that would fit alone
// consumes nothing if another one does not. The effects are single LIMIT.TAKEs, as one group. After
// `LIMIT.ALL 2 a b WINDOW 2 10000 0 1 WINDOW 5 10000 0 9`, which b refuses:
//   LIMIT.INFO a                                           → []
//   LIMIT.ALL 2 a a WINDOW 2 10000 0 1 WINDOW 5 10000 0 1  → -ERR the same key twice
void TakeAll(CommandCall& call) {
  std::vector<Part> parts;
  std::vector<LimitVerdict> verdicts;
  if (!ReadParts(call, parts) || !PeekParts(call, parts, verdicts)) return;
  bool allowed = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    allowed &= verdicts[i].allowed;
    if (verdicts[i].allowed) continue;
    call.part<LimitService>().Count(call.db.index(), parts[i].key,
                                    parts[i].request.config.algorithm, {.policy = parts[i].policy},
                                    false);
  }
  if (allowed) TakeParts(call, parts, verdicts);
  call.reply.Array(1 + verdicts.size());
  call.reply.Integer(allowed);
  for (const LimitVerdict& verdict : verdicts) ReplyVerdict(call.reply, verdict);
}

// --- LIMIT.REFUND

// Never above the limit: what was not consumed cannot be given back. Null for a missing key, which
// is as good as unused. Waiters of the key are tried after this command. After
// `LIMIT.TAKE k WINDOW 2 10000 COST 2`:
//   LIMIT.REFUND k 1        → 1
//   LIMIT.REFUND nothing 1  → nil array
void Refund(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t units = args.IntIn({"units", 1, kInt64Max});
  std::optional<int64_t> at_unix_us;
  if (args.TakeWord("AT")) at_unix_us = args.IntIn({"AT", 0, kUnixUsMax});
  if (!args.Finish()) return call.reply.Error(args.error());
  if (!MayName(call, at_unix_us)) return;
  const Now now = MomentOf(call, at_unix_us);
  LimiterKey limiter(call.db, call.Key(1), now);
  if (!IsLimiter(call.reply, limiter)) return;
  if (!limiter.exists()) return call.reply.NullArray();
  const int64_t remaining = limiter.Refund(units);
  if (limiter.changed()) call.Changed(kNotifyModule, "limit.refund", call.args[1]);
  if (limiter.changed() && call.wants_effects()) {
    call.ReplaceWith(
        {"LIMIT.REFUND", call.args[1], Int64Text(units), "AT", Int64Text(now.unix_us())});
  }
  call.reply.Integer(remaining);
}

// --- the table

// With PEEK it only reads. A request that makes no sense is taken for a write.
uint16_t TakeKeyFlags(const Request& request) {
  const Args args = request.args;
  constexpr uint16_t kReads = kKeyRo | kKeyAccess;
  constexpr uint16_t kReadsAndWrites = kKeyRw | kKeyAccess | kKeyUpdate;
  constexpr std::string_view kWithValue[] = {"COST", "BURST", "WAIT", "BAN", "AT"};
  size_t at = args.size() > 2 && IsWord(args[2], "POLICY") ? 4 : 5;
  while (at < args.size()) {
    const std::string_view word = args[at];
    if (IsWord(word, "PEEK")) return kReads;
    const bool has_value = std::ranges::any_of(
        kWithValue, [word](std::string_view name) { return IsWord(word, name); });
    if (!has_value && !IsWord(word, "SHADOW")) return kReadsAndWrites;
    at += has_value ? 2 : 1;
  }
  return kReadsAndWrites;
}

constexpr uint32_t kTakes = kNotInRedis70 | kWrite | kDenyOom | kFast;
constexpr std::string_view kTakeComplexity =
    "O(1); LOG and LEAKY: O(log N), and O(N) if it is allowed under another period or a max that "
    "has no whole units of the old one, where N is the number of milliseconds of the period in "
    "which something came.";

// LIMIT.TAKE is kBlocking because of WAIT. LIMIT.REFUND takes no memory, so it is not kDenyOom.
constexpr CommandRow kLimitsRows[] = {
    {.name = "LIMIT.TAKE",
     .arity = -4,
     .flags = kTakes | kBlocking,
     .categories = kCatLimit,
     .keys =
         KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate | kKeyVariableFlags, "with PEEK it only reads"),
     .run = Take,
     .group = "limit",
     .since = "0.1.0",
     .complexity = kTakeComplexity,
     .usage = "key limit=<algorithm=<WINDOW | ROLLING | SLIDING | LOG | GCRA | LEAKY> "
              "max:integer(1..2^62) "
              "period-ms:integer(1..2^46) | POLICY name:string(0..256)> [BURST "
              "burst:integer(0..2^62)] [COST cost:integer(0..2^63-1)] "
              "[PEEK | WAIT wait-ms:integer(0..2^46)] [BAN ban-ms:integer(1..2^46)] [SHADOW]",
     .summary = "Take from a limit if it allows: allowed, limit, remaining, when to retry, reset.",
     .key_flags = TakeKeyFlags},
    {.name = "LIMIT.ALL",
     .arity = -5,
     .flags = kTakes,
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
         "POLICY name:string(0..256) cost:integer(0..2^63-1)> ...>",
     .summary = "Take from several limits, all or none: allowed, and each one's values."},
    {.name = "LIMIT.REFUND",
     .arity = -3,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatLimit,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = Refund,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(1); LOG and LEAKY: O(log N) where N is the number of milliseconds of the "
                   "period in which something came.",
     .usage = "key units:integer(1..2^63-1)",
     .summary = "Give back what was taken and not used; what remains, or null without the key."},
};

}  // namespace

CommandFamily LimitsFamily() { return {"limits", kSpecsOf<kLimitsRows>}; }

}  // namespace sluice
