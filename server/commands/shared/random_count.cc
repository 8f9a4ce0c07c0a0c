// See random_count.h.
#include "server/commands/shared/random_count.h"

#include <limits>
#include <optional>

#include "protocol/text/number_text.h"

namespace sluice {

// The least int64 has no positive counterpart, so Redis refuses it with a sentence of its own.
// Below -kRepeatedMax comes our own bound, in Redis's general words.
bool ReadRandomCount(CommandCall& call, size_t at, int64_t& count) {
  const std::optional<int64_t> number = ParseInt64(call.args[at]);
  if (!number) {
    call.reply.Error(ErrorCode::kNotInteger);
    return false;
  }
  if (*number == std::numeric_limits<int64_t>::min()) {
    call.reply.Error(
        "ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807");
    return false;
  }
  if (*number < -kRepeatedMax) {
    call.reply.Error(ErrorCode::kOutOfRange);
    return false;
  }
  count = *number;
  return true;
}

}  // namespace sluice
