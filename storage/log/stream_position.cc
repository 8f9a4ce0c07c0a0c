// See stream_position.h.
#include "storage/log/stream_position.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/hex.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr int64_t kStreamDbMax = INT32_MAX;

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

std::string StreamLine(const StreamPosition& position) {
  return Concat(kLogStream, position.id.text(), " ", position.offset, "\r\n");
}

std::optional<StreamPosition> ReadStreamLine(std::string_view line) {
  if (!line.starts_with(kLogStream) || !line.ends_with("\r\n")) return std::nullopt;
  line.remove_prefix(kLogStream.size());
  line.remove_suffix(2);
  const size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  const std::optional<ReplicationId> id = ReplicationId::Of(line.substr(0, space));
  const std::optional<int64_t> offset = ReadStreamNumber(line.substr(space + 1), INT64_MAX);
  if (!id || !offset) return std::nullopt;
  return StreamPosition{.id = *id, .offset = *offset};
}

void StreamFields::Take(std::string_view name, std::string_view value) {
  if (name == kRdbStreamIdField) id_ = ReplicationId::Of(value);
  if (name == kRdbStreamOffsetField) offset_ = ReadStreamNumber(value, INT64_MAX);
  if (name == kRdbStreamDbField) db_ = ReadStreamNumber(value, kStreamDbMax);
}

std::optional<StreamPosition> StreamFields::position() const {
  if (!id_ || !offset_) return std::nullopt;
  return StreamPosition{.id = *id_,
                        .offset = *offset_,
                        .db = db_ ? static_cast<int>(*db_) : StreamPosition::kUnknownDatabase};
}

}  // namespace sluice
