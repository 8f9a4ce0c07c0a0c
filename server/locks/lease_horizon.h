// LeaseHorizon: the moment before which every lease ends whose grant a crash may lose. It stands on
// disk, ahead of the leases: after a start in which grants may be missing, names that no owner is
// known to hold are held back until then (RestartGrace), and so no lock has two owners.
//
// It is needed where an answer leaves before its grant is on disk: with the log under `everysec`
// and `no`, and without a log. A lock of a session alone counts as a lease of session-grace-ms.
// Reservation writes it; a lease that goes beyond what is written, or that is longer than any start
// would hold names back (lock-restart-grace-max), is answered only once its grant is on disk.
//
// Replicas are told such a moment, too, for a grant that they lack when one of them is promoted:
// whatever the disk keeps, and of leases as long as they are.
#pragma once

#include <cstdint>

#include "server/config/settings.h"
#include "storage/locks/lock.h"
#include "storage/time/clock.h"

namespace sluice {

class LeaseHorizon {
 public:
  explicit LeaseHorizon(const Settings& settings) : settings_(settings) {}

  // Whether starts hold names back.
  bool is_on() const;
  // Whether it is all that a start will know of the grants.
  bool is_alone() const { return !settings_.appendonly && settings_.lock_restart_grace == "yes"; }

  // A hold was granted or renewed, as it is now. False: no start would know of it, so the answer
  // must wait until it is on disk. Requires: is_on().
  bool Cover(const LockHolder& holder, const Now& now) {
    const int64_t ends_ms = EndOf(holder, now);
    return Cover(ends_ms - now.ms(), ends_ms);
  }
  // The same of a hold so long that ends, if it is granted as late as can be, at that engine time.
  bool Cover(int64_t hold_ms, int64_t ends_ms);
  bool IsTooLong(int64_t hold_ms) const { return hold_ms > settings_.lock_restart_grace_max; }

  // --- for replicas. Sluices follow this server: leases count from now on.
  void set_followed(bool followed) {
    if (!followed) wanted_by_replicas_ms_ = 0;
    is_followed_ = followed;
  }
  bool is_followed() const { return is_followed_; }
  // A hold was granted or renewed, as it is now. Requires: is_followed().
  void Tell(const LockHolder& holder, const Now& now) {
    const int64_t ends_ms = EndOf(holder, now);
    Reach(ends_ms - now.ms(), ends_ms, wanted_by_replicas_ms_);
  }
  int64_t wanted_by_replicas_ms() const { return wanted_by_replicas_ms_; }  // engine ms; 0: none

  // --- for what writes it, in engine ms; 0: no lease is covered
  int64_t wanted_ms() const { return wanted_ms_; }
  int64_t written_ms() const { return written_ms_; }
  // More is wanted than is written, or the wall clock has stepped away from what is.
  bool IsBehind(const Now& now) const;
  // At the offset of the wall clock that was then.
  void Written(int64_t horizon_ms, int64_t unix_offset_ms);
  void Clear() { wanted_ms_ = 0; }  // none is wanted any more

 private:
  bool answers_wait() const { return settings_.appendonly && settings_.appendfsync == "always"; }
  int64_t EndOf(const LockHolder& holder, const Now& now) const;
  static void Reach(int64_t hold_ms, int64_t ends_ms, int64_t& wanted_ms);

  const Settings& settings_;
  int64_t wanted_ms_ = 0;
  int64_t written_ms_ = 0;
  int64_t written_offset_ms_ = 0;  // of the wall clock, when it was written
  int64_t wanted_by_replicas_ms_ = 0;
  bool is_followed_ = false;
};

}  // namespace sluice
