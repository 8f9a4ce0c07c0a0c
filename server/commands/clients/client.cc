// The CLIENT family: what a client may know and decide about its own connection and about others.
// LIST, INFO and KILL are in files of their own.
//
// No subcommand writes a key, and nothing is logged: what concerns one connection ends with it.

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/commands/clients/client_commands.h"
#include "server/commands/clients/login.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/pause.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

constexpr int64_t kPauseMsMax = int64_t{1} << 52;  // so that its end is still a time

// Numbers grow and are never given twice.
void Id(CommandCall& call) { call.reply.Integer(static_cast<int64_t>(call.client.client_id)); }

// --- names

// An empty name takes the name away. Redis checks the bytes and no more: names need not differ.
//   CLIENT SETNAME "a b"  → -ERR Client names cannot contain spaces, newlines or special ...
//   CLIENT SETNAME ""     → OK
//   CLIENT GETNAME        → nil
void SetName(CommandCall& call) {
  if (!IsClientName(call.args[2])) return call.reply.Error(kBadClientName);
  call.client.name = call.args[2];
  call.reply.Ok();
}

// Null without a name, never an empty string.
void GetName(CommandCall& call) {
  if (call.client.name.view().empty()) return call.reply.Null();
  call.reply.Bulk(call.client.name);
}

// Redis 7.2's, which libraries send at the start without looking at the answer. The name of the
// option is checked before its value.
//   CLIENT SETINFO LIB-NAME "a b"  → -ERR LIB-NAME cannot contain spaces, newlines or special ...
//   CLIENT SETINFO COLOUR red      → -ERR Unrecognized option 'COLOUR'
void SetInfo(CommandCall& call) {
  constexpr std::pair<std::string_view, BoxedText Session::*> kAttributes[] = {
      {"LIB-NAME", &Session::library_name}, {"LIB-VER", &Session::library_version}};
  for (const auto& [word, member] : kAttributes) {
    if (!IsWord(call.args[2], word)) continue;
    if (!IsClientName(call.args[3])) {
      return call.reply.Error(
          Concat("ERR ", call.args[2], " cannot contain spaces, newlines or special characters."));
    }
    call.client.*member = call.args[3];
    return call.reply.Ok();
  }
  call.reply.Error(Concat("ERR Unrecognized option '", call.args[2], "'"));
}

// --- switches

// ON or OFF in any case; `set` is not called for another word.
void Switch(CommandCall& call, void (*set)(Session& client, bool on)) {
  const bool on = IsWord(call.args[2], "ON");
  if (!on && !IsWord(call.args[2], "OFF")) return call.reply.Error(ErrorCode::kSyntax);
  set(call.client, on);
  call.reply.Ok();
}

// Kept and shown as `e` in CLIENT LIST. There is no eviction of clients, so nothing follows from
// it.
void NoEvict(CommandCall& call) {
  Switch(call, [](Session& client, bool on) { client.no_evict = on; });
}
void NoTouch(CommandCall& call) {
  Switch(call, [](Session& client, bool on) { client.no_touch = on; });
}

// ON answers OK, the two others answer nothing at all. SKIP leaves out the answer of the next
// command, and its own; under OFF it means nothing.
//   CLIENT REPLY ON         → OK
//   CLIENT REPLY SOMETIMES  → -ERR syntax error
void Reply(CommandCall& call) {
  Session& client = call.client;
  if (IsWord(call.args[2], "ON")) {
    client.reply_mode = ReplyMode::kOn;
    return call.part<Clients>().SinkOf(client).Ok();  // call.reply may still swallow it
  }
  if (IsWord(call.args[2], "OFF")) {
    client.reply_mode = ReplyMode::kOff;
  } else if (!IsWord(call.args[2], "SKIP")) {
    call.reply.Error(ErrorCode::kSyntax);
  } else if (client.reply_mode != ReplyMode::kOff) {
    client.reply_mode = ReplyMode::kSkipNext;
  }
}

// This server sends no maintenance events: a client that asks for them waits for what never comes.
void MaintNotifications(CommandCall& call) { call.reply.Ok(); }

// --- others

// For more arguments than a subcommand takes.
void RefuseArguments(CommandCall& call, std::string_view subcommand) {
  call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '", subcommand,
                          "'. Try CLIENT HELP."));
}

// The mode is read before the time, as in Redis. The time is in ms. A second PAUSE never shortens a
// pause and never makes it milder.
//   CLIENT PAUSE x SOME  → -ERR CLIENT PAUSE mode must be WRITE or ALL
//   CLIENT PAUSE -1      → -ERR timeout is negative
void StartPause(CommandCall& call) {
  if (call.args.size() > 4) return RefuseArguments(call, call.args[1]);
  ArgReader args(call.args, 3);
  Pause::Mode mode = Pause::Mode::kAll;
  if (args.TakeWord("WRITE")) {
    mode = Pause::Mode::kWrite;
  } else if (args.more() && !args.TakeWord("ALL")) {
    return call.reply.Error("ERR CLIENT PAUSE mode must be WRITE or ALL");
  }
  const std::optional<int64_t> ms = ParseInt64(call.args[2]);
  if (!ms) return call.reply.Error("ERR timeout is not an integer or out of range");
  if (*ms < 0) return call.reply.Error("ERR timeout is negative");
  // In Redis the end is a Unix time, and one that no int64 holds is in the past: nothing pauses.
  int64_t end_ms;
  if (__builtin_add_overflow(*ms, call.now.unix_ms(), &end_ms)) return call.reply.Ok();
  call.part<Pause>().Start(mode, std::min(*ms, kPauseMsMax));
  call.reply.Ok();
}

// Sessions that were held go on with what they had sent.
void EndPause(CommandCall& call) {
  call.part<Pause>().End();
  call.reply.Ok();
}

// The id of a client that is not there, or does not wait, is 0. By default the waiting command
// answers as at its deadline; with ERROR it answers UNBLOCKED.
//   CLIENT UNBLOCK 999999  → 0
//   CLIENT UNBLOCK 1 SOON  → -ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR
//   CLIENT UNBLOCK x       → -ERR value is not an integer or out of range
void Unblock(CommandCall& call) {
  if (call.args.size() > 4) return RefuseArguments(call, call.args[1]);
  if (call.args.size() == 4 && !IsWord(call.args[3], "TIMEOUT") && !IsWord(call.args[3], "ERROR")) {
    return call.reply.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  const std::optional<int64_t> id = ParseInt64(call.args[2]);
  if (!id) return call.reply.Error(ErrorCode::kNotInteger);
  const bool error = call.args.size() == 4 && IsWord(call.args[3], "ERROR");
  Session* const session = call.part<Clients>().FindClient(static_cast<uint64_t>(*id));
  call.reply.Integer(session && call.part<Waiters>().blocked_clients().Unblock(
                                    *session, error ? BlockedClients::End::kError
                                                    : BlockedClients::End::kTimeout));
}

constexpr std::string_view kClientHelp[] = {
    "CACHING (YES|NO)",
    "    Track the keys of the next command (OPTIN), or do not (OPTOUT).",
    "GETNAME",
    "    The name of this connection.",
    "GETREDIR",
    "    Who gets this client's invalidation messages: 0, itself; -1, nobody.",
    "ID",
    "    The number of this connection.",
    "INFO",
    "    This connection as LIST shows it.",
    "KILL <ip:port>",
    "    Close the connection from that address.",
    "KILL <option> <value> [<option> <value> ...]",
    "    Close the connections for which all of these hold:",
    "    * ADDR (<ip:port>|<unixsocket>:0)",
    "      They come from this address.",
    "    * LADDR (<ip:port>|<unixsocket>:0)",
    "      They came to this address of ours.",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      They are of this type.",
    "    * USER <username>",
    "      They are logged in as this user.",
    "    * ID <client-id>",
    "      This one alone.",
    "    * MAXAGE <seconds>",
    "      They are at least so old.",
    "    * SKIPME (YES|NO)",
    "      Spare this connection (default: yes).",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB) | ID <client-id> [<client-id> ...]]",
    "    One line a connection: all, those of a type, or these.",
    "NO-EVICT (ON|OFF)",
    "    Never close this connection to win memory.",
    "NO-TOUCH (ON|OFF)",
    "    This connection's commands leave the idle time of keys alone.",
    "PAUSE <milliseconds> [WRITE|ALL]",
    "    Hold back all commands, or those that write, for so long.",
    "REPLY (ON|OFF|SKIP)",
    "    Whether this connection is answered; SKIP leaves out one answer.",
    "SETINFO (LIB-NAME|LIB-VER) <value>",
    "    Tell which library this client is.",
    "SETNAME <name>",
    "    Give this connection a name.",
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
    "         [OPTIN] [OPTOUT] [NOLOOP]",
    "    Be told when keys change that this connection has read.",
    "TRACKINGINFO",
    "    How client-side caching stands for this connection.",
    "UNBLOCK <client-id> [TIMEOUT|ERROR]",
    "    End the waiting of a client that is blocked.",
    "UNPAUSE",
    "    End PAUSE now.",
};

void ClientHelp(CommandCall& call) { ReplyHelp(call, kClientHelp); }

// --- the table

constexpr uint32_t kAny = kNoScript | kLoading | kStale;
constexpr uint32_t kAdminFlags = kAny | kAdmin;
// For LIST and KILL, which look at every connection.
constexpr std::string_view kPerClient = "O(N) where N is the number of client connections";

// Subcommands that concern other clients are for administrators (KILL, LIST, PAUSE, UNBLOCK,
// NO-EVICT); the rest is for any client. Scripts may not call it: their client is a stand-in.
constexpr CommandRow kClientSubcommandsListed[] = {
    {.name = "CACHING",
     .arity = 3,
     .flags = kAny,
     .run = ClientCaching,
     .since = "6.0.0",
     .complexity = "O(1)",
     .usage = "mode=<YES | NO>",
     .summary = "Whether the next command's keys are to be tracked."},
    {.name = "GETNAME",
     .arity = 2,
     .flags = kAny,
     .run = GetName,
     .since = "2.6.9",
     .complexity = "O(1)",
     .summary = "The name of this connection."},
    {.name = "GETREDIR",
     .arity = 2,
     .flags = kAny,
     .run = ClientGetRedir,
     .since = "6.0.0",
     .complexity = "O(1)",
     .summary = "The client that gets this one's invalidation messages."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = ClientHelp,
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
    {.name = "ID",
     .arity = 2,
     .flags = kAny,
     .run = Id,
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "The number of this connection; later ones have higher numbers."},
    {.name = "INFO",
     .arity = 2,
     .flags = kAny,
     .run = ClientInfo,
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "This connection as CLIENT LIST shows it.",
     .tips = "nondeterministic_output"},
    {.name = "KILL",
     .arity = -3,
     .flags = kAdminFlags,
     .run = ClientKill,
     .since = "2.4.0",
     .complexity = kPerClient,
     .usage = "filter=<ip:port@-2.8.12 | new-format=<[ID client-id]@2.8.12 | [TYPE "
              "normal_master_slave_pubsub=<NORMAL | MASTER@3.2.0 | SLAVE | REPLICA@5.0.0 | "
              "PUBSUB>]@2.8.12 | [USER username] | [ADDR ip:port] | [LADDR ip:port]@6.2.0 | "
              "[SKIPME yes/no] | [MAXAGE maxage:integer]@7.4.0 ...>>",
     .summary = "Close connections.",
     .history = "2.8.12 Filters, and `SKIPME`.|2.8.12 `ID`.|3.2.0 `MASTER` as a type.|5.0.0 "
                "`REPLICA` instead of `SLAVE`.|6.2.0 `LADDR`.|7.4.0 `MAXAGE`."},
    {.name = "LIST",
     .arity = -2,
     .flags = kAdminFlags,
     .run = ClientList,
     .since = "2.4.0",
     .complexity = kPerClient,
     .usage = "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>]@5.0.0 [ID id=<client-id [client-id "
              "...]>]@6.2.0",
     .summary = "The connections, a line each.",
     .history = "2.8.12 Client numbers that are never used again.|5.0.0 `TYPE`.|6.0.0 The field "
                "`user`.|6.2.0 `ID`, `argv-mem`, `tot-mem`, `laddr` and `redir`.|7.0.0 `resp`, "
                "`multi-mem`, `rbs` and `rbp`.|7.0.3 `ssub`.",
     .tips = "nondeterministic_output"},
    {.name = "MAINT_NOTIFICATIONS",
     .arity = -2,
     .flags = kAny,
     .run = MaintNotifications,
     .since = "8.2.0",
     .complexity = "O(1)",
     .usage = "[argument [argument ...]]",
     .summary = "Taken and without effect: this server announces no maintenance."},
    {.name = "NO-EVICT",
     .arity = 3,
     .flags = kAdminFlags,
     .run = NoEvict,
     .since = "7.0.0",
     .complexity = "O(1)",
     .usage = "enabled=<ON | OFF>",
     .summary = "Never close this connection to win memory."},
    {.name = "NO-TOUCH",
     .arity = 3,
     .flags = kAny,
     .run = NoTouch,
     .since = "7.2.0",
     .complexity = "O(1)",
     .usage = "enabled=<ON | OFF>",
     .summary = "Leave the idle time of the keys that this connection uses alone."},
    {.name = "PAUSE",
     .arity = -3,
     .flags = kAdminFlags,
     .run = StartPause,
     .since = "2.9.50",
     .complexity = "O(1)",
     .usage = "timeout mode=[WRITE | ALL]@6.2.0",
     .summary = "Hold commands back for some time.",
     .history = "6.2.0 `WRITE` and `ALL`."},
    {.name = "REPLY",
     .arity = 3,
     .flags = kAny,
     .run = Reply,
     .since = "3.2.0",
     .complexity = "O(1)",
     .usage = "ON | OFF | SKIP",
     .summary = "Say whether this connection wants answers."},
    {.name = "SETINFO",
     .arity = 4,
     .flags = kAny,
     .run = SetInfo,
     .since = "7.2.0",
     .complexity = "O(1)",
     .usage = "LIB-NAME libname | LIB-VER libver",
     .summary = "Tell which client library this is."},
    {.name = "SETNAME",
     .arity = 3,
     .flags = kAny,
     .run = SetName,
     .since = "2.6.9",
     .complexity = "O(1)",
     .usage = "connection-name",
     .summary = "Name this connection, for CLIENT LIST."},
    {.name = "TRACKING",
     .arity = -3,
     .flags = kAny,
     .run = ClientTracking,
     .since = "6.0.0",
     .complexity = "O(1), and O(N) for N prefixes",
     .usage = "status=<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] "
              "[BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
     .summary = "Be told when what this connection has read changes."},
    {.name = "TRACKINGINFO",
     .arity = 2,
     .flags = kAny,
     .run = ClientTrackingInfo,
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "How client-side caching stands for this connection."},
    {.name = "UNBLOCK",
     .arity = -3,
     .flags = kAdminFlags,
     .run = Unblock,
     .since = "5.0.0",
     .complexity = "O(log N) where N is the number of client connections",
     .usage = "client-id [TIMEOUT | ERROR]",
     .summary = "End the waiting of a blocked client."},
    {.name = "UNPAUSE",
     .arity = 2,
     .flags = kAdminFlags,
     .run = EndPause,
     .since = "6.2.0",
     .complexity = "O(N) Where N is the number of paused clients",
     .summary = "End CLIENT PAUSE before its time."},
};
constexpr auto kClientSubcommands =
    RowsOf(kClientSubcommandsListed, {.categories = kCatConnection, .group = "connection"});

// kKeepsCaching: other CLIENT commands do not use up a CLIENT CACHING.
constexpr CommandRow kClientRows[] = {
    {.name = "CLIENT",
     .arity = -2,
     .flags = kKeepsCaching,
     .subcommands = kSpecsOf<kClientSubcommands>,
     .group = "connection",
     .since = "2.4.0",
     .complexity = "Depends on subcommand.",
     .summary = "This connection and the others."},
};

}  // namespace

CommandFamily ClientFamily() { return {"client", kSpecsOf<kClientRows>}; }

}  // namespace sluice
