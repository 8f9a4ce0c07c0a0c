// RequestParser: cuts a client's bytes into requests, RESP arrays of bulk strings or inline lines,
// as Redis's readQueryFromClient does, error texts included. It owns no bytes: it is shown one
// contiguous window of input and hands out views into it.
//
// The caller keeps the window: unread bytes must be shown again, at the start of a longer window,
// by the next call. Between calls the parser remembers how far it got inside an incomplete request
// (counts, lengths, offsets), so that feeding a large one in small pieces stays linear.
//
//   RequestParser parser;
//   size_t used = 0;
//   while (parser.Next(window.substr(used), limits, arguments) == ParseStatus::kRequest) {
//     ...run(arguments)...;
//     used += parser.consumed();
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/limits.h"

namespace sluice {

enum class ParseStatus : uint8_t {
  kRequest,     // `arguments` has been extended by one request
  kIncomplete,  // more bytes are needed
  kError,       // error() says why; the connection must be closed after it is sent
};

struct ParseLimits {
  int64_t arguments_max = kArgumentsMax;
  int64_t bulk_bytes_max = kBulkBytesMax;
  bool before_login = false;  // only changes which error text is given
};

class RequestParser {
 public:
  // Parses one request at the start of `window`. On kRequest, its arguments are appended to
  // `arguments` (none at all for an empty line or "*0": the caller skips it) and consumed() is its
  // size in bytes. Inline arguments with quotes or escapes are unescaped into storage that lives
  // until Reset() or until ReleaseInline(); all other views point into `window`.
  ParseStatus Next(std::string_view window, const ParseLimits& limits,
                   std::vector<std::string_view>& arguments);

  size_t consumed() const { return consumed_; }
  // The sentence after "-ERR ", e.g. "Protocol error: invalid bulk length".
  std::string_view error() const { return error_; }
  // While kIncomplete in the middle of a bulk: how many bytes the whole request will have at the
  // least, so that the caller can size its buffer once; else 0.
  size_t bytes_wanted() const { return bytes_wanted_; }
  // True between requests: nothing of a next one has been read.
  bool idle() const { return stage_ == Stage::kStart; }

  void ReleaseInline() { unescaped_.clear(); }
  void Reset();

 private:
  enum class Stage : uint8_t { kStart, kBulkHeader, kBulkBody };

  ParseStatus ParseInline(std::string_view window, std::vector<std::string_view>& arguments);
  ParseStatus ParseArray(std::string_view window, const ParseLimits& limits,
                         std::vector<std::string_view>& arguments);
  ParseStatus Fail(std::string text);

  Stage stage_ = Stage::kStart;
  int64_t arguments_left_ = 0;  // of the array being read
  int64_t bulk_bytes_ = 0;      // of the bulk being read
  size_t position_ = 0;         // offset in the window up to which it has been parsed
  size_t consumed_ = 0;
  size_t bytes_wanted_ = 0;
  struct Piece { size_t offset, bytes; };
  std::vector<Piece> pieces_;  // arguments already complete, as offsets: the window may move
  std::vector<std::string> unescaped_;
  std::string error_;
};

}  // namespace sluice
