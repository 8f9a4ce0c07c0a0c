// The CLUSTER commands about servers: who is in the map, who follows whom, and how maps are
// exchanged. As Redis 7.0 takes and refuses them; there is no bus, so what it decides by votes is
// decided here by who types it.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

void ClusterMeet(CommandCall& call);
void ClusterForget(CommandCall& call);
void ClusterReplicate(CommandCall& call);
void ClusterFailover(CommandCall& call);
void ClusterReset(CommandCall& call);
void ClusterMapPut(CommandCall& call);

}  // namespace sluice
