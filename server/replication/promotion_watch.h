// PromotionWatch: redis-servers among the replicas, for which locks and limits do not exist. One
// that becomes the master, by a Sentinel or by hand, hands every lock out again; so this server
// says that it could be, as long as there are locks or limits at all.
//
// A replica does not tell its master its replica-priority, so one with 0 counts, too. A server that
// follows a master itself leaves this to that one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/clients/host.h"
#include "server/core/turn_clock.h"
#include "server/replication/replicas.h"

namespace sluice {

class PromotionWatch {
 public:
  // The parts that it works with; all of them outlive it.
  struct Uses {
    Host& host;
    const TurnClock& clock;
    const Replicas& replicas;
    const Snapshots& snapshots;
  };
  explicit PromotionWatch(const Uses& uses) : on_(uses) {}

  // So many redis-servers follow this master, and would lack some of what it has.
  size_t promotable() const;
  // Warns in the log, once a minute.
  void EverySecond();
  void TimeShifted(int64_t ms) { next_ms_ += ms; }

 private:
  bool AnyForSluiceAlone() const;

  const Uses on_;
  int64_t next_ms_ = 0;
};

}  // namespace sluice
