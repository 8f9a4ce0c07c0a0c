// The connection family: greeting, logging in and leaving.
//
// AUTH and HELLO hide their arguments from MONITOR and the slow log.

#include <algorithm>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/access/users.h"
#include "server/clients/clients.h"
#include "server/cluster/cluster_state.h"
#include "server/commands/clients/failed_login.h"
#include "server/commands/clients/login.h"
#include "server/commands/families.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/config/follow_state.h"
#include "server/config/version.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/transaction.h"
#include "server/engine/access_control.h"
#include "server/locks/lock_service.h"
#include "server/notify/monitors.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"

namespace sluice {
namespace {

// A RESP2 subscriber gets an array, since a bare status would not look like a message to its
// library.
//   PING text  → "text"
//   PING a b   → -ERR wrong number of arguments for 'ping' command
void Ping(CommandCall& call) {
  if (call.args.size() > 2) {
    return call.reply.Error("ERR wrong number of arguments for 'ping' command");
  }
  const bool given = call.args.size() == 2;
  if (call.client.conditions & kSubscriber) {  // looks like a message there
    call.reply.Array(2);
    call.reply.Bulk("pong");
    return call.reply.Bulk(given ? call.args[1] : "");
  }
  if (given) return call.reply.Bulk(call.args[1]);
  call.reply.Status("PONG");
}

void Echo(CommandCall& call) { call.reply.Bulk(call.args[1]); }

// The form with a user always compares; the short one has an error of its own if there is no
// password.
void Auth(CommandCall& call) {
  if (call.args.size() > 3) return call.reply.Error(ErrorCode::kSyntax);
  const bool named = call.args.size() == 3;
  // Before anything can fail, so that no answer path shows them.
  for (size_t i = 1; i < call.args.size(); ++i) call.part<Dispatcher>().Hide(i);
  if (!named && call.part<Users>().default_user().has_no_password()) {
    return call.reply.Error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  if (named && EntersSpace(call, call.args[1], call.args[2])) return;
  if (!LogIn(call, named ? call.args[1] : "default", call.args.back())) {
    return RefuseLogin(call);
  }
  call.reply.Ok();
}

// --- HELLO

// The version asked for, 0 for the one there is; null after answering what is wrong.
std::optional<int> ReadVersion(CommandCall& call) {
  if (call.args.size() == 1) return 0;
  const std::optional<int64_t> version = ParseInt64(call.args[1]);
  if (!version) {
    call.reply.Error("ERR Protocol version is not an integer or out of range");
    return std::nullopt;
  }
  if (*version != 2 && *version != 3) {
    call.reply.Error("NOPROTO unsupported protocol version");
    return std::nullopt;
  }
  return static_cast<int>(*version);
}

// Arguments are hidden before they are looked at, so a wrong password is not shown either.
void ReadAuth(ArgReader& args, CommandCall& call) {
  for (const size_t at : {args.position(), args.position() + 1}) call.part<Dispatcher>().Hide(at);
  const std::string_view user = args.Bytes();
  if (!LogIn(call, user, args.Bytes())) args.Fail(std::string(kWrongPassword));
}

// An empty name takes the name away.
void ReadName(ArgReader& args, CommandCall& call) {
  const std::string_view name = args.Bytes();
  if (!IsClientName(name)) return args.Fail(std::string(kBadClientName));
  call.client.name = name;
}

// HELLO [2 | 3 [AUTH user password] [SETNAME name]].
constexpr OptionRow<CommandCall> kHelloOptions[] = {
    {"AUTH", ReadAuth, 2},
    {"SETNAME", ReadName, 1},
};

// AUTH and SETNAME take place as they are read, as in Redis: a fault behind them does not undo
// them.
bool TakeHelloOptions(CommandCall& call) {
  ArgReader args(call.args, std::min<size_t>(2, call.args.size()));
  while (args.more()) {
    if (TakeOption(args, kHelloOptions, call)) continue;
    args.Fail(Concat("ERR Syntax error in HELLO option '", args.Peek(), "'"));
  }
  if (!args.failed()) return true;
  if (args.error() == kWrongPassword) {
    RefuseLogin(call);
  } else {
    call.reply.Error(args.error());
  }
  return false;
}

// Libraries switch on these fields: server and version are those of the Redis whose commands we
// speak.
void DescribeServer(CommandCall& call) {
  ReplySink& reply = call.reply;
  reply.Map(7);
  reply.Bulk("server");
  reply.Bulk("redis");
  reply.Bulk("version");
  reply.Bulk(kRedisVersion);
  reply.Bulk("proto");
  reply.Integer(call.client.resp());
  reply.Bulk("id");
  reply.Integer(static_cast<int64_t>(call.client.client_id));
  reply.Bulk("mode");
  reply.Bulk(call.part<ClusterState>().is_on() ? "cluster" : "standalone");
  reply.Bulk("role");
  reply.Bulk(call.part<FollowState>().is_on ? "replica" : "master");
  reply.Bulk("modules");
  reply.Array(0);
}

bool HelloEntersSpace(CommandCall& call) {
  for (size_t i = 2; i + 2 < call.args.size(); ++i) {
    if (IsWord(call.args[i], "AUTH")) return EntersSpace(call, call.args[i + 1], call.args[i + 2]);
  }
  return false;
}

// The version is read first and set last: an error in an option leaves the protocol as it was.
// HELLO without arguments only describes. A client that is not logged in gets NOAUTH even with a
// good version.
//   HELLO 4                → -NOPROTO unsupported protocol version
//   HELLO x                → -ERR Protocol version is not an integer or out of range
//   HELLO 2 SETNAME "a b"  → -ERR Client names cannot contain spaces, newlines or special ...
void Hello(CommandCall& call) {
  const std::optional<int> version = ReadVersion(call);
  if (version && HelloEntersSpace(call)) return;
  if (!version || !TakeHelloOptions(call)) return;
  if (call.client.conditions & kNeedsLogin) {
    return call.reply.Error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
        "protocol version at the same time");
  }
  // The answer below is in the new protocol already.
  if (*version != 0) {
    call.client.writer.set_version(*version);
    call.part<Clients>().ClassChanged(call.client);
  }
  DescribeServer(call);
}

// --- leaving

// Commands behind it in the same packet are not run.
void Quit(CommandCall& call) {
  call.reply.Ok();
  call.part<Clients>().Close(call.client, CloseMode::kAfterReply);
}

// The connection as it was opened: transaction, subscriptions, tracking, monitor, login, name,
// database, protocol; CLIENT NO-EVICT stays, as in Redis 7.0. Locks lose their binding to the
// session, and end if they have no lease that runs. The answer comes in RESP2, even under REPLY
// OFF.
void Reset(CommandCall& call) {
  Session& client = call.client;
  if (client.kind != SessionKind::kClient)
    return call.reply.Error("ERR can only reset normal client connections");
  EndTransaction(client, call.part<WatchTable>());
  call.part<PubSub>().Forget(client);
  call.part<Tracking>().Disable(client);
  call.part<Monitors>().Remove(client);
  call.part<LockService>().EndBindings(client);  // what that changes LockRecorder tells
  call.NoEffect();
  call.part<AccessControl>().LogInInitially(client);
  client.name = BoxedText();
  client.db = 0;
  client.reply_mode = ReplyMode::kOn;
  client.no_touch = false;
  client.reads_replica = false;
  client.conditions &= static_cast<uint16_t>(~(kAsks | kAsked));
  client.writer.set_version(2);
  call.part<Clients>().ClassChanged(client);
  call.part<Clients>().SinkOf(client).Status("RESET");
}

// --- the table

constexpr uint32_t kAnytime = kNoScript | kLoading | kStale | kFast | kNoAuth | kAllowBusy;
constexpr std::string_view kPingTips = "request_policy:all_shards,response_policy:all_succeeded";

// kNoAuth lets a row through before the login. QUIT and RESET run at once inside MULTI
// (kNotQueued), for they end it.
constexpr CommandRow kConnectionListed[] = {
    {.name = "PING",
     .arity = -1,
     .flags = kFast | kInSubscriber | kTellsHealth,
     .run = Ping,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "[message]",
     .summary = "Answer PONG, or the message.",
     .tips = kPingTips},
    {.name = "ECHO",
     .arity = 2,
     .flags = kLoading | kStale | kFast,
     .run = Echo,
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "message",
     .summary = "Answer the message itself."},
    {.name = "HELLO",
     .arity = -1,
     .flags = kAnytime,
     .run = Hello,
     .since = "6.0.0",
     .complexity = "O(1)",
     .usage = "arguments=[protover [AUTH username password] [SETNAME clientname]]",
     .summary = "Agree on the protocol version, log in, take a name; facts about the server.",
     .history = "6.2.0 Without `protover` it tells about the server in the version spoken."},
    {.name = "AUTH",
     .arity = -2,
     .flags = kAnytime,
     .run = Auth,
     .since = "1.0.0",
     .complexity = "O(N) where N is the number of passwords defined for the user",
     .usage = "[username]@6.0.0 password",
     .summary = "Log in with a password.",
     .history = "6.0.0 It takes a user name, too."},
    {.name = "QUIT",
     .arity = -1,
     .flags = kAnytime | kNotQueued | kInSubscriber,
     .run = Quit,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Close the connection when what was asked is answered."},
    {.name = "RESET",
     .arity = 1,
     .flags = kAnytime | kNotQueued | kInSubscriber,
     .run = Reset,
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "Make the connection as it was when it was opened."},
};
constexpr auto kConnectionRows =
    RowsOf(kConnectionListed, {.categories = kCatConnection, .group = "connection"});

}  // namespace

CommandFamily ConnectionFamily() { return {"connection", kSpecsOf<kConnectionRows>}; }

}  // namespace sluice
