// The ACL family of a server with one user, `default`, who may do everything: the answers that
// Redis gives as long as no other user was made. Rules for users are refused in words.
//
// Client libraries and tools ask WHOAMI, LIST and CAT at their start; a refusal there would keep
// them from working at all. What they could change is refused with a sentence of ours.

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/admin/command_entry.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command_table.h"
#include "storage/hashing/sha.h"

namespace sluice {
namespace {

constexpr std::string_view kUser = "default";
// Redis's sentence for ACL LOAD and ACL SAVE without a file.
constexpr std::string_view kNoFile =
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users "
    "via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
    "configuration file set) in order to store users in the Redis configuration.";

// For subcommands whose row allows more arguments than they take.
void RefuseArguments(CommandCall& call) {
  call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '", call.args[1],
                          "'. Try ACL HELP."));
}

// SHA-256 in hex, as Redis shows a password; empty: there is none.
std::string PasswordHash(CommandCall& call) {
  const std::string& password = call.settings.requirepass;
  if (password.empty()) return {};
  std::string hex;
  for (const uint8_t byte : Sha256(password)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

// --- who there is

void WhoAmI(CommandCall& call) { call.reply.Bulk(kUser); }

// One name: `default`.
void Users(CommandCall& call) {
  call.reply.Array(1);
  call.reply.Bulk(kUser);
}

// The line that Redis would write into an ACL file: on, with or without a password, all keys,
// channels and commands.
void List(CommandCall& call) {
  const std::string hash = PasswordHash(call);
  call.reply.Array(1);
  call.reply.Bulk(Concat("user default on ", hash.empty() ? "nopass" : "#", hash, " ~* &* +@all"));
}

// Null for any other name. The order of the six fields is Redis's.
void GetUser(CommandCall& call) {
  ReplySink& reply = call.reply;
  if (call.args[2] != kUser) return reply.Null();
  const std::string hash = PasswordHash(call);
  reply.Map(6);
  reply.Bulk("flags");
  reply.Set(hash.empty() ? 2 : 1);
  reply.Bulk("on");
  if (hash.empty()) reply.Bulk("nopass");
  reply.Bulk("passwords");
  reply.Array(hash.empty() ? 0 : 1);
  if (!hash.empty()) reply.Bulk(hash);
  reply.Bulk("commands");
  reply.Bulk("+@all");
  reply.Bulk("keys");
  reply.Bulk("~*");
  reply.Bulk("channels");
  reply.Bulk("&*");
  reply.Bulk("selectors");
  reply.Array(0);
}

// --- what they may do

// An unknown category is an error; a known one may be empty. Subcommands are listed by their full
// names.
void Categories(CommandCall& call) {
  if (call.args.size() > 3) return RefuseArguments(call);
  if (call.args.size() == 2) {
    const std::vector<std::string_view> names = CategoryNames();
    call.reply.Array(names.size());
    for (const std::string_view name : names) call.reply.Bulk(name);
    return;
  }
  const std::string_view category = call.args[2];
  if (!IsCategory(category)) {
    return call.reply.Error(Concat("ERR Unknown category '", category, "'"));
  }
  std::vector<std::string_view> names;
  const auto add = [&](const Command& command) {
    if (IsInCategory(*command.spec, category)) names.push_back(command.full_name);
  };
  for (const Command* command : call.part<const CommandTable>().all()) {
    add(*command);
    for (const Command* sub : command->subcommands) add(*sub);
  }
  call.reply.Array(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

// Whether the command may run, without running it: with one user only an unknown name or a wrong
// number of arguments stands against it. The user is looked at first.
//   ACL DRYRUN default SET a b  → OK
//   ACL DRYRUN default NOSUCH   → -ERR Command 'NOSUCH' not found
//   ACL DRYRUN bob GET a        → -ERR User 'bob' not found
void DryRun(CommandCall& call) {
  if (call.args[2] != kUser) {
    return call.reply.Error(Concat("ERR User '", call.args[2], "' not found"));
  }
  const Args request = call.args.subspan(3);
  const CommandTable& commands = call.part<const CommandTable>();
  const Command* command = commands.Find(request[0]);
  if (command && !command->subcommands.empty() && request.size() > 1) {
    command = commands.FindSubcommand(*command, request[1]);
  }
  if (!command) return call.reply.Error(Concat("ERR Command '", request[0], "' not found"));
  const int arity = command->spec->arity;
  const auto given = static_cast<int>(request.size());
  if (arity >= 0 ? given != arity : given < -arity) {
    return call.reply.Error(
        Concat("ERR wrong number of arguments for '", command->full_name, "' command"));
  }
  call.reply.Ok();
}

// A client that has logged in is refused nothing; failed logins are not kept.
void Log(CommandCall& call) {
  if (call.args.size() > 3) return RefuseArguments(call);
  if (call.args.size() == 3 && IsWord(call.args[2], "RESET")) return call.reply.Ok();
  if (call.args.size() == 3 && !ParseInt64(call.args[2])) {
    return call.reply.Error(ErrorCode::kNotInteger);
  }
  call.reply.Array(0);
}

// --- what is not there

// LOAD and SAVE, as in a Redis without aclfile.
void NoFile(CommandCall& call) { call.reply.Error(kNoFile); }

// The default user cannot go; of others there are none, so none was deleted.
void DeleteUser(CommandCall& call) {
  const Args names = call.args.subspan(2);
  if (std::ranges::find(names, kUser) != names.end()) {
    return call.reply.Error("ERR The 'default' user cannot be removed");
  }
  call.reply.Integer(0);
}

// Every rule is refused, even one that would change nothing: a rule that is taken must also hold.
void SetUser(CommandCall& call) {
  call.reply.Error(
      "ERR Sluice has one user, default, whose password is requirepass: no rules can be set");
}

// Redis takes it from the system. What is random here comes from one seed: no password.
void GeneratePassword(CommandCall& call) {
  call.reply.Error("ERR Sluice makes no passwords: take one from the system, as openssl rand does");
}

constexpr std::string_view kHelp[] = {
    "CAT [<category>]",
    "    List all commands that belong to <category>, or all command categories",
    "    when no category is specified.",
    "DRYRUN <username> <command> [<arg> ...]",
    "    Returns whether the user can execute the given command without executing the command.",
    "GETUSER <username>",
    "    Get the user's details.",
    "LIST",
    "    Show users details in config file format.",
    "LOG [<count> | RESET]",
    "    Show the ACL log entries.",
    "USERS",
    "    List all the registered usernames.",
    "WHOAMI",
    "    Return the current connection username.",
};

void Help(CommandCall& call) { ReplyHelp(call, kHelp); }

// --- the table

constexpr uint32_t kAsks = kNoScript | kLoading | kStale;
constexpr uint32_t kAdministers = kAsks | kAdmin;
constexpr std::string_view kByUsers = "O(N). Where N is the number of configured users.";

// Arities and flags are Redis's, also of what is refused: a tool that reads COMMAND INFO sees what
// it knows.
constexpr CommandSpec kSubcommandsListed[] = {
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
     .run = DeleteUser,
     .complexity = "O(1) amortized time considering the typical user.",
     .usage = "username [username ...]",
     .summary = "Remove users: there is none that could be."},
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
     .summary = "No passwords are made here; refused."},
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
     .run = Help,
     .summary = "What the subcommands do."},
    {.name = "LIST",
     .arity = 2,
     .flags = kAdministers,
     .run = List,
     .complexity = kByUsers,
     .summary = "All users with their rules."},
    {.name = "LOAD",
     .arity = 2,
     .flags = kAdministers,
     .run = NoFile,
     .complexity = kByUsers,
     .summary = "Read users from a file; refused."},
    {.name = "LOG",
     .arity = -2,
     .flags = kAdministers,
     .run = Log,
     .complexity = "O(N) with N being the number of entries shown.",
     .usage = "operation=[count:integer | RESET]",
     .summary = "What users were refused: nothing."},
    {.name = "SAVE",
     .arity = 2,
     .flags = kAdministers,
     .run = NoFile,
     .complexity = kByUsers,
     .summary = "Write users into a file; refused."},
    {.name = "SETUSER",
     .arity = -3,
     .flags = kAdministers,
     .run = SetUser,
     .complexity = "O(N). Where N is the number of rules provided.",
     .usage = "username [rule ...]",
     .summary = "Make a user or change its rules; refused.",
     .history = "6.2.0 Added Pub/Sub channel patterns.|7.0.0 Added selectors and key based "
                "permissions."},
    {.name = "USERS",
     .arity = 2,
     .flags = kAdministers,
     .run = Users,
     .complexity = kByUsers,
     .summary = "The names of all users."},
    {.name = "WHOAMI",
     .arity = 2,
     .flags = kAsks,
     .run = WhoAmI,
     .summary = "The name of this connection's user."},
};
constexpr auto kSubcommands =
    RowsOf(kSubcommandsListed, {.group = "server", .since = "6.0.0", .complexity = "O(1)"});

// The container cannot be called itself.
constexpr CommandSpec kRows[] = {
    {.name = "ACL",
     .arity = -2,
     .subcommands = kSubcommands,
     .group = "server",
     .since = "6.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Users and their rights: there is one user, who may do everything."},
};
static_assert(RowsAreSound(kRows));

}  // namespace

CommandFamily AclFamily() { return {"acl", kRows}; }

}  // namespace sluice
