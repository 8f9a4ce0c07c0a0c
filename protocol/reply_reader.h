// ReplyReader: RESP2 and RESP3 replies as values, for tests, for the embedding API and for links to
// other servers. Bounded: depth and sizes come from a peer. RESP3's streamed strings and aggregates
// ("$?", "*?"), which no server sends, are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A value that owns all of its texts and elements.
struct Reply {
  // By the first byte: + status, - error, : integer, $ bulk, _ null, * array, % map, ~ set, > push,
  // , double, # bool, ( big number, = verbatim, | attribute; "$-1" and "*-1" are RESP2's nulls.
  enum class Kind : uint8_t {
    kStatus,
    kError,
    kInteger,
    kBulk,
    kNull,
    kNullBulk,
    kNullArray,
    kArray,
    kMap,
    kSet,
    kPush,
    kDouble,
    kBool,
    kBigNumber,
    kVerbatim,
    kAttribute
  };
  Kind kind = Kind::kNull;
  int64_t integer = 0;  // kInteger, kBool
  std::string text;     // bytes of a scalar (kDouble: its text; kVerbatim: "txt:...")
  // An aggregate's; a map's keys and values alternate. An attribute stands before the element that
  // it describes and is not counted in the aggregate's length; at the top it is a reply of its own.
  std::vector<Reply> elements;

  bool operator==(const Reply&) const = default;
  // As redis-cli's --no-raw shows it, but on one line and typed; binary-safe; for messages and
  // transcripts:
  // +OK  -ERR text  :1  "bulk"  (nil)  (nil-array)  [a, b]  {k => v}  ~[a]  >[a]  ,1.5  #t  (n
  // =txt:..  |{k => v}
  std::string ToText() const;
};

// Reading is O(bytes). An incomplete reply is read again from its start, so a caller that gets a
// large reply in small pieces does better to gather some before it asks.
class ReplyReader {
 public:
  // Levels that a peer may nest: reading recurses once a level.
  static constexpr int kDepthMax = 128;
  static constexpr int64_t kElementsMax = 1LL << 31;  // of one aggregate

  // Reads one reply at the start of `bytes`; null while incomplete or after an error (failed()). On
  // success consumed() is its size. Invariant: no state is kept between calls but the outcome of
  // the last one.
  std::optional<Reply> Read(std::string_view bytes);
  size_t consumed() const { return consumed_; }
  bool failed() const { return failed_; }

 private:
  // These advance `at` over what they read. False: incomplete, or failed_ is set.
  bool ReadValue(std::string_view bytes, size_t& at, int depth, Reply& out);
  bool ReadLine(std::string_view bytes, size_t& at, size_t bytes_max, std::string_view& line);
  bool ReadNumber(std::string_view bytes, size_t& at, int64_t& number);
  bool ReadBlob(std::string_view bytes, size_t& at, Reply& out);
  bool ReadElements(std::string_view bytes, size_t& at, int depth, int per_count, Reply& out);
  bool Fail();

  size_t consumed_ = 0;
  bool failed_ = false;
};

}  // namespace sluice
