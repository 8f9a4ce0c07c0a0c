// Consumer groups of streams: XGROUP makes and changes them, XACK ends what is pending. Giving
// entries out is in stream_read.cc, passing pending ones on in stream_claims.cc.
//
// A group remembers how far it has read (its last id) and the pending entries list: what each
// consumer was given and has not acknowledged. All of it is book-keeping beside the entries: WATCH
// does not see it, the log does.
//
//   command                missing group    event                     effect
//   XGROUP CREATE          made             xgroup-create             itself
//   XGROUP SETID           an error         xgroup-setid              itself
//   XGROUP DESTROY         0                xgroup-destroy            itself
//   XGROUP CREATECONSUMER  an error         xgroup-createconsumer     itself
//   XGROUP DELCONSUMER     an error         xgroup-delconsumer        itself
//   XACK                   0                none                      itself

#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/notifications.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

// The subcommand as the client wrote it, up to 128 bytes.
std::string SyntaxText(const CommandCall& call) {
  return Concat("ERR unknown subcommand or wrong number of arguments for '",
                call.args[1].substr(0, 128), "'. Try XGROUP HELP.");
}
void ReplyGroupSyntax(CommandCall& call) { call.reply.Error(SyntaxText(call)); }

// --- CREATE, SETID

// ENTRIESREAD is how many entries the group has read in its life; kUnknown, -1, lets XINFO say null
// for the lag.
struct GroupOptions {
  const bool creates;  // MKSTREAM is an option
  bool mkstream = false;
  int64_t entries_read = StreamGroup::kUnknown;
};

// XGROUP CREATE key group id | $ [MKSTREAM] [ENTRIESREAD n]; SETID has no MKSTREAM.
constexpr OptionRow<GroupOptions> kGroupOptions[] = {
    {"MKSTREAM", kRaise<&GroupOptions::mkstream>, 0,
     [](const GroupOptions& options) { return options.creates; }},
    {"ENTRIESREAD",
     [](ArgReader& args, GroupOptions& options) {
       options.entries_read = args.Int();
       if (options.entries_read < 0 && options.entries_read != StreamGroup::kUnknown) {
         args.Fail("ERR value for ENTRIESREAD must be positive or -1");
       }
     },
     1},
};

// False: the error has been answered.
bool ReadGroupOptions(CommandCall& call, GroupOptions& options) {
  ArgReader args(call.args, 5);
  while (args.more()) {
    if (!TakeOption(args, kGroupOptions, options)) args.Fail(SyntaxText(call));
  }
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// The stream of args[2]. A key that has to be there and is not has been answered.
FoundStream FindGroupStream(CommandCall& call, bool may_miss = false) {
  FoundStream found = FindStreamToChange(call, call.Key(2));
  if (found.failed || found.entry || may_miss) return found;
  call.reply.Error(
      "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to "
      "use the MKSTREAM option to create an empty stream automatically.");
  return {nullptr, true};
}

// The group of args[3], or null after an answer.
StreamGroup* FindGroup(CommandCall& call, const FoundStream& found) {
  StreamGroup* const group = found.stream()->FindGroup(call.args[3]);
  if (!group) ReplyNoGroupForKey(call, call.args[3], call.args[2]);
  return group;
}

// Options, key, the number of words, id, group: BUSYGROUP is the last fault of all, and the usual
// one in practice. MKSTREAM makes an empty stream, which stays even if nothing is ever added. "$"
// is read as 0-0 there.
//   XGROUP CREATE s g $           → -ERR The XGROUP subcommand requires the key to exist. Note ...
//   XGROUP CREATE s g $ MKSTREAM  → OK
//   XGROUP CREATE s g $           → -BUSYGROUP Consumer Group name already exists
void Create(CommandCall& call) {
  GroupOptions options{.creates = true};
  if (!ReadGroupOptions(call, options)) return;
  const FoundStream found = FindGroupStream(call, options.mkstream);
  if (found.failed) return;
  if (call.args.size() > 8) return ReplyGroupSyntax(call);  // some option twice
  StreamId id;
  if (call.args[4] != "$") {
    const std::optional<StreamId> given = ReadStreamId(call, call.args[4]);
    if (!given) return;
    id = *given;
  } else if (found.entry) {
    id = found.stream()->last_id();
  }
  if (found.entry && found.stream()->FindGroup(call.args[3])) {
    return call.reply.Error("BUSYGROUP Consumer Group name already exists");
  }
  StreamEdit stream(call, found.entry ? call.db.ModifyUnseen(*found.entry, call.now)
                                      : MakeStream(call, call.Key(2)));
  stream->AddGroup(call.args[3], id, options.entries_read);
  // "$" is the last id of now, here as there.
  call.Changed(kNotifyStream, "xgroup-create", call.args[2]);
  call.reply.Ok();
}

// Pending entries stay as they are: moving the last id back delivers entries again, moving it
// forward skips some. "-" and "+" are ids here, unlike in CREATE.
void SetId(CommandCall& call) {
  GroupOptions options{.creates = false};
  if (!ReadGroupOptions(call, options)) return;
  const FoundStream found = FindGroupStream(call);
  if (found.failed) return;
  StreamGroup* const group = FindGroup(call, found);
  if (!group) return;
  if (call.args.size() > 7) return ReplyGroupSyntax(call);
  StreamId id = found.stream()->last_id();
  if (call.args[4] != "$") {
    const std::optional<ParsedStreamId> given = ParseStreamId(call.args[4], {.ends = true});
    if (!given) {
      return call.reply.Error("ERR Invalid stream ID specified as stream command argument");
    }
    id = given->id;
  }
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  group->last_id = id;
  group->entries_read = options.entries_read;
  call.Changed(kNotifyStream, "xgroup-setid", call.args[2]);
  call.reply.Ok();
}

// --- DESTROY, CREATECONSUMER, DELCONSUMER

// With its pending entries, in one piece. Consumers that are blocked on the group get an error,
// since what they wait for cannot come. After `XGROUP CREATE s g $ MKSTREAM`:
//   XGROUP DESTROY s g        → 1
//   XGROUP DESTROY s g        → 0
//   XGROUP DESTROY nothing g  → -ERR The XGROUP subcommand requires the key to exist. Note ...
void Destroy(CommandCall& call) {
  const FoundStream found = FindGroupStream(call);
  if (found.failed) return;
  if (!found.stream()->FindGroup(call.args[3])) return call.reply.Integer(0);
  {
    StreamEdit stream(call, found, StreamEdit::Of::kGroups);
    stream->RemoveGroup(call.args[3]);
  }
  // For WATCH nothing has changed, but consumers may wait for the group.
  call.part<Waiters>().KeyTouched(call.db.index(), call.args[2], /*died=*/false);
  call.Changed(kNotifyStream, "xgroup-destroy", call.args[2]);
  call.reply.Integer(1);
}

// 0 if it is there already. A missing group is an error. After `XGROUP CREATE s g $ MKSTREAM`:
//   XGROUP CREATECONSUMER s g me  → 1
//   XGROUP CREATECONSUMER s g me  → 0
//   XGROUP CREATECONSUMER s h me  → -NOGROUP No such consumer group 'h' for key name 's'
void CreateConsumer(CommandCall& call) {
  const FoundStream found = FindGroupStream(call);
  if (found.failed) return;
  StreamGroup* const group = FindGroup(call, found);
  if (!group) return;
  if (group->FindConsumer(call.args[4])) return call.reply.Integer(0);
  if (!HasRoomFor(call, *group, call.args[4])) return;
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  group->AddConsumer(call.args[4], call.now.unix_ms());
  call.Changed(kNotifyStream, "xgroup-createconsumer", call.args[2]);
  call.reply.Integer(1);
}

// The answer is how many entries were pending: the group forgets them without an acknowledgement,
// so a client should claim them before.
void DelConsumer(CommandCall& call) {
  const FoundStream found = FindGroupStream(call);
  if (found.failed) return;
  StreamGroup* const group = FindGroup(call, found);
  if (!group) return;
  StreamConsumer* const consumer = group->FindConsumer(call.args[4]);
  if (!consumer) return call.reply.Integer(0);
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  const size_t pending = consumer->pending.size();
  group->RemoveConsumer(*consumer);
  call.Changed(kNotifyStream, "xgroup-delconsumer", call.args[2]);
  call.reply.Integer(static_cast<int64_t>(pending));
}

constexpr std::string_view kStreamGroupsHelp[] = {
    "CREATE <key> <groupname> <id|$> [option]",
    "    Create a new consumer group. Options are:",
    "    * MKSTREAM",
    "      Create the empty stream if it does not exist.",
    "    * ENTRIESREAD entries_read",
    "      Set the group's entries_read counter (internal use).",
    "CREATECONSUMER <key> <groupname> <consumer>",
    "    Create a new consumer in the specified group.",
    "DELCONSUMER <key> <groupname> <consumer>",
    "    Remove the specified consumer.",
    "DESTROY <key> <groupname>",
    "    Remove the specified group.",
    "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
    "    Set the current group ID and entries_read counter.",
};

void StreamGroupsHelp(CommandCall& call) { ReplyHelp(call, kStreamGroupsHelp); }

// --- XACK

// The key and the group come before the ids: a missing group is 0 even with bad ids. One bad id
// refuses the whole request. Ids that are not pending do not count. After `XADD s 1-1 f v`,
// `XGROUP CREATE s g 0`, `XREADGROUP GROUP g me STREAMS s >`:
//   XACK s g 1-1 9-9    → 1
//   XACK s g 1-1        → 0  known, and no longer pending
//   XACK s nothing 1-1  → 0
void XAck(CommandCall& call) {
  const FoundStream found = FindStream(call, call.Key(1));
  if (found.failed) return;
  StreamGroup* const group = found.entry ? found.stream()->FindGroup(call.args[2]) : nullptr;
  if (!group) return call.reply.Integer(0);
  std::vector<StreamId> ids;
  for (const std::string_view text : call.args.subspan(3)) {
    const std::optional<StreamId> id = ReadStreamId(call, text);
    if (!id) return;
    if (group->FindPending(*id)) ids.push_back(*id);
  }
  if (ids.empty()) return call.reply.Integer(0);
  StreamEdit stream(call, found, StreamEdit::Of::kGroups);
  int64_t acknowledged = 0;
  for (const StreamId id : ids) acknowledged += group->Release(id) ? 1 : 0;
  call.ChangedUnannounced(call.args[1]);
  call.reply.Integer(acknowledged);
}

// --- the tables

constexpr CommandRow kStreamGroupsSubcommandsListed[] = {
    {.name = "CREATE",
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(2, kKeyRw | kKeyInsert),
     .run = Create,
     .since = "5.0.0",
     .complexity = "O(1)",
     .usage = "key groupname id=<id | $> [MKSTREAM] [ENTRIESREAD entries_read:integer]",
     .summary = "Make a group that is given what comes after an id.",
     .history = "7.0.0 `ENTRIESREAD`."},
    {.name = "CREATECONSUMER",
     .arity = 5,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(2, kKeyRw | kKeyInsert),
     .run = CreateConsumer,
     .since = "6.2.0",
     .complexity = "O(1)",
     .usage = "key groupname consumername",
     .summary = "Make a consumer of a group."},
    {.name = "DELCONSUMER",
     .arity = 5,
     .flags = kWrite,
     .keys = KeyAt(2, kKeyRw | kKeyDelete),
     .run = DelConsumer,
     .since = "5.0.0",
     .complexity = "O(1)",
     .usage = "key groupname consumername",
     .summary = "Remove a consumer with all that is pending for it; how much that was."},
    {.name = "DESTROY",
     .arity = 4,
     .flags = kWrite,
     .keys = KeyAt(2, kKeyRw | kKeyDelete),
     .run = Destroy,
     .since = "5.0.0",
     .complexity =
         "O(N) where N is the number of entries in the group's pending entries list (PEL).",
     .usage = "key groupname",
     .summary = "Remove a group."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = StreamGroupsHelp,
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "The subcommands of XGROUP."},
    {.name = "SETID",
     .arity = -5,
     .flags = kWrite,
     .keys = KeyAt(2, kKeyRw | kKeyUpdate),
     .run = SetId,
     .since = "5.0.0",
     .complexity = "O(1)",
     .usage = "key groupname id=<id | $> [ENTRIESREAD entries_read:integer]",
     .summary = "Say after which id a group goes on.",
     .history = "7.0.0 `ENTRIESREAD`."},
};
constexpr auto kStreamGroupsSubcommands =
    RowsOf(kStreamGroupsSubcommandsListed, {.categories = kCatStream, .group = "stream"});

constexpr CommandRow kStreamGroupsRows[] = {
    {.name = "XGROUP",
     .arity = -2,
     .subcommands = kSpecsOf<kStreamGroupsSubcommands>,
     .group = "stream",
     .since = "5.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "Make, change and remove consumer groups."},
    {.name = "XACK",
     .arity = -4,
     .flags = kWrite | kFast,
     .categories = kCatStream,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = XAck,
     .group = "stream",
     .since = "5.0.0",
     .complexity = "O(1) for each message ID processed.",
     .usage = "key group id [id ...]",
     .summary = "Say that entries have been dealt with; how many were pending."},
};

}  // namespace

CommandFamily StreamGroupsFamily() { return {"stream groups", kSpecsOf<kStreamGroupsRows>}; }

}  // namespace sluice
