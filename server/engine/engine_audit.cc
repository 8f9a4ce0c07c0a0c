// What has to hold of the engine between two turns: sessions and their slots, the lists of those
// that have something to do, and who listens to what against the flags that say that somebody does.
#include <algorithm>

#include "server/engine/engine.h"
#include "server/engine/limit_desk.h"
#include "server/engine/lock_service.h"
#include "server/engine/monitors.h"
#include "server/engine/tracking.h"

namespace sluice {
namespace {

bool Names(const std::vector<SessionId>& list, const Session& session) {
  return std::ranges::find(list, session.id) != list.end();
}

}  // namespace

std::string Engine::Audit() const {
  size_t sessions = 0, blocked = 0, tracking = 0;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    const Session* const session = slots_[slot].session.get();
    if (!session) continue;
    ++sessions;
    blocked += session->blocked;
    tracking += session->tracking != nullptr;
    if (!(session->id == SessionId{static_cast<uint32_t>(slot), slots_[slot].generation}))
      return "a session is in another's slot";
    const auto found = slot_of_client_.find(session->client_id);
    if (found == slot_of_client_.end() || found->second != slot)
      return "a client's number leads to another slot";
    if (std::string fault = AuditSession(*session); !fault.empty()) return fault;
  }
  if (sessions != session_count_ || sessions != slot_of_client_.size() ||
      sessions + free_slots_.size() != slots_.size())
    return "the sessions are miscounted";
  if (blocked != waiters_.size()) return "the waiting clients are miscounted";
  if (tracking != tracking_->clients()) return "the tracking clients are miscounted";
  if (current_ || caller_ || nested_) return "a command runs between turns";
  if (!inputs_.empty()) return "what was received in a turn is left over";
  if (std::string fault = waiters_.Audit(); !fault.empty()) return fault;
  if (std::string fault = tracking_->Audit(); !fault.empty()) return fault;
  return AuditAttention();
}

std::string Engine::AuditSession(const Session& session) const {
  if (session.blocked != (session.parked != nullptr)) return "a client is blocked without a wait";
  if (session.executing) return "a client runs EXEC between turns";
  if (session.received) return "a client waits for what it received in a turn";
  if (session.carried != Names(carried_, session)) return "a client's requests will never be run";
  if (session.queued_to_send != Names(to_send_, session))
    return "a client's replies will never be sent";
  if (session.pending_start > session.pending.size()) return "more of a request ran than there is";
  if (session.in_multi() && !session.transaction) return "MULTI without a queue";
  if (!session.output.Sound()) return "an output buffer's counts are wrong";
  const bool must_log_in = !session.authenticated && !settings().requirepass.empty();
  if (must_log_in != ((session.conditions & kNeedsLogin) != 0))
    return "a client that has not logged in is let in, or the other way round";
  const bool hears_only = session.resp() == 2 && session.subscribes();
  if (hears_only != ((session.conditions & kSubscriber) != 0))
    return "a subscriber may do what it may not, or the other way round";
  if (session.conditions & (kInScript | kInFenced)) return "a client is inside a command";
  return "";
}

// A cause may be raised for nobody, never lowered for somebody.
std::string Engine::AuditAttention() const {
  const bool keys = !watches_.empty() || !waiters_.no_keys() || !limits_->idle() ||
                    !locks_->nobody_waits() || !tracking_->idle();
  const bool serve = locks_->pending() || waiters_.any_ready() || limits_->any_ready();
  const bool commands = monitors_->any() || tracking_->clients() > 0;
  const bool gates = pause_.mode() != Pause::Mode::kNone || scripts_.busy();
  if (keys && !attention_.Raised(Attention::kKeys)) return "a touched key is told to nobody";
  if (serve && !attention_.Raised(Attention::kServe))
    return "waiters that can go on are not served";
  if (commands && !attention_.Raised(Attention::kCommands)) return "commands are shown to nobody";
  if (tracking_->any_pending()) return "a client is not told what its command has changed";
  return gates == attention_.Raised(Attention::kGates)
             ? ""
             : "the gates are open, or closed, by mistake";
}

}  // namespace sluice
