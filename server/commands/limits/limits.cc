// The limiter family: six algorithms behind one command each for taking and giving back; taking
// from several at once is limit_all.cc, what only looks is limit_views.cc. storage/limits decides
// what an algorithm says; this file reads requests, asks, answers and reports. Named policies are
// in limit_policies.cc.
//
// AT, with which a log says when LIMIT.TAKE and LIMIT.REFUND were asked, is refused to clients:
// they could take at a moment at which the limit was whole, or end it for all.
//
// A refused request consumes nothing. A key that is unused again is removed by its deadline.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/limits/limit_answers.h"
#include "server/commands/limits/limit_args.h"
#include "server/commands/limits/limit_requests.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/commit/turn_gate.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/effects/change_recorder.h"
#include "server/dispatch/gates.h"
#include "server/limits/limit_service.h"
#include "server/limits/limit_waiters.h"
#include "server/notify/notifications.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/calendar.h"
#include "storage/limits/limiter_key.h"

namespace sluice {
namespace {

// --- a logged request's moment

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
  parts.Get<TurnGate>().needs().of_grants = true;
  const std::vector<std::string> words = LoggedTake(key.key, request, parts.Get<TurnClock>().now());
  const std::vector<std::string_view> views(words.begin(), words.end());
  changes.Add(key.db, views);
}

// The same request will get this answer again. A shorter time than asked is a fault of none.
void RememberTake(const Parts& parts, const RequestIds::Asked& asked, const LimitVerdict& verdict,
                  const Now& now) {
  if (asked.id.empty()) return;
  parts.Get<RequestIds>().Remember(ChangeRecorder(parts), asked, NumbersOf(verdict), now);
}

void ReplyFound(ReplySink& reply, const RequestIds::Found& found, const Now& now) {
  if (found.recalled == RequestIds::Recalled::kOther) return reply.Error(kOtherRequest);
  ReplyVerdict(reply, VerdictAt(found.answer, 0, now));
}

// A waiter with a policy asks with what the policy says now. Null: the policy is gone, or has the
// calendar of a zone that was never read, as a replica's may.
const LimitConfig* ConfigOf(const Parts& parts, const LimitWaiters::Ticket& ticket) {
  if (ticket.policy.empty()) return &ticket.request.config;
  const LimitConfig* const policy = parts.Get<LimitService>().policies().Find(ticket.policy);
  const bool lacks_rules = policy && policy->calendar && !policy->calendar->has_rules();
  return lacks_rules ? nullptr : policy;
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
  if (!ticket.asked.id.empty()) {  // the same may have been granted to another connection
    const RequestIds::Found found =
        parts.Get<RequestIds>().Recall(ticket.asked, parts.Get<TurnClock>().now());
    if (found.recalled != RequestIds::Recalled::kNew) {
      return finish(
          [&](ReplySink& reply) { ReplyFound(reply, found, parts.Get<TurnClock>().now()); });
    }
  }
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
  const bool is_kept_first = parts.Get<Config>().settings().lock_min_replicas > 0;
  if (is_kept_first && limiter.changed() && verdict.allowed) session.conditions |= kTellsOfGrant;
  // It stays at the head, and the queue's timer is set to that.
  if (!verdict.allowed && verdict.retry_ms >= 0) return verdict.retry_ms;
  RememberTake(parts, ticket.asked, verdict, parts.Get<TurnClock>().now());
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

// True: it has been answered, as it was before, or since its id is that of another request.
bool IsTakenBefore(CommandCall& call, const RequestIds::Asked& asked) {
  return IsAnswered(call, asked, [&](const RequestMemory::Answer& before) {
    ReplyVerdict(call.reply, VerdictAt(before, 0, call.now));
  });
}

// The time of a waiter is over: it gets the verdict of now. The request is read anew, since neither
// arguments nor policy are what was kept. It is refused even if it would fit: its turn has not
// come, and the one in front goes first.
void TakeTimedOut(CommandCall& call) {
  ArgReader args(call.args, 2);
  const TakeOptions options = ReadTake(args, call.part<LimitService>(), call.client.replays);
  if (args.failed()) return call.reply.Error(args.error());  // the policy is gone
  const LimitRequest& request = options.request;
  const LimiterKey found(call.db, call.Key(1), call.now);
  if (!Accepts(call.reply, found, request.config.algorithm)) return;
  // The same request was answered on another connection: that answer stands.
  RequestIds::Asked asked;
  if (!options.id.empty()) asked = AskedTake(call, options, options.id);
  if (!asked.id.empty() && IsTakenBefore(call, asked)) return;
  if (request.ban_ms > 0) BanWaiter(call, request);
  const LimiterKey limiter(call.db, call.Key(1), call.now);
  LimitVerdict verdict = limiter.Peek(request.config, request.cost);
  if (verdict.allowed) verdict.retry_ms = 1;  // those before it in the queue go first
  verdict.allowed = false;
  call.part<LimitService>().Count(call.db.index(), call.Key(1), request.config.algorithm,
                                  {.policy = options.policy}, false);
  RememberTake(call.parts, asked, verdict, call.now);
  ReplyVerdict(call.reply, verdict);
}

// Queues the request if it has to wait and may; false when it is to be answered at once. A ban
// comes when the wait is over in vain.
bool Queues(CommandCall& call, const TakeOptions& options, const RequestIds::Asked* asked,
            const LimiterKey& limiter) {
  const int64_t wait_ms = *options.wait_ms;
  if (wait_ms == 0 || !call.may_wait()) return false;
  LimitWaiters& limit_waiters = call.part<LimitWaiters>();
  const KeyNameView key{call.db.index(), call.args[1]};
  const LimitRequest& request = options.request;
  const LimitVerdict verdict = limiter.Peek(request.config, request.cost);
  // Answered at once: what never fits, and what fits while no other request waits.
  if (verdict.retry_ms < 0 || (verdict.allowed && !limit_waiters.HasWaiters(key))) return false;
  LimitWaiters::Ticket ticket{call.client.id, request, std::string(options.policy),
                              asked ? *asked : RequestIds::Asked(), TryAgain};
  limit_waiters.Join(call, key, std::move(ticket), EndOfWait(call, wait_ms), verdict.retry_ms,
                     TakeTimedOut);
  return true;
}

// Type and algorithm are checked, then the request peeks, queues or takes. One that costs nothing
// peeks: it neither waits nor bans. SHADOW takes as well: only what counts and is told differs.
// `now`: the call's moment, or that of a logged request. `asked`: null where it has no ID.
void TakeOnce(CommandCall& call, const TakeOptions& options, const Now& now,
              const RequestIds::Asked* asked) {
  const LimitRequest& request = options.request;
  LimiterKey limiter(call.db, call.Key(1), now);
  if (!Accepts(call.reply, limiter, request.config.algorithm)) return;
  if (options.peek || request.cost == 0) [[unlikely]]
    return ReplyVerdict(call.reply, limiter.Peek(request.config, request.cost));
  if (options.wait_ms && Queues(call, options, asked, limiter)) return;
  const LimitVerdict verdict = call.part<LimitService>().Take(
      limiter, call.db.index(), request, {.policy = options.policy, .shadow = options.shadow});
  if (limiter.changed()) {
    SayTaken(call, call.args[1], request, now, options.shadow ? kShadowEvent : kTakeEvent);
  }
  if (asked) [[unlikely]]
    RememberTake(call.parts, *asked, verdict, now);
  ReplyVerdict(call.reply, verdict);
}

// A request that was answered before takes nothing.
void TakeNamed(CommandCall& call, const TakeOptions& options, const Now& now,
               const RequestIds::Asked& asked) {
  if (!IsTakenBefore(call, asked)) TakeOnce(call, options, now, &asked);
}

// A request that was read before, and another name behind it: the most that requests with an ID
// have in common. False: it is none.
bool TakeKnownNamed(CommandCall& call) {
  const Args words = call.args.subspan(2);
  if (words.size() < 5 || !IsWord(words[words.size() - 2], "ID")) return false;
  const TakeOptions* const known =
      call.part<LimitService>().parsed_takes().Find(words.first(words.size() - 2));
  if (!known || known->peek) return false;
  ArgReader args(words, words.size() - 1);
  const RequestId id = ReadRequestId(args);
  if (args.failed()) return false;
  TakeNamed(call, *known, call.now, AskedTake(call, *known, id));
  return true;
}

// The cache holds requests that were read before, byte for byte, but for their IDs and moments.
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 COST 3  → [1, 3, 0, 0, 3000, ...]  1 a second, 2 more
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 PEEK    → [0, 3, 0, 1000, 3000, ...]
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 COST 0  → [1, 3, 0, 0, 3000, ...]
//   LIMIT.TAKE k GCRA 60 60000 BURST 2 COST 4  → [0, 3, 0, -1, 3000, ...]  never fits
//   LIMIT.TAKE b WINDOW 1 1000 BAN 5000        → [1, 1, 0, 0, 1000, ...]
//   LIMIT.TAKE b WINDOW 1 1000 BAN 5000        → [0, 1, 0, 5000, 5000, ...]  refused, banned
//   LIMIT.TAKE k WINDOW 2 10000                → -ERR limiter is GCRA, not WINDOW
void Take(CommandCall& call) {
  LimitService& limits = call.part<LimitService>();
  if (const TakeOptions* const known = limits.parsed_takes().Find(call.args.subspan(2)))
      [[likely]] {
    return TakeOnce(call, *known, call.now, nullptr);
  }
  if (TakeKnownNamed(call)) return;
  ArgReader args(call.args, 2);
  const TakeOptions options = ReadTake(args, limits, call.client.replays);
  if (args.failed()) return call.reply.Error(args.error());
  if (!MayName(call, options.at_unix_us)) return;
  const Now now = MomentOf(call, options.at_unix_us);
  if (options.id.empty()) return TakeOnce(call, options, now, nullptr);
  TakeNamed(call, options, now, AskedTake(call, options, options.id));
}

// --- LIMIT.REFUND

// True: answered. Sets what it is remembered as.
bool IsRefundedBefore(CommandCall& call, RequestIds::Asked& asked, int64_t units) {
  asked.fingerprint = AddToFingerprint(0, Asks::kRefund, call.db.index(), call.args[1],
                                       LimitAlgorithm::kWindow, units);
  return IsAnswered(call, asked, [&](const RequestMemory::Answer& before) {
    before.values.empty() ? call.reply.NullArray() : call.reply.Integer(before.values[0]);
  });
}

void RememberRefund(CommandCall& call, const RequestIds::Asked& asked,
                    const RequestIds::Values& values) {
  if (asked.id.empty()) return;
  call.part<RequestIds>().Remember(ChangeRecorder(call.parts), asked, values, call.now);
}

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
  const RequestName name = ReadRequestName(args);
  if (!args.Finish()) return call.reply.Error(args.error());
  if (!MayName(call, at_unix_us)) return;
  RequestIds::Asked asked{.id = name.id, .for_ms = RequestForMs(name.for_ms, kRequestForMs)};
  if (!asked.id.empty() && IsRefundedBefore(call, asked, units)) return;
  const Now now = MomentOf(call, at_unix_us);
  LimiterKey limiter(call.db, call.Key(1), now);
  if (!IsLimiter(call.reply, limiter)) return;
  if (!limiter.exists()) {
    RememberRefund(call, asked, {});
    return call.reply.NullArray();
  }
  const int64_t remaining = limiter.Refund(units);
  if (limiter.changed()) call.Changed(kNotifyModule, "limit.refund", call.args[1]);
  if (limiter.changed() && call.wants_effects()) {
    ++call.part<TurnGate>().needs().grants;
    call.ReplaceWith(
        {"LIMIT.REFUND", call.args[1], Int64Text(units), "AT", Int64Text(now.unix_us())});
  }
  RememberRefund(call, asked, {remaining});
  call.reply.Integer(remaining);
}

// --- the table

// With PEEK it only reads. A request that makes no sense is taken for a write.
uint16_t TakeKeyFlags(const Request& request) {
  const Args args = request.args;
  constexpr uint16_t kReads = kKeyRo | kKeyAccess;
  constexpr uint16_t kReadsAndWrites = kKeyRw | kKeyAccess | kKeyUpdate;
  constexpr std::string_view kWithValue[] = {"COST", "BURST", "WAIT", "BAN",    "AT",
                                             "ID",   "FOR",   "ZONE", "STARTS", "ENDS"};
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
              "period-ms:integer(1..2^46) | calendar=<CALENDAR max:integer(1..2^62) unit=<MINUTE | "
              "HOUR | DAY | WEEK | MONTH> [ZONE zone:string(1..64)] [STARTS "
              "starts:integer(0..31)]> | POLICY name:string(0..256)> [BURST "
              "burst:integer(0..2^62)] [COST cost:integer(0..2^63-1)] "
              "[PEEK | WAIT wait-ms:integer(0..2^46)] [BAN ban-ms:integer(1..2^46)] [SHADOW] "
              "[id=<ID token [FOR for-ms:integer(1..86400000)]>]",
     .summary = "Take from a limit if it allows: allowed, limit, remaining, when to retry, reset.",
     .key_flags = TakeKeyFlags,
     .tells_of_grant = true},
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
     .usage = "key units:integer(1..2^63-1) [id=<ID token [FOR for-ms:integer(1..86400000)]>]",
     .summary = "Give back what was taken and not used; what remains, or null without the key.",
     .tells_of_grant = true},
};

}  // namespace

CommandFamily LimitsFamily() { return {"limits", kSpecsOf<kLimitsRows>}; }

}  // namespace sluice
