// Looking at locks: LOCK.INFO, LOCK.WAITERS, LOCK.LIST. A holder that lingers by MINHOLD takes room
// and is shown, with no holds.
//
// An answer may be out of date when the client reads it. Only a token says whether a lock is still
// held, and FENCED asks it.
//
//   command         answer
//   LOCK.INFO       mode, permits, token, holders, waiters, longest_wait_ms, in_vain_last_hour, and
//                   while a grant waits for them replicas_wanted, replicas_have; nothing for a free
//                   lock without waiters
//   LOCK.WAITERS    owner, client_id, waited_ms, left_ms, priority of each
//   LOCK.LIST       a cursor, and names of locks of the client's database; with WAITED of those
//                   that are waited for
//   LOCK.HELP       the commands on locks, from their rows

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "protocol/text/concat.h"
#include "protocol/text/glob.h"
#include "protocol/text/letters.h"
#include "server/commands/families.h"
#include "server/commands/locks/lock_keys.h"
#include "server/commands/shared/db_index.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/reply_fields.h"
#include "server/locks/lock_effect.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

// The lock of the first key, with the leases ended that are over. Null: WRONGTYPE has been
// answered.
std::optional<OpenLock> Look(CommandCall& call) {
  LockService& service = call.part<LockService>();
  std::optional<OpenLock> lock = OpenLockAt(call, service.Enter(), 1);
  // Twice: where the key of something else was found to be over, waiters get the lock.
  if (lock) service.Enter().SettleToLook(*lock, call.now, {});
  return lock;
}

// One that is over may still have to be ended: its holder may have renewed it in time.
int64_t LeaseShown(const LockHolder& holder, const Now& now) {
  if (holder.is_minimum_hold()) return 0;
  return !holder.has_lease() ? -1 : std::max<int64_t>(0, holder.LeaseLeftMs(now));
}

// Times are ms that are left, 0 where there are none; the lease is -1 for a session alone.
// client_id is that of the first bound connection that is still there.
void ReplyHolder(CommandCall& call, const LockHolder& holder) {
  const Session* session = nullptr;
  for (size_t i = 0; i < holder.sessions().size() && !session; ++i) {
    session = call.part<LockService>().FindConnection(holder.sessions()[i]);
  }
  ReplyFields fields(call.reply, 8);
  fields.At("owner").Bulk(holder.owner);
  fields.Integer("token", holder.token);
  fields.Integer("permits", holder.permits());
  fields.Integer("holds", holder.holds);
  fields.Integer("lease_ms", LeaseShown(holder, call.now));
  fields.Integer("minhold_ms", std::max<int64_t>(0, holder.minhold_until_ms() - NextMs(call.now)));
  fields.Integer("client_id", session ? static_cast<int64_t>(session->client_id) : 0);
  fields.At("label").Bulk(holder.label());
}

// Not the first in line where some have a priority.
int64_t LongestWaitMs(const WaitQueue::Line* line, const Now& now) {
  int64_t since_ms = now.ms();
  if (!line) return 0;
  for (const auto& [place, queued] : line->all)
    since_ms = std::min(since_ms, queued->wait.since_ms);
  return now.ms() - since_ms;
}

// A free lock that is waited for is shown too (a hand-over is due). All in one piece. A
// lock held back after a restart shows no holders, as it is not known whether there are any. While
// the newest grant waits for replicas, two more tell for how many, and how many have it.
//   LOCK.INFO free  → []
// After `LOCK.ACQUIRE pool alice LEASE 30000 PERMITS 2 OF 3`:
//   LOCK.INFO pool  → ["permits", 3, TOKEN, [["alice", TOKEN, 2, 1, 30000, 0, 0, ""]], 0, 0, 0]
void Info(CommandCall& call) {
  std::optional<OpenLock> open = Look(call);
  if (!open) return;
  const bool is_withheld = call.part<LockService>().IsWithheld(*open);
  const Lock* const lock = is_withheld ? nullptr : open->lock();
  const WaitQueue& queue = call.part<LockService>().queue();
  const size_t waiters = queue.LengthOf(open->name());
  if (!lock && waiters == 0) return ReplyNoFields(call.reply);
  const bool held = lock && !lock->empty();
  // Only there do permits of the whole say something.
  const bool semaphore = held && lock->mode() == LockMode::kPermits;
  const ReplicaWaits::Progress kept =
      call.part<LockService>().replica_waits().ProgressOf(held ? lock->newest_token() : 0);
  ReplyFields fields(call.reply, kept.wanted > 0 ? 9 : 7);
  fields.At("mode").Bulk(held ? kLockModeWords[static_cast<size_t>(lock->mode())] : "free");
  fields.Integer("permits", semaphore ? lock->permits_of() : 0);
  fields.Integer("token", lock ? lock->newest_token() : 0);
  fields.At("holders").Array(lock ? lock->holders().size() : 0);
  if (lock) {
    for (const LockHolder& holder : lock->holders()) ReplyHolder(call, holder);
  }
  fields.Integer("waiters", static_cast<int64_t>(waiters));
  fields.Integer("longest_wait_ms", LongestWaitMs(queue.LineOf(open->name()), call.now));
  fields.Integer("in_vain_last_hour", call.part<LockService>().waits().InVain(open->name()));
  if (kept.wanted == 0) return;
  fields.Integer("replicas_wanted", kept.wanted);
  fields.Integer("replicas_have", static_cast<int64_t>(kept.have));
}

// In the order in which they would go, whatever their mode. O(waiters) in one piece.
void Waiters(CommandCall& call) {
  const std::optional<OpenLock> open = Look(call);
  if (!open) return;
  const WaitQueue::Line* const line = call.part<LockService>().queue().LineOf(open->name());
  call.reply.Array(line ? line->all.size() : 0);
  if (!line) return;
  for (const auto& [place, queued] : line->all) {
    const LockWait* const wait = &queued->wait;
    Session* const session = call.part<LockService>().FindConnection(wait->client);
    ReplyFields fields(call.reply, 5);
    fields.At("owner").Bulk(wait->request.owner);
    fields.Integer("client_id", session ? static_cast<int64_t>(session->client_id) : 0);
    fields.Integer("waited_ms", call.now.ms() - wait->since_ms);
    fields.Integer("left_ms", std::max<int64_t>(0, wait->deadline_ms - call.now.ms()));
    fields.Integer("priority", wait->request.priority);
  }
}

// COUNT is how many locks a call looks at, about, not how many it answers with. WAITED: those that
// are waited for alone, held or not; their cursors are of another walk.
struct ListOptions {
  std::string_view pattern = "*";
  int64_t count = 10;
  bool waited = false;
};
constexpr OptionRow<ListOptions> kLockViewsListOptions[] = {
    {"MATCH", kTakeBytes<&ListOptions::pattern>, 1},
    {"COUNT",
     [](ArgReader& args, ListOptions& options) {
       options.count = args.IntIn({"COUNT", 1, INT64_MAX});
     },
     1},
    {"WAITED", kRaise<&ListOptions::waited>},
};

// Locks for which a request has waited longest come first. Returns the cursor to go on with.
uint64_t ListWaited(CommandCall& call, uint64_t cursor, int64_t count,
                    absl::FunctionRef<void(std::string_view)> visit) {
  const WaitQueue& queue = call.part<LockService>().queue();
  const int db = call.db.index();
  const WaitQueue::Line* line = queue.NextLine(db, cursor);
  for (; line && count > 0; --count) {
    visit(line->name.key);
    cursor = line->number + 1;
    line = queue.NextLine(db, cursor);
  }
  return line ? cursor : 0;
}

// As SCAN, but walks the locks alone: a cursor is the number of the last one seen.
void List(CommandCall& call) {
  const std::optional<uint64_t> cursor = ParseCursor(call.args[1]);
  if (!cursor) return call.reply.Error(ErrorCode::kInvalidCursor);
  ListOptions options;
  ArgReader args(call.args, 2);
  ReadOptions(args, kLockViewsListOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  LockService& service = call.part<LockService>();
  // Leases that are over, and locks of clients that are gone, are settled before the walk.
  service.Enter();
  const Glob glob(options.pattern);
  std::vector<std::string_view> found;
  const auto visit = [&](std::string_view key) {
    if (options.pattern == "*" || glob.Matches(key)) found.push_back(key);
  };
  const uint64_t next =
      options.waited
          ? ListWaited(call, *cursor, options.count, visit)
          : service.held_locks().List(call.db.index(), *cursor, static_cast<size_t>(options.count),
                                      [&](const Lock& lock) { visit(lock.name().key); });
  call.reply.Array(2);
  call.reply.Bulk(std::to_string(next));
  call.reply.Array(found.size());
  for (const std::string_view key : found) call.reply.Bulk(key);
}

// As the HELP of a container: two lines a command. The ranges of arguments are those of COMMAND
// DOCS. Commands that only a log may say are left out.
//   LOCK.HELP  → ["LOCK commands are:", ...]
void LockHelp(CommandCall& call) {
  const CommandSpec& own = *call.command.spec;
  std::vector<const Command*> commands;
  for (const Command* const command : call.part<const CommandTable>().all()) {
    const bool is_of_family = command->spec->Read(command->spec->group) == own.Read(own.group);
    if (is_of_family && !(command->spec->flags & kOnlyReplayed)) commands.push_back(command);
  }
  call.reply.Array(1 + 2 * commands.size());
  call.reply.Status("LOCK commands are:");
  for (const Command* const command : commands) {
    const CommandSpec& spec = *command->spec;
    call.reply.Status(Concat(UpperCase(command->full_name), " ", spec.Read(spec.usage)));
    call.reply.Status(Concat("    ", spec.Read(spec.summary)));
  }
}

// --- the table

// They are reads, though a look may end leases that are over.
constexpr CommandRow kLockViewsRows[] = {
    {.name = "LOCK.HELP",
     .arity = 1,
     .flags = kLoading | kStale,
     .categories = kCatLock,
     .run = LockHelp,
     .group = "lock",
     .since = "0.1.0",
     .complexity = "O(1)",
     .summary = "The commands on locks, with their arguments."},
    {.name = "LOCK.INFO",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .categories = kCatLock,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = Info,
     .group = "lock",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of holders and waiters",
     .usage = "key",
     .summary = "Mode, permits, newest token, holders and waiters of a lock, and how they fare."},
    {.name = "LOCK.LIST",
     .arity = -2,
     .flags = kReadOnly,
     .categories = kCatLock,
     .run = List,
     .group = "lock",
     .since = "0.1.0",
     .complexity =
         "O(1) for every call. O(N) for a complete iteration, N being the number of locks",
     .usage = "cursor [MATCH pattern] [COUNT count:integer(1..2^63-1)] [WAITED]",
     .summary = "Walk over the locks that are held, or waited for, as SCAN does."},
    {.name = "LOCK.WAITERS",
     .arity = 2,
     .flags = kReadOnly,
     .categories = kCatLock,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = Waiters,
     .group = "lock",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of waiters",
     .usage = "key",
     .summary = "Who waits for a lock, in the order in which they would have it."},
};

}  // namespace

CommandFamily LockViewsFamily() { return {"lock views", kSpecsOf<kLockViewsRows>}; }

}  // namespace sluice
