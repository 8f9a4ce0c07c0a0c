// The CLUSTER commands that change the map of a server which has no file of the operator's: its own
// slots and epoch, as Redis 7.0 takes them and refuses them. Each change is in cluster-config-file
// before it is answered.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

void ClusterAddSlots(CommandCall& call);
void ClusterAddSlotsRange(CommandCall& call);
void ClusterDelSlots(CommandCall& call);
void ClusterDelSlotsRange(CommandCall& call);
void ClusterFlushSlots(CommandCall& call);
void ClusterSetSlot(CommandCall& call);
void ClusterSetConfigEpoch(CommandCall& call);
void ClusterBumpEpoch(CommandCall& call);
void ClusterSaveConfig(CommandCall& call);
void ClusterMapLoad(CommandCall& call);
void ClusterMapGet(CommandCall& call);

}  // namespace sluice
