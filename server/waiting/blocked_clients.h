// BlockedClients: clients whose command waits, whatever for. While a client is blocked
// (Session::blocked) its further requests wait in its input; when the wait is over it is answered,
// in the same turn, and they go on in the next.
//
// Three queues block clients here: for keys (waiters.h), for what limits allow (limit_waiters.h),
// and for locks (server/locks/lock_waits.h). Each is the WaitOwner of its waits, knows them by a
// `wait_id` of its own, and keeps a client's SessionId:
//
//   blocked_clients.Block(call, {.deadline_ms = deadline_ms, .owner = this, .wait_id = id});
//   blocked_clients.Finish(session, [](ReplySink& reply) { ... });   // the owner has the answer
//
// Whenever the wait ends otherwise (time, CLIENT UNBLOCK, CLIENT KILL, a closed connection), the
// owner is told before the client is answered, if it still is to be, and must forget the wait.
// WAIT, which nothing but time ends here, has no owner.
//
// At the deadline `on_timeout` answers, null: a null array. It is called as a handler, with the
// arguments of the request; what it changes (LIMIT.TAKE's BAN) it adds to the effects itself.
// Inside MULTI and scripts (call.may_block() is false) Block does the same at once, and the owner
// is not told: ask before you enter the client in a queue, and ask call.may_wait(), which is false
// inside FENCED too: only a wait for keys can check its token again. Inside MULTI the answer of
// `on_timeout` differs for a few commands (BLMOVE: null, not a null array).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "server/clients/clients.h"
#include "server/dispatch/blocked_call.h"
#include "storage/time/timer_task.h"

namespace sluice {

class CurrentClient;
class CommandCounts;
class CommandTimer;
class Dispatcher;
class SlowPathFlags;
class Tracking;

class BlockedClients final : public ClosingListener {
 public:
  enum class End : uint8_t {
    kTimeout,  // as at the deadline
    kError,    // -UNBLOCKED
  };

  // The parts that they work with; all of them outlive the clients' waits.
  struct Uses {
    Clients& clients;
    TimerTasks& timers;
    Dispatcher& dispatcher;
    CommandTimer& timer;
    CommandCounts& counts;
    Tracking& tracking;
    CurrentClient& current_client;
    SlowPathFlags& flags;
  };
  explicit BlockedClients(const Uses& uses) : on_(uses) {}

  // True: the client waits from here on. False: it was not blocked anew. The call may not block,
  // and has been answered as at the deadline; or the client stays as it is blocked, for its handler
  // was run by RunAgain.
  bool Block(CommandCall& call, const BlockTerms& terms);
  // The client that is blocked waits on these terms from here on, on its owner's word. Its keys,
  // and what runs again, stay as they are.
  void GoOn(Session& session, const BlockTerms& terms);
  // The command that has run inside `call` (FENCED's) has blocked the client: what runs again on a
  // wake-up is `call` itself: its first `prefix` arguments before those that the inner one kept.
  void Wrap(CommandCall& call, size_t prefix);

  // --- the end of a wait
  // With an answer of its owner's. Nothing happens to one not blocked.
  void Finish(Session& session, absl::FunctionRef<void(ReplySink&)> answer);
  // Runs the request again, as if it came now, with call.woken set and `key` for call.woken_key.
  // True: it has answered, and the wait is over. False: it has called Block, and stays. Requires:
  // it is blocked.
  bool RunAgain(Session& session, std::string_view key);
  // CLIENT UNBLOCK; false when it does not wait, or is served at this moment.
  bool Unblock(Session& session, End end);
  // The rules of its user have changed: ends the wait with this error. Nothing happens to one not
  // blocked.
  void Refuse(Session& session, std::string_view error);
  // The client is gone, or about to be: its wait leaves no trace.
  void Abandon(Session& session);
  void Closing(Session& session) override { Abandon(session); }

  // Engine time is so much later from now on: deadlines are as far away as they were. O(clients).
  void TimeShifted(int64_t ms);

  size_t size() const { return size_; }
  size_t with_deadline() const { return with_deadline_; }
  std::string Audit() const;  // the first violated invariant as a sentence, or empty

 private:
  struct Wait final : BlockedCall {
    Wait(BlockedClients& all, SessionId id, const Request& waits)
        : BlockedCall(id, waits), whose(all) {}
    BlockedClients& whose;
  };

  Request Checked(Args words) const;
  std::unique_ptr<BlockedCall> TakeCall(Session& session);
  void SetTerms(BlockedCall& blocked, const BlockTerms& terms);
  void SetTimer(BlockedCall& blocked);
  void TimerFired(Session& session);
  static void TellOwner(const BlockedCall& blocked, WaitEnd end);
  std::unique_ptr<BlockedCall> EndWait(Session& session, End answer, WaitEnd end);
  void Answered(Session& session, BlockedCall& blocked);
  void Answering(Session& session);
  void Resume(Session& session);

  const Uses on_;
  size_t size_ = 0;
  size_t with_deadline_ = 0;
};

}  // namespace sluice
