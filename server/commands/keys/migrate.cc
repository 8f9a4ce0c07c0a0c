// MIGRATE: keys go to another server, Redis or Sluice, as DUMP and RESTORE there and DEL here.
//
//   MIGRATE host port <key | ""> db timeout [COPY] [REPLACE] [AUTH p | AUTH2 u p] [KEYS key ...]
//
// Its options are read by hand, as KEYS ends them. Redis's server stands still until the other one
// has answered; here the client waits (server/peers/migration.h). Locks are not moved: they are
// held, and a holder would lose them.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/commands/families.h"
#include "server/commands/keys/dump_context.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/dispatcher.h"
#include "server/peers/migration.h"
#include "storage/rdb/rdb_value.h"

namespace sluice {
namespace {

constexpr size_t kMigratedBytesMax = size_t{512} << 20;

struct MigrateArgs {
  bool copies = false;
  bool replaces = false;
  size_t user = 0;      // arguments; 0: there is none
  size_t password = 0;  // the same
  size_t first_key = 3;
  size_t last_key = 3;
  int64_t port = 0;  // 0: there is no such port
  int64_t db = 0;
  int64_t timeout_ms = 0;
};

// False: not one of its words, or there is too little behind it.
bool ReadMigrateOption(Args words, size_t& at, MigrateArgs& args) {
  const size_t left = words.size() - at - 1;
  if (IsWord(words[at], "COPY")) {
    args.copies = true;
  } else if (IsWord(words[at], "REPLACE")) {
    args.replaces = true;
  } else if (IsWord(words[at], "AUTH") && left >= 1) {
    args.password = ++at;
  } else if (IsWord(words[at], "AUTH2") && left >= 2) {
    args.user = ++at;
    args.password = ++at;
  } else if (IsWord(words[at], "KEYS")) {
    args.first_key = at + 1;
    args.last_key = words.size() - 1;
    at = words.size();
  } else {
    return false;
  }
  return true;
}

bool ReadMigrateOptions(Args words, MigrateArgs& args) {
  for (size_t at = 6; at < words.size(); ++at) {
    if (!ReadMigrateOption(words, at, args)) return false;
  }
  return true;
}

// Null: the refusal is answered.
std::optional<MigrateArgs> ReadMigrate(CommandCall& call) {
  constexpr int64_t kTimeoutMs = 1000;
  MigrateArgs args;
  const bool is_sound = ReadMigrateOptions(call.args, args);
  for (const size_t secret : {args.user, args.password}) {
    if (secret != 0) call.part<Dispatcher>().Hide(secret);
  }
  const std::optional<int64_t> port = ParseInt64(call.args[2]);
  const std::optional<int64_t> db = ParseInt64(call.args[4]);
  const std::optional<int64_t> timeout_ms = ParseInt64(call.args[5]);
  if (!is_sound) {
    call.reply.Error(ErrorCode::kSyntax);
  } else if (args.first_key != 3 && !call.args[3].empty()) {
    call.reply.Error(
        "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string");
  } else if (!timeout_ms || !db) {
    call.reply.Error(ErrorCode::kNotInteger);
  } else {
    args.port = port && *port > 0 && *port <= UINT16_MAX ? *port : 0;
    args.db = *db;
    args.timeout_ms = *timeout_ms <= 0 ? kTimeoutMs : *timeout_ms;
    return args;
  }
  return std::nullopt;
}

// As Redis finds them: those behind KEYS if the key is empty, else that one.
bool FindMigratedKeys(const Request& request, std::vector<KeyUse>& keys) {
  constexpr uint16_t kUse = kKeyRw | kKeyAccess | kKeyDelete;
  MigrateArgs args;
  const bool is_sound = ReadMigrateOptions(request.args, args);
  for (size_t at = args.first_key; at <= args.last_key; ++at)
    keys.push_back({static_cast<int>(at), kUse});
  return is_sound;
}

// Its row's flags, and that it takes keys from slots and brings them there while these are on their
// way (SlotGate).
uint32_t FlagsOfMigrate(const Parts&, const Request& request) {
  return request.command.spec->flags | kAsking;
}

void AppendWords(std::string& out, std::initializer_list<std::string_view> words) {
  AppendRequest(out, Args(words.begin(), words.size()));
}

// False: a lock is among them, or they are too large; the refusal is answered.
bool AppendKeys(CommandCall& call, const MigrateArgs& args, Migration::Order& order) {
  std::string locks;
  for (size_t at = args.first_key; at <= args.last_key; ++at) {
    const Entry* const entry = LookUpToRead(call, call.Key(at));
    if (!entry) continue;
    if (entry->type() == ValueType::kLock) {
      ConcatTo(locks, locks.empty() ? "" : ", ", call.args[at].substr(0, 100));
      continue;
    }
    const int64_t left = entry->deadline().none() ? 0 : entry->deadline().LeftMs(call.now);
    const std::string ttl = Int64Text(entry->deadline().none() ? 0 : std::max<int64_t>(left, 1));
    const std::string payload = WriteDump(*entry, RdbContextOf(call));
    if (order.requests_per_key > 1) AppendWords(order.restores, {"ASKING"});
    if (args.replaces) {
      AppendWords(order.restores, {"RESTORE", call.args[at], ttl, payload, "REPLACE"});
    } else {
      AppendWords(order.restores, {"RESTORE", call.args[at], ttl, payload});
    }
    order.keys.push_back(at);
    if (order.restores.size() > kMigratedBytesMax) {
      call.reply.Error("ERR the keys are too large to be migrated at once: name fewer");
      return false;
    }
  }
  if (locks.empty()) return true;
  call.reply.Error(
      Concat("ERR locks are not migrated while they are held: ", locks.substr(0, 500)));
  return false;
}

// The other server has answered: what is there goes here.
void FinishMigrate(CommandCall& call) {
  MigrateArgs args;
  static_cast<void>(ReadMigrateOptions(call.args, args));
  const auto [moved, error] = call.part<Migration>().TakeOutcome();
  std::vector<std::string_view> deleted = {"DEL"};
  for (const size_t at : moved) {
    if (args.copies || !call.db.Delete(call.Key(at), call.now)) continue;
    call.Deleted(call.args[at]);
    deleted.push_back(call.args[at]);
  }
  deleted.size() > 1 ? call.ReplaceWith(Args(deleted)) : call.NoEffect();
  error.empty() ? call.reply.Ok() : call.reply.Error(error);
}

// Keys that are not there are left out; NOKEY where none is.
//   MIGRATE h x k 0 0           → -IOERR error or timeout writing to target instance
//   MIGRATE h 1 k 0 0 KEYS k    → -ERR When using MIGRATE KEYS option, the key argument …
//   MIGRATE h 1 nothing 0 0     → NOKEY
void Migrate(CommandCall& call) {
  if (call.woken) return FinishMigrate(call);
  call.NoEffect();
  const std::optional<MigrateArgs> args = ReadMigrate(call);
  if (!args) return;
  Migration::Order order{.to = {std::string(call.args[1]), static_cast<uint16_t>(args->port)},
                         .timeout_ms = args->timeout_ms};
  if (call.part<ClusterState>().is_on()) order.requests_per_key = 2;
  if (!AppendKeys(call, *args, order)) return;
  if (order.keys.empty()) return call.reply.Status("NOKEY");
  if (args->port == 0) return call.reply.Error("IOERR error or timeout writing to target instance");
  if (!call.may_wait())
    return call.reply.Error("ERR MIGRATE waits, and so neither a transaction nor a script has it");
  if (args->user != 0) {
    AppendWords(order.head, {"AUTH", call.args[args->user], call.args[args->password]});
  } else if (args->password != 0) {
    AppendWords(order.head, {"AUTH", call.args[args->password]});
  }
  if (args->db != 0) AppendWords(order.head, {"SELECT", Int64Text(args->db)});
  order.head_answers = (args->password != 0) + (args->db != 0);
  const Fault fault = call.part<Migration>().Begin(call, std::move(order));
  if (fault) call.reply.Error(Concat("IOERR ", fault.sentence()));
}

constexpr KeySpecs kMigrateKeys =
    KeySpecs{{KeySpec{.flags = kKeyRw | kKeyAccess | kKeyDelete, .begin = 3},
              KeySpec{.flags = kKeyRw | kKeyAccess | kKeyDelete | kKeyIncomplete,
                      .begin = -2,
                      .last = -1,
                      .keyword = "KEYS"}},
             2};

constexpr CommandRow kMigrateRows[] = {
    {.name = "MIGRATE",
     .arity = -6,
     .flags = kWrite | kMovableKeys,
     .categories = kCatKeyspace | kCatDangerous,
     .keys = kMigrateKeys,
     .run = Migrate,
     .group = "generic",
     .since = "2.6.0",
     .complexity =
         "This command actually executes a DUMP+DEL in the source instance, and a RESTORE "
         "in the target instance. See the pages of these commands for time complexity. "
         "Also an O(N) data transfer between the two instances is performed.",
     .usage = "host port:integer key_or_empty_string=<key | \"\"> destination-db:integer "
              "timeout:integer [COPY]@3.0.0 [REPLACE]@3.0.0 [authentication=<[AUTH password]@4.0.7 "
              "| [AUTH2 username_password=<username password>]@6.0.0>] [KEYS key [key ...]]@3.0.6",
     .summary = "Move keys to another server.",
     .history = "3.0.0 `COPY` and `REPLACE`.|3.0.6 `KEYS`.|4.0.7 `AUTH`.|6.0.0 `AUTH2`.",
     .tips = "nondeterministic_output",
     .request_flags = FlagsOfMigrate,
     .find_keys = FindMigratedKeys},
};

}  // namespace

CommandFamily MigrateFamily() { return {"migrate", kSpecsOf<kMigrateRows>}; }

}  // namespace sluice
