// Migration: MIGRATE's way to another server. The keys' values go there as RESTORE over a
// connection of its own; when it has answered, MIGRATE runs again, deletes the keys that are there,
// and tells its client. So no turn waits for the other server.
//
//   MIGRATE ── Begin ──> the client waits, writes are held back ── all answers, or a fault ──>
//   MIGRATE runs again (call.woken): Outcome ── DEL of what is there ── the answer
//
// While it is on its way no client writes and nothing ends (Pause::Cause::kMigration), so a value
// is deleted here exactly as it was sent; Redis stands still as a whole meanwhile. A second MIGRATE
// is a write, and waits. The time that MIGRATE names bounds it. Where its client goes away before
// the answer the keys stay here, and may be at both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/core/log_limit.h"
#include "server/dispatch/blocked_call.h"
#include "server/dispatch/pause.h"
#include "server/peers/peer_link.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

class Migration final : public WaitOwner, private PeerAsker {
 public:
  struct Uses {
    Host& host;
    Clients& clients;
    BlockedClients& blocked_clients;
    Pause& pause;
    PeerLink::Uses links;
  };
  struct Order {
    PeerLink::Address to;
    std::string head;         // requests before the keys' own
    size_t head_answers = 0;  // to these
    std::string restores;     // the last of a key's is RESTORE
    size_t requests_per_key = 1;
    std::vector<size_t> keys;  // arguments of MIGRATE
    int64_t timeout_ms = 0;
  };
  struct Outcome {
    std::vector<size_t> moved;  // of Order::keys
    std::string error;          // empty: all are there
  };

  explicit Migration(const Uses& uses) : on_(uses), link_(uses.links, *this) {}

  // The call waits from here on. A sentence: it does not. Requires: call.may_wait().
  Fault Begin(CommandCall& call, Order order);
  // For the call that runs again.
  Outcome TakeOutcome() { return std::exchange(outcome_, {}); }

  void EverySecond() { link_.EverySecond(); }
  void TimeShifted(int64_t ms) { link_.TimeShifted(ms); }

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd end) override;

 private:
  void PeerAnswered(PeerLink& link, const PeerAnswer& answer) override;
  void PeerFailed(PeerLink& link, std::string_view why) override;
  void LogFailure(std::string_view why);
  static size_t AnswersTo(const Order& order);
  void End();

  const Uses on_;
  PeerLink link_;
  std::optional<SessionId> client_;  // whose MIGRATE is on its way
  Order order_;
  size_t answers_ = 0;  // so far
  bool head_is_refused_ = false;
  Outcome outcome_;
  LogLimit failures_logged_;
};

}  // namespace sluice
