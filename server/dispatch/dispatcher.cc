// See dispatcher.h. The order is Redis's, for it shows in the errors: unknown name, number of
// arguments, gates, a pause, the queue of MULTI. One test lets a client without a condition, on a
// server without one, pass by the last three.
#include "server/dispatch/dispatcher.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/core/log_level.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/blocked_call.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/memory_limit.h"
#include "server/dispatch/pause.h"
#include "server/dispatch/snapshot_barrier.h"
#include "server/dispatch/transaction.h"
#include "server/notify/monitors.h"
#include "server/notify/tracking.h"
#include "server/observe/command_counts.h"

namespace sluice {
namespace {

// The row that words name, or null; of an unknown subcommand that of the container.
const Command* RowOf(const CommandTable& commands, Args words) {
  const Command* const command = commands.FindNamed(words);
  return command ? command : commands.Find(words[0]);
}

// The words that a browser sends which a web page has made talk to this port: what follows them
// would be commands of the page's choice.
bool IsHttp(std::string_view word) { return IsWord(word, "POST") || IsWord(word, "HOST:"); }

// Commands on the keyspace as a whole (SCAN, FLUSHALL, EXEC with the keys that were watched, RESET
// with the locks that are held); and SORT, whose BY and GET lead to keys that need a right of their
// own.
bool LooksAnywhere(const CommandSpec& spec) {
  constexpr uint32_t kWide =
      kCatKeyspace | kCatDangerous | kCatConnection | kCatTransaction | kCatLock;
  const bool has_specs = spec.keys.count > 0;
  if (!has_specs) return (spec.categories & kWide) || (spec.flags & kAdmin);
  return std::ranges::any_of(spec.keys.all(), [](const KeySpec& keys) {
    return keys.begin == 0 && keys.keyword.empty() && (keys.flags & kKeyRo);
  });
}

// See ChangeAudit: without a fault the handler of the command has said what it did.
void AssertTold([[maybe_unused]] const Command& command, [[maybe_unused]] std::string_view fault) {
#ifndef NDEBUG
  if (fault.empty()) return;
  const std::string sentence = Concat("the handler of '", command.full_name, "' ", fault);
  std::fprintf(stderr, "%s\n", sentence.c_str());
  assert(!"a handler does not say what it does");
#endif
}

}  // namespace

// Words that are no request. The command that CLIENT LIST shows is that which they name, or none.
void Dispatcher::RefuseWords(Session& session, Args words, const Command* known) {
  const Command* const row = on_.commands.FindNamed(words);
  session.last_command = row ? &row->full_name : nullptr;
  const RequestFault fault = on_.commands.WhyNot(words, known);
  if (fault.kind == RequestFault::Kind::kWrongArity) {
    ++on_.counts.Of(fault.command->number).rejected;
  }
  if (!IsHttp(words[0])) return Reject(session, nullptr, on_.commands.TextOf(fault));
  on_.host.Log(LogLevel::kNotice, Concat("HTTP from ", session.peer.address, ": closed"));
  on_.clients.Close(session, CloseMode::kNow);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Dispatcher::RunHere(Session& session,
                                                             const Request& request,
                                                             ReplySink& reply,
                                                             const HashedKey& first_key) {
  const Command& command = request.command;
  Statistics& statistics = on_.statistics;
  const int64_t begin = on_.timer.Begin(command, request.args);
  // Calls nest: EXEC, a script and FENCED run others from inside their handler. Counts after the
  // handler include theirs; errors_told_ tells their errors apart.
  errors_told_ = statistics.error_replies;
  const uint64_t changes = on_.keyspace.changes();
  const int db = session.db;

  on_.effects.Begin(db);
  on_.effects.audit().Begin(changes);
  if constexpr (ChangeAudit::kOn) TellKeys(request);
  CommandCall call = CallOf(session, request, reply, first_key);
  if (session.blocked) [[unlikely]] {
    call.woken = true;  // nothing else of a blocked client runs
    call.woken_key = BlockedCallOf(session)->woken_key;
  }
  command.spec->run(call);
  AssertTold(command, on_.effects.audit().End(on_.keyspace.changes()));
  // One that only reads, or none of both, may have ended others' waits (CLIENT KILL, REPLICAOF):
  // what that has changed is told by the locks, and its own words say nothing of it.
  const bool is_effect = command.spec->flags & (kWrite | kMayReplicate);
  on_.effects.Finish(db, is_effect && on_.keyspace.changes() != changes, request.args);

  CommandStatistics& own = on_.counts.Of(command.number);
  if (!call.woken) [[likely]] {
    if (on_.flags.Raised(SlowPathFlags::kCommands)) [[unlikely]]
      ShowAndTrack(session, request);
    ++statistics.commands;
    ++own.calls;
  }
  // Errors of what it has called (EXEC, EVAL) are told of those; there are less after RESETSTAT.
  if (statistics.error_replies > errors_told_) [[unlikely]]
    ++own.failed;
  errors_told_ = statistics.error_replies;
  const bool goes_on = on_.timer.End(call, command, begin, hidden_);
  if (!goes_on && !hidden_.empty()) [[unlikely]]  // as Hide has it timed singly
    hidden_of_last_ = std::exchange(hidden_, {});
}

void Dispatcher::Run(Session& session, const Request& request, ReplySink& reply,
                     const HashedKey& first_key) {
  RunHere(session, request, reply, first_key);
}

// A session without a condition, on a server without one, is spared the gates.
template <bool hook_saw_it>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RequestOutcome Dispatcher::Pass(Session& session, Args words,
                                                                    const Command* known,
                                                                    const HashedKey& first_key) {
  const std::optional<Request> checked = on_.commands.Check(words, known);
  if (!checked) [[unlikely]] {
    if (!hook_saw_it && IsHooked()) {
      return ShowToHook(session, {.words = words, .command = RowOf(on_.commands, words)},
                        first_key);
    }
    RefuseWords(session, words, known);
    return RequestOutcome::kDone;
  }
  const Request& request = *checked;
  const Command& command = request.command;
  session.last_command = &command.full_name;
  if (session.keeps_caching != command.keeps_caching) [[unlikely]]
    session.keeps_caching = command.keeps_caching;
  const bool is_plain = (session.conditions & ~uint32_t{kRestricted | kNoConditions}) == 0 &&
                        !on_.flags.Raised(SlowPathFlags::kGates) &&
                        !(command.spec->flags & (kProtected | kOnlyReplayed));
  if (!is_plain) [[unlikely]] {
    if (!hook_saw_it && IsHooked()) {
      return ShowToHook(session, {.words = words, .command = &command, .request = &request},
                        first_key);
    }
    if (const std::optional<RequestOutcome> outcome = StopAtGates(session, request))
      return *outcome;
  } else if (session.conditions & kRestricted) [[unlikely]] {
    // The one gate that a client with rules has to pass.
    const Verdict verdict = on_.access.CheckAndRecord(session, request);
    if (!verdict.allowed()) {
      Reject(session, &command, on_.access.TextOf(verdict));
      return RequestOutcome::kDone;
    }
  }
  if (is_plain && on_.flags.Raised(SlowPathFlags::kCluster) && !on_.slots.IsPlainlyHere(request))
      [[unlikely]] {
    if (const std::string refusal = on_.slots.Ask(session, request); !refusal.empty()) {
      Reject(session, &command, refusal);
      return RequestOutcome::kDone;
    }
  }
  if (is_plain && on_.memory.IsOver(on_.keyspace) && !on_.memory.Admits(NeedOf(session, request)))
      [[unlikely]] {
    Reject(session, &command, kOutOfMemoryText);
    return RequestOutcome::kDone;
  }
  RunHere(session, request, on_.clients.SinkOf(session), first_key);
  return RequestOutcome::kDone;
}

RequestOutcome Dispatcher::Execute(Session& session, Args args, const Command* command,
                                   const HashedKey& first_key) {
  return Pass</*hook_saw_it=*/false>(session, args, command, first_key);
}

RequestOutcome Dispatcher::ShowToHook(Session& session, const RequestHook::Arrival& arrival,
                                      const HashedKey& first_key) {
  using Ruling = RequestHook::Ruling;
  const Args words = arrival.words;
  const Ruling ruling = hook_->Arrived(session, arrival);
  const uint64_t commands = on_.statistics.commands;
  hidden_of_last_.clear();
  if (ruling == Ruling::kRun) {
    const RequestOutcome outcome = Pass</*hook_saw_it=*/true>(session, words, nullptr, first_key);
    if (outcome == RequestOutcome::kHeld) {
      hook_->HeldBack(session);
      return RequestOutcome::kHeld;
    }
  } else if (ruling == Ruling::kHeld) {
    session.keeps_caching = true;  // CLIENT CACHING is for when it runs
    return RequestOutcome::kHeld;
  } else if (ruling == Ruling::kRefused) {
    const RequestHook::Refusal refusal = hook_->RefusalOf(session);
    const Command* const command = arrival.request ? &arrival.request->command : nullptr;
    Reject(session, command, refusal.text, refusal.as_given);
  }
  const bool was_run = ruling == Ruling::kRun && on_.statistics.commands != commands;
  hook_->Ran(session, {.args = words, .secret = hidden_of_last_, .was_run = was_run});
  return RequestOutcome::kDone;
}

// ASKING is about the one command behind it.
void Dispatcher::NoteAsking(Session& session) {
  const bool is_over = (session.conditions & kAsked) != 0;
  session.conditions &= static_cast<uint16_t>(~(kAsks | kAsked));
  if (!is_over) session.conditions |= kAsks | kAsked;
}

// Asks all that stands between the check of the words and Run, in Redis's order: gates, pause,
// snapshot, queue. Nothing: it runs now.
std::optional<RequestOutcome> Dispatcher::StopAtGates(Session& session, const Request& request) {
  const uint32_t row_flags = request.command.spec->flags;
  if (session.conditions & kAsks) [[unlikely]]
    NoteAsking(session);
  if (const std::string refusal = Refusal(session, request); !refusal.empty()) {
    Reject(session, &request.command, refusal, /*as_given=*/IsOfSlots(refusal));
    return RequestOutcome::kDone;
  }
  const bool transaction_writes =
      session.in_multi() && (row_flags & kEndsMulti) && TransactionOf(session)->writes;
  if (on_.pause.is_on() && session.kind != SessionKind::kReplica &&
      on_.pause.Holds(FlagsOf(request), transaction_writes)) {
    on_.pause.Hold(session);
    session.conditions &= static_cast<uint16_t>(~kAsked);
    session.keeps_caching = true;  // CLIENT CACHING is for when it runs
    return RequestOutcome::kHeld;
  }
  if (on_.flags.Raised(SlowPathFlags::kSaving) &&
      on_.snapshot_barrier.Holds(session, request, FlagsOf(request))) {
    on_.snapshot_barrier.Hold(session);
    session.conditions &= static_cast<uint16_t>(~kAsked);
    session.keeps_caching = true;
    return RequestOutcome::kHeld;
  }
  if (!session.in_multi() || (row_flags & kNotQueued)) return std::nullopt;
  Queue(session, request);
  return RequestOutcome::kDone;
}

// In Redis's order: memory is asked for between the client's own gates and the server's.
std::string Dispatcher::Refusal(const Session& session, const Request& request) {
  std::string refusal = gates_.AskOfClient(session, request);
  if (!refusal.empty()) return refusal;
  if (!on_.memory.IsOver(on_.keyspace)) {
    on_.memory.NotOver();
  } else if (!on_.memory.Admits(NeedOf(session, request))) {
    return std::string(kOutOfMemoryText);
  }
  return gates_.AskOfServer(session, request);
}

// FENCED needs what its inner command needs.
MemoryNeed Dispatcher::NeedOf(const Request& request) {
  if (const std::optional<Request> inner = request.inner()) return NeedOf(*inner);
  if (!(FlagsOf(request) & kDenyOom)) return MemoryNeed::kNone;
  return request.command.spec->categories & (kCatLock | kCatLimit) ? MemoryNeed::kLocks
                                                                   : MemoryNeed::kAny;
}

// A queue takes memory, whatever is put into it; EXEC needs what the most needing of its commands
// does.
MemoryNeed Dispatcher::NeedOf(const Session& session, const Request& request) {
  if (!session.in_multi()) return NeedOf(request);
  const CommandSpec& spec = *request.command.spec;
  if (spec.flags & kEndsMulti) return TransactionOf(session)->memory_need;
  if (spec.flags & kNotQueued) return MemoryNeed::kNone;
  return spec.categories & (kCatLock | kCatLimit) ? MemoryNeed::kLocks : MemoryNeed::kAny;
}

void Dispatcher::RunWithoutWords(Session& session, const Command& command, std::string_view key,
                                 absl::FunctionRef<Work()> work) {
  assert(!on_.effects.wanted());
  const uint64_t changes = on_.keyspace.changes();
  on_.effects.Begin(session.db);
  on_.effects.audit().Begin(changes);
  const Work done = work();
  if (done == Work::kChanged) on_.effects.audit().Told(session.db, key);
  AssertTold(command, on_.effects.audit().End(on_.keyspace.changes()));
  on_.effects.Finish(session.db, done == Work::kChanged, {});
  if (done == Work::kNotDone) return;
  session.last_command = &command.full_name;
  ++on_.statistics.commands;
  ++on_.counts.Of(command.number).calls;
}

// For the audit: the keys that the rules of users are asked about.
void Dispatcher::TellKeys(const Request& request) {
  if (LooksAnywhere(*request.command.spec)) return;
  std::vector<KeyUse> keys;
  FindOwnKeys(request, keys);
  for (const KeyUse& key : keys) {
    on_.effects.audit().MayLookUp(request.args[static_cast<size_t>(key.position)]);
  }
  on_.effects.audit().MayLookUpTold();
}

void Dispatcher::ErrorsTold() { errors_told_ = on_.statistics.error_replies; }

void Dispatcher::Hide(size_t argument) {
  // It is timed by itself, because a run of calls has no arguments for the slow log.
  on_.timer.TimeSingly();
  hidden_.push_back(argument);
}

void Dispatcher::RunInner(Session& session, const Request& request, ReplySink& reply, size_t at) {
  hidden_of_last_.clear();
  Run(session, request, reply);
  for (const size_t argument : hidden_of_last_) Hide(at + argument);
}

// Monitors are shown what has run, and a client that tracks has read its keys: of a script those
// that its call declares, once one of its commands reads.
void Dispatcher::ShowAndTrack(Session& session, const Request& request) {
  const CommandSpec& spec = *request.command.spec;
  if (on_.monitors.any() && !(spec.flags & (kSkipMonitor | kAdmin))) {
    on_.monitors.Show(session, request.args, hidden_);
  }
  if (!on_.monitors.any() && on_.tracking.clients() == 0) {
    return on_.flags.Lower(SlowPathFlags::kCommands);
  }
  if (!(spec.flags & kReadOnly) || (spec.categories & kCatScripting)) return;
  const RunningScript* const script = on_.script.now_running();
  if (!(session.conditions & kInScript) || !script) {
    Remember(session, request);
  } else if (Tracking::IsRemembering(*script->caller)) {
    Remember(*script->caller, script->request);
  }
}

// Channels are no keys, though SSUBSCRIBE's row has key specs.
void Dispatcher::Remember(Session& session, const Request& request) {
  if (!Tracking::IsRemembering(session) || (request.command.spec->flags & kPubSub)) return;
  std::vector<KeyUse> keys;
  if (!FindOwnKeys(request, keys)) return;
  std::vector<int> positions;
  for (const KeyUse& key : keys) positions.push_back(key.position);
  on_.tracking.Remember(session, request.args, positions);
}

// Inside MULTI an error makes the whole transaction fail at EXEC. A refused EXEC itself ends it
// now, and says so even where there is none, as in Redis.
void Dispatcher::Reject(Session& session, const Command* command, std::string_view error,
                        bool as_given) {
  if (command) ++on_.counts.Of(command->number).rejected;
  ReplySink& reply = on_.clients.SinkOf(session);
  if (command && (command->spec->flags & kEndsMulti)) {
    if (session.in_multi()) EndTransaction(session, on_.watches);
    if (as_given) return reply.Error(error);
    if (error.starts_with("ERR ")) error.remove_prefix(4);  // it has a code of its own
    return reply.Error(Concat("EXECABORT Transaction discarded because of: ", error));
  }
  if (session.in_multi()) TransactionOf(session)->failed = true;
  reply.Error(error);
}

// A queued command counts against the client's query buffer: it is input that was not run yet. Of a
// transaction that has failed nothing more is kept, as none of it will run.
void Dispatcher::Queue(Session& session, const Request& request) {
  const uint32_t row_flags = request.command.spec->flags;
  Transaction& transaction = *TransactionOf(session);
  if (transaction.failed) return on_.clients.SinkOf(session).Status("QUEUED");
  transaction.queue.emplace_back(request);
  transaction.queue_bytes += transaction.queue.back().bytes();
  transaction.queue_heap_bytes += transaction.queue.back().heap_bytes();
  transaction.writes |= (FlagsOf(request) & (kWrite | kMayReplicate)) != 0;
  transaction.memory_need = std::max(transaction.memory_need, NeedOf(request));
  transaction.writes_keys |= (FlagsOf(request) & kWrite) != 0;
  transaction.may_run_while_loading &= (row_flags & kLoading) != 0;
  transaction.may_run_while_stale &= (FlagsOf(request) & kStale) != 0;
  if (transaction.queue_bytes > static_cast<size_t>(on_.settings.client_query_buffer_limit)) {
    return on_.clients.CloseOverQueryLimit(session);
  }
  on_.clients.SinkOf(session).Status("QUEUED");
}

}  // namespace sluice
