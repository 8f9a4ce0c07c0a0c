// See graceful_end.h. Log lines and errors are Redis's, as programs and tests wait for them.
#include "server/replication/graceful_end.h"

#include <cassert>
#include <utility>

namespace sluice {

GracefulEnd::GracefulEnd(const Uses& uses) : on_(uses) {
  deadline_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<GracefulEnd>&>(task).owner.is_overdue_ = true;
  };
}

EndOutcome GracefulEnd::Begin(const EndWords& words) {
  if (waits_) return EndOutcome::kWaits;
  words_ = words;
  on_.host.Log(LogLevel::kWarning, "User requested shutdown...");
  const int64_t timeout_ms = on_.settings.shutdown_timeout * 1000;
  if (words.now || timeout_ms == 0 || on_.replicas.HaveAll())
    return Finish() ? EndOutcome::kEnds : EndOutcome::kFailed;
  waits_ = true;
  until_ms_ = on_.clock.now().ms() + timeout_ms;
  on_.timers.Arm(deadline_, until_ms_);
  on_.pause.HoldWrites(Pause::Cause::kEnd);
  on_.replicas.set_ending(true);
  on_.host.Log(LogLevel::kNotice, "Waiting for replicas before shutting down.");
  return EndOutcome::kWaits;
}

void GracefulEnd::Block(CommandCall& call) {
  assert(waits_);
  const uint64_t id = ++last_wait_;
  if (on_.blocked_clients.Block(call, {.owner = this, .wait_id = id}))
    waiting_.emplace(id, call.client.id);
}

bool GracefulEnd::Abort() {
  if (!waits_) return false;
  CallOff();
  on_.host.Log(LogLevel::kNotice, "Shutdown manually aborted.");
  on_.host.GoesOn();
  return true;
}

void GracefulEnd::TimeShifted(int64_t ms) {
  if (!waits_ || is_overdue_) return;
  until_ms_ += ms;
  on_.timers.Arm(deadline_, until_ms_);
}

int64_t GracefulEnd::ms_left() const { return until_ms_ - on_.clock.now().ms(); }

// Never inside a command: it may be about what is to be saved.
void GracefulEnd::Look() {
  if (on_.effects.in_command() || on_.host.Stopping()) return;
  if (!is_overdue_ && !on_.replicas.HaveAll()) return;
  if (Finish()) return on_.host.Shutdown(0);
  on_.host.GoesOn();
}

bool GracefulEnd::Finish() {
  on_.replicas.LogLagging();
  if (on_.snapshots.PrepareEnd(words_)) return true;
  on_.host.Log(LogLevel::kWarning,
               "Errors trying to shut down the server. Check the logs for more information.");
  CallOff();
  return false;
}

void GracefulEnd::CallOff() {
  waits_ = is_overdue_ = false;
  on_.timers.Disarm(deadline_);
  on_.replicas.set_ending(false);
  on_.pause.LetWrites(Pause::Cause::kEnd);
  for (const auto& [id, session_id] : std::exchange(waiting_, {})) {
    if (Session* const session = on_.clients.Find(session_id)) {
      on_.blocked_clients.Finish(*session, [](ReplySink& reply) {
        reply.Error("ERR Errors trying to SHUTDOWN. Check logs.");
      });
    }
  }
}

}  // namespace sluice
