// The dialects of GCRA that people have code for: CL.THROTTLE of the Redis module redis-cell, and
// RL.THROTTLE, which is the same; and GCRA, as Redis 8.8's previews had it. The arithmetic is in
// storage/limits/cell.h. The key holds the theoretical arrival time as a plain string of decimal
// nanoseconds, with a time to live until then, as redis-cell stores it.
//
// CL.THROTTLE's errors begin with "Cell error: Store error: " instead of "ERR ".
//
//   > CL.THROTTLE user 15 30 60       15 extra at once, 30 in 60 s
//   < 1) 0    limited: 1 if refused
//     2) 16   limit, max_burst + 1
//     3) 15   remaining
//     4) -1   retry after, in s; -1 if allowed
//     5) 2    reset after, in s
//
// The effect is SET with the new moment, which is a replay's outcome whatever the arithmetic.

#include <charconv>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/expiry_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/limits/limit_service.h"
#include "storage/limits/cell.h"

namespace sluice {
namespace {

constexpr std::string_view kCellError = "Cell error: Store error: ";
constexpr std::string_view kNoNumber = "The key holds no number";

// --- what both do with the key

// A time to live of 0 or less removes the key, as PEXPIRE would.
void Store(CommandCall& call, HashedKey key, const CellAnswer& answer, const Entry* found) {
  if (answer.ttl_ms <= 0) {
    DeleteAsEffect(call, key);
    return;
  }
  const Deadline deadline = Deadline::Steady(call.now.ms() + answer.ttl_ms);
  if (found) {
    Entry& entry = call.db.Modify(*found, call.now);
    call.db.SetDeadline(call.db.SetInteger(entry, answer.new_tat_ns), deadline);
  } else {
    call.db.PutInteger(key, answer.new_tat_ns, deadline, call.now);
  }
  SaySet(call, key, true);
  if (call.wants_effects()) {
    ReplaceWithSet(call, key.bytes, Int64Text(answer.new_tat_ns), deadline);
  }
}

// The stored moment is one of the wall clock, which may have been set back since; the key's
// deadline is not, and says when the moment is reached. Both were rounded down to a ms.
int64_t WithinDeadline(int64_t tat_ns, const Entry& entry, const Now& now) {
  constexpr int64_t kMsNs = 1'000'000;
  const Deadline deadline = entry.deadline();
  if (deadline.none()) return tat_ns;
  const __int128 reached_ns =
      (static_cast<__int128>(now.unix_us()) / 1000 + deadline.LeftMs(now)) * kMsNs;
  return tat_ns > reached_ns + 2 * kMsNs ? static_cast<int64_t>(reached_ns) : tat_ns;
}

// Asks, stores, answers. `prefix` begins the sentence of an error. The type is checked first, then
// the number. A peek (quantity 0) stores nothing; a refused request leaves the key as it is.
void TakeAndReply(CommandCall& call, const CellRequest& request, std::string_view prefix) {
  const HashedKey key = call.Key(1);
  const Entry* const entry = call.db.Find(key, call.now);
  if (!IsTextOrMissing(call, entry)) return;
  std::optional<int64_t> tat_ns;
  if (entry) {
    char scratch[Entry::kTextScratch];
    tat_ns = entry->is_integer() ? entry->integer() : ParseInt64(entry->Text(scratch));
    if (!tat_ns) return call.reply.Error(Concat(prefix, kNoNumber));
    // A clock that was set back must not make a client wait longer than the key lives.
    tat_ns = WithinDeadline(*tat_ns, *entry, call.now);
  }
  CellAnswer answer;
  const CellFault fault = TakeCell(request, tat_ns, call.now.unix_us() * 1000, &answer);
  if (fault != CellFault::kNone) return call.reply.Error(Concat(prefix, CellFaultText(fault)));
  if (answer.stored && request.quantity != 0) Store(call, key, answer, entry);
  if (answer.limited && request.quantity != 0)
    call.part<LimitService>().NoteRefused(call.db.index(), key);
  const int64_t fields[] = {answer.limited, answer.limit, answer.remaining, answer.retry_after_s,
                            answer.reset_after_s};
  call.reply.Integers(fields);
}

// --- CL.THROTTLE

// As Rust's i64::from_str reads: a sign, and digits with or without leading zeros.
std::optional<int64_t> ParseSigned(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Reads the arguments from `first` on; false when one is no integer, which has been answered.
bool ReadSigned(CommandCall& call, size_t first, std::span<int64_t> numbers) {
  for (size_t i = 0; i < numbers.size() && first + i < call.args.size(); ++i) {
    const std::optional<int64_t> number = ParseSigned(call.args[first + i]);
    if (!number) {
      call.reply.Error(Concat(kCellError, "Couldn't parse as integer: ", call.args[first + i]));
      return false;
    }
    numbers[i] = *number;
  }
  return true;
}

// Null: the error has been answered. A wrong number of arguments gets the module's own usage line.
// The parsed numbers are remembered by their bytes: clients send the same ones each time.
std::optional<CellRequest> ReadThrottle(CommandCall& call) {
  if (call.args.size() < 5 || call.args.size() > 6) {
    call.reply.Error(Concat(kCellError,
                            "Usage: cl.throttle <key> <max_burst> <count per period> "
                            "<period> [<quantity>]"));
    return std::nullopt;
  }
  const Args words = call.args.subspan(2);
  ParsedArgsCache<CellRequest>& memo = call.part<LimitService>().parsed_cells();
  if (const CellRequest* const known = memo.Find(words)) [[likely]]
    return *known;
  int64_t numbers[] = {0, 0, 0, 1};
  if (!ReadSigned(call, 2, numbers)) return std::nullopt;
  const CellRequest request{numbers[0], numbers[1], CellPeriodNs(numbers[2]), numbers[3]};
  memo.Keep(words, request);
  return request;
}

//   CL.THROTTLE u 1 1 60    → [0, 2, 1, -1, 60]
//   CL.THROTTLE u 1 1 60    → [0, 2, 0, -1, 120]
//   CL.THROTTLE u 1 1 60    → [1, 2, 0, 60, 120]
//   CL.THROTTLE u 1 1 60 0  → [0, 2, 0, -1, 120]
//   CL.THROTTLE u 0 0 60    → -Cell error: Store error: Zero rates are not supported
void Throttle(CommandCall& call) {
  if (const std::optional<CellRequest> request = ReadThrottle(call)) {
    TakeAndReply(call, *request, kCellError);
  }
}

// --- GCRA

constexpr std::string_view kNotFromOne =
    "ERR value is out of range, value must between 1 and 9223372036854775807";
constexpr __int128 kGcraPeriodMinNs = 1'000'000'000;

// A number below one and one that is none have different faults; the reader keeps the first.
int64_t IntFromOne(ArgReader& args) {
  const int64_t value = args.Int();
  if (value < 1) args.Fail(std::string(kNotFromOne));
  return value;
}

// Decimal seconds exactly, other spellings of a float as near as a double comes.
std::optional<__int128> ReadPeriodNs(std::string_view text) {
  if (const auto exact = ParseCellPeriodNs(text)) return exact;
  const std::optional<double> seconds = ParseDouble(text);
  constexpr double kMost = 9.2e18;
  if (!seconds || !(*seconds > -kMost && *seconds < kMost)) return std::nullopt;
  return static_cast<__int128>(*seconds * 1e9);
}

// The numbers in order, then TOKENS, each with its own sentence. There is nothing to give back
// here: TOKENS starts at 1.
void Gcra(CommandCall& call) {
  if (call.args.size() > 7) {
    return call.reply.Error("ERR wrong number of arguments for 'gcra' command");
  }
  ArgReader args(call.args, 2);
  CellRequest request;
  request.max_burst = args.Int(ErrorCode::kPositive);
  if (request.max_burst < 0) args.Fail(ErrorCode::kPositive);
  request.count = IntFromOne(args);
  const std::optional<__int128> period_ns = ReadPeriodNs(args.Bytes());
  if (!period_ns) {
    args.Fail(ErrorCode::kNotFloat);
  } else if (*period_ns < kGcraPeriodMinNs) {
    args.Fail("ERR period is out of range, must be at least 1.0");
  }
  request.period_ns = period_ns.value_or(0);
  if (args.more()) {
    if (!args.TakeWord("TOKENS")) args.Fail(ErrorCode::kSyntax);
    if (!args.failed() && !args.more()) args.Fail("ERR Missing TOKENS value");
    request.quantity = IntFromOne(args);
  }
  if (!args.Finish()) return call.reply.Error(args.error());
  TakeAndReply(call, request, "ERR ");
}

// --- the table

constexpr CommandRow ThrottleRow(std::string_view name) {
  return {.name = name,
          .arity = -1,
          .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
          .categories = kCatLimit,
          .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
          .run = Throttle,
          .group = "limit",
          .since = "0.1.0",
          .complexity = "O(1)",
          .usage =
              "key max-burst:integer count-per-period:integer period-seconds:integer "
              "[quantity:integer]",
          .summary = "Take from a limit: limited, limit, remaining, retry and reset in seconds."};
}

// CL.THROTTLE and RL.THROTTLE have the module's arity -1, so that its own usage line is the answer.
constexpr CommandRow kRedisCellRows[] = {
    ThrottleRow("CL.THROTTLE"),
    ThrottleRow("RL.THROTTLE"),
    {.name = "GCRA",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
     .categories = kCatLimit,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = Gcra,
     .group = "limit",
     .since = "8.8.0",
     .complexity = "O(1)",
     .usage = "key max-burst:integer tokens-per-period:integer "
              "period-seconds:double [TOKENS count]",
     .summary = "Take from a limit: limited, limit, remaining, retry and reset in seconds."},
};

}  // namespace

CommandFamily RedisCellFamily() { return {"redis_cell", kSpecsOf<kRedisCellRows>}; }

}  // namespace sluice
