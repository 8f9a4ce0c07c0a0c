// RequestParser: cuts a client's bytes into requests, RESP arrays of bulk strings or inline lines,
// as Redis's readQueryFromClient does, error texts included. It owns no bytes: it is shown one
// contiguous window of input and hands out views into it.
//
// "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" comes in two pieces, cut behind "$3\r\nGE":
//
//   first Next    kIncomplete; the Partial knows: two arguments to come, 3 bytes from offset 8 on
//   second Next   is shown all 20 bytes, goes on at offset 8, answers {"GET", "k"}; consumed() is
// 20
//
// The caller keeps the window: unread bytes must be shown again, at the start of a longer window,
// by the next call. Between calls the parser remembers how far it got inside an incomplete request
// (counts, lengths, offsets), so that feeding a large one in small pieces stays linear. Memory
// follows what a client has sent, never what it says it will send; an idle parser owns none.
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
#include <forward_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "protocol/argument_list.h"
#include "protocol/whole_array.h"

namespace sluice {

enum class ParseStatus : uint8_t {
  kRequest,     // `arguments` has been extended by one request
  kIncomplete,  // more bytes are needed
  kError,       // error() says why; the connection must be closed after it is sent
};

// One for each client. Next is O(bytes that are new), whatever the pieces.
class RequestParser {
 public:
  // Parses one request at the start of `window`. On kRequest, its arguments are appended to
  // `arguments` (none at all for an empty line or "*0": the caller skips it) and consumed() is its
  // size in bytes; otherwise `arguments` is as it was. Inline arguments with quotes or escapes are
  // unescaped into storage that lives until Reset() or until ReleaseInline(); all other views point
  // into `window`. After kError only Reset() may follow.
  ParseStatus Next(std::string_view window, const ParseLimits& limits, ArgumentList& arguments) {
    if (NextWhole(window, limits, arguments)) return ParseStatus::kRequest;
    return NextAnyWay(window, limits, arguments);
  }
  // The fast way alone, for a whole request without anything unusual. False: nothing has changed,
  // and Next finds out what there is.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool NextWhole(std::string_view window, const ParseLimits& limits,
                                              ArgumentList& arguments) {
    // The careful way goes on with an incomplete request: it knows where it was.
    if (partial_) return false;
    const size_t bytes = ReadWholeArray(window, limits, arguments);
    if (bytes > 0) consumed_ = bytes;
    return bytes > 0;
  }

  size_t consumed() const { return consumed_; }
  // The sentence after "-ERR ", e.g. "Protocol error: invalid bulk length".
  std::string_view error() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return partial_ ? partial_->error : std::string_view();
  }
  // While kIncomplete in the middle of a bulk: how many bytes the whole request will have at the
  // least, so that the caller can size its buffer once; else 0. A peer said so: clamp it.
  size_t bytes_wanted() const { return partial_ ? partial_->bytes_wanted : 0; }
  // How much of an incomplete request has been parsed into arguments, and how long these are.
  size_t parsed_bytes() const { return partial_ ? partial_->position : 0; }
  size_t argument_bytes() const { return partial_ ? partial_->argument_bytes : 0; }
  // The memory it keeps for a request that is not complete; O(1).
  size_t MemoryBytes() const {
    return partial_ ? sizeof(Partial) + partial_->pieces.capacity() * sizeof(Piece) : 0;
  }
  // True between requests: nothing of a next one has been read.
  bool idle() const { return partial_ == nullptr; }

  void ReleaseInline() { unescaped_.clear(); }
  // Back to the state of a new parser.
  void Reset();

 private:
  struct Piece {
    size_t offset, bytes;
  };
  // How far an incomplete request has been read. Offsets count from the start of the window.
  struct Partial {
    int64_t arguments_left = 0;  // of the array; 0 while its count line is incomplete
    int64_t bulk_bytes = -1;  // of the bulk at `position`; -1 while its length line is incomplete
    size_t position = 0;      // start of the line or the bulk being read
    size_t scanned = 0;       // that line does not end before here
    size_t bytes_wanted = 0;
    size_t argument_bytes = 0;  // of `pieces`
    std::vector<Piece> pieces;  // arguments already complete, as offsets: the window may move
    std::string error;
  };
  enum class Step : uint8_t { kDone, kIncomplete, kError };

  // What is not for the fast way: inline lines, and the careful way with its steps.
  ParseStatus NextAnyWay(std::string_view window, const ParseLimits& limits,
                         ArgumentList& arguments);
  ParseStatus ParseArray(std::string_view window, const ParseLimits& limits,
                         ArgumentList& arguments);
  Step ReadCount(std::string_view window, const ParseLimits& limits);
  bool ReadPlainBulkLength(std::string_view window, const ParseLimits& limits);
  Step ReadBulkLength(std::string_view window, const ParseLimits& limits);
  Step FindLineEnd(std::string_view window, char end, const char* what, size_t& at);
  ParseStatus ParseInline(std::string_view window, ArgumentList& arguments);
  bool SplitLine(std::string_view line, ArgumentList& arguments);
  Partial& partial();
  Step Fail(std::string sentence);

  size_t consumed_ = 0;
  std::unique_ptr<Partial> partial_;  // only while a request is incomplete, or after an error
  std::forward_list<std::string> unescaped_;  // a list: views into its strings must stay
};

}  // namespace sluice
