// See alarms.h. The timer may be set for an alarm that was cancelled since: it only looks sooner.
#include "server/net/loop/alarms.h"

#include <algorithm>

namespace sluice {
namespace {

// Beyond that a moment might not fit its type.
constexpr std::chrono::hours kFar{24 * 365 * 100};

}  // namespace

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
  timer_.cancel();
}

std::optional<Alarms::Moment> Alarms::next() const {
  if (calls_.empty()) return std::nullopt;
  return calls_.begin()->first.first;
}

void Alarms::Await() {
  const std::optional<Moment> first = next();
  if (!first || (awaited_ && *awaited_ <= *first)) return;
  awaited_ = first;
  timer_.expires_at(*first);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // set anew, or stopped, or `this` is gone
    awaited_.reset();
    CallDue();
    Await();
  });
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
