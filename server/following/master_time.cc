// See master_time.h.
#include "server/following/master_time.h"

#include <algorithm>

#include "server/core/planted_faults.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

// Whatever a master says, deadlines are to fit behind it.
constexpr int64_t kEngineMsLast = TimerWheel::kDeadlineMsMax / 2;

}  // namespace

int64_t MasterTime::OwnUs() const {
  Clock& clock = on_.clock.clock();
  return clock.Sample().steady_us - clock.shift_ms() * 1000;
}

void MasterTime::FullSync(int64_t made_ms) {
  clock_.Forget();
  clock_.Sample((made_ms + on_.clock.clock().shift_ms()) * 1000, made_ms * 1000);
}

void MasterTime::Heartbeat(int64_t engine_ms) {
  if (IsPlanted(PlantedFault::kUnixDeadlines)) return;
  Clock& clock = on_.clock.clock();
  const int64_t own_us = OwnUs();
  clock_.Sample(std::clamp<int64_t>(engine_ms, 0, kEngineMsLast) * 1000, own_us);
  const int64_t by_ms = clock_.Correct(own_us, clock.shift_ms());
  if (by_ms == 0) return;
  clock.Shift(by_ms);
  Refresh();
  on_.shifted(by_ms);
}

void MasterTime::ClockChanged(const LogClock& clock) {
  on_.clock.clock().ShowUnixOffset(clock.unix_offset_ms);
  Refresh();
}

void MasterTime::Promoted() {
  clock_.Forget();
  on_.clock.clock().ShowUnixOffset({});
  Refresh();
}

// Absolute deadlines are of Unix time, which has stepped where its offset is another.
void MasterTime::Refresh() {
  if (on_.clock.Refresh()) on_.keyspace.WallStepped();
}

}  // namespace sluice
