// StreamPosition: a place in the stream of changes that a server sends its replicas, in Redis's
// terms: whose stream it is, and how many bytes of it have been sent. Files keep it, so that a
// server that starts from them can tell which replicas have all that it has:
//
//   #REPL:<id> <offset>\r\n                   in the log, before the mark of a turn: as of its end
//   #REPL:<id> <offset> <how to read on>\r\n   the same of a stream that the server follows
//   repl-stream-db, repl-id, repl-offset      AUX fields of an RDB file, as Redis writes and reads
//                                             them: as of the file's instant
//
// Data and position belong together. A place that says nothing of the stream makes what was said
// before it void: data that have gone on without it are no longer those of that position.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// Names one stream: 40 hex digits, as run ids of Redis.
class ReplicationId {
 public:
  static constexpr size_t kBytes = 40;
  // Null: the text is no id.
  static std::optional<ReplicationId> Of(std::string_view text);

  std::string_view text() const { return {digits_.data(), digits_.size()}; }
  bool operator==(const ReplicationId&) const = default;

 private:
  ReplicationId() = default;
  std::array<char, kBytes> digits_;
};

// The maker of a stream's words. A redis-server that stands between passes all of a Sluice's on,
// but has given out data before that lack what Redis cannot hold.
enum class StreamKind : uint8_t { kOfRedis, kOfSluice, kOfSluiceThroughRedis };

// How a stream is to be read from a position on: what it has said before, and does not say again.
struct StreamReading {
  StreamKind kind = StreamKind::kOfRedis;
  int db = 0;                             // selected
  std::optional<int64_t> unix_offset_ms;  // of a Sluice: by which its moments are written
  int64_t told_ms = 0;                    // the engine time that it has told last; 0: none
  bool operator==(const StreamReading&) const = default;
};

// In words: "3 sluice 1700000000000 5000".
std::string ReadingText(const StreamReading& reading);
// Null: the text is not what ReadingText writes.
std::optional<StreamReading> ReadReading(std::string_view text);

// The maker of a stream's words from an offset on; before that it is what it was.
struct StreamOrigin {
  StreamKind kind = StreamKind::kOfRedis;
  int64_t from = 0;
  bool operator==(const StreamOrigin&) const = default;
};
std::string OriginText(const StreamOrigin& origin);  // "sluice 17"
std::optional<StreamOrigin> ReadOrigin(std::string_view text);

// No stream gets so long: an offset that a peer or a file names beyond it is none.
inline constexpr int64_t kStreamOffsetMax = int64_t{1} << 62;

struct StreamPosition {
  static constexpr int kUnknownDatabase = -1;

  ReplicationId id;
  int64_t offset = 0;         // bytes of the stream that lie before it
  int db = kUnknownDatabase;  // which the stream has selected there; the log does not tell
  std::optional<StreamReading> reading = std::nullopt;  // of a stream that is followed
  bool operator==(const StreamPosition&) const = default;
};

inline constexpr std::string_view kLogStream = "#REPL:";

// The log's line, with its end.
std::string StreamLine(const StreamPosition& position);
// Null: the line is not what StreamLine writes.
std::optional<StreamPosition> ReadStreamLine(std::string_view line);

// The AUX fields. Redis writes them in this order.
inline constexpr std::string_view kRdbStreamDbField = "repl-stream-db";
inline constexpr std::string_view kRdbStreamIdField = "repl-id";
inline constexpr std::string_view kRdbStreamOffsetField = "repl-offset";
// Our own: ReadingText of a stream that is followed.
inline constexpr std::string_view kRdbStreamReadingField = "sluice-stream";

// Gathers the fields of a file. One that is malformed counts as missing, as it does to Redis.
class StreamFields {
 public:
  // Any AUX field may be handed in.
  void Take(std::string_view name, std::string_view value);
  // Null: id or offset is missing.
  std::optional<StreamPosition> position() const;

 private:
  std::optional<ReplicationId> id_;
  std::optional<int64_t> offset_;
  std::optional<int64_t> db_;
  std::optional<StreamReading> reading_;
};

}  // namespace sluice
