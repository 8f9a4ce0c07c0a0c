// See stream_position.h.
#include "storage/log/stream_position.h"

#include <algorithm>
#include <array>

#include "protocol/text/concat.h"
#include "protocol/text/hex.h"
#include "protocol/text/number_text.h"
#include "storage/log/held_clock.h"

namespace sluice {
namespace {

constexpr int64_t kStreamDbMax = INT32_MAX;
constexpr std::string_view kUnknownClock = "-";
// By StreamKind.
constexpr std::string_view kStreamKinds[] = {"redis", "sluice", "mixed"};

bool IsHex(char c) { return HexDigit(c) >= 0; }

std::optional<int64_t> ReadStreamNumber(std::string_view text, int64_t max) {
  const std::optional<int64_t> number = ParseInt64(text);
  return number && *number >= 0 && *number <= max ? number : std::nullopt;
}

}  // namespace

std::optional<ReplicationId> ReplicationId::Of(std::string_view text) {
  if (text.size() != kBytes || !std::ranges::all_of(text, IsHex)) return std::nullopt;
  ReplicationId id;
  std::ranges::copy(text, id.digits_.begin());
  return id;
}

std::string ReadingText(const StreamReading& reading) {
  const std::string clock =
      reading.unix_offset_ms ? Int64Text(*reading.unix_offset_ms) : std::string(kUnknownClock);
  return Concat(reading.db, " ", kStreamKinds[static_cast<size_t>(reading.kind)], " ", clock, " ",
                reading.told_ms);
}

std::optional<StreamReading> ReadReading(std::string_view text) {
  std::array<std::string_view, 4> words;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t end = i + 1 < words.size() ? text.find(' ') : text.size();
    if (end == text.npos) return std::nullopt;
    words[i] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::optional<int64_t> db = ReadStreamNumber(words[0], kStreamDbMax);
  const auto* const kind = std::ranges::find(kStreamKinds, words[1]);
  const std::optional<int64_t> clock = ParseInt64(words[2]);
  const std::optional<int64_t> told_ms = ReadStreamNumber(words[3], kLogMomentMsMax);
  const bool is_clock_right =
      clock ? *clock >= -kLogMomentMsMax && *clock <= kLogMomentMsMax : words[2] == kUnknownClock;
  if (!db || kind == std::end(kStreamKinds) || !told_ms || !is_clock_right) return std::nullopt;
  return StreamReading{.kind = static_cast<StreamKind>(kind - std::begin(kStreamKinds)),
                       .db = static_cast<int>(*db),
                       .unix_offset_ms = clock,
                       .told_ms = *told_ms};
}

std::string OriginText(const StreamOrigin& origin) {
  return Concat(kStreamKinds[static_cast<size_t>(origin.kind)], " ", origin.from);
}

std::optional<StreamOrigin> ReadOrigin(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  const auto* const kind = std::ranges::find(kStreamKinds, text.substr(0, space));
  if (kind == std::end(kStreamKinds) || space == text.size()) return std::nullopt;
  const std::optional<int64_t> from = ReadStreamNumber(text.substr(space + 1), kStreamOffsetMax);
  if (!from) return std::nullopt;
  return StreamOrigin{static_cast<StreamKind>(kind - std::begin(kStreamKinds)), *from};
}

std::string StreamLine(const StreamPosition& position) {
  const std::string reading =
      position.reading ? Concat(" ", ReadingText(*position.reading)) : std::string();
  return Concat(kLogStream, position.id.text(), " ", position.offset, reading, "\r\n");
}

std::optional<StreamPosition> ReadStreamLine(std::string_view line) {
  if (!line.starts_with(kLogStream) || !line.ends_with("\r\n")) return std::nullopt;
  line.remove_prefix(kLogStream.size());
  line.remove_suffix(2);
  const size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  const std::optional<ReplicationId> id = ReplicationId::Of(line.substr(0, space));
  line.remove_prefix(space + 1);
  const size_t end = std::min(line.find(' '), line.size());
  const std::optional<int64_t> offset = ReadStreamNumber(line.substr(0, end), kStreamOffsetMax);
  if (!id || !offset) return std::nullopt;
  StreamPosition position{.id = *id, .offset = *offset};
  if (end == line.size()) return position;
  position.reading = ReadReading(line.substr(end + 1));
  if (!position.reading) return std::nullopt;
  return position;
}

void StreamFields::Take(std::string_view name, std::string_view value) {
  if (name == kRdbStreamIdField) id_ = ReplicationId::Of(value);
  if (name == kRdbStreamOffsetField) offset_ = ReadStreamNumber(value, kStreamOffsetMax);
  if (name == kRdbStreamDbField) db_ = ReadStreamNumber(value, kStreamDbMax);
  if (name == kRdbStreamReadingField) reading_ = ReadReading(value);
}

std::optional<StreamPosition> StreamFields::position() const {
  if (!id_ || !offset_) return std::nullopt;
  return StreamPosition{.id = *id_,
                        .offset = *offset_,
                        .db = db_ ? static_cast<int>(*db_) : StreamPosition::kUnknownDatabase,
                        .reading = reading_};
}

}  // namespace sluice
