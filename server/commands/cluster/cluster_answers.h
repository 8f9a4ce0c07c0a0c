// The answers about the map: CLUSTER SLOTS, SHARDS, NODES, INFO and their likes, in the forms
// of Redis 7.0. None changes anything.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

void ClusterSlots(CommandCall& call);
void ClusterShards(CommandCall& call);
void ClusterNodes(CommandCall& call);
void ClusterInfo(CommandCall& call);
void ClusterMyId(CommandCall& call);
void ClusterReplicas(CommandCall& call);
void ClusterLinks(CommandCall& call);
void ClusterFailureReports(CommandCall& call);
void ClusterKeySlot(CommandCall& call);
void ClusterCountKeysInSlot(CommandCall& call);
void ClusterGetKeysInSlot(CommandCall& call);
void ClusterMapCheck(CommandCall& call);

}  // namespace sluice
