// Failover: a master hands its part over to one of its replicas (FAILOVER), with nothing lost: it
// holds writes back until that replica has everything, then follows it, and the replica becomes the
// master with the first word that it is told (PSYNC … FAILOVER).
//
//   kNone ── Begin ──> kWaitsForSync ── a replica has all ──> kInProgress ── it takes over ──>
//   kNone
//                            └── time, ABORT: kNone                 └── refused, ABORT: master
//                            again
//
// The words of errors and of the log are Redis's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/clients/host.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/pause.h"
#include "server/following/following.h"
#include "server/replication/replicas.h"

namespace sluice {

class Failover {
 public:
  struct Uses {
    Host& host;
    const TurnClock& clock;
    Pause& pause;
    Replicas& replicas;
    Following& following;
  };
  struct Target {
    std::string host;
    int64_t port = 0;
  };
  struct Request {
    std::optional<Target> to;  // null: any replica that has everything
    bool is_forced = false;    // behind its time, whatever the target has
    int64_t timeout_ms = 0;    // 0: it waits for ever
  };
  enum class State : uint8_t { kNone, kWaitsForSync, kInProgress };

  explicit Failover(const Uses& uses);

  // In a command. A sentence why it does not begin, or empty.
  Fault Begin(Request request);
  Fault Abort();
  State state() const { return state_; }
  // Behind each turn, and each second.
  void Look() {
    if (state_ == State::kWaitsForSync) [[unlikely]]
      LookForSync();
  }
  void TimeShifted(int64_t ms) {
    if (until_ms_ > 0) until_ms_ += ms;
  }

 private:
  void LookForSync();
  void HandOver(std::string_view why);
  void TakenOver(std::string_view refusal);
  void GiveUp(std::string_view why);
  void End();
  std::string TargetText() const;

  const Uses on_;
  State state_ = State::kNone;
  Request request_;
  int64_t until_ms_ = 0;  // of kWaitsForSync; 0: for ever
};

}  // namespace sluice
