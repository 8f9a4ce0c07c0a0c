// See parked_clients.h. The hard part is a handler that runs again for a waiter: meanwhile the
// client is still parked, and may be killed, unblocked or parked anew by its own command. `woken`
// marks that time; other ends of the wait (Abandon, Unblock) then do nothing, and RunAgain looks at
// `stays` and at the session when the handler has returned.
#include "server/waiting/parked_clients.h"

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

// --- parking

bool ParkedClients::Park(CommandCall& call, const Parking& parking) {
  if (!call.may_park()) {
    parking.on_timeout ? parking.on_timeout(call) : call.reply.NullArray();
    return false;
  }
  Session& session = call.client;
  if (session.blocked) {
    assert(ParkedOf(session)->woken);
    ParkedOf(session)->stays = true;
    return false;
  }
  assert(!session.parked && session.close == CloseMode::kOpen);
  on_.timer.TimeSingly();
  const bool asks_otherwise = !parking.again.empty();
  auto parked =
      std::make_unique<Wait>(*this, session.id, asks_otherwise ? Checked(parking.again) : call);
  if (asks_otherwise) parked->asked = std::make_unique<QueuedCommand>(call);
  parked->on_timeout = parking.on_timeout;
  parked->owner = parking.owner;
  parked->wait_id = parking.wait_id;
  if (parking.deadline_ms != 0) {
    parked->fired = [](TimerTask& task) {
      const Wait& wait = static_cast<Wait&>(task);
      wait.whose.TimeIsOver(*wait.whose.on_.clients.Find(wait.session));
    };
    on_.timers.Arm(*parked, parking.deadline_ms);
    ++with_deadline_;
  }
  ++size_;
  session.blocked = true;
  session.parked = std::move(parked);
  return true;
}

// Words that a handler has made of those of its call.
Request ParkedClients::Checked(Args words) const {
  const std::optional<Request> request = on_.dispatcher.commands().Check(words);
  ABSL_HARDENING_ASSERT(request.has_value());
  return *request;
}

void ParkedClients::Wrap(CommandCall& call, size_t prefix) {
  if (!call.client.blocked || call.woken) return;
  QueuedCommand& request = ParkedOf(call.client)->request;
  std::vector<std::string_view> args(call.args.begin(), call.args.begin() + prefix);
  args.insert(args.end(), request.args().begin(), request.args().end());
  request = QueuedCommand(Checked(args));
  ParkedOf(call.client)->asked = std::make_unique<QueuedCommand>(call);
  ParkedOf(call.client)->ran_ns = 0;  // the time of `call` has that of the inner one in it
}

std::string ParkedClients::Audit() const {
  size_t parked = 0, deadlines = 0;
  on_.clients.ForEach([&](const Session& session) {
    parked += session.blocked;
    deadlines += session.parked && ParkedOf(session)->fired != nullptr;
  });
  if (parked != size_) return "the waiting clients are miscounted";
  return deadlines == with_deadline_ ? "" : "the waiters with a deadline are miscounted";
}

// --- the end of a wait

// Requires: the session waits. Takes it out of every count, and does not answer.
std::unique_ptr<Parked> ParkedClients::Unpark(Session& session) {
  ABSL_HARDENING_ASSERT(session.parked != nullptr);
  assert(session.blocked && size_ > 0);
  std::unique_ptr<Parked> parked(static_cast<Parked*>(session.parked.release()));
  session.blocked = false;
  if (parked->fired) --with_deadline_;
  on_.timers.Disarm(*parked);
  --size_;
  return parked;
}

// The slow log is told of the request as the client sent it.
void ParkedClients::Answered(Session& session, Parked& parked) {
  const QueuedCommand& request = parked.asked ? *parked.asked : parked.request;
  on_.timer.Answered(session, request.command(), request.args(), parked.ran_ns);
  Resume(session);
}

void ParkedClients::Answering(Session& session) {
  if (on_.flags.Raised(SlowPathFlags::kHooked)) [[unlikely]]
    on_.dispatcher.hook().Answering(session);
}

// It goes on with what it had sent behind the request that waited.
void ParkedClients::Resume(Session& session) {
  if (on_.flags.Raised(SlowPathFlags::kHooked)) [[unlikely]]
    on_.dispatcher.hook().Answered(session);
  on_.clients.QueueSend(session);
  on_.clients.Resume(session);
}

void ParkedClients::Finish(Session& session, absl::FunctionRef<void(ReplySink&)> answer) {
  if (!session.blocked) return;
  const std::unique_ptr<Parked> parked = Unpark(session);
  Answering(session);
  answer(on_.clients.SinkOf(session));
  Answered(session, *parked);
}

bool ParkedClients::RunAgain(Session& session, std::string_view key) {
  Parked& parked = *ParkedOf(session);
  const QueuedCommand& request = parked.request;
  parked.woken = true;
  parked.woken_key = key;
  parked.stays = false;
  on_.timer.Skip();
  on_.timer.TimeSingly();
  Answering(session);
  {
    const CurrentClient::As waiter(on_.current_client, session);
    on_.dispatcher.Run(session, request.request(), on_.clients.SinkOf(session));
  }
  if (on_.flags.Raised(SlowPathFlags::kPending)) [[unlikely]]
    on_.tracking.CommandDone(session);
  parked.woken = false;
  if (parked.stays && session.close == CloseMode::kOpen) return false;
  const std::unique_ptr<Parked> done = Unpark(session);
  Answered(session, *done);
  return true;
}

void ParkedClients::Abandon(Session& session) {
  if (!session.blocked || ParkedOf(session)->woken) return;  // RunAgain sees to that one
  const std::unique_ptr<Parked> parked = Unpark(session);
  TellOwner(*parked, WaitEnd::kClosed);
}

bool ParkedClients::Unblock(Session& session, End end) {
  if (!session.blocked || ParkedOf(session)->woken) return false;
  const Parked& parked = *ParkedOf(session);
  // As Redis counts, whichever end it is.
  const QueuedCommand& request = parked.asked ? *parked.asked : parked.request;
  ++on_.counts.Of(request.command().number).failed;
  Answered(session, *EndWait(session, end, WaitEnd::kTurnedAway));
  return true;
}

void ParkedClients::Refuse(Session& session, std::string_view error) {
  if (!session.blocked || ParkedOf(session)->woken) return;
  const std::unique_ptr<Parked> parked = Unpark(session);
  TellOwner(*parked, WaitEnd::kTurnedAway);
  Answering(session);
  on_.clients.SinkOf(session).Error(error);
  Answered(session, *parked);
}

// As Redis has it, the slow log and the histogram hear nothing of it.
void ParkedClients::TimeIsOver(Session& session) {
  EndWait(session, End::kTimeout, WaitEnd::kTimeout);
  Resume(session);
}

void ParkedClients::TellOwner(const Parked& parked, WaitEnd end) {
  if (parked.owner) parked.owner->WaitCancelled(parked.wait_id, end);
}

// The owner forgets the wait before the client is answered.
std::unique_ptr<Parked> ParkedClients::EndWait(Session& session, End answer, WaitEnd end) {
  std::unique_ptr<Parked> parked = Unpark(session);
  TellOwner(*parked, end);
  Answering(session);
  ReplySink& reply = on_.clients.SinkOf(session);
  if (answer == End::kError) {
    reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else if (!parked->on_timeout) {
    reply.NullArray();
  } else {
    CommandCall call = on_.dispatcher.CallOf(session, parked->request.request(), reply);
    parked->on_timeout(call);
  }
  return parked;
}

}  // namespace sluice
