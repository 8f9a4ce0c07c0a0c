// Every fixed error sentence of the server in one table, by code: storage and handlers return
// codes, this is where they become Redis's words. Sentences with a name or a number in them are
// built where they are sent, with Concat (protocol/text/concat.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// A new code needs a row in error_text.cc, in the same place: the build fails without one.
enum class ErrorCode : uint8_t {
  kOk = 0,
  kWrongType,
  kSyntax,
  kNotInteger,
  kNotFloat,
  kNotDouble,  // "value is not a valid float" of sorted sets and INCRBYFLOAT's increment
  kOverflow,   // INCR and DECR beyond 64 bits
  kNanOrInfinity,
  kNoSuchKey,
  kSameObject,
  kOutOfRange,
  kIndexOutOfRange,
  kStringTooLong,
  kOffsetOutOfRange,
  kBitOffset,
  kBitValue,
  kInvalidDbIndex,
  kDbIndexOutOfRange,
  kNegativeTimeout,
  kNoAuth,
  kExecAbort,
  kInvalidCursor,
  kPositive,     // a count below 0
  kNotPositive,  // a count below 1
  kCount,        // number of codes; not an error
};

// The whole error line without the leading '-' and the closing CRLF, e.g. "ERR syntax error".
// Points into the table: valid for ever.
std::string_view ErrorText(ErrorCode code);

}  // namespace sluice
