// See sync_waits.h. Waits are ordered by when they began, and so by position: what has been
// reached stands in front.
#include "server/log/sync_waits.h"

namespace sluice {

void SyncWaits::Block(CommandCall& call, int64_t deadline_ms, Handler on_timeout) {
  const uint64_t id = ++last_id_;
  waits_[id] = {.session = call.client.id};
  blocked_clients_.Block(
      call, {.deadline_ms = deadline_ms, .on_timeout = on_timeout, .owner = this, .wait_id = id});
}

bool SyncWaits::TurnEnded(uint64_t position) {
  auto wait = waits_.rbegin();
  for (; wait != waits_.rend() && wait->second.position == kNotYet; ++wait)
    wait->second.position = position;
  return wait != waits_.rbegin();
}

void SyncWaits::Reached(uint64_t durable) {
  while (AnyReached(durable)) {
    Finish([](ReplySink& reply) {
      reply.Array(2);
      reply.Integer(1);
      reply.Integer(0);  // replicas
    });
  }
}

void SyncWaits::Fail(std::string_view error) {
  while (!waits_.empty()) Finish([&](ReplySink& reply) { reply.Error(error); });
}

void SyncWaits::Finish(absl::FunctionRef<void(ReplySink&)> answer) {
  Session* const session = clients_.Find(waits_.begin()->second.session);
  waits_.erase(waits_.begin());
  if (session) blocked_clients_.Finish(*session, answer);
}

}  // namespace sluice
