// A command is one row: CommandRow. Name, arity, flags, key positions, categories, documentation
// and handler stand together; dispatch, COMMAND INFO / DOCS / GETKEYS, arity errors, statistics,
// the README's table and the fuzzers all read it from here, as the CommandSpec that the compiler
// makes of it. After look-up no code compares names: a special case becomes a flag.
//
// A handler is a function over CommandCall: it reads arguments (ArgReader), works on the keyspace,
// says what it has changed, answers into the ReplySink. It never touches a socket, reads a clock or
// rewrites its arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "protocol/reply_sink.h"
#include "server/clients/session.h"
#include "server/config/settings.h"
#include "server/core/parts.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/constant_text.h"
#include "server/dispatch/effects/effects.h"
#include "server/notify/notifications.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/clock.h"

namespace sluice {

struct CommandCall;
class Request;

using Handler = void (*)(CommandCall&);

// Redis's command flags, in the order COMMAND INFO lists them. Some are only shown to clients and
// decide nothing here: kBlocking, kAsking (there is no cluster), kNoAsyncLoading and kModule.
// Gates, Dispatcher and ScriptEngine say what the others decide.
enum CommandFlag : uint32_t {
  // Changes keys: refused while the log refuses writes and by replicas, and held back by CLIENT
  // PAUSE WRITE.
  kWrite = 1u << 0,
  // Reads keys only; what it reads is remembered for client-side caching.
  kReadOnly = 1u << 1,
  // May take memory: refused while there is none (MemoryLimit).
  kDenyOom = 1u << 2,
  kModule = 1u << 3,
  // For administrators; MONITOR does not show it.
  kAdmin = 1u << 4,
  kPubSub = 1u << 5,
  // No script may call it: it needs a client, or waits.
  kNoScript = 1u << 6,
  kBlocking = 1u << 7,
  // Served while data is loaded.
  kLoading = 1u << 8,
  // Served by a replica that has lost its master, whatever replica-serve-stale-data says.
  kStale = 1u << 9,
  // MONITOR leaves it out: scripts, which show themselves before they run.
  kSkipMonitor = 1u << 10,
  // SLOWLOG leaves it out: EXEC, whose commands are in it by themselves.
  kSkipSlowlog = 1u << 11,
  kAsking = 1u << 12,
  // O(1) or O(log N); a run of such commands is timed as one.
  kFast = 1u << 13,
  // Served before a login.
  kNoAuth = 1u << 14,
  // Not a kWrite, and yet it may change something: scripts, PUBLISH, PFCOUNT with its cache.
  kMayReplicate = 1u << 15,
  // A request without a key is in order, so GETKEYS has an empty answer for it.
  kNoMandatoryKeys = 1u << 16,
  kProtected = 1u << 17,  // DEBUG, MODULE LOAD: need enable-debug-command, enable-module-command
  kNoAsyncLoading = 1u << 18,
  kNoMulti = 1u << 19,      // refused inside MULTI
  kAllowBusy = 1u << 20,    // runs while a script is past its time
  kMovableKeys = 1u << 21,  // key positions depend on the arguments
  // Ours, not shown to clients:
  kTimedInRuns = 1u << 22,   // timed as kFast, which Redis does not call it: SET
  kOfTestDouble = 1u << 23,  // no fault hits it, and no journal shows it
  kNotQueued = 1u << 24,     // runs at once inside MULTI (EXEC, DISCARD, MULTI, WATCH, QUIT, RESET)
  kTellsHealth = 1u << 25,   // refused while writes are, as a monitor hears of it so: PING
  kInSubscriber = 1u << 26,  // allowed in a RESP2 subscriber's context
  // No command of redis-server 7.0: as an effect it reaches replicas in an envelope, as a
  // redis-server among them would drop its transaction for it. For commands that change something.
  kNotInRedis70 = 1u << 27,
  kSystem = 1u << 28,        // COMMAND DOCS calls it a "syscmd"
  kEndsMulti = 1u << 29,     // refused inside MULTI, it ends that all the same (EXEC)
  kOnlyReplayed = 1u << 30,  // an effect that no client may send: see Session::replays
  kKeepsCaching = 1u << 31,  // of a container: CLIENT CACHING reaches over its commands
};

// ACL categories beyond those that flags imply (@read @write @admin @fast @slow @blocking ...).
enum Category : uint32_t {
  kCatKeyspace = 1u << 0,
  kCatSet = 1u << 3,
  kCatSortedSet = 1u << 4,
  kCatList = 1u << 5,
  kCatHash = 1u << 6,
  kCatString = 1u << 7,
  kCatBitmap = 1u << 8,
  kCatHyperLogLog = 1u << 9,
  kCatGeo = 1u << 10,
  kCatStream = 1u << 11,
  kCatAdmin = 1u << 12,
  kCatDangerous = 1u << 16,
  kCatConnection = 1u << 17,
  kCatTransaction = 1u << 18,
  kCatScripting = 1u << 19,
  kCatLock = 1u << 20,
  kCatLimit = 1u << 21,
};

// The use that a command makes of the keys of one key spec (COMMAND INFO's words for it).
enum KeyFlag : uint16_t {
  // Exactly one of these four, for the value as a whole: read, read and written, overwritten,
  // deleted.
  kKeyRo = 1 << 0,
  kKeyRw = 1 << 1,
  kKeyOw = 1 << 2,
  kKeyRm = 1 << 3,
  // For the data in it: is it answered, changed, added to, taken from?
  kKeyAccess = 1 << 4,
  kKeyUpdate = 1 << 5,
  kKeyInsert = 1 << 6,
  kKeyDelete = 1 << 7,
  // For the spec: no key at all; not all keys are found by it; the arguments decide the flags.
  kKeyNotKey = 1 << 8,
  kKeyIncomplete = 1 << 9,
  kKeyVariableFlags = 1 << 10,
};

// How keys are found in a request, in two steps as in Redis: where the search begins, and which
// arguments from there on are keys. A spec with kKeyNotKey describes a channel.
struct KeySpec {
  uint16_t flags = 0;
  // begin_search: index `begin`, or (keyword non-empty) the argument after `keyword`, searched from
  // `begin` (negative: backwards).
  int16_t begin = 0;
  // find_keys: range (last relative to the first found; negative: from the end; limit as Redis's),
  // or (keynum) a count at `keynum_index` and the first key at `first_key`, relative to the begin.
  bool keynum = false;
  int16_t last = 0;
  int16_t step = 1;
  int16_t limit = 0;
  int16_t keynum_index = 0;
  int16_t first_key = 0;
  ConstantText keyword;
  ConstantText notes;  // why the flags are what they are, where that needs words
};

// A key of a request: which argument it is, and what the command does with it (KeyFlag bits).
struct KeyUse {
  int position;
  uint16_t flags;
};

// Which arguments are channels, for the rules of users.
struct ChannelSpec {
  int begin = 0;          // 0: none
  bool to_end = false;    // else one
  bool patterns = false;  // they are patterns: only the same pattern in a rule allows them
};

// Room for three: no command has more.
struct KeySpecs {
  std::array<KeySpec, 3> specs{};
  size_t count = 0;
  constexpr std::span<const KeySpec> all() const { return {specs.data(), count}; }
};

// .keys = KeyAt(1, kKeyRw | kKeyUpdate): one key at that position.
constexpr KeySpecs KeyAt(int16_t position, uint16_t flags, ConstantText notes = {}) {
  return {{KeySpec{.flags = flags, .begin = position, .notes = notes}}, 1};
}
// Keys at first, first + step, ... to `last` (relative to first; -1: to the end).
constexpr KeySpecs KeyRange(int16_t first, int16_t last, int16_t step, uint16_t flags) {
  return {{KeySpec{.flags = flags, .begin = first, .last = last, .step = step}}, 1};
}
// A count at `count_at`, then so many keys, `step` arguments apart.
constexpr KeySpecs KeysCounted(int16_t count_at, uint16_t flags, int16_t step = 1) {
  return {{KeySpec{.flags = flags,
                   .begin = count_at,
                   .keynum = true,
                   .step = step,
                   .keynum_index = 0,
                   .first_key = 1}},
          1};
}
// Specs one after the other; at most three in all.
constexpr KeySpecs operator+(KeySpecs a, const KeySpecs& b) {
  for (size_t i = 0; i < b.count; ++i) a.specs[a.count++] = b.specs[i];
  return a;
}

// Everything is a constant: rows are checked and laid out by the compiler, and no start-up code
// runs. A file lists CommandRows, with views of texts. A server keeps CommandSpecs, with places in
// one text: as the loader writes each address in a program's constants at each start, they have
// few. kSpecsOf (server/commands/shared/rows.h) makes these of those.
template <typename Text>
struct BasicCommandSpec {
  std::string_view name;  // upper case; a subcommand's own word only ("LIST")
  int arity = 0;  // as Redis: with the name; negative: at least; subcommands count both words
  uint32_t flags = 0;
  uint32_t categories = 0;
  KeySpecs keys;
  Handler run = nullptr;  // null for a container that cannot be called itself
  // The handler of a container runs when its name comes alone, as COMMAND does.
  std::span<const BasicCommandSpec<TextPlace>> subcommands;
  Text group{};  // COMMAND DOCS: "string", "generic", "lock" ...
  Text since{};  // the Redis version that had it first, or ours
  Text complexity{};
  // Its arguments in COMMAND DOCS' spelling, e.g. "key value [NX | XX] [GET] [EX seconds |
  // KEEPTTL]": the argument tree of COMMAND DOCS is derived from it.
  Text usage{};
  Text summary{};
  // Changes of later versions: "6.0.0 It takes a user name.|7.0.0 ..."
  Text history{};
  Text deprecated_since{};  // empty: it is not
  Text replaced_by{};
  Text tips{};  // comma-separated, as COMMAND INFO gives them: "nondeterministic_output"
  // The use that this very request makes of its key (KeyFlag bits), where a spec has
  // kKeyVariableFlags.
  uint16_t (*key_flags)(const Request& request) = nullptr;
  // The flags of this very request, where it declares itself what it does (a script with a shebang
  // line); null: those of the row.
  uint32_t (*request_flags)(const Parts& parts, const Request& request) = nullptr;
  // Appends the keys, as the handler reads the words. For rows whose key specs do not tell all of
  // them or look for a word, which a value may look like.
  bool (*find_keys)(const Request& request, std::vector<KeyUse>& keys) = nullptr;
  // From this argument on it is another command, whose keys are its keys too (FENCED); 0: none.
  int inner_command = 0;
  // Its changes count as a grant: lock-min-replicas Sluices are to have it.
  bool tells_of_grant = false;
  ChannelSpec channels{};
  const char* texts = nullptr;  // of a CommandSpec: where its texts are

  // spec.Read(spec.summary)
  constexpr std::string_view Read(TextPlace place) const { return {texts + place.at, place.size}; }
};
using CommandRow = BasicCommandSpec<std::string_view>;
using CommandSpec = BasicCommandSpec<TextPlace>;

// The rows of one file. The engine is handed families; a family does not register itself.
struct CommandFamily {
  std::string_view name;
  std::span<const CommandSpec> rows;
};

// A row as CommandTable keeps it. It never changes: what a server counts of it is found by its
// number (CommandCounts).
struct Command {
  const CommandSpec* spec = nullptr;
  const Command* container = nullptr;  // "CLIENT" of "CLIENT LIST"
  size_t number = 0;                   // below CommandTable::count()
  std::string full_name;               // lower case: "get", "client|list"
  int first_key = 0;                   // argument to prefetch; 0: none known from the row alone
  bool ends_time = false;              // a key that it finds there has none afterwards, or is gone
  bool keeps_caching = false;          // Session::keeps_caching behind it
  bool is_simple = false;  // its name alone says which row it is, and it has no command inside
  // Every request has one key and that is it: `first_key`, used like this or, with
  // kKeyVariableFlags, as key_flags says. Else FindKeys tells.
  std::optional<uint16_t> sole_key;         // KeyFlag bits
  std::vector<const Command*> subcommands;  // in the order of the rows
};

// The words of a request that has been checked: its command is known, the number of its words fits
// that, and so it is with the command inside it (FENCED). Only CommandTable::Check makes one, and
// whatever looks into a request without running it (keys, flags, channels, rules, needs) takes
// nothing else: so no index that the arity allows lies outside the words.
class Request {
 public:
  const Command& command;  // with a subcommand: that
  const Args args;         // args[0] is the name; with a subcommand args[1] is its word

  // The request inside it, which begins at the argument spec->inner_command.
  std::optional<Request> inner() const {
    if (!inner_) return std::nullopt;
    return Request(*inner_, args.subspan(static_cast<size_t>(command.spec->inner_command)),
                   nullptr);
  }

 private:
  friend class CommandTable;
  friend class QueuedCommand;  // keeps the words of one
  Request(const Command& its_command, Args words, const Command* inner)
      : command(its_command), args(words), inner_(inner) {}

  const Command* inner_;
};

// One execution. Everything lives at least until the handler returns.
struct CommandCall : Request {
  ReplySink& reply;
  Session& client;
  const Parts& parts;
  const Settings& settings;
  Random& random;
  Keyspace& keyspace;
  Database& db;  // the one the client has selected
  Effects& effects;
  Notifications& notifications;
  const Now now;
  HashedKey
      first_key;  // of the first key argument, when the batch has hashed it (bytes.data() set)
  // Run again because something has happened to a key that the client waits for: see waiters.h.
  bool woken = false;
  std::string_view woken_key;

  const CommandSpec& spec() const { return *command.spec; }
  // Any other part of the server that a handler works with.
  template <typename Part>
  Part& part() const {
    return parts.Get<Part>();
  }

  // The moment that a time to live is counted from: `now`, or in a script, which may run for long,
  // the present. A script that waits by PTTL comes to its end, and a key has all the time that it
  // is given there. Whether one is over goes by `now`, as in Redis 7.0.
  Now Present() const {
    if (!(client.conditions & kInScript)) [[likely]]
      return now;
    return part<TurnClock>().RecentPresent();
  }

  // args[index] as a key, hashed at most once.
  HashedKey Key(size_t index) const {
    if (args[index].data() == first_key.bytes.data()) return first_key;
    return keyspace.Hash(args[index]);
  }

  // --- what the handler has changed. It says so once for each change, after it and in the order of
  // Redis's events; ChangeAudit holds it to that. The keyspace itself tells those parts that listen
  // to keys (WATCH, waiters, tracking). The effect is the request as it is, unless it is replaced.

  // The key, in the client's database or another one, was changed, which is called `event`.
  void Changed(NotifyClass event_class, std::string_view event, std::string_view key) const {
    Changed(event_class, event, key, db);
  }
  void Changed(NotifyClass event_class, std::string_view event, std::string_view key,
               const Database& in) const {
    effects.audit().Told(in.index(), key);
    notifications.Notify(event_class, event, in.index(), key);
  }
  void Deleted(std::string_view key) const { Changed(kNotifyGeneric, "del", key); }
  // A change for which there is no event.
  void ChangedUnannounced(std::string_view key) const { effects.audit().Told(db.index(), key); }
  // All keys of databases.
  void ChangedDatabases() const { effects.audit().ToldOfAll(); }
  // This command stands for what happened. Several may, one after the other.
  void ReplaceWith(std::initializer_list<std::string_view> command,
                   EffectTime time = EffectTime::kAsItIs) const {
    effects.ReplaceWith(Args(command.begin(), command.size()), time);
  }
  void ReplaceWith(Args command, EffectTime time = EffectTime::kAsItIs) const {
    effects.ReplaceWith(command, time);
  }
  // As ReplaceWith, of what has put a value that Redis cannot hold (IsOurs) under a key.
  void ReplaceForSluice(Args command, EffectTime time = EffectTime::kAsItIs) const {
    effects.ReplaceForSluice(command, time);
  }
  // For replicas alone, before what this command is replaced with: steps that bring a redis-server
  // to what it can hold of the outcome, and that a Sluice may take as well.
  void StepForRedis(const Database& in, std::initializer_list<std::string_view> command,
                    EffectTime time = EffectTime::kAsItIs) const {
    StepForRedis(in, Args(command.begin(), command.size()), time);
  }
  void StepForRedis(const Database& in, Args command, EffectTime time = EffectTime::kAsItIs) const {
    if (effects.wanted(kToStream)) effects.Add(in.index(), command, time, kToStream);
  }
  // The request has changed nothing, but replicas are to run it, too; the log does not hear of it.
  void ForStreamAlone() const { effects.ReplaceWith(args, EffectTime::kAsItIs, kToStream); }
  // Whether ReplaceWith has a listener: ask before you make texts for it.
  bool wants_effects() const { return effects.wanted(); }
  // The change has no effect for a log, or a ChangeRecorder has told it.
  void NoEffect() const { effects.Nothing(); }

  // An event that is no change (a key that was not found).
  void Notify(NotifyClass event_class, std::string_view event, std::string_view key,
              const Database& in) const {
    notifications.Notify(event_class, event, in.index(), key);
  }

  // False inside MULTI and scripts, where nothing may wait, and for what a master says.
  bool may_block() const {
    return !client.in_exec() && !(client.conditions & (kInMulti | kInScript)) &&
           client.kind != SessionKind::kMasterLink;
  }
  // As may_block, for what waits without keys: that may not inside FENCED either.
  bool may_wait() const { return may_block() && !(client.conditions & kInFenced); }
};

}  // namespace sluice
