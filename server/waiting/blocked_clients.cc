// See blocked_clients.h. The hard part is a handler that runs again for a waiter: meanwhile the
// client is still blocked, and may be killed, unblocked or blocked anew by its own command. `woken`
// marks that time; other ends of the wait (Abandon, Unblock) then do nothing, and RunAgain looks at
// `stays` and at the session when the handler has returned.
#include "server/waiting/blocked_clients.h"

#include <cassert>
#include <utility>
#include <vector>

#include "absl/base/macros.h"
#include "server/clients/current_client.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/dispatcher.h"
#include "server/notify/tracking.h"
#include "server/observe/command_counts.h"

namespace sluice {

// --- blocking

bool BlockedClients::Block(CommandCall& call, const BlockTerms& terms) {
  if (!call.may_block()) {
    terms.on_timeout ? terms.on_timeout(call) : call.reply.NullArray();
    return false;
  }
  Session& session = call.client;
  if (session.blocked) {
    BlockedCall& blocked = *BlockedCallOf(session);
    assert(blocked.woken);
    blocked.stays = true;
    if (blocked.look_again_ms != 0) {
      blocked.look_again_ms = terms.look_again_ms;
      SetTimer(blocked);
    }
    return false;
  }
  assert(!session.rare->blocked_call && session.close == CloseMode::kOpen);
  on_.timer.TimeSingly();
  const bool asks_otherwise = !terms.again.empty();
  auto blocked =
      std::make_unique<Wait>(*this, session.id, asks_otherwise ? Checked(terms.again) : call);
  if (asks_otherwise) blocked->asked = std::make_unique<QueuedCommand>(call);
  SetTerms(*blocked, terms);
  ++size_;
  session.blocked = true;
  session.rare.Make().blocked_call = std::move(blocked);
  return true;
}

void BlockedClients::SetTerms(BlockedCall& blocked, const BlockTerms& terms) {
  blocked.on_timeout = terms.on_timeout;
  blocked.owner = terms.owner;
  blocked.wait_id = terms.wait_id;
  blocked.deadline_ms = terms.deadline_ms;
  blocked.look_again_ms = terms.look_again_ms;
  SetTimer(blocked);
  if (terms.deadline_ms != 0) ++with_deadline_;
}

// For its deadline, or for the look before that.
void BlockedClients::SetTimer(BlockedCall& blocked) {
  const int64_t at_ms = blocked.looks_first() ? blocked.look_again_ms : blocked.deadline_ms;
  if (at_ms == 0) return on_.timers.Disarm(blocked);
  blocked.fired = [](TimerTask& task) {
    const Wait& wait = static_cast<Wait&>(task);
    wait.whose.TimerFired(*wait.whose.on_.clients.Find(wait.session));
  };
  on_.timers.Arm(blocked, at_ms);
}

void BlockedClients::GoOn(Session& session, const BlockTerms& terms) {
  BlockedCall& blocked = *BlockedCallOf(session);
  if (blocked.deadline_ms != 0) --with_deadline_;
  on_.timers.Disarm(blocked);
  SetTerms(blocked, terms);
}

// Words that a handler has made of those of its call.
Request BlockedClients::Checked(Args words) const {
  const std::optional<Request> request = on_.dispatcher.commands().Check(words);
  ABSL_HARDENING_ASSERT(request.has_value());
  return *request;
}

void BlockedClients::Wrap(CommandCall& call, size_t prefix) {
  if (!call.client.blocked || call.woken) return;
  QueuedCommand& request = BlockedCallOf(call.client)->request;
  std::vector<std::string_view> args(call.args.begin(), call.args.begin() + prefix);
  args.insert(args.end(), request.args().begin(), request.args().end());
  request = QueuedCommand(Checked(args));
  BlockedCallOf(call.client)->asked = std::make_unique<QueuedCommand>(call);
  BlockedCallOf(call.client)->ran_ns = 0;  // the time of `call` has that of the inner one in it
}

void BlockedClients::TimeShifted(int64_t ms) {
  if (size_ == 0) return;
  on_.clients.ForEach([&](const Session& session) {
    BlockedCall* const blocked = session.blocked ? BlockedCallOf(session) : nullptr;
    if (!blocked || !blocked->node.linked()) return;
    if (blocked->deadline_ms != 0) blocked->deadline_ms += ms;
    if (blocked->look_again_ms != 0) blocked->look_again_ms += ms;
    SetTimer(*blocked);
  });
}

std::string BlockedClients::Audit() const {
  size_t blocked = 0, deadlines = 0;
  on_.clients.ForEach([&](const Session& session) {
    blocked += session.blocked;
    deadlines += session.rare->blocked_call && BlockedCallOf(session)->deadline_ms != 0;
  });
  if (blocked != size_) return "the waiting clients are miscounted";
  return deadlines == with_deadline_ ? "" : "the waiters with a deadline are miscounted";
}

// --- the end of a wait

// Requires: the session waits. Takes it out of every count, and does not answer.
std::unique_ptr<BlockedCall> BlockedClients::TakeCall(Session& session) {
  ABSL_HARDENING_ASSERT(session.rare->blocked_call != nullptr);
  assert(session.blocked && size_ > 0);
  std::unique_ptr<BlockedCall> blocked(
      static_cast<BlockedCall*>(session.rare.Make().blocked_call.release()));
  session.blocked = false;
  if (blocked->deadline_ms != 0) --with_deadline_;
  on_.timers.Disarm(*blocked);
  --size_;
  return blocked;
}

// The slow log is told of the request as the client sent it.
void BlockedClients::Answered(Session& session, BlockedCall& blocked) {
  const QueuedCommand& request = blocked.asked ? *blocked.asked : blocked.request;
  on_.timer.Answered(session, request.command(), request.args(), blocked.ran_ns);
  Resume(session);
}

void BlockedClients::Answering(Session& session) {
  if (on_.flags.Raised(SlowPathFlags::kHooked)) [[unlikely]]
    on_.dispatcher.hook().Answering(session);
}

// It goes on with what it had sent behind the request that waited.
void BlockedClients::Resume(Session& session) {
  session.stream_seen = INT64_MAX;  // all so far: the answer may tell of any of it
  if (on_.flags.Raised(SlowPathFlags::kHooked)) [[unlikely]]
    on_.dispatcher.hook().Answered(session);
  on_.clients.QueueSend(session);
  on_.clients.Resume(session);
}

void BlockedClients::Finish(Session& session, absl::FunctionRef<void(ReplySink&)> answer) {
  if (!session.blocked) return;
  const std::unique_ptr<BlockedCall> blocked = TakeCall(session);
  Answering(session);
  answer(on_.clients.SinkOf(session));
  Answered(session, *blocked);
}

bool BlockedClients::RunAgain(Session& session, std::string_view key) {
  BlockedCall& blocked = *BlockedCallOf(session);
  const QueuedCommand& request = blocked.request;
  blocked.woken = true;
  blocked.woken_key = key;
  blocked.stays = false;
  on_.timer.Skip();
  on_.timer.TimeSingly();
  Answering(session);
  {
    const CurrentClient::As waiter(on_.current_client, session);
    on_.dispatcher.Run(session, request.request(), on_.clients.SinkOf(session));
  }
  if (on_.flags.Raised(SlowPathFlags::kPending)) [[unlikely]]
    on_.tracking.CommandDone(session);
  blocked.woken = false;
  if (blocked.stays && session.close == CloseMode::kOpen) return false;
  const std::unique_ptr<BlockedCall> done = TakeCall(session);
  Answered(session, *done);
  return true;
}

void BlockedClients::Abandon(Session& session) {
  if (!session.blocked || BlockedCallOf(session)->woken) return;  // RunAgain sees to that one
  const std::unique_ptr<BlockedCall> blocked = TakeCall(session);
  TellOwner(*blocked, WaitEnd::kClosed);
}

bool BlockedClients::Unblock(Session& session, End end) {
  if (!session.blocked || BlockedCallOf(session)->woken) return false;
  const BlockedCall& blocked = *BlockedCallOf(session);
  // As Redis counts, whichever end it is.
  const QueuedCommand& request = blocked.asked ? *blocked.asked : blocked.request;
  ++on_.counts.Of(request.command().number).failed;
  Answered(session, *EndWait(session, end, WaitEnd::kTurnedAway));
  return true;
}

void BlockedClients::Refuse(Session& session, std::string_view error) {
  if (!session.blocked || BlockedCallOf(session)->woken) return;
  const std::unique_ptr<BlockedCall> blocked = TakeCall(session);
  TellOwner(*blocked, WaitEnd::kTurnedAway);
  Answering(session);
  on_.clients.SinkOf(session).Error(error);
  Answered(session, *blocked);
}

// Time to look, or the end: of that, as Redis has it, the slow log and the histogram hear nothing.
void BlockedClients::TimerFired(Session& session) {
  const BlockedCall& blocked = *BlockedCallOf(session);
  if (blocked.looks_first()) return blocked.owner->LookAgain(blocked.wait_id);
  EndWait(session, End::kTimeout, WaitEnd::kTimeout);
  Resume(session);
}

void BlockedClients::TellOwner(const BlockedCall& blocked, WaitEnd end) {
  if (blocked.owner) blocked.owner->WaitCancelled(blocked.wait_id, end);
}

// The owner forgets the wait before the client is answered.
std::unique_ptr<BlockedCall> BlockedClients::EndWait(Session& session, End answer, WaitEnd end) {
  std::unique_ptr<BlockedCall> blocked = TakeCall(session);
  TellOwner(*blocked, end);
  Answering(session);
  ReplySink& reply = on_.clients.SinkOf(session);
  if (answer == End::kError) {
    reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else if (!blocked->on_timeout) {
    reply.NullArray();
  } else {
    CommandCall call = on_.dispatcher.CallOf(session, blocked->request.request(), reply);
    blocked->on_timeout(call);
  }
  return blocked;
}

}  // namespace sluice
