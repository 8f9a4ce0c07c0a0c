// See alarms.h. The timer may be set for an alarm that was cancelled since: it only looks sooner.
// std::chrono::steady_clock is CLOCK_MONOTONIC. The timer is never read: setting it anew, as it is
// after each time that it has gone off, takes back that it did.
#include "server/net/loop/alarms.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cstdint>

namespace sluice {
namespace {

// Beyond that a moment might not fit its type.
constexpr std::chrono::hours kFar{24 * 365 * 100};

}  // namespace

Alarms::Alarms(EventLoop& loop)
    : timer_(loop, [this] {
        awaited_.reset();
        CallDue();
        Await();
      }) {
  timer_.Open(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

Alarms::Id Alarms::Set(std::chrono::microseconds in, std::function<void()> call) {
  const auto bounded = std::min<std::chrono::microseconds>(in, kFar);
  const Id id{std::chrono::steady_clock::now() + bounded, ++last_number_};
  if (stopped_) return id;
  calls_.emplace(id, std::move(call));
  Await();
  return id;
}

void Alarms::Cancel(const Id& id) { calls_.erase(id); }

void Alarms::Stop() {
  stopped_ = true;
  calls_.clear();
  timer_.Close();
}

void Alarms::Await() {
  if (calls_.empty()) return;
  const Moment first = calls_.begin()->first.first;
  if (awaited_ && *awaited_ <= first) return;
  awaited_ = first;
  const std::chrono::nanoseconds since = first.time_since_epoch();
  const int64_t ns = std::max<int64_t>(1, since.count());  // 0 would be no time
  itimerspec at{};
  at.it_value.tv_sec = ns / 1'000'000'000;
  at.it_value.tv_nsec = ns % 1'000'000'000;
  ::timerfd_settime(timer_.descriptor(), TFD_TIMER_ABSTIME, &at, nullptr);
}

// Alarms that are set meanwhile wait for the next time, however near they are.
void Alarms::CallDue() {
  const uint64_t last = last_number_;
  const Moment now = std::chrono::steady_clock::now();
  while (!calls_.empty()) {
    const auto first = calls_.begin();
    if (first->first.first > now || first->first.second > last) return;
    const std::function<void()> call = std::move(first->second);
    calls_.erase(first);
    call();
  }
}

}  // namespace sluice
