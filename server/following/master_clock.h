// MasterClock: by how much a master's engine time is ahead of this machine's own, as its heartbeats
// show. It decides by figures alone, and asks no clock.
//
// A heartbeat says what the master's time was when it left. On its way time has passed, so the
// difference to the own time at its arrival is too small by the delay, and never too large: of all
// samples the largest is the best. Each of the two clocks may be wrong by 200 ppm, as cheap quartz
// is in the heat, so they drift apart by the sum of both at most, kDriftPpm. A sample is worth less
// the older it is, and after a minute nothing. The highest of
//
//     sample - kDriftPpm * age
//
// is never more than the true difference: engine time that is the own time and this is never later
// than the master's. A lease that ends by it has ended there.
//
//   master   ----H(1000)------------------H(2000)--------------
//                   \  delay 3 ms              \  delay 40 ms
//   own      --------(501 503)-----------------(1540)----------
//   sample           1000 - 503 = 497          2000 - 1540 = 460     best: 497 - 0.4 = 496.6
//
// Whoever makes this difference the engine's does so in whole ms, at most once a second, as each
// time looks at every client.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace sluice {

class MasterClock {
 public:
  static constexpr int64_t kWindowUs = 60'000'000;
  static constexpr int64_t kDriftPpm = 400;
  static constexpr int64_t kCorrectionsApartUs = 1'000'000;

  // Another master, of whose clock nothing is known.
  void Forget() { *this = MasterClock(); }
  // The master's engine time was `master_us` when this left it, which came at `own_us` of this
  // machine's clock; that never steps, and is not shifted. Samples come in the order of own_us. A
  // second has one, its best.
  void Sample(int64_t master_us, int64_t own_us);
  // The difference that is known to have been reached, in µs; null: no sample of the last minute.
  std::optional<int64_t> DifferenceUs(int64_t own_us) const;
  // By how many ms to shift engine time now, which is at `shift_ms` from the own time; 0: it is
  // right, or was corrected within the last second, or nothing is known. The caller does it.
  int64_t Correct(int64_t own_us, int64_t shift_ms);

 private:
  // The samples of a second of own time: the one that is worth most.
  struct Second {
    int64_t number = -1;  // -1: there is none
    int64_t difference_us = 0;
    int64_t own_us = 0;
  };
  static constexpr int64_t kSecondUs = 1'000'000;
  static int64_t Worth(const Second& second, int64_t own_us);

  std::array<Second, kWindowUs / kSecondUs + 1> seconds_;  // by number
  std::optional<int64_t> corrected_us_;                    // own time
};

}  // namespace sluice
