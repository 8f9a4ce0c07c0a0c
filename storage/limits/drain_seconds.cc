// See drain_seconds.h. A step of the wall clock makes a second mean another moment: only what is
// less than a second apart is joined, so a step groups a count anew and never moves it by more.
#include "storage/limits/drain_seconds.h"

#include <cstdlib>

namespace sluice {
namespace {

constexpr int64_t kSecondMs = 1000;
constexpr int kErasedAtOnce = 8;  // of those that are over, which count for nothing

int64_t UnixSecond(int64_t engine_ms, const Now& now) {
  const int64_t unix_ms = engine_ms + now.unix_offset_ms;
  return unix_ms / kSecondMs - (unix_ms % kSecondMs < 0 ? 1 : 0);
}

}  // namespace

int64_t DrainSeconds::Join(int64_t due_ms, const Now& now) {
  // Seconds that are over are erased a few a call, so that no call pays for all of them.
  for (int left = kErasedAtOnce; left > 0 && !due_ms_of_.empty(); --left) {
    if (due_ms_of_.begin()->second > now.ms()) break;
    due_ms_of_.erase(due_ms_of_.begin());
  }
  const int64_t second = UnixSecond(due_ms, now);
  const auto found = due_ms_of_.find(second);
  if (found != due_ms_of_.end()) {
    const int64_t together_ms = found->second;
    if (together_ms > now.ms() && std::llabs(together_ms - due_ms) < kSecondMs) return together_ms;
    due_ms_of_.erase(found);
  }
  if (due_ms_of_.size() < kSecondsMax) due_ms_of_.emplace(second, due_ms);
  return due_ms;
}

}  // namespace sluice
