// See dispatcher.h. The order is Redis's, for it shows in the errors: unknown name, number of
// arguments, gates, a pause, the queue of MULTI. One test lets a client without a condition, on a
// server without one, pass by the last three.
#include "server/dispatch/dispatcher.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <string>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/parked.h"

namespace sluice {
namespace {

// How much of a stranger's words an error repeats, as Redis.
constexpr size_t kEchoBytesMax = 128;

// A stranger's word as Redis repeats it: a C string, cut.
std::string_view Echo(std::string_view word, size_t bytes_max = kEchoBytesMax) {
  return word.substr(0, std::min(word.find('\0'), bytes_max));
}

// Redis's sentence, with at most 128 bytes of the arguments: enough to find the mistake, too little
// to fill a log.
std::string UnknownCommand(Args args) {
  std::string begin;
  for (size_t i = 1; i < args.size() && begin.size() < kEchoBytesMax; ++i) {
    ConcatTo(begin, '\'', Echo(args[i], kEchoBytesMax - begin.size()), "' ");
  }
  return Concat("ERR unknown command '", Echo(args[0]), "', with args beginning with: ", begin);
}

// As the client calls the container: it may be renamed.
std::string UnknownSubcommand(std::string_view container, std::string_view word) {
  return Concat("ERR unknown subcommand '", Echo(word), "'. Try ", UpperCase(container), " HELP.");
}

// Positive: exactly so many, with the name; negative: at least.
bool ArityFits(const CommandSpec& spec, size_t arguments) {
  const int given = static_cast<int>(arguments);
  return spec.arity >= 0 ? given == spec.arity : given >= -spec.arity;
}

// The row of a request, its arity aside, or null; of an unknown subcommand that of the container.
const Command* RowOf(const CommandTable& commands, Args args) {
  const Command* const command = commands.FindNamed(args);
  return command ? command : commands.Find(args[0]);
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

// A container with a second word means its subcommand, and an unknown word is an error of its own.
const Command* Dispatcher::Resolve(Args args, const Command* command, std::string& error) {
  if (!command) command = on_.commands.Find(args[0]);
  if (!command) {
    const std::string_view why_off = on_.commands.WhyOff(args[0]);
    error = why_off.empty() ? UnknownCommand(args) : Concat("ERR ", why_off);
    return nullptr;
  }
  if (!command->subcommands.empty() && (args.size() > 1 || !command->spec->run)) {
    if (args.size() > 1) {
      const Command* sub = on_.commands.FindSubcommand(*command, args[1]);
      if (!sub) {
        error = UnknownSubcommand(args[0], args[1]);
        return nullptr;
      }
      command = sub;
    }
  }
  if (!ArityFits(*command->spec, args.size())) {
    error = Concat("ERR wrong number of arguments for '", command->full_name, "' command");
    ++on_.counts.Of(command->number).rejected;
    return nullptr;
  }
  return command;
}

Dispatcher::Outcome Dispatcher::ShowToHook(Session& session, Args args, const Command* command,
                                           HashedKey first_key) {
  using Ruling = RequestHook::Ruling;
  const Ruling ruling = hook_->Arrived(session, RowOf(on_.commands, args), args);
  const uint64_t commands = on_.statistics.commands;
  hidden_of_last_.clear();
  if (ruling == Ruling::kRun) {
    if (Pass(session, args, command, first_key, /*hook_saw_it=*/true) == Outcome::kHeld) {
      hook_->HeldBack(session);
      return Outcome::kHeld;
    }
  } else if (ruling == Ruling::kHeld) {
    session.keeps_caching = true;  // CLIENT CACHING is for when it runs
    return Outcome::kHeld;
  } else if (ruling == Ruling::kRefused) {
    const RequestHook::Refusal refusal = hook_->RefusalOf(session);
    std::string fault;
    Reject(session, Resolve(args, nullptr, fault), refusal.text, refusal.as_given);
  }
  const bool was_run = ruling == Ruling::kRun && on_.statistics.commands != commands;
  hook_->Ran(session, {.args = args, .secret = hidden_of_last_, .was_run = was_run});
  return Outcome::kDone;
}

void Dispatcher::ResolveFault(Session& session, Args args, std::string_view error) {
  if (!IsHttp(args[0])) return Reject(session, nullptr, error);
  on_.host.Log(LogLevel::kNotice, Concat("HTTP from ", session.peer.address, ": closed"));
  on_.clients.Close(session, CloseMode::kNow);
}

// The first condition spares a well-formed request of a plain command Resolve; the second spares it
// the gates. What stands between look-up and Run is in Redis's order: gates, pause, snapshot,
// queue.
Dispatcher::Outcome Dispatcher::Pass(Session& session, Args args, const Command* command,
                                     HashedKey first_key, bool hook_saw_it) {
  if (!command || !command->subcommands.empty() || !ArityFits(*command->spec, args.size()))
      [[unlikely]] {
    if (!hook_saw_it && IsHooked()) return ShowToHook(session, args, command, first_key);
    std::string error;
    command = Resolve(args, command, error);
    if (!command) {
      ResolveFault(session, args, error);
      return Outcome::kDone;
    }
  }
  session.last_command = &command->full_name;
  session.keeps_caching = command->container && (command->container->spec->flags & kKeepsCaching);
  const bool is_plain = (session.conditions & ~uint32_t{kRestricted}) == 0 &&
                        !on_.flags.Raised(RareFlags::kGates) &&
                        !(command->spec->flags & (kProtected | kOnlyReplayed));
  if (!is_plain) [[unlikely]] {
    if (!hook_saw_it && IsHooked()) return ShowToHook(session, args, command, first_key);
    if (const std::string refusal = Refusal(session, *command, args); !refusal.empty()) {
      Reject(session, command, refusal);
      return Outcome::kDone;
    }
    const bool queued = session.in_multi() && !(command->spec->flags & kNotQueued);
    const bool transaction_writes =
        session.in_multi() && (command->spec->flags & kEndsMulti) && TransactionOf(session)->writes;
    if (on_.pause.mode() != Pause::Mode::kNone &&
        on_.pause.Holds(FlagsOf(*command, args), transaction_writes)) {
      on_.pause.Hold(session);
      session.keeps_caching = true;  // CLIENT CACHING is for when it runs
      return Outcome::kHeld;
    }
    if (on_.flags.Raised(RareFlags::kSaving) &&
        on_.saved_first.Holds(session, *command, args, FlagsOf(*command, args))) {
      on_.saved_first.Hold(session);
      session.keeps_caching = true;
      return Outcome::kHeld;
    }
    if (queued) {
      Queue(session, *command, args);
      return Outcome::kDone;
    }
  } else if (session.conditions & kRestricted) [[unlikely]] {
    // The one gate that a client with rules has to pass.
    const Verdict verdict = on_.access.CheckAndRecord(session, *command, args);
    if (!verdict.allowed()) {
      Reject(session, command, on_.access.TextOf(verdict));
      return Outcome::kDone;
    }
  }
  if (is_plain && on_.memory.IsOver(on_.keyspace) &&
      !on_.memory.Admits(NeedOf(session, *command, args))) [[unlikely]] {
    Reject(session, command, kOutOfMemoryText);
    return Outcome::kDone;
  }
  Run(session, *command, args, on_.clients.SinkOf(session), first_key);
  return Outcome::kDone;
}

// In Redis's order: memory is asked for between the client's own gates and the server's.
std::string Dispatcher::Refusal(const Session& session, const Command& command, Args args) {
  std::string refusal = gates_.AskOfClient(session, command, args);
  if (!refusal.empty()) return refusal;
  if (!on_.memory.IsOver(on_.keyspace)) {
    on_.memory.NotOver();
  } else if (!on_.memory.Admits(NeedOf(session, command, args))) {
    return std::string(kOutOfMemoryText);
  }
  return gates_.AskOfServer(session, command, args);
}

// FENCED needs what its inner command needs.
MemoryNeed Dispatcher::NeedOf(const Command& command, Args args) {
  const auto inner_at = static_cast<size_t>(command.spec->inner_command);
  if (inner_at != 0) {
    const Command* const inner = RowOf(on_.commands, args.subspan(inner_at));
    return inner && inner->spec->inner_command == 0 ? NeedOf(*inner, args.subspan(inner_at))
                                                    : MemoryNeed::kNone;
  }
  if (!(FlagsOf(command, args) & kDenyOom)) return MemoryNeed::kNone;
  return command.spec->categories & (kCatLock | kCatLimit) ? MemoryNeed::kLocks : MemoryNeed::kAny;
}

// A queue takes memory, whatever is put into it; EXEC needs what the most needing of its commands
// does.
MemoryNeed Dispatcher::NeedOf(const Session& session, const Command& command, Args args) {
  if (!session.in_multi()) return NeedOf(command, args);
  const uint32_t flags = command.spec->flags;
  if (flags & kEndsMulti) return TransactionOf(session)->memory_need;
  if (flags & kNotQueued) return MemoryNeed::kNone;
  return command.spec->categories & (kCatLock | kCatLimit) ? MemoryNeed::kLocks : MemoryNeed::kAny;
}

// A script declares by its shebang line whether it writes, so its flags depend on the request.
uint32_t Dispatcher::FlagsOf(const Command& command, Args args) {
  const CommandSpec& spec = *command.spec;
  return spec.request_flags ? spec.request_flags(on_.parts, args) : spec.flags;
}

// Calls nest: EXEC, a script and FENCED run others from inside their handler. What is counted
// before and after the handler therefore belongs to this call alone only where it is compared with
// what was before.
void Dispatcher::Run(Session& session, const Command& command, Args args, ReplySink& reply,
                     HashedKey first_key) {
  Statistics& statistics = on_.statistics;
  const int64_t begin = on_.timer.Begin(command, args);
  errors_told_ = statistics.error_replies;
  const uint64_t changes = on_.keyspace.changes();
  const int db = session.db;

  on_.effects.Begin(db);
  on_.effects.audit().Begin(changes);
  if constexpr (ChangeAudit::kOn) TellKeys(command, args);
  CommandCall call = CallOf(session, command, args, reply, first_key);
  if (session.blocked) [[unlikely]] {
    call.woken = true;  // nothing else of a blocked client runs
    call.woken_key = ParkedOf(session)->woken_key;
  }
  command.spec->run(call);
  AssertTold(command, on_.effects.audit().End(on_.keyspace.changes()));
  on_.effects.Finish(db, on_.keyspace.changes() != changes, args);

  CommandStatistics& own = on_.counts.Of(command.number);
  if (!call.woken) [[likely]] {
    if (on_.flags.Raised(RareFlags::kCommands)) [[unlikely]]
      ShowAndTrack(session, command, args);
    ++statistics.commands;
    ++own.calls;
  }
  // Errors of what it has called (EXEC, EVAL) are told of those; there are less after RESETSTAT.
  if (statistics.error_replies > errors_told_) [[unlikely]]
    ++own.failed;
  errors_told_ = statistics.error_replies;
  on_.timer.End(call, command, begin, hidden_);
  if (!hidden_.empty()) [[unlikely]]
    hidden_of_last_ = std::exchange(hidden_, {});
}

// For the audit: the keys that the rules of users are asked about.
void Dispatcher::TellKeys(const Command& command, Args args) {
  if (LooksAnywhere(*command.spec)) return;
  std::vector<KeyUse> keys;
  FindKeys(*command.spec, args, keys);
  for (const KeyUse& key : keys) {
    on_.effects.audit().MayLookUp(args[static_cast<size_t>(key.position)]);
  }
  on_.effects.audit().MayLookUpTold();
}

// References to parts and to the arguments: it costs a few stores and no allocation.
CommandCall Dispatcher::CallOf(Session& session, const Command& command, Args args,
                               ReplySink& reply, HashedKey first_key) {
  return {args,
          reply,
          command,
          session,
          on_.parts,
          on_.settings,
          on_.random,
          on_.keyspace,
          on_.keyspace.db(session.db),
          on_.effects,
          on_.notifications,
          on_.clock.now(),
          first_key};
}

// A call with a secret is timed by itself, because a run of calls has no arguments for the slow
// log.
void Dispatcher::Hide(size_t argument) {
  on_.timer.TimeSingly();
  hidden_.push_back(argument);
}

// What the inner command has hidden is hidden in the outer request as well, at its own place.
void Dispatcher::RunInner(Session& session, const Command& command, Args args, ReplySink& reply,
                          size_t at) {
  hidden_of_last_.clear();
  Run(session, command, args, reply);
  for (const size_t argument : hidden_of_last_) Hide(at + argument);
}

// Monitors are shown what has run, and a client that tracks has read its keys: of a script those
// that its call declares, once one of its commands reads.
void Dispatcher::ShowAndTrack(Session& session, const Command& command, Args args) {
  const uint32_t flags = command.spec->flags;
  if (on_.monitors.any() && !(flags & (kSkipMonitor | kAdmin))) {
    on_.monitors.Show(session, args, hidden_);
  }
  if (!on_.monitors.any() && on_.tracking.clients() == 0) {
    return on_.flags.Lower(RareFlags::kCommands);
  }
  if (!(flags & kReadOnly) || (command.spec->categories & kCatScripting)) return;
  const RunningScript* const script = on_.script.now_running();
  if (!(session.conditions & kInScript) || !script) {
    Remember(session, command, args);
  } else if (Tracking::IsRemembering(*script->caller)) {
    std::string fault;
    const Command* const call = Resolve(script->command, nullptr, fault);
    if (call) Remember(*script->caller, *call, script->command);
  }
}

// Channels are no keys, though SSUBSCRIBE's row has key specs.
void Dispatcher::Remember(Session& session, const Command& command, Args args) {
  if (!Tracking::IsRemembering(session) || (command.spec->flags & kPubSub)) return;
  std::vector<KeyUse> keys;
  if (!FindKeys(*command.spec, args, keys)) return;
  std::vector<int> positions;
  for (const KeyUse& key : keys) positions.push_back(key.position);
  on_.tracking.Remember(session, args, positions);
}

// Inside MULTI an error makes the whole transaction fail at EXEC. A refused EXEC itself ends it
// now.
void Dispatcher::Reject(Session& session, const Command* command, std::string_view error,
                        bool as_given) {
  if (command) ++on_.counts.Of(command->number).rejected;
  ReplySink& reply = on_.clients.SinkOf(session);
  if (!session.in_multi()) return reply.Error(error);
  if (command && (command->spec->flags & kEndsMulti)) {
    EndTransaction(session, on_.watches);
    if (as_given) return reply.Error(error);
    return reply.Error(Concat("EXECABORT Transaction discarded because of: ", error));
  }
  TransactionOf(session)->failed = true;
  reply.Error(error);
}

// FENCED's inner command is checked here too, so that a typing mistake is told before EXEC. What is
// queued counts against the client's query buffer: it is input that was not run yet.
void Dispatcher::Queue(Session& session, const Command& command, Args args) {
  const auto inner = static_cast<size_t>(command.spec->inner_command);
  if (std::string error; inner != 0 && !Resolve(args.subspan(inner), nullptr, error)) {
    return Reject(session, &command, error);
  }
  Transaction& transaction = *TransactionOf(session);
  transaction.queue.emplace_back(&command, args);
  transaction.queue_bytes += transaction.queue.back().bytes();
  transaction.writes |= (FlagsOf(command, args) & (kWrite | kMayReplicate)) != 0;
  transaction.memory_need = std::max(transaction.memory_need, NeedOf(command, args));
  transaction.may_run_while_loading &= (command.spec->flags & (kLoading | kWhileLoading)) != 0;
  if (transaction.queue_bytes > static_cast<size_t>(on_.settings.client_query_buffer_limit)) {
    return on_.clients.CloseOverQueryLimit(session);
  }
  on_.clients.SinkOf(session).Status("QUEUED");
}

}  // namespace sluice
