// TurnMeter: how long a turn goes on dealing with crowds at locks. Counts bound a slice too, but
// what a hand-over costs is not the same everywhere: 2.6 us among a thousand waiters and 3.6 us
// among 100,000 where it was measured. A slice makes some progress before it looks here.
#pragma once

#include <cstdint>
#include <optional>

#include "server/core/turn_clock.h"
#include "storage/locks/locks.h"

namespace sluice {

class TurnMeter final : public WorkMeter {
 public:
  // Once for what a turn's requests set free, once for what is left of earlier ones.
  static constexpr int64_t kNanosMax = 400'000;

  explicit TurnMeter(TurnClock& clock) : clock_(clock) {}
  // The next look is the first.
  void Begin() { began_ns_.reset(); }
  bool IsSpent() override {
    const int64_t now_ns = clock_.clock().TickNanos();
    if (!began_ns_) began_ns_ = now_ns;
    return now_ns - *began_ns_ >= kNanosMax;
  }

 private:
  TurnClock& clock_;
  std::optional<int64_t> began_ns_;
};

}  // namespace sluice
