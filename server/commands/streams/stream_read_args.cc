// See stream_read_args.h.
#include "server/commands/streams/stream_read_args.h"

#include <limits>

#include "protocol/text/concat.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

bool Fail(CommandCall& call, std::string_view text) {
  call.reply.Error(text);
  return false;
}

bool ReadTimeout(CommandCall& call, std::string_view text, ReadArgs& args) {
  const std::optional<int64_t> ms =
      ReadInteger(call, text, "ERR timeout is not an integer or out of range");
  if (!ms) return false;
  if (*ms < 0) return Fail(call, ErrorText(ErrorCode::kNegativeTimeout));
  if (*ms > std::numeric_limits<int64_t>::max() - call.now.unix_ms()) {
    return Fail(call, "ERR timeout is out of range");
  }
  args.block_until_ms = *ms == 0 ? 0 : *ms + call.now.ms();
  return true;
}

}  // namespace

bool ReadStreamOptions(CommandCall& call, ReadArgs& args) {
  ArgReader reader(call.args, 1);
  while (reader.more() && args.first_key == 0) {
    if (reader.left() >= 2 && reader.TakeWord("BLOCK")) {
      if (call.client.conditions & kInScript) {
        call.reply.Error(
            Concat("ERR ", call.args[0], " command is not allowed with BLOCK option from scripts"));
        return false;
      }
      if (!ReadTimeout(call, reader.Bytes(), args)) return false;
    } else if (reader.left() >= 2 && reader.TakeWord("COUNT")) {
      const std::optional<int64_t> count = ReadInteger(call, reader.Bytes());
      if (!count) return false;
      args.count = *count <= 0 ? ReadArgs::kNoCount : static_cast<uint64_t>(*count);
    } else if (reader.left() >= 2 && reader.TakeWord("STREAMS")) {
      args.first_key = reader.position();
      if (reader.left() % 2 != 0) {
        return Fail(call,
                    "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must "
                    "be specified.");
      }
      args.streams = reader.left() / 2;
    } else if (reader.left() >= 3 && reader.TakeWord("GROUP")) {
      if (!args.in_group) {
        return Fail(call,
                    "ERR The GROUP option is only supported by XREADGROUP. You called XREAD "
                    "instead.");
      }
      args.group = reader.Bytes();
      args.consumer = reader.Bytes();
      args.has_group = true;
    } else if (reader.TakeWord("NOACK")) {
      if (!args.in_group) {
        return Fail(call,
                    "ERR The NOACK option is only supported by XREADGROUP. You called XREAD "
                    "instead.");
      }
      args.no_ack = true;
    } else {
      return Fail(call, ErrorText(ErrorCode::kSyntax));
    }
  }
  if (args.first_key == 0) return Fail(call, ErrorText(ErrorCode::kSyntax));
  if (args.in_group && !args.has_group) {
    return Fail(call, "ERR Missing GROUP option for XREADGROUP");
  }
  return true;
}

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
  }
  return true;
}

}  // namespace sluice
