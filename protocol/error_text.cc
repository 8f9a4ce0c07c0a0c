// See error_text.h.
#include "protocol/error_text.h"

#include <array>
#include <cassert>
#include <cstddef>

#include "absl/base/macros.h"

namespace sluice {
namespace {

struct Sentence {
  ErrorCode code;
  std::string_view text;
};

// Redis 7.0's words, character for character: client libraries match on them.
constexpr Sentence kSentences[] = {
    {ErrorCode::kOk, ""},
    {ErrorCode::kWrongType, "WRONGTYPE Operation against a key holding the wrong kind of value"},
    {ErrorCode::kSyntax, "ERR syntax error"},
    {ErrorCode::kNotInteger, "ERR value is not an integer or out of range"},
    {ErrorCode::kNotFloat, "ERR value is not a valid float"},
    {ErrorCode::kNotDouble, "ERR value is not a valid float"},
    {ErrorCode::kOverflow, "ERR increment or decrement would overflow"},
    {ErrorCode::kNanOrInfinity, "ERR increment would produce NaN or Infinity"},
    {ErrorCode::kNoSuchKey, "ERR no such key"},
    {ErrorCode::kSameObject, "ERR source and destination objects are the same"},
    {ErrorCode::kOutOfRange, "ERR value is out of range"},
    {ErrorCode::kIndexOutOfRange, "ERR index out of range"},
    {ErrorCode::kStringTooLong, "ERR string exceeds maximum allowed size (proto-max-bulk-len)"},
    {ErrorCode::kOffsetOutOfRange, "ERR offset is out of range"},
    {ErrorCode::kBitOffset, "ERR bit offset is not an integer or out of range"},
    {ErrorCode::kBitValue, "ERR bit is not an integer or out of range"},
    {ErrorCode::kInvalidDbIndex, "ERR invalid DB index"},
    {ErrorCode::kDbIndexOutOfRange, "ERR DB index is out of range"},
    {ErrorCode::kNegativeTimeout, "ERR timeout is negative"},
    {ErrorCode::kNoAuth, "NOAUTH Authentication required."},
    {ErrorCode::kExecAbort, "EXECABORT Transaction discarded because of previous errors."},
    {ErrorCode::kInvalidCursor, "ERR invalid cursor"},
    {ErrorCode::kPositive, "ERR value is out of range, must be positive"},
    {ErrorCode::kNotPositive, "ERR count should be greater than 0"},
};

// So that a code is an index into the table.
constexpr bool EveryCodeHasItsRow() {
  for (size_t i = 0; i < std::size(kSentences); ++i) {
    if (kSentences[i].code != static_cast<ErrorCode>(i)) return false;
  }
  return std::size(kSentences) == static_cast<size_t>(ErrorCode::kCount);
}
static_assert(EveryCodeHasItsRow(), "the table stands in the order of ErrorCode");

}  // namespace

std::string_view ErrorText(ErrorCode code) {
  ABSL_HARDENING_ASSERT(code < ErrorCode::kCount);
  return kSentences[static_cast<size_t>(code)].text;
}

}  // namespace sluice
