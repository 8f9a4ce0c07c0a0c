// The ACL family: users, what they may do, and what they were refused. The rules are
// server/access's; what a change of them does to connections is AccessControl's.
//
// Names and rules of SETUSER are hidden from MONITOR and the slow log before anything can go wrong.
//
//   > ACL SETUSER app on >secret ~app:* +@all -@dangerous
//   > ACL DRYRUN app SET other 1
//   < "This user has no permissions to access the 'other' key"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/access/users.h"
#include "server/clients/host.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/access_gate.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/dispatcher.h"
#include "server/engine/access_control.h"

namespace sluice {
namespace {

constexpr std::string_view kNoFile =
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users "
    "via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
    "configuration file set) in order to store users in the Redis configuration.";

// The longest password of ACL GENPASS: 1 KB of hex digits.
constexpr int64_t kPasswordBitsMax = 4096;
constexpr int64_t kPasswordBits = 256;
constexpr int64_t kLogShown = 10;

// For subcommands whose row allows more arguments than they take.
void RefuseArguments(CommandCall& call) {
  call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '", call.args[1],
                          "'. Try ACL HELP."));
}

// As Redis repeats a client's words: as C strings.
std::string_view AsText(std::string_view word) { return word.substr(0, word.find('\0')); }

// --- who there is

// Null for what is no client: a log that is replayed.
void WhoAmI(CommandCall& call) {
  call.client.user ? call.reply.Bulk(call.client.user->name()) : call.reply.Null();
}

// In the order of their names' bytes.
void ReplyUsers(CommandCall& call) {
  const Users::ByName& users = call.part<Users>().all();
  call.reply.Array(users.size());
  for (const auto& [name, user] : users) call.reply.Bulk(name);
}

// The lines of an ACL file.
void AclList(CommandCall& call) {
  const std::vector<std::string> lines = call.part<Users>().Lines();
  call.reply.Array(lines.size());
  for (const std::string& line : lines) call.reply.Bulk(line);
}

void ReplySelector(ReplySink& reply, const Selector& selector, const CommandCatalogue& catalogue) {
  reply.Bulk("commands");
  reply.Bulk(selector.DescribeCommands(catalogue));
  reply.Bulk("keys");
  reply.Bulk(selector.DescribeKeys());
  reply.Bulk("channels");
  reply.Bulk(selector.DescribeChannels());
}

// Null for a name that is not there. The order of the six fields is Redis's.
void GetUser(CommandCall& call) {
  ReplySink& reply = call.reply;
  const Users& users = call.part<Users>();
  const User* const user = users.Find(call.args[2]);
  if (!user) return reply.Null();
  reply.Map(6);
  reply.Bulk("flags");
  const std::vector<std::string_view> flags = user->flags();
  reply.Set(flags.size());
  for (const std::string_view flag : flags) reply.Bulk(flag);
  reply.Bulk("passwords");
  reply.Array(user->passwords().size());
  for (const std::string& digest : user->passwords()) reply.Bulk(digest);
  ReplySelector(reply, user->own(), users.catalogue());
  reply.Bulk("selectors");
  reply.Array(user->selectors().size());
  for (const Selector& selector : user->selectors()) {
    reply.Map(3);
    ReplySelector(reply, selector, users.catalogue());
  }
}

// --- changes

// All rules are taken or none: they are tried on a copy.
//   ACL SETUSER bob on >pw ~app:* +@read  → OK
//   ACL SETUSER bob +nosuch               → -ERR Error in ACL SETUSER modifier '+nosuch': Unknown
//   ... ACL SETUSER bob (+get ~a              → -ERR Unmatched parenthesis in acl selector starting
//   ...
void SetUser(CommandCall& call) {
  for (size_t i = 2; i < call.args.size(); ++i) call.part<Dispatcher>().Hide(i);
  const std::string_view name = call.args[2];
  if (!IsUserName(name)) {
    return call.reply.Error("ERR Usernames can't contain spaces or null characters");
  }
  const Args given = call.args.subspan(3);
  size_t unmatched = 0;
  const auto rules = JoinSelectors(given, unmatched);
  if (!rules) {
    return call.reply.Error(Concat("ERR Unmatched parenthesis in acl selector starting at '",
                                   AsText(given[unmatched]), "'."));
  }
  const Users& users = call.part<Users>();
  if (users.all().size() >= kUsersMax && !users.Find(name)) {
    return call.reply.Error(Concat("ERR there are at most ", kUsersMax, " users"));
  }
  User draft = users.Draft(name);
  for (const std::string& rule : *rules) {
    const RuleFault fault = draft.Apply(rule, users.context());
    if (fault == RuleFault::kNone) continue;
    return call.reply.Error(
        Concat("ERR Error in ACL SETUSER modifier '", AsText(rule), "': ", RuleFaultText(fault)));
  }
  call.part<AccessControl>().Set(draft);
  call.reply.Ok();
}

// The default user stays; if it is among them none goes.
void DeleteUsers(CommandCall& call) {
  const Args names = call.args.subspan(2);
  if (std::ranges::find(names, kDefaultUser) != names.end()) {
    return call.reply.Error("ERR The 'default' user cannot be removed");
  }
  const auto removed = std::ranges::count_if(
      names, [&](std::string_view name) { return call.part<AccessControl>().Remove(name); });
  call.reply.Integer(removed);
}

// LOAD and SAVE.
template <Fault (AccessControl::*DoIt)()>
void UseFile(CommandCall& call) {
  if (call.settings.aclfile.empty()) return call.reply.Error(kNoFile);
  const Fault fault = (call.part<AccessControl>().*DoIt)();
  fault ? call.reply.Error(Concat("ERR ", fault.sentence())) : call.reply.Ok();
}

// From the system: what the seed gives can be foretold.
void GeneratePassword(CommandCall& call) {
  if (call.args.size() > 3) return RefuseArguments(call);
  int64_t bits = kPasswordBits;
  if (call.args.size() == 3) {
    const std::optional<int64_t> given = ParseInt64(call.args[2]);
    if (!given) return call.reply.Error(ErrorCode::kNotInteger);
    bits = *given;
  }
  if (bits <= 0 || bits > kPasswordBitsMax) {
    return call.reply.Error(
        Concat("ERR ACL GENPASS argument must be the number of bits for the output password, a "
               "positive number up to ",
               kPasswordBitsMax));
  }
  const auto digits = static_cast<size_t>((bits + 3) / 4);
  std::array<uint8_t, kPasswordBitsMax / 8> bytes;
  call.part<Host>().process().FillWithRandom(std::span(bytes).first((digits + 1) / 2));
  std::string password;
  for (size_t i = 0; i < digits; ++i) {
    password.push_back("0123456789abcdef"[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15]);
  }
  call.reply.Bulk(password);
}

// --- what they may do

// An unknown category is an error. Subcommands are listed by their full names.
void Categories(CommandCall& call) {
  if (call.args.size() > 3) return RefuseArguments(call);
  const std::span<const std::string_view> names = AccessCategoryNames();
  if (call.args.size() == 2) {
    call.reply.Array(names.size());
    for (const std::string_view name : names) call.reply.Bulk(name);
    return;
  }
  const std::optional<size_t> category = FindAccessCategory(call.args[2]);
  if (!category) {
    return call.reply.Error(
        Concat("ERR Unknown category '", AsText(call.args[2]).substr(0, 128), "'"));
  }
  const CommandCatalogue& catalogue = call.part<const CommandTable>().catalogue();
  const CommandBits& members = catalogue.MembersOf(*category);
  call.reply.Array(members.count());
  for (size_t number = 0; number < catalogue.size(); ++number) {
    if (members[number]) call.reply.Bulk(catalogue.NameOf(number));
  }
}

// Whether the user may run the command, without running it. A refusal is a text, not an error.
//   ACL DRYRUN default SET a b  → OK
//   ACL DRYRUN default NOSUCH   → -ERR Command 'NOSUCH' not found
//   ACL DRYRUN bob GET a        → -ERR User 'bob' not found
void DryRun(CommandCall& call) {
  const User* const user = call.part<Users>().Find(call.args[2]);
  if (!user) return call.reply.Error(Concat("ERR User '", AsText(call.args[2]), "' not found"));
  const Args words = call.args.subspan(3);
  const CommandTable& commands = call.part<const CommandTable>();
  const std::optional<Request> request = commands.Check(words);
  if (!request) {
    const RequestFault fault = commands.WhyNot(words);
    const bool has_name = fault.is_inner || fault.kind == RequestFault::Kind::kWrongArity;
    return call.reply.Error(has_name ? commands.TextOf(fault)
                                     : Concat("ERR Command '", AsText(words[0]), "' not found"));
  }
  const Verdict verdict = call.part<AccessGate>().Check(*user, *request);
  if (verdict.allowed()) return call.reply.Ok();
  const std::string_view kind = verdict.denial == Denial::kKey ? "key" : "channel";
  call.reply.Bulk(verdict.denial == Denial::kCommand
                      ? Concat("This user has no permissions to run the '",
                               call.part<Users>().catalogue().NameOf(verdict.command), "' command")
                      : Concat("This user has no permissions to access the '",
                               AsText(words[verdict.position]), "' ", kind));
}

std::string_view WordOf(Denial reason) {
  switch (reason) {
    case Denial::kKey:
      return "key";
    case Denial::kAuth:
      return "auth";
    case Denial::kChannel:
      return "channel";
    default:
      return "command";
  }
}

std::string_view WordOf(AccessContext context) {
  if (context == AccessContext::kMulti) return "multi";
  return context == AccessContext::kScript ? "lua" : "toplevel";
}

void ReplyEntry(CommandCall& call, const AccessLog::Entry& entry) {
  ReplySink& reply = call.reply;
  reply.Map(7);
  reply.Bulk("count");
  reply.Integer(static_cast<int64_t>(entry.count));
  reply.Bulk("reason");
  reply.Bulk(WordOf(entry.reason));
  reply.Bulk("context");
  reply.Bulk(WordOf(entry.context));
  reply.Bulk("object");
  reply.Bulk(entry.object);
  reply.Bulk("username");
  reply.Bulk(entry.user);
  reply.Bulk("age-seconds");
  reply.Double(static_cast<double>(call.now.ms() - entry.at_ms) / 1000);
  reply.Bulk("client-info");
  reply.Bulk(entry.client);
}

// The latest first; ten of them if no number is given, and none for a negative one.
void Log(CommandCall& call) {
  if (call.args.size() > 3) return RefuseArguments(call);
  AccessLog& log = call.part<AccessLog>();
  int64_t count = kLogShown;
  if (call.args.size() == 3) {
    if (IsWord(call.args[2], "RESET")) {
      log.Reset();
      return call.reply.Ok();
    }
    const std::optional<int64_t> given = ParseInt64(call.args[2]);
    if (!given) return call.reply.Error(ErrorCode::kNotInteger);
    count = std::max<int64_t>(*given, 0);
  }
  const size_t shown = std::min(static_cast<size_t>(count), log.entries().size());
  call.reply.Array(shown);
  for (size_t i = 0; i < shown; ++i) ReplyEntry(call, log.entries()[i]);
}

constexpr std::string_view kAclHelp[] = {
    "CAT [<category>]",
    "    List all commands that belong to <category>, or all command categories",
    "    when no category is specified.",
    "DELUSER <username> [<username> ...]",
    "    Delete a list of users.",
    "DRYRUN <username> <command> [<arg> ...]",
    "    Returns whether the user can execute the given command without executing the command.",
    "GETUSER <username>",
    "    Get the user's details.",
    "GENPASS [<bits>]",
    "    Generate a secure 256-bit user password. The optional `bits` argument can",
    "    be used to specify a different size.",
    "LIST",
    "    Show users details in config file format.",
    "LOAD",
    "    Reload users from the ACL file.",
    "LOG [<count> | RESET]",
    "    Show the ACL log entries.",
    "SAVE",
    "    Save the current config to the ACL file.",
    "SETUSER <username> <attribute> [<attribute> ...]",
    "    Create or modify a user with the specified attributes.",
    "USERS",
    "    List all the registered usernames.",
    "WHOAMI",
    "    Return the current connection username.",
};

void AclHelp(CommandCall& call) { ReplyHelp(call, kAclHelp); }

// --- the table

constexpr uint32_t kAsks = kNoScript | kLoading | kStale;
constexpr uint32_t kAdministers = kAsks | kAdmin;
constexpr std::string_view kByUsers = "O(N). Where N is the number of configured users.";

constexpr CommandRow kAclSubcommandsListed[] = {
    {.name = "CAT",
     .arity = -2,
     .flags = kAsks,
     .run = Categories,
     .complexity = "O(1) since the categories and commands are a fixed set.",
     .usage = "[categoryname]",
     .summary = "The categories of commands, or the commands of one."},
    {.name = "DELUSER",
     .arity = -3,
     .flags = kAdministers,
     .run = DeleteUsers,
     .complexity = "O(1) amortized time considering the typical user.",
     .usage = "username [username ...]",
     .summary = "Remove users and close their connections."},
    {.name = "DRYRUN",
     .arity = -4,
     .flags = kAdministers,
     .run = DryRun,
     .since = "7.0.0",
     .complexity = "O(1).",
     .usage = "username command [arg ...]",
     .summary = "Whether a user may run a command."},
    {.name = "GENPASS",
     .arity = -2,
     .flags = kAsks,
     .run = GeneratePassword,
     .usage = "[bits:integer]",
     .summary = "A password that nobody can guess, from the system."},
    {.name = "GETUSER",
     .arity = 3,
     .flags = kAdministers,
     .run = GetUser,
     .complexity =
         "O(N). Where N is the number of password, command and pattern rules that the user has.",
     .usage = "username",
     .summary = "What a user may do.",
     .history =
         "6.2.0 Added Pub/Sub channel patterns.|7.0.0 Added selectors and changed the format "
         "of key and channel patterns from a list to their rule representation."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = AclHelp,
     .summary = "What the subcommands do."},
    {.name = "LIST",
     .arity = 2,
     .flags = kAdministers,
     .run = AclList,
     .complexity = kByUsers,
     .summary = "All users with their rules."},
    {.name = "LOAD",
     .arity = 2,
     .flags = kAdministers,
     .run = UseFile<&AccessControl::LoadFile>,
     .complexity = kByUsers,
     .summary = "Read the users from the ACL file, all or none."},
    {.name = "LOG",
     .arity = -2,
     .flags = kAdministers,
     .run = Log,
     .complexity = "O(N) with N being the number of entries shown.",
     .usage = "operation=[count:integer | RESET]",
     .summary = "What users were refused lately."},
    {.name = "SAVE",
     .arity = 2,
     .flags = kAdministers,
     .run = UseFile<&AccessControl::SaveFile>,
     .complexity = kByUsers,
     .summary = "Write the users into the ACL file."},
    {.name = "SETUSER",
     .arity = -3,
     .flags = kAdministers,
     .run = SetUser,
     .complexity = "O(N). Where N is the number of rules provided.",
     .usage = "username [rule ...]",
     .summary = "Make a user, or change its rules: all or none.",
     .history = "6.2.0 Added Pub/Sub channel patterns.|7.0.0 Added selectors and key based "
                "permissions."},
    {.name = "USERS",
     .arity = 2,
     .flags = kAdministers,
     .run = ReplyUsers,
     .complexity = kByUsers,
     .summary = "The names of all users."},
    {.name = "WHOAMI",
     .arity = 2,
     .flags = kAsks,
     .run = WhoAmI,
     .summary = "The name of this connection's user."},
};
constexpr auto kAclSubcommands =
    RowsOf(kAclSubcommandsListed, {.group = "server", .since = "6.0.0", .complexity = "O(1)"});

// The container cannot be called itself.
constexpr CommandRow kAclRows[] = {
    {.name = "ACL",
     .arity = -2,
     .subcommands = kSpecsOf<kAclSubcommands>,
     .group = "server",
     .since = "6.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Users and their rights."},
};

}  // namespace

CommandFamily AclFamily() { return {"acl", kSpecsOf<kAclRows>}; }

}  // namespace sluice
