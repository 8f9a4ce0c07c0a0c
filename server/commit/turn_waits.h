// TurnWaits: clients that wait until a turn has got what they ask for (WAITAOF, WAIT).
//
// What a client has written so far is in the turn TurnGate::so_far(), or before it. It waits for
// that turn to be on disk, or at so many replicas (TurnNeeds); who knows how far these are tells it
// in turns, too. Waits with the same needs stand in one line, by their turns: what has been reached
// stands in front.
//
// Beginning and ending a wait is O(log waits). Looking whether any is over costs a comparison for
// each line, but for those that ask for more replicas than there are; nothing without waits.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "server/clients/clients.h"
#include "server/core/turn_needs.h"
#include "server/dispatch/blocked_call.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

class TurnWaits final : public WaitOwner {
 public:
  // Up to which turn these needs are met; TurnGate::kNoTurn: they are of none, and then more
  // replicas are not either.
  using Reached = std::function<uint64_t(const TurnNeeds& needs)>;
  using Answer = std::function<void(ReplySink& reply)>;
  struct Terms {
    TurnNeeds needs;
    uint64_t turn;
    int64_t deadline_ms = 0;  // engine ms; 0: none
    Handler on_timeout;       // answers when the time is over first
    Answer answer;            // when the turn has what it needs
  };

  TurnWaits(Clients& clients, BlockedClients& blocked_clients, Reached reached)
      : clients_(clients), blocked_clients_(blocked_clients), reached_(std::move(reached)) {}

  // Where the call may not block it is answered as when the time is over.
  void Block(CommandCall& call, Terms terms);
  // Answers all whose turn has what they wait for.
  void Settle() {
    if (!waits_.empty()) [[unlikely]]
      SettleLines();
  }
  bool any_met() const { return !waits_.empty() && FirstMet() != waits_.end(); }
  // This server's disk will have no more turns: ends the waits for it with this error.
  void FailDisk(std::string_view error);
  size_t size() const { return waits_.size(); }
  // Of the wait that was cancelled last: for its `on_timeout`, which follows at once.
  uint64_t cancelled_turn() const { return cancelled_turn_; }

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd) override;

 private:
  struct Place {
    TurnNeeds needs;
    uint64_t turn;
    uint64_t id;
    auto operator<=>(const Place&) const = default;
  };
  struct Wait {
    SessionId session;
    Answer answer;
  };
  using Waits = std::map<Place, Wait>;

  Waits::const_iterator FirstMet() const;
  void SettleLines();
  void Finish(Waits::const_iterator wait, absl::FunctionRef<void(ReplySink&)> answer);

  Clients& clients_;
  BlockedClients& blocked_clients_;
  const Reached reached_;
  Waits waits_;
  std::map<uint64_t, Place> places_;  // by id
  uint64_t last_id_ = 0;
  uint64_t cancelled_turn_ = 0;
};

}  // namespace sluice
