// SyncWaits: clients that wait until what they have written is on disk (WAITAOF). A client waits
// for the position of the log at the end of its turn: by then its own writes, and those of others,
// have got theirs.
//
// Beginning and ending a wait is O(log waits); a turn without waits costs one test.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "server/clients/clients.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

class SyncWaits final : public WaitOwner {
 public:
  SyncWaits(Clients& clients, BlockedClients& blocked_clients)
      : clients_(clients), blocked_clients_(blocked_clients) {}

  // Requires: call.may_wait(). `on_timeout` answers when the time is over first.
  void Block(CommandCall& call, int64_t deadline_ms, Handler on_timeout);
  bool empty() const { return waits_.empty(); }
  // The turn is over, and the log is at this position. True: a client has begun to wait for it.
  bool TurnEnded(uint64_t position);
  // The log is on disk up to here: answers the clients that waited for it.
  bool AnyReached(uint64_t durable) const {
    return !waits_.empty() && waits_.begin()->second.position <= durable;
  }
  void Reached(uint64_t durable);
  // There will be no more of it on disk.
  void Fail(std::string_view error);

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd) override { waits_.erase(wait_id); }

 private:
  static constexpr uint64_t kNotYet = UINT64_MAX;
  struct Wait {
    SessionId session;
    uint64_t position = kNotYet;
  };

  void Finish(absl::FunctionRef<void(ReplySink&)> answer);

  Clients& clients_;
  BlockedClients& blocked_clients_;
  std::map<uint64_t, Wait> waits_;  // by id, and so by position
  uint64_t last_id_ = 0;
};

}  // namespace sluice
