// See time_control.h.
#include "server/test_double/time_control.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {

void TimeControl::SetWall(int64_t unix_ms) {
  on_.movable.StepWall(unix_ms - on_.movable.Sample().unix_ms());
}

// --- journeys

Fault TimeControl::Advance(CommandCall& call, int64_t ms) {
  if (on_.clock.now().ms() > kEndMs - ms) return "ERR the clock cannot go on for so long";
  Enter(call, ms);
  return {};
}

void TimeControl::Next(CommandCall& call) { Enter(call, std::nullopt); }

void TimeControl::Enter(CommandCall& call, std::optional<int64_t> ms) {
  const uint64_t id = ++last_id_;
  if (!on_.blocked_clients.Block(call, {.owner = this, .wait_id = id})) return;
  journeys_.push_back({.session = call.client.id, .id = id, .ms = ms});
}

// The client has left, or was unblocked: the clock stays where it is.
void TimeControl::WaitCancelled(uint64_t wait_id, WaitEnd) {
  const auto of_client = [&](const Journey& journey) { return journey.id == wait_id; };
  journeys_.EraseIf(of_client);
}

bool TimeControl::HasArrived(Journey& journey, uint64_t fired) const {
  const int64_t now_ms = on_.clock.now().ms();
  if (!std::exchange(journey.begun, true)) {
    journey.from_ms = now_ms;
    journey.fired = fired;
  }
  if (journey.ms) return now_ms >= std::min(journey.from_ms + *journey.ms, kEndMs);
  return fired > journey.fired || on_.wheel.size() == 0 || now_ms >= kEndMs;
}

bool TimeControl::Step(uint64_t fired) {
  Journey& journey = journeys_.front();
  if (HasArrived(journey, fired)) {
    Arrive(fired > journey.fired);
    return false;
  }
  const int64_t now_ms = on_.clock.now().ms();
  const int64_t end_ms = journey.ms ? std::min(journey.from_ms + *journey.ms, kEndMs) : kEndMs;
  // The wheel may name a moment too early, but none that it then does not move past.
  const int64_t next_ms = std::clamp(on_.wheel.NextWork(), now_ms + 1, end_ms);
  on_.movable.Pass((next_ms - now_ms) * 1000);
  return true;
}

void TimeControl::Arrive(bool found_timer) {
  const Journey journey = journeys_.front();
  journeys_.pop_front();
  Session& session = *on_.clients.Find(journey.session);
  const int64_t took_ms = on_.clock.now().ms() - journey.from_ms;
  on_.blocked_clients.Finish(session, [&](ReplySink& reply) {
    if (journey.ms) return reply.Status("OK");
    reply.Integer(found_timer ? took_ms : -1);
  });
}

}  // namespace sluice
