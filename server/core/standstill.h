// Standstill: why nothing in the data ends or goes by itself. While there is a reason no key is
// removed for its age or evicted, no lease ends, no lock is handed over, no limit is taken from for
// one that waits. A key that is over looks missing all the same; commands run, and change what they
// change.
//
// Each reason has one owner, who begins and ends it; it is over for the data when the last one is.
//
//   standstill.Begin(Standstill::kPause, clock.now());   // twice is as once
//   standstill.End(Standstill::kPause);
#pragma once

#include <cstdint>

#include "server/core/slow_path_flags.h"
#include "storage/time/clock.h"

namespace sluice {

class Keyspace;

class Standstill {
 public:
  enum Reason : uint32_t {
    kPause = 1u << 0,      // CLIENT PAUSE: what is held back could have kept it    (Pause)
    kResuming = 1u << 1,   // what a pause has held back is still to be run         (Pause)
    kFollowing = 1u << 2,  // what ends is told by a master                         (its link)
    kLoading = 1u << 3,    // the data are not all there                            (LogService)
  };

  // Both outlive it; they are asked from the first reason on.
  Standstill(Keyspace& keyspace, SlowPathFlags& flags) : keyspace_(keyspace), flags_(flags) {}
  Standstill(const Standstill&) = delete;

  void Begin(Reason reason, const Now& now);
  void End(Reason reason);
  void TimeShifted(int64_t ms) { began_ms_ += ms; }  // see Assembly::TimeShifted

  // No key goes, no lock is handed over, no limit is taken from. A request that a pause has held
  // back runs like any other, so kResuming alone forbids none of it.
  bool is_on() const { return (reasons_ & ~uint32_t{kResuming}) != 0; }
  // The same, following apart.
  bool is_on_otherwise() const { return (reasons_ & ~uint32_t{kResuming | kFollowing}) != 0; }
  bool is_following() const { return (reasons_ & kFollowing) != 0; }
  // No lease ends that had not ended when the first of the reasons began; while a master is
  // followed none does.
  bool keeps_leases() const { return reasons_ != 0; }
  int64_t began_ms() const { return began_ms_; }  // Requires: keeps_leases()

 private:
  Keyspace& keyspace_;
  SlowPathFlags& flags_;
  uint32_t reasons_ = 0;
  int64_t began_ms_ = 0;
};

}  // namespace sluice
