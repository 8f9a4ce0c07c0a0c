// The leaky buckets of the Redis module redis-leaky-bucket, whose earlier name was mcaptcha-cache:
// LBUCKET.COUNT adds one and takes it away again so many seconds later, each by itself;
// LBUCKET.GET tells what is there. Replies and error texts are the module's, which has no "ERR" in
// them; like it, both commands ignore what stands behind their arguments, but for ID
// (server/limits/ request_ids.h).
//
// LBUCKET.COUNTAT is ours: the same with the moment at which the units drain, as a Unix time. It is
// how a count is written to the log, and so the one form that replays to the same bucket. Clients
// may not send it.
//
//   > LBUCKET.COUNT visits 30      one more, gone again in 30 s
//   < OK
//   > LBUCKET.GET visits
//   < "7"
//
// A bucket is held in one of two forms. Few drains fit into the entry itself (packed, a TickRun);
// more need an object. Each count may move it from one to the other.

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/limits/limit_requests.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/limits/limit_service.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/wide.h"

namespace sluice {
namespace {

// False when an argument is missing: that has been answered. The module's row has arity -1, so that
// the error is the module's own.
inline bool HasArguments(CommandCall& call, size_t arguments) {
  if (call.args.size() > arguments) [[likely]]
    return true;
  call.reply.Error(
      Concat("ERR wrong number of arguments for '", LowerCase(call.spec().name), "' command"));
  return false;
}

// False when the key holds something else: WRONGTYPE has been answered. A missing key is fine.
bool IsBucketOrMissing(CommandCall& call, const Entry* entry) {
  if (!entry || entry->type() == ValueType::kLeakyBucket) [[likely]]
    return true;
  call.reply.Error(ErrorCode::kWrongType);
  return false;
}

// Requires: the entry holds a bucket that is not packed.
LeakyBucket& BucketOf(const Entry& entry) { return static_cast<LeakyBucket&>(entry.value()); }

// --- counting. A deadline that EXPIRE has set is earlier than the last drain, and stays.

// The key's deadline follows the last drain, unless EXPIRE has set an earlier one. Accounting is
// asked for only if the memory has changed: most counts join a drain that is there.
void CountInObject(CommandCall& call, Entry& entry, int64_t due_ms, uint64_t units) {
  LeakyBucket& bucket = BucketOf(entry);
  // Compared before the count, as it moves the last drain.
  const bool own_deadline = entry.deadline() == Deadline::Steady(bucket.last_due_ms());
  const size_t bytes = bucket.MemoryBytes();
  bucket.Count(call.now, due_ms, units);
  if (bucket.MemoryBytes() != bytes) call.db.ValueChanged(entry);
  Entry* at = &entry;
  if (own_deadline) at = &call.db.SetDeadline(*at, Deadline::Steady(bucket.last_due_ms()));
  if (bucket.IsFew()) call.db.PackIfSmall(*at);
}

// The hot path: the run is changed where it lies. When it is full, the bucket gets an object.
void CountIn(CommandCall& call, Entry& entry, int64_t due_ms, uint64_t units) {
  if (!entry.is_packed()) return CountInObject(call, entry, due_ms, units);
  TickRun run(entry.packed());
  const Deadline deadline = entry.deadline();
  const bool own_deadline = deadline == Deadline::Steady(run.last());
  // Units that have drained make room in the run.
  run.DropThrough(call.now.ms());
  if (run.Add(due_ms, units)) [[likely]] {
    call.db.SetPacked(entry, run.bytes(), own_deadline ? Deadline::Steady(run.last()) : deadline);
    return;
  }
  Entry& moved = call.db.SetValue(entry, std::make_unique<LeakyBucket>(TickRun(entry.packed())));
  CountInObject(call, moved, due_ms, units);
}

// A new key's deadline is its only drain.
void CountInNew(CommandCall& call, HashedKey key, int64_t due_ms, uint64_t units) {
  TickRun run;
  if (run.Add(due_ms, units)) [[likely]] {
    call.db.AddPacked(key, ValueType::kLeakyBucket, run.bytes(), Deadline::Steady(due_ms),
                      call.now);
    return;
  }
  auto bucket = std::make_unique<LeakyBucket>();
  bucket->Count(call.now, due_ms, units);
  call.db.PutValue(key, std::move(bucket), Deadline::Steady(due_ms), call.now);
}

// `due_ms` is engine time. The effect names the moment as a Unix time, so a replay next week drains
// at once what is over, and keeps what is not.
void CountUnits(CommandCall& call, uint64_t units, int64_t due_ms) {
  const HashedKey key = call.Key(1);
  const Entry* const found = call.db.Find(key, call.now);
  if (!IsBucketOrMissing(call, found)) return;
  // Nothing is left of what was due already (or at the end of the wheel's time).
  if (due_ms <= call.now.ms()) return call.reply.Ok();
  if (found) {
    CountIn(call, call.db.Modify(*found, call.now), due_ms, units);
  } else {
    CountInNew(call, key, due_ms, units);
  }
  call.Changed(kNotifyModule, "lbucket.count", key.bytes);
  if (call.wants_effects()) {
    const std::string unix_ms = Int64Text(due_ms + call.now.unix_offset_ms);
    call.ReplaceWith({"LBUCKET.COUNTAT", key.bytes, unix_ms, Concat(units)});
  }
  call.reply.Ok();
}

// With lbucket-second-buckets all counts of a second that are to drain together do, as in the
// module, which has one timer a second; without it each drains on its own ms.
void CountFor(CommandCall& call) {
  const std::optional<int64_t> seconds = ParseInt64(call.args[2]);
  if (!seconds) return call.reply.Error("Couldn't parse as integer");
  if (*seconds < 0) {
    return call.reply.Error("Couldn't parse negative number as unsigned integer");
  }
  int64_t due_ms = LeakyBucket::DueMs(call.now, *seconds);
  // A drain joins the timer of its second, and may so come up to a second early or late.
  if (call.settings.lbucket_second_buckets) {
    due_ms = call.part<LimitService>().drain_seconds().Join(due_ms, call.now);
  }
  CountUnits(call, 1, due_ms);
}

// Asked again it counts nothing. A count that is refused is not remembered.
void CountOnce(CommandCall& call) {
  ArgReader args(call.args, 3);
  const RequestName name = ReadRequestName(args);
  if (!args.Finish()) return call.reply.Error(args.error());
  RequestIds::Asked asked{.id = name.id};
  const std::optional<int64_t> seconds = ParseInt64(call.args[2]);
  const bool counts = seconds && *seconds >= 0;
  asked.fingerprint = AddToFingerprint(0, Asks::kCount, call.db.index(), call.args[1],
                                       LimitAlgorithm::kLeaky, seconds.value_or(-1));
  asked.for_ms =
      RequestForMs(name.for_ms, std::clamp<int64_t>(seconds.value_or(0), 1, 3600) * 1000);
  if (IsAnswered(call, asked, [&](const RequestMemory::Answer&) { call.reply.Ok(); })) return;
  const Entry* const found = call.db.Find(call.Key(1), call.now);
  if (counts && (!found || found->type() == ValueType::kLeakyBucket))
    call.part<RequestIds>().Remember(ChangeRecorder(call.parts), asked, {}, call.now);
  CountFor(call);
}

//   LBUCKET.COUNT v 30   → OK
//   LBUCKET.GET v        → "1"
//   LBUCKET.GET nothing  → -key lbucket:captcha:1:nothing not found
//   LBUCKET.COUNT v 30 ID 7f3a   → OK   once, however often it comes
void Count(CommandCall& call) {
  if (!HasArguments(call, 2)) return;
  if (call.args.size() > 4 && IsWord(call.args[3], "ID")) [[unlikely]]
    return CountOnce(call);
  CountFor(call);
}

// A drain that lies beyond the wheel's last tick drains there.
//   LBUCKET.COUNTAT v 99 1  → -ERR only a log that is replayed may say this, not a client
void CountAt(CommandCall& call) {
  ArgReader args(call.args, 2);
  const int64_t unix_ms = args.IntIn({"unix-time-milliseconds", 0, kInt64Max});
  const int64_t units = args.more() ? args.IntIn({"units", 1, kInt64Max}) : 1;
  if (!args.Finish()) return call.reply.Error(args.error());
  // The offset is positive on any machine whose wall clock is past its start.
  const int64_t due_ms =
      std::min(SaturatingSum(unix_ms, -call.now.unix_offset_ms), TimerWheel::kDeadlineMsMax);
  CountUnits(call, static_cast<uint64_t>(units), due_ms);
}

// --- looking

// Looking drops what has drained from the sum; the bucket itself is left as it is.
uint64_t LevelOf(const Entry& entry, const Now& now) {
  return entry.is_packed() ? TickRun(entry.packed()).UnitsAfter(now.ms())
                           : BucketOf(entry).Level(now);
}

// An empty bucket is an error in the module's words, not 0.
void Get(CommandCall& call) {
  if (!HasArguments(call, 1)) return;
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!IsBucketOrMissing(call, entry)) return;
  const uint64_t level = entry ? LevelOf(*entry, call.now) : 0;
  if (level == 0) {
    // The module shows the name of its own key, with a number that it draws at its start.
    return call.reply.Error(Concat("key lbucket:captcha:1:", call.args[1], " not found"));
  }
  char digits[24];
  const char* const end = std::to_chars(digits, digits + sizeof digits, level).ptr;
  call.reply.Bulk({digits, static_cast<size_t>(end - digits)});
}

// --- the table

constexpr CommandRow CountRow(std::string_view name) {
  return {.name = name,
          .arity = -1,
          .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
          .categories = kCatLimit,
          .keys = KeyAt(1, kKeyRw | kKeyUpdate | kKeyInsert),
          .run = Count,
          .group = "limit",
          .since = "0.1.0",
          .complexity = "O(1), amortized over what has drained since.",
          .usage = "key seconds [id=<ID token [FOR for-ms:integer(1..86400000)]>]",
          .summary = "Count one, which drains by itself so many seconds later."};
}

constexpr CommandRow GetRow(std::string_view name) {
  return {.name = name,
          .arity = -1,
          .flags = kReadOnly | kFast,
          .categories = kCatLimit,
          .keys = KeyAt(1, kKeyRo | kKeyAccess),
          .run = Get,
          .group = "limit",
          .since = "0.1.0",
          .complexity = "O(1), amortized over what has drained since.",
          .usage = "key",
          .summary = "How many of those counted have not drained yet; an error when none."};
}

// Each command under two names, that of the module and that of its earlier name; COUNTAT is for the
// log.
constexpr CommandRow kLeakyBucketsRows[] = {
    CountRow("LBUCKET.COUNT"),
    GetRow("LBUCKET.GET"),
    CountRow("MCAPTCHA_CACHE.COUNT"),
    GetRow("MCAPTCHA_CACHE.GET"),
    {.name = "LBUCKET.COUNTAT",
     .arity = -3,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kNoScript | kFast | kOnlyReplayed,
     .categories = kCatLimit,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate | kKeyInsert),
     .run = CountAt,
     .group = "limit",
     .since = "0.1.0",
     .complexity = "O(1), amortized over what has drained since.",
     .usage = "key unix-time-milliseconds [units:integer(1..2^63-1)]",
     .summary = "Count units that drain at that moment: what the log says for LBUCKET.COUNT."},
};

}  // namespace

CommandFamily LeakyBucketsFamily() { return {"leaky_buckets", kSpecsOf<kLeakyBucketsRows>}; }

}  // namespace sluice
