// DEBUG: what test suites ask a server to do to itself. Its words are a table of their own, because
// COMMAND knows DEBUG as one command. Only with enable-debug-command.
//
// Replies and faults are Redis's as far as suites look at them. Each word says how many arguments
// it takes; anything else is the sentence about subcommands.

#include <cmath>
#include <cstdlib>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/commands/admin/data_digest.h"
#include "server/commands/admin/debug_data.h"
#include "server/commands/families.h"
#include "server/commands/keys/dump_context.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/reference_count.h"
#include "server/commands/shared/rows.h"
#include "server/config/debug_settings.h"
#include "server/config/value.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/script_state.h"
#include "server/engine/script_engine.h"
#include "server/replication/replicas.h"
#include "storage/types/list.h"

namespace sluice {
namespace {

// 1 MiB below 4 GiB: what a list element of its own may have.
constexpr uint64_t kPackedThresholdMax = (uint64_t{1} << 32) - (1 << 20);  // as Redis has it
// An hour: a larger number would be a server that does not come back.
constexpr double kSleepSecondsMax = 3600;

// The whole server sleeps, as in Redis. Afterwards the turn's time is read anew, so that what was
// due meanwhile counts as due; inside a script time stands still all the same. Numbers are read as
// by C's strtod and strtol: the number at the start, 0 where there is none.
void Sleep(CommandCall& call) {
  const double seconds = std::strtod(std::string(call.args[2]).c_str(), nullptr);
  if (seconds > 0) {
    const double micros = std::fmin(seconds, kSleepSecondsMax) * 1e6;
    call.part<Host>().process().Sleep(static_cast<int64_t>(micros));
    const bool in_script = call.part<ScriptState>().running();  // there time stands still
    if (!in_script && call.part<TurnClock>().Refresh()) call.keyspace.WallStepped();
  }
  call.reply.Ok();
}

// With 0 the timers of keys do nothing; a key past its deadline still goes when a command finds it.
void SetActiveExpire(CommandCall& call) {
  const long on = std::strtol(std::string(call.args[2]).c_str(), nullptr, 10);
  call.keyspace.set_active_expiry(on != 0);
  call.reply.Ok();
}

// Stops, or with 0 resumes, the work of every second: a look at all clients, and samples.
void PauseCron(CommandCall& call) {
  const long paused = std::strtol(std::string(call.args[2]).c_str(), nullptr, 10);
  call.part<DebugSettings>().every_second_paused = paused != 0;
  call.reply.Ok();
}

// Redis's PEAK-RESET-TIME has nothing to set here: a buffer is given back when it has been sent.
void ReplyBuffer(CommandCall& call) {
  if (!IsWord(call.args[2], "RESIZING")) return call.reply.Error(ErrorCode::kSyntax);
  const long resized = std::strtol(std::string(call.args[3]).c_str(), nullptr, 10);
  call.part<DebugSettings>().keeps_reply_buffers = resized == 0;
  call.reply.Ok();
}

// --- data

// The value in a dump: without its type in front, version and checksum behind.
size_t SerializedBytes(CommandCall& call, const Entry& entry) {
  constexpr size_t kAround = 1 + 2 + 8;
  return WriteDump(entry, RdbContextOf(call)).size() - kAround;
}

// How a list is cut into chunks, in Redis's words for it. Suites check by it that a list is cut
// where Redis would cut it.
std::string ListChunks(CommandCall& call, const Entry& entry) {
  if (entry.type() != ValueType::kList) return {};
  const List& list = static_cast<const List&>(entry.value());
  // The average with two digits, in integers.
  const size_t hundredths = list.size() * 100 / list.chunks();
  return Concat(" ql_nodes:", list.chunks(), " ql_avg_node:", hundredths / 100, '.',
                hundredths / 10 % 10, hundredths % 10,
                " ql_listpack_max:", call.settings.list_max_listpack_size,
                " ql_compressed:0 ql_uncompressed_size:", list.MemoryBytes());
}

// Shows dead keys too, and marks no access. The address is the entry's; it says nothing across two
// calls.
void Object(CommandCall& call) {
  const Entry* entry = call.db.FindEvenExpired(call.Key(2));
  if (!entry) return call.reply.Error(ErrorCode::kNoSuchKey);
  // No address: that would differ from run to run, and tell where memory is.
  const HashedKey key = call.Key(2);
  char address[20];
  const auto end = std::to_chars(address, address + sizeof address,
                                 SipHash13(key.bytes, {key.hash, 0}) >> 17 << 4, 16);
  const int64_t idle_s = call.db.IdleSeconds(*entry, call.now);
  call.reply.Status(
      Concat("Value at:0x", std::string_view(address, static_cast<size_t>(end.ptr - address)),
             " refcount:", ReferenceCount(*entry, call.settings), " encoding:", entry->Encoding(),
             " serializedlength:", SerializedBytes(call, *entry), " lru:", entry->access_clock(),
             " lru_seconds_idle:", idle_s, ListChunks(call, *entry)));
}

// 0 is back to the default, which is never.
void QuicklistPackedThreshold(CommandCall& call) {
  const std::optional<uint64_t> bytes = ParseMemory(call.args[2]);
  if (!bytes || *bytes > kPackedThresholdMax) {
    return call.reply.Error(
        "ERR argument must be a memory value bigger than 1 and smaller than 4gb");
  }
  call.part<DebugSettings>().list_alone_bytes = *bytes == 0 ? SIZE_MAX : *bytes;
  call.reply.Ok();
}

// Equal on two servers that hold equal data, whatever way led there.
void DigestAll(CommandCall& call) { call.reply.Status(DigestOfAll(call.keyspace, call.now)); }

// Dead keys have a digest as well, as in Redis.
void DigestValues(CommandCall& call) {
  call.reply.Array(call.args.size() - 2);
  for (size_t i = 2; i < call.args.size(); ++i) {
    call.reply.Status(DigestOfValue(call.db.FindEvenExpired(call.Key(i)), call.now));
  }
}

// --- replies

// 0, 1, 2: the elements of an array or a set.
void ReplyNumbers(ReplySink& reply) {
  for (int64_t i = 0; i < 3; ++i) reply.Integer(i);
}

// A word, and one reply of that type. Client libraries test their parsers with it.
struct ProtocolType {
  std::string_view word;
  void (*answer)(ReplySink& reply);
};
// Each answers what Redis's DEBUG PROTOCOL answers, byte for byte.
constexpr ProtocolType kProtocolTypes[] = {
    {"STRING", [](ReplySink& reply) { reply.Bulk("Hello World"); }},
    {"INTEGER", [](ReplySink& reply) { reply.Integer(12345); }},
    {"DOUBLE", [](ReplySink& reply) { reply.Double(3.141); }},
    {"NULL", [](ReplySink& reply) { reply.Null(); }},
    {"ARRAY",
     [](ReplySink& reply) {
       reply.Array(3);
       ReplyNumbers(reply);
     }},
    {"SET",
     [](ReplySink& reply) {
       reply.Set(3);
       ReplyNumbers(reply);
     }},
    {"MAP",
     [](ReplySink& reply) {
       reply.Map(3);
       for (int64_t i = 0; i < 3; ++i) {
         reply.Integer(i);
         reply.Bool(i == 1);
       }
     }},
    {"ATTRIB",
     [](ReplySink& reply) {
       if (reply.version() > 2) {
         reply.Attribute(1);
         reply.Bulk("key-popularity");
         reply.Array(2);
         reply.Bulk("key:123");
         reply.Integer(90);
       }
       reply.Bulk("Some real reply following the attribute");
     }},
    {"PUSH",
     [](ReplySink& reply) {
       if (reply.version() < 3) {
         return reply.Error("ERR RESP2 is not supported by this command");
       }
       reply.Push(2);
       reply.Bulk("server-cpu-usage");
       reply.Integer(42);
       reply.Bulk("Some real reply following the push reply");
     }},
    {"TRUE", [](ReplySink& reply) { reply.Bool(true); }},
    {"FALSE", [](ReplySink& reply) { reply.Bool(false); }},
    {"VERBATIM", [](ReplySink& reply) { reply.Verbatim("This is a verbatim\nstring", "txt"); }},
    {"BIGNUM", [](ReplySink& reply) { reply.BigNumber("1234567999999999999999999999999999999"); }},
};

// RESP2 sees the types that it has not in their older forms.
void Protocol(CommandCall& call) {
  for (const ProtocolType& row : kProtocolTypes) {
    if (IsWord(call.args[2], row.word)) return row.answer(call.reply);
  }
  call.reply.Error(
      "ERR Wrong protocol type name. Please use one of the following: "
      "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
}

// Line ends would end the reply, so they become spaces; the rest goes out as it came.
void Error(CommandCall& call) {
  std::string text(call.args[2]);
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  // As in Redis it counts as no error: nothing has failed.
  if (call.client.conditions & kInScript) return call.reply.Error(text);
  ReplyWriter& writer = call.client.writer;
  writer.set_error_listener(nullptr);
  call.reply.Error(text);
  writer.set_error_listener(&call.part<Clients>());
}

// At the level of a warning, so that it is written whatever the level of the log.
void LogLine(CommandCall& call) {
  call.part<Host>().Log(LogLevel::kWarning, Concat("DEBUG LOG: ", call.args[2]));
  call.reply.Ok();
}

// Words of any kind, which no server needs to know: as they are, and before what this command's
// transaction does.
void Replicate(CommandCall& call) {
  call.part<Replicas>().TellWords(call.args.subspan(2));
  call.reply.Ok();
}

// Frees DEBUG alone of the commands that scripts may not call: the rest would need a client.
void SetDisableDenyScripts(CommandCall& call) {
  const long on = std::strtol(std::string(call.args[2]).c_str(), nullptr, 10);
  call.part<ScriptEngine>().set_may_debug(on != 0);
  call.reply.Ok();
}

constexpr std::string_view kDebugHelp[] = {
    "DIGEST",
    "    A hash of all data: the same on every server that holds the same.",
    "DIGEST-VALUE <key> [<key> ...]",
    "    Such a hash of the value of each key.",
    "ERROR <string>",
    "    Answer with that error.",
    "LOG <message>",
    "    Write the message into the log.",
    "OBJECT <key>",
    "    How the value of the key is kept.",
    "PAUSE-CRON <0|1>",
    "    With 1, what is done once a second waits.",
    "POPULATE <count> [<prefix>] [<size>]",
    "    Make keys prefix:0, prefix:1 ... where there are none, with texts of that size.",
    "PROTOCOL <type>",
    "    An answer of that type: string, integer, double, bignum, null, array, set, map, attrib,",
    "    push, verbatim, true, false.",
    "QUICKLIST-PACKED-THRESHOLD <size>",
    "    From that size on an element of a list is kept alone; 0: as usual.",
    "LOADAOF",
    "    Load the data anew from the log. Locks stay as they are.",
    "RELOAD [NOSAVE] [NOFLUSH] [MERGE]",
    "    Save a snapshot (not with NOSAVE) and load it anew; with NOFLUSH to what there is; with "
    "MERGE",
    "    a key that is there is replaced. Locks stay as they are.",
    "REPLICATE <word> [<word> ...]",
    "    Send the words to the replicas as a command, whatever they are.",
    "REPLYBUFFER RESIZING <0|1>",
    "    With 0, clients keep the memory of answers that they have been sent.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    With 0, expired keys stay until somebody asks for them.",
    "SET-DISABLE-DENY-SCRIPTS <0|1>",
    "    With 1, scripts may call DEBUG.",
    "SLEEP <seconds>",
    "    Do nothing for so long, and serve nobody. Decimals are fine.",
};

void DebugHelp(CommandCall& call) { ReplyHelp(call, kDebugHelp); }

// --- the tables

// `arguments_max` is SIZE_MAX where any number goes.
struct DebugWord {
  std::string_view word;
  size_t arguments_min, arguments_max;  // behind the word
  Handler run;
};
// Word, how many arguments may stand behind it, handler.
constexpr DebugWord kWords[] = {
    {"DIGEST", 0, 0, DigestAll},
    {"DIGEST-VALUE", 0, SIZE_MAX, DigestValues},
    {"ERROR", 1, 1, Error},
    {"HELP", 0, 0, DebugHelp},
    {"LOG", 1, 1, LogLine},
    {"OBJECT", 1, 1, Object},
    {"POPULATE", 1, 3, DebugPopulate},
    {"PROTOCOL", 1, 1, Protocol},
    {"QUICKLIST-PACKED-THRESHOLD", 1, 1, QuicklistPackedThreshold},
    {"PAUSE-CRON", 1, 1, PauseCron},
    {"REPLICATE", 1, SIZE_MAX, Replicate},
    {"REPLYBUFFER", 2, 2, ReplyBuffer},
    {"LOADAOF", 0, SIZE_MAX, DebugLoadAof},
    {"RELOAD", 0, SIZE_MAX, DebugReload},
    {"SET-ACTIVE-EXPIRE", 1, 1, SetActiveExpire},
    {"SET-DISABLE-DENY-SCRIPTS", 1, 1, SetDisableDenyScripts},
    {"SLEEP", 1, 1, Sleep},
};

// A word with a wrong number of arguments and an unknown word get the same sentence.
void Debug(CommandCall& call) {
  const size_t arguments = call.args.size() - 2;
  for (const DebugWord& row : kWords) {
    if (!IsWord(call.args[1], row.word)) continue;
    if (arguments < row.arguments_min || arguments > row.arguments_max) break;
    return row.run(call);
  }
  call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '",
                          call.args[1].substr(0, 128), "'. Try DEBUG HELP."));
}

// kProtected: the gate asks enable-debug-command before the handler runs.
constexpr CommandRow kDebugRows[] = {
    {.name = "DEBUG",
     .arity = -2,
     .flags = kAdmin | kNoScript | kLoading | kStale | kProtected | kSystem,
     .run = Debug,
     .group = "server",
     .since = "1.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "For tests: look inside, and misbehave on demand."},
};

}  // namespace

CommandFamily DebugFamily() { return {"debug", kSpecsOf<kDebugRows>}; }

}  // namespace sluice
