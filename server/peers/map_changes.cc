// See map_changes.h.
#include "server/peers/map_changes.h"

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
  Changed();
  return fault;
}

Fault MapChanges::Change(SlotMap map, size_t me) {
  Fault fault = on_.cluster.Change(std::move(map), me);
  if (!fault) Changed();
  return fault;
}

// Waiters are sent away first: a listener may change the map once more.
void MapChanges::Changed() {
  std::vector<Session*> blocked;
  on_.clients.ForEach([&blocked](Session& session) {
    if (session.blocked) blocked.push_back(&session);
  });
  for (Session* const session : blocked) {
    const std::string refusal = on_.slots.Ask(*session, BlockedCallOf(*session)->request.request());
    if (!refusal.empty()) on_.blocked_clients.Refuse(*session, refusal);
  }
  on_.pubsub.EndShards([this](std::string_view channel) {
    const ClusterNode* const owner = on_.cluster.map().OwnerOf(SlotOfKey(channel));
    return !owner || !on_.cluster.IsOfOwnLine(on_.cluster.map().NumberOf(*owner));
  });
  if (listener_) listener_->MapChanged();
}

}  // namespace sluice
