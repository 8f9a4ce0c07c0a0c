// BlockedCall: a client whose command waits (blocked_clients.h), and the terms on which it does.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/clients/session.h"
#include "server/dispatch/queued_command.h"
#include "storage/keyspace/value.h"
#include "storage/time/timer_task.h"

namespace sluice {

// Why a wait is over, where its owner has not ended it.
enum class WaitEnd : uint8_t {
  kTimeout,     // its deadline
  kTurnedAway,  // CLIENT UNBLOCK; its user may no longer wait so
  kClosed,      // the client is gone, or about to be
};

// A part that has clients blocked, and knows what they wait for.
class WaitOwner {
 public:
  virtual ~WaitOwner() = default;
  // The wait is over, by no doing of the owner's. May finish other waits.
  virtual void WaitCancelled(uint64_t wait_id, WaitEnd end) = 0;
  // BlockTerms::look_again_ms has come.
  virtual void LookAgain(uint64_t) {}
};

// The terms on which a client is blocked. The keys themselves are an argument of Block, as their
// line is kept by Waiters.
struct BlockTerms {
  int64_t deadline_ms = 0;  // engine ms; 0: none
  // With keys: the engine ms at which the handler runs again even if nothing has touched them; 0:
  // never. One that then waits on says anew when.
  int64_t look_again_ms = 0;
  // With keys: what one of them has to hold for the handler to run again.
  ValueType type = ValueType::kString;
  bool when_gone = false;  // also when it holds nothing, or something else
  // Runs again with these, if given, instead of the call's own arguments (XREAD's `$`, made an id).
  Args again;
  Handler on_timeout = nullptr;
  WaitOwner* owner = nullptr;  // null with keys: then it is Waiters
  uint64_t wait_id = 0;
};

// A blocked client. `Session::blocked` is set exactly while the session has one.
struct BlockedCall : SessionState, TimerTask {
  SessionId session;
  QueuedCommand request;                 // with the arguments to run again
  std::unique_ptr<QueuedCommand> asked;  // those of the client, where they are others
  bool woken = false;                    // its handler runs at this moment,
  std::string_view woken_key;            // for this key,
  bool stays = false;                    // and has called Block again
  Handler on_timeout = nullptr;
  WaitOwner* owner = nullptr;
  uint64_t wait_id = 0;
  int64_t deadline_ms = 0;
  int64_t look_again_ms = 0;
  int64_t ran_ns = 0;     // what its command has taken so far, waiting apart
  size_t kept_bytes = 0;  // what its owner keeps for the wait

  BlockedCall(SessionId id, const Request& waits) : session(id), request(waits) {}
  bool looks_first() const {
    return look_again_ms != 0 && (deadline_ms == 0 || look_again_ms < deadline_ms);
  }
  size_t MemoryBytes() const override {
    const size_t asked_bytes = asked ? BlockSize(sizeof(*asked)) + asked->heap_bytes() : 0;
    // BlockedClients::Wait has a reference beside this.
    return BlockSize(sizeof(*this) + sizeof(void*)) + request.heap_bytes() + asked_bytes +
           kept_bytes;
  }
};

// Null while it is not blocked.
inline BlockedCall* BlockedCallOf(const Session& session) {
  return static_cast<BlockedCall*>(session.rare->blocked_call.get());
}

}  // namespace sluice
