// See stream_read_args.h.
#include "server/commands/streams/stream_read_args.h"

#include "protocol/text/concat.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// Answers, and is false, for `return Fail(...)`.
bool Fail(CommandCall& call, std::string_view text) {
  call.reply.Error(text);
  return false;
}

// A request up to its keys.
struct Reading {
  const CommandCall* call;
  ReadArgs& args;
};

// In ms, 0 for ever. Scripts may not ask for it at all; in MULTI it is read and does not wait.
void ReadBlock(ArgReader& reader, Reading& reading) {
  const CommandCall& call = *reading.call;
  // The sentence names the command as the script wrote it.
  if (call.client.conditions & kInScript) {
    return reader.Fail(
        Concat("ERR ", call.args[0], " command is not allowed with BLOCK option from scripts"));
  }
  const int64_t ms = TakeInteger(reader, "ERR timeout is not an integer or out of range");
  if (ms < 0) return reader.Fail(ErrorCode::kNegativeTimeout);
  // The end of the wait must be a Unix time. The wall clock may stand before 1970.
  int64_t end_unix_ms;
  if (__builtin_add_overflow(ms, call.now.unix_ms(), &end_unix_ms)) {
    return reader.Fail("ERR timeout is out of range");
  }
  reading.args.block_until_ms = ms == 0 ? 0 : EndOfWait(call, ms);
}

// Zero and less mean no limit.
void ReadCount(ArgReader& reader, Reading& reading) {
  const int64_t count = reader.Int();
  reading.args.count = count <= 0 ? ReadArgs::kNoCount : static_cast<uint64_t>(count);
}

// The keys follow, and then as many ids.
void ReadStreams(ArgReader& reader, Reading& reading) {
  reading.args.first_key = reader.position();
  if (reader.left() % 2 != 0) {
    return reader.Fail(
        "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be "
        "specified.");
  }
  reading.args.streams = reader.left() / 2;
}

// XREAD knows the words GROUP, NOACK and CLAIM only to refuse them with a sentence of their own.
void ReadGroup(ArgReader& reader, Reading& reading) {
  if (!reading.args.in_group) {
    return reader.Fail(
        "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
  }
  reading.args.group = reader.Bytes();
  reading.args.consumer = reader.Bytes();
  reading.args.has_group = true;
}

// Entries that are given out need no XACK: they never become pending.
void ReadNoAck(ArgReader& reader, Reading& reading) {
  if (!reading.args.in_group) {
    return reader.Fail(
        "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
  }
  reading.args.no_ack = true;
}

// For ids other than ">" it says nothing.
void ReadClaim(ArgReader& reader, Reading& reading) {
  if (!reading.args.in_group) {
    return reader.Fail(
        "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.");
  }
  const int64_t ms = TakeInteger(reader, "ERR min-idle-time is not an integer");
  if (ms < 0) return reader.Fail("ERR min-idle-time must be a positive integer");
  reading.args.claim_min_ms = ms;
}

// In any order, and each as often as it comes: the last one counts.
constexpr OptionRow<Reading> kStreamReadArgsOptions[] = {
    {"BLOCK", ReadBlock, 1}, {"COUNT", ReadCount, 1}, {"STREAMS", ReadStreams, 1},
    {"GROUP", ReadGroup, 2}, {"NOACK", ReadNoAck},    {"CLAIM", ReadClaim, 1},
};

}  // namespace

// STREAMS ends the options: all that follows are keys and ids. Redis looks for a missing GROUP
// last.
bool ReadStreamOptions(CommandCall& call, ReadArgs& args) {
  ArgReader reader(call.args, 1);
  Reading reading{&call, args};
  while (reader.more() && args.first_key == 0) {
    if (!TakeOption(reader, kStreamReadArgsOptions, reading)) reader.Fail(ErrorCode::kSyntax);
  }
  if (args.first_key == 0) reader.Fail(ErrorCode::kSyntax);
  if (args.in_group && !args.has_group) reader.Fail("ERR Missing GROUP option for XREADGROUP");
  return !reader.failed() || Fail(call, reader.error());
}

// Whether the ids are as many as the keys is for the handler: too few leave a key that it refuses.
bool FindStreamKeys(const Request& request, std::vector<KeyUse>& keys) {
  ReadArgs args;
  const Reading reading{nullptr, args};
  size_t first = 0;
  const auto see = [&](const OptionRow<Reading>& row, size_t at) {
    if (row.read == ReadStreams && first == 0) first = at + 1;
  };
  SeeOptions(ArgReader(request.args), kStreamReadArgsOptions, reading, see);
  if (first == 0) return true;
  const size_t streams = (request.args.size() - first) / 2;
  for (size_t i = 0; i < streams; ++i) {
    keys.push_back({static_cast<int>(first + i), kKeyRo | kKeyAccess});
  }
  return streams > 0;
}

// Two words are for one of the commands each: "$" for XREAD, the last id of this moment, and ">"
// for XREADGROUP. "$" of a missing key is 0-0, so that its very first entry counts as new.
bool ReadPlace(CommandCall& call, const ReadArgs& args, const FoundStream& found,
               std::string_view text, From& from) {
  if (text == "$") {
    if (args.in_group) {
      return Fail(call,
                  "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the "
                  "history of this consumer by specifying a proper ID, or use the > ID to get new "
                  "messages. The $ ID would just return an empty result set.");
    }
    if (found.entry) from.id = found.stream()->last_id();
    return true;
  }
  if (text == ">") {
    if (!args.in_group) {
      return Fail(call,
                  "ERR The > ID can be specified only when calling XREADGROUP using the GROUP "
                  "<group> <consumer> option.");
    }
    from.kind = From::Kind::kNew;
    return true;
  }
  const std::optional<StreamId> id = ReadStreamId(call, text);
  if (!id) return false;
  from.id = *id;
  if (args.in_group && *id == StreamId::Max()) from.kind = From::Kind::kNew;  // as in Redis
  return true;
}

// Key by key: type, group, id. A missing key is fine for XREAD.
bool ReadStreamPlaces(CommandCall& call, ReadArgs& args) {
  args.from.resize(args.streams);
  for (size_t i = 0; i < args.streams; ++i) {
    const FoundStream found = FindStream(call, call.Key(args.first_key + i));
    if (found.failed) return false;
    if (args.in_group && (!found.entry || !found.stream()->FindGroup(args.group))) {
      ReplyNoGroup(call, args.key(call, i), args.group, " in XREADGROUP with GROUP option");
      return false;
    }
    const std::string_view text = call.args[args.first_key + args.streams + i];
    if (!ReadPlace(call, args, found, text, args.from[i])) return false;
    if (args.in_group && !HasRoomFor(call, *found.stream()->FindGroup(args.group), args.consumer)) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice
