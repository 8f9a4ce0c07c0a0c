// Turns inside a command that takes long (Yielder): other clients are served meanwhile. What the
// turn around holds of their requests is given back to them first, and the turn inside has inputs
// and a batch of its own.
#include <utility>
#include <vector>

#include "server/core/turn_needs.h"
#include "server/engine/assembly.h"
#include "server/engine/turn_loop.h"

namespace sluice {

void TurnLoop::Yield(Session& caller) {
  if (on_.current_client.serving_from_within()) return;
  on_.command_timer.EndRun();
  {
    // A script in a log that DEBUG LOADAOF plays is no client: it runs inside that one's command.
    Session& around = on_.current_client.current() ? *on_.current_client.current() : caller;
    const CurrentClient::Within within(on_.current_client, around);
    const TurnClock::Going going(on_.clock);
    SetAside(around);
    on_.host.Poll();
  }
  on_.clock.Tick();
}

// Gives other clients the requests back that this turn still holds, so that they are answered now
// and not after the script.
void TurnLoop::SetAside(Session& caller) {
  for (Input& input : on_.inputs.list) {
    if (!input.session || input.session == &caller) continue;
    Session& session = *input.session;
    const bool requests_left = input.position < input.parsed;
    if (requests_left) session.parser.Reset();  // it has read ahead of what has been run
    KeepRest(input);
    if (requests_left && !session.pending.empty() && !session.blocked && !session.paused) {
      on_.clients.Requeue(session);
    }
    input.session = nullptr;
    input.stopped = true;
  }
}

bool TurnLoop::RunNestedTurn() {
  // These are put back: the turn around this one goes on when its command has ended.
  std::vector<Input> outer_inputs = std::exchange(on_.inputs.list, {});
  Batch outer_batch = std::exchange(batch_, Batch(on_.settings(), on_.commands, on_.keyspace));
  const int64_t begin = on_.clock.Tick();
  TakeRequeued();
  RunInputs(begin);
  on_.inputs.list = std::move(outer_inputs);
  batch_ = std::move(outer_batch);
  on_.tracking.Broadcast();
  on_.following.KeepMasterAwake();
  // The command around is of a later number, with what it needs.
  const TurnNeeds needs = on_.turn_gate.needs();
  NumberTurn();
  on_.turn_gate.needs() = needs;
  on_.clients.SendAll();
  CloseAll();
  return on_.clients.any_requeued();
}

}  // namespace sluice
