// See statistics.h.
#include "server/observe/statistics.h"

#include <algorithm>

namespace sluice {

void Statistics::CountError(std::string_view text) {
  ++error_replies;
  // A code ends within 32 bytes, the sign included; what has none counts as ERR, as in Redis.
  const size_t end = text.substr(0, 31).find(' ');
  const std::string_view code = end == text.npos ? std::string_view("ERR") : text.substr(0, end);
  if (const auto found = errors.find(code); found != errors.end()) {
    ++found->second;
  } else if (errors.size() < kErrorCodesMax) {
    errors.emplace(code, 1);
  }
}

// `now_ms` is engine time. The first sample covers the time since the start.
void Rates::Sample(const Statistics& statistics, int64_t now_ms) {
  const Counts now{statistics.commands, statistics.bytes_in, statistics.bytes_out,
                   statistics.bytes_from_master, statistics.bytes_to_replicas};
  const auto elapsed_ms = static_cast<uint64_t>(std::max<int64_t>(now_ms - last_ms_, 1));
  // CONFIG RESETSTAT may have come between.
  const auto rate = [&](uint64_t Counts::*count) {
    const uint64_t after = now.*count;
    return (after - std::min(last_.*count, after)) * 1000 / elapsed_ms;
  };
  per_second_ = {rate(&Counts::commands), rate(&Counts::bytes_in), rate(&Counts::bytes_out),
                 rate(&Counts::bytes_from_master), rate(&Counts::bytes_to_replicas)};
  last_ = now;
  last_ms_ = now_ms;
}

}  // namespace sluice
