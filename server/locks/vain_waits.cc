// See vain_waits.h.
#include "server/locks/vain_waits.h"

#include <iterator>

namespace sluice {
namespace {

constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kMinutes = 60;

int64_t MinuteOf(const Now& now) { return now.ms() / kMinuteMs; }

}  // namespace

void VainWaits::Count(LockNameView name, const Now& now) {
  const uint64_t hash = hash_(name);
  auto found = places_.find(hash);
  if (found == places_.end()) {
    if (places_.size() == kVainLocksMax) {
      places_.erase(order_.front().name);
      order_.pop_front();
    }
    order_.push_back({hash, {}});
    found = places_.emplace(hash, std::prev(order_.end())).first;
  }
  order_.splice(order_.end(), order_, found->second);
  std::deque<Minute>& minutes = found->second->minutes;
  const int64_t minute = MinuteOf(now);
  if (minutes.empty() || minutes.back().number != minute) minutes.push_back({minute, 0});
  ++minutes.back().waits;
  while (minutes.front().number <= minute - kMinutes) minutes.pop_front();
}

int64_t VainWaits::LastHour(LockNameView name, const Now& now) const {
  const auto found = places_.find(hash_(name));
  if (found == places_.end()) return 0;
  int64_t waits = 0;
  for (const Minute& minute : found->second->minutes) {
    if (minute.number > MinuteOf(now) - kMinutes) waits += minute.waits;
  }
  return waits;
}

}  // namespace sluice
