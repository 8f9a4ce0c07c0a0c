// See map_changes.h.
#include "server/engine/map_changes.h"

#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/core/log_level.h"
#include "server/dispatch/blocked_call.h"

namespace sluice {

Fault MapChanges::Load() {
  Fault fault = on_.cluster.Reload();
  if (fault) {
    on_.host.Log(LogLevel::kWarning, Concat("the map of the cluster stays: ", fault.sentence()));
    return fault;
  }
  on_.host.Log(LogLevel::kNotice, Concat("the map of the cluster is that of epoch ",
                                         on_.cluster.map().epoch(), ", ", on_.cluster.Digest()));
  SendWaitersAway();
  return fault;
}

Fault MapChanges::Change(SlotMap map) {
  Fault fault = on_.cluster.Change(std::move(map));
  if (!fault) SendWaitersAway();
  return fault;
}

void MapChanges::SendWaitersAway() {
  std::vector<Session*> blocked;
  on_.clients.ForEach([&blocked](Session& session) {
    if (session.blocked) blocked.push_back(&session);
  });
  for (Session* const session : blocked) {
    const std::string refusal = on_.slots.Ask(*session, BlockedCallOf(*session)->request.request());
    if (!refusal.empty()) on_.blocked_clients.Refuse(*session, refusal);
  }
}

}  // namespace sluice
