// XCLAIM and XAUTOCLAIM: what one consumer of a group has been given and did not acknowledge goes
// to another one. XPENDING, which shows it, is in stream_pending.cc.
//
// The use: a consumer died with entries in hand. Another one claims those that have been idle for
// long enough, works on them and acknowledges them.
//
//   > XAUTOCLAIM jobs workers bob 60000 0 COUNT 10
//   < 1) "1700000000000-5"    where to go on; 0-0 at the end
//     2) entries              bob's now
//     3) ids                  were pending, but deleted from the stream
//
// Each entry that changes hands is told to the log as an XCLAIM of its own, with FORCE and absolute
// times.

#include <algorithm>
#include <limits>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// --- claiming

// How a claimed entry is to look.
struct ClaimTerms {
  int64_t idle_min_ms = 0;
  int64_t delivered_ms = 0;
  int64_t retry_count = -1;  // negative: one more than before, but with just_id as before
  bool just_id = false;
  bool to_nobody = false;
};

// Takes entries of one group for one consumer, and answers with them in the end.
class Claim {
 public:
  Claim(CommandCall& call, const GroupPlace& place, const ClaimTerms& terms)
      : call_(call), place_(place), terms_(terms) {}

  // The entry is not in the stream any more: nor shall it be pending. The effect comes first, while
  // there is a pending entry to tell of; a replay drops it in the same way.
  void Forget(StreamId id) {
    if (PendingEntry* const pending = place_.group.FindPending(id)) {
      RecordPending(call_, place_, id, *pending);
      place_.group.Release(id);
    }
  }

  // In wall-clock ms, as delivery times are; a clock that was set back makes entries look fresh.
  bool IdleEnough(const PendingEntry& pending) const {
    return terms_.idle_min_ms == 0 || pending.unowned() ||
           call_.now.unix_ms() - pending.delivered_ms >= terms_.idle_min_ms;
  }

  // `pending`: null when it was not (FORCE). The consumer is made by the first entry that it gets,
  // so a claim of nothing makes none. JUSTID leaves the count of deliveries alone: nothing was
  // delivered.
  void Take(StreamId id, const StreamEntry& entry, const PendingEntry* pending,
            std::string_view consumer_name) {
    const int64_t before = pending ? pending->deliveries : 1;
    const int64_t deliveries = terms_.retry_count >= 0 ? terms_.retry_count
                               : terms_.just_id        ? before
                                                       : NextCount(before);
    taken_.push_back(entry);
    if (terms_.to_nobody) {
      return RecordPending(call_, place_, id, place_.group.Disown(id, deliveries));
    }
    if (!consumer_) consumer_ = &SeenConsumer(call_, place_, consumer_name);
    RecordPending(call_, place_, id,
                  place_.group.Give(id, *consumer_, terms_.delivered_ms, deliveries));
  }

  size_t size() const { return taken_.size(); }

  // Entries, or with JUSTID their ids.
  void Reply() const {
    call_.reply.Array(taken_.size());
    for (const StreamEntry& entry : taken_) {
      terms_.just_id ? ReplyId(call_.reply, entry.id()) : ReplyEntry(call_.reply, entry);
    }
  }

 private:
  CommandCall& call_;
  const GroupPlace& place_;
  const ClaimTerms& terms_;
  StreamConsumer* consumer_ = nullptr;
  std::vector<StreamEntry> taken_;
};

// --- XCLAIM

// `delivered_ms` is a Unix time, whether it came as IDLE or as TIME; the last of them counts.
struct ClaimArgs {
  const int64_t now_ms;
  ClaimTerms terms;
  std::vector<StreamId> ids;
  bool force = false;
  StreamId last_id;
  std::optional<int64_t> delivered_ms;
};

// Every option has its own sentence.
int64_t TakeClaimNumber(ArgReader& args, std::string_view option) {
  return TakeInteger(args, Concat("ERR Invalid ", option, " option argument for XCLAIM"));
}

// A difference that does not fit is no time that can be; see the end of ReadClaimArgs.
void ReadIdle(ArgReader& args, ClaimArgs& result) {
  int64_t at;
  const int64_t idle_ms = TakeClaimNumber(args, "IDLE");
  result.delivered_ms = __builtin_sub_overflow(result.now_ms, idle_ms, &at) ? -2 : at;
}

// XCLAIM key group consumer min-idle id ... [IDLE ms | TIME unix-ms] [RETRYCOUNT n] [FORCE]
// [JUSTID] [LASTID id]
constexpr OptionRow<ClaimArgs> kClaimOptions[] = {
    {"FORCE", kRaise<&ClaimArgs::force>},
    {"JUSTID", [](ArgReader&, ClaimArgs& result) { result.terms.just_id = true; }},
    {"IDLE", ReadIdle, 1},
    {"TIME",
     [](ArgReader& args, ClaimArgs& result) {
       result.delivered_ms = TakeClaimNumber(args, "TIME");
     },
     1},
    {"RETRYCOUNT",
     [](ArgReader& args, ClaimArgs& result) {
       result.terms.retry_count = TakeClaimNumber(args, "RETRYCOUNT");
     },
     1},
    {"LASTID", [](ArgReader& args, ClaimArgs& result) { result.last_id = TakeStreamId(args); }, 1},
};

// A bad min-idle-time wins over bad options. Below zero it counts as 0. False: the error has been
// answered.
bool ReadClaimArgs(CommandCall& call, ClaimArgs& result) {
  ArgReader args(call.args, 4);
  const int64_t idle_ms = TakeInteger(args, "ERR Invalid min-idle-time argument for XCLAIM");
  result.terms.idle_min_ms = std::max<int64_t>(idle_ms, 0);
  while (args.more()) {  // what is no id begins the options
    const std::optional<ParsedStreamId> id = ParseStreamId(args.Peek(), {});
    if (!id) break;
    result.ids.push_back(id->id);
    args.Skip();
  }
  while (args.more()) {
    if (TakeOption(args, kClaimOptions, result)) continue;
    args.Fail(Concat("ERR Unrecognized XCLAIM option '", args.Peek(), "'"));
  }
  if (args.failed()) {
    call.reply.Error(args.error());
    return false;
  }
  // Clients compute times from their own clocks: what cannot be is taken for now. A log that is
  // played knows what was.
  const int64_t at = result.delivered_ms.value_or(result.now_ms);
  const bool may_be = at >= 0 && (at <= result.now_ms || call.client.replays);
  result.terms.delivered_ms = may_be ? at : result.now_ms;
  // How effects and files tell of what nobody owns; see RecordPending.
  result.terms.to_nobody = call.args[3].empty() && result.delivered_ms == 0;
  return true;
}

// Group first, then the arguments. An id that is not pending is passed over unless FORCE is given.
// The answer has the entries that were taken; ids that were refused are simply absent. LASTID only
// moves the group forward. After `XADD s 1-1 f v`, `XGROUP CREATE s g 0`:
//   XCLAIM s g me 0 1-1               → []  not pending, so not claimed
//   XCLAIM s g me 0 1-1 FORCE JUSTID  → ["1-1"]
//   XCLAIM s g you 9999999 1-1        → []  not idle for so long
void XClaim(CommandCall& call) {
  const FoundStream found = FindStream(call, call.Key(1));
  if (found.failed) return;
  StreamGroup* const group = found.entry ? found.stream()->FindGroup(call.args[2]) : nullptr;
  if (!group) return ReplyNoGroup(call, call.args[1], call.args[2]);
  if (!HasRoomFor(call, *group, call.args[3])) return;
  ClaimArgs args{.now_ms = call.now.unix_ms()};
  if (!ReadClaimArgs(call, args)) return;

  const GroupPlace place{call.args[1], call.args[2], *group};
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  call.ChangedUnannounced(place.key);
  call.NoEffect();  // until something has happened
  const bool moves_last_id = args.last_id > group->last_id;
  if (moves_last_id) group->last_id = args.last_id;
  Claim claim(call, place, args.terms);
  for (const StreamId id : args.ids) {
    const std::optional<StreamEntry> entry = stream->Find(id);
    const PendingEntry* const pending = group->FindPending(id);
    if (!entry) {
      claim.Forget(id);
    } else if (pending ? claim.IdleEnough(*pending) : args.force) {
      claim.Take(id, *entry, pending, call.args[3]);
    }
  }
  // Behind the entries: each of those tells the last id too.
  if (moves_last_id) RecordLastId(call, place);
  claim.Reply();
}

// --- XAUTOCLAIM

constexpr int64_t kAutoClaimCount = 100;
constexpr int64_t kAttemptsFactor = 10;  // so many pending ones are looked at for each of COUNT
constexpr int64_t kAutoClaimCountMax = std::numeric_limits<int64_t>::max() / 16;

// COUNT bounds both what is taken and what is found to be gone.
struct AutoClaimArgs {
  ClaimTerms terms;
  StreamId from;
  int64_t count = kAutoClaimCount;
};

// XAUTOCLAIM key group consumer min-idle start [COUNT n] [JUSTID]
constexpr OptionRow<AutoClaimArgs> kAutoClaimOptions[] = {
    {"COUNT",
     [](ArgReader& args, AutoClaimArgs& result) {
       constexpr std::string_view kFault = "ERR COUNT must be > 0";
       result.count = TakeInteger(args, kFault);
       if (result.count < 1 || result.count > kAutoClaimCountMax) args.Fail(std::string(kFault));
     },
     1},
    {"JUSTID", [](ArgReader&, AutoClaimArgs& result) { result.terms.just_id = true; }},
};

// The start may be exclusive, so that a client can go on behind the last id that it has seen.
bool ReadAutoClaimArgs(CommandCall& call, AutoClaimArgs& result) {
  ArgReader args(call.args, 4);
  const int64_t idle_ms = TakeInteger(args, "ERR Invalid min-idle-time argument for XAUTOCLAIM");
  result.terms.idle_min_ms = std::max<int64_t>(idle_ms, 0);
  result.terms.delivered_ms = call.now.unix_ms();
  result.from = RangeStart(args, args.Bytes());
  ReadOptions(args, kAutoClaimOptions, result);
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// Arguments come before the type and the group, unlike in XCLAIM. Two bounds end the walk: COUNT
// entries that were taken or gone, and ten times as many looks, so that a long list of fresh
// entries costs a bounded turn. The cursor is the next pending id, not the last one that was seen.
// After `XADD s 1-1 f v`, `XADD s 1-2 f v`, `XGROUP CREATE s g 0`, `XREADGROUP GROUP g me STREAMS
// s >`, `XDEL s 1-1`:
//   XAUTOCLAIM s g you 0 - COUNT 1 JUSTID  → ["1-2", [], ["1-1"]]  where to go on, claimed, gone
//   XAUTOCLAIM s g you 0 1-2 JUSTID        → ["0-0", ["1-2"], []]  0-0: that was all
//   XAUTOCLAIM s g you 0 - COUNT 0         → -ERR COUNT must be > 0
void XAutoClaim(CommandCall& call) {
  const Entry* const entry = LookUpToRead(call, call.Key(1));  // a miss is one whatever follows
  AutoClaimArgs args;
  if (!ReadAutoClaimArgs(call, args)) return;
  const FoundStream found = AsStream(call, entry);
  if (found.failed) return;
  StreamGroup* const group = found.entry ? found.stream()->FindGroup(call.args[2]) : nullptr;
  if (!group) return ReplyNoGroup(call, call.args[1], call.args[2]);
  if (!HasRoomFor(call, *group, call.args[3])) return;

  const GroupPlace place{call.args[1], call.args[2], *group};
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  call.ChangedUnannounced(place.key);
  call.NoEffect();  // until something has happened
  Claim claim(call, place, args.terms);
  std::vector<StreamId> gone;
  std::optional<StreamId> cursor = args.from;  // the next one to look at
  int64_t attempts = std::min(args.count, kAutoClaimCountMax / kAttemptsFactor) * kAttemptsFactor;
  // The cursor is looked up anew each time: an entry that is forgotten leaves the list.
  for (int64_t left = args.count; attempts > 0 && left > 0; --attempts) {
    const auto at = group->pending().lower_bound(*cursor);
    if (at == group->pending().end()) break;
    const StreamId id = at->first;
    const PendingEntry& pending = at->second;
    const std::optional<StreamEntry> there = stream->Find(id);
    if (!there) {
      claim.Forget(id);
      gone.push_back(id);
      --left;
    } else if (claim.IdleEnough(pending)) {
      claim.Take(id, *there, &pending, call.args[3]);
      --left;
    }
    cursor = id.Next();
    if (!cursor) break;
  }

  call.reply.Array(3);
  // Where the next call goes on, if anything is left.
  const auto rest = cursor ? group->pending().lower_bound(*cursor) : group->pending().end();
  ReplyId(call.reply, rest == group->pending().end() ? StreamId::Min() : rest->first);
  claim.Reply();
  call.reply.Array(gone.size());
  for (const StreamId id : gone) ReplyId(call.reply, id);
}

// --- the table

// kKeyAccess, which Redis has not: both answer with entries, so whoever may only write is refused.

constexpr CommandRow kStreamClaimsRows[] = {
    {.name = "XCLAIM",
     .arity = -6,
     .flags = kWrite | kFast,
     .categories = kCatStream,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = XClaim,
     .group = "stream",
     .since = "5.0.0",
     .complexity = "O(log N) with N being the number of messages in the PEL of the consumer group.",
     .usage = "key group consumer min-idle-time id [id ...] [IDLE ms:integer] "
              "[TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID id]",
     .summary = "Take pending entries over for a consumer, if they have been idle long enough.",
     .tips = "nondeterministic_output"},
    {.name = "XAUTOCLAIM",
     .arity = -6,
     .flags = kWrite | kFast,
     .categories = kCatStream,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = XAutoClaim,
     .group = "stream",
     .since = "6.2.0",
     .complexity = "O(1) if COUNT is small.",
     .usage = "key group consumer min-idle-time start:string [COUNT count] [JUSTID]",
     .summary = "Take over whatever has been pending long enough, from an id on.",
     .history = "7.0.0 A third element of the answer: what was pending but deleted.",
     .tips = "nondeterministic_output"},
};

}  // namespace

CommandFamily StreamClaimsFamily() { return {"stream claims", kSpecsOf<kStreamClaimsRows>}; }

}  // namespace sluice
