// See stream_trim_args.h.
#include "server/commands/streams/stream_trim_args.h"

#include <algorithm>

#include "protocol/text/number_text.h"
#include "server/commands/streams/stream_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// What an approximate trim does at most when LIMIT does not say: a hundred nodes.
constexpr int64_t kTrimNodes = 100;
constexpr int64_t kTrimDefault = 10'000;
constexpr int64_t kTrimMost = 1'000'000;

// Reads the words one by one as Redis does, so that the first fault is the same one. Every method
// answers false after it has answered an error.
class Reader {
 public:
  Reader(CommandCall& call, bool adds) : call_(call), args_(call.args, 2), adds_(adds) {}

  std::optional<AddTrimArgs> Read() {
    bool at_id = false;
    while (args_.more() && !at_id) {
      if (adds_ && args_.Peek() == "*") {
        at_id = true;
        args_.Skip();
      } else if (args_.left() >= 2 && args_.TakeWord("MAXLEN")) {
        if (!ReadBound(StreamTrim::By::kLength)) return std::nullopt;
      } else if (args_.left() >= 2 && args_.TakeWord("MINID")) {
        if (!ReadBound(StreamTrim::By::kId)) return std::nullopt;
      } else if (args_.left() >= 2 && args_.TakeWord("LIMIT")) {
        if (!ReadLimit()) return std::nullopt;
      } else if (adds_ && args_.TakeWord("NOMKSTREAM")) {
        result_.no_mkstream = true;
      } else if (adds_) {
        if (!ReadId()) return std::nullopt;
        at_id = true;
      } else {
        return Fail(ErrorText(ErrorCode::kSyntax));
      }
    }
    result_.rest = args_.position();
    if (!Check()) return std::nullopt;
    return result_;
  }

 private:
  std::nullopt_t Fail(std::string_view text) {
    call_.reply.Error(text);
    return std::nullopt;
  }

  bool ReadBound(StreamTrim::By by) {
    if (result_.trim.by != StreamTrim::By::kNothing) {
      Fail("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
      return false;
    }
    const bool has_sign = args_.left() >= 2 && (args_.Peek() == "~" || args_.Peek() == "=");
    result_.trim.approximate = has_sign && args_.Peek() == "~";
    if (has_sign) args_.Skip();
    result_.trim.by = by;
    if (by == StreamTrim::By::kId) {
      const std::optional<StreamId> id = ReadStreamId(call_, args_.Bytes());
      if (id) result_.trim.id_min = *id;
      return id.has_value();
    }
    const std::optional<int64_t> length = ReadInteger(call_, args_.Bytes());
    if (!length) return false;
    if (*length < 0) {
      Fail("ERR The MAXLEN argument must be >= 0.");
      return false;
    }
    result_.trim.length_max = static_cast<uint64_t>(*length);
    return true;
  }

  bool ReadLimit() {
    limit_ = ReadInteger(call_, args_.Bytes());
    if (limit_ && *limit_ < 0) Fail("ERR The LIMIT argument must be >= 0.");
    return limit_ && *limit_ >= 0;
  }

  bool ReadId() {
    const std::optional<ParsedStreamId> parsed =
        ParseStreamId(args_.Bytes(), {.any_sequence = true});
    if (!parsed) {
      Fail("ERR Invalid stream ID specified as stream command argument");
      return false;
    }
    result_.id = parsed->id;
    result_.any_sequence = parsed->any_sequence;
    return true;
  }

  bool Check() {
    const bool trims = result_.trim.by != StreamTrim::By::kNothing;
    std::string_view fault;
    if (limit_.value_or(0) != 0 && !trims) {
      fault = "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy";
    } else if (!adds_ && !trims) {
      fault = "ERR syntax error, XTRIM must be called with a trimming strategy";
    } else if (limit_ && !result_.trim.approximate) {
      fault = "ERR syntax error, LIMIT cannot be used without the special ~ option";
    }
    if (!fault.empty()) Fail(fault);
    if (result_.trim.approximate) {
      result_.trim.limit = static_cast<uint64_t>(limit_.value_or(DefaultLimit()));
    }
    return fault.empty();
  }

  int64_t DefaultLimit() const {
    const int64_t entries = call_.settings.stream_node_max_entries;
    if (entries <= 0) return kTrimDefault;
    return entries >= kTrimMost / kTrimNodes ? kTrimMost : entries * kTrimNodes;
  }

  CommandCall& call_;
  ArgReader args_;
  const bool adds_;
  AddTrimArgs result_;
  std::optional<int64_t> limit_;
};

}  // namespace

std::optional<AddTrimArgs> ReadAddArgs(CommandCall& call) { return Reader(call, true).Read(); }

std::optional<AddTrimArgs> ReadTrimArgs(CommandCall& call) { return Reader(call, false).Read(); }

StreamNodeLimits NodeLimits(const CommandCall& call) {
  const Settings& settings = call.settings;
  return {static_cast<uint64_t>(settings.stream_node_max_entries),
          static_cast<uint64_t>(settings.stream_node_max_bytes)};
}

std::string_view TrimWord(const StreamTrim& trim) {
  return trim.by == StreamTrim::By::kLength ? "MAXLEN" : "MINID";
}

std::string TrimBound(const StreamTrim& trim, const Stream& trimmed) {
  if (trim.by == StreamTrim::By::kLength) return Int64Text(static_cast<int64_t>(trimmed.length()));
  return trimmed.FirstKeptId().value_or(StreamId::Max()).Text();
}

}  // namespace sluice
