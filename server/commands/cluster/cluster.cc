// The cluster family: its rows are all of Redis's. A server that is part of no cluster
// (cluster-enabled no) answers each that it is not, but for KEYSLOT, which asks of a key alone:
// cluster-aware clients take exactly this sentence for "use me as a single server".

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/cluster/cluster_state.h"
#include "server/commands/cluster/cluster_answers.h"
#include "server/commands/cluster/cluster_changes.h"
#include "server/commands/cluster/cluster_servers.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"

namespace sluice {
namespace {

//   CLUSTER INFO    → -ERR This instance has cluster support disabled
//   CLUSTER NOSUCH  → -ERR unknown subcommand 'NOSUCH'. Try CLUSTER HELP.
//   READONLY        → -ERR This instance has cluster support disabled
template <Handler run>
void InCluster(CommandCall& call) {
  if (!call.part<ClusterState>().is_on())
    return call.reply.Error("ERR This instance has cluster support disabled");
  run(call);
}

// --- what a client of replicas says

void ReadOnly(CommandCall& call) {
  call.client.reads_replica = true;
  call.reply.Ok();
}

void ReadWrite(CommandCall& call) {
  call.client.reads_replica = false;
  call.reply.Ok();
}

// The next command may be about a slot that is on its way to this server.
void Asking(CommandCall& call) {
  call.client.conditions |= kAsks;
  call.client.conditions &= static_cast<uint16_t>(~kAsked);
  call.reply.Ok();
}

// Ours. CLUSTER MAP CHECK [cursor] | GET | LOAD | PUT map [MEET]
void Map(CommandCall& call) {
  const bool is_whole = call.args.size() == 3;
  if (is_whole && IsWord(call.args[2], "GET")) return ClusterMapGet(call);
  if (is_whole && IsWord(call.args[2], "LOAD")) return ClusterMapLoad(call);
  if (call.args.size() <= 4 && IsWord(call.args[2], "CHECK")) return ClusterMapCheck(call);
  const bool meets = call.args.size() == 5 && IsWord(call.args[4], "MEET");
  if ((call.args.size() == 4 || meets) && IsWord(call.args[2], "PUT")) return ClusterMapPut(call);
  call.reply.Error(ErrorCode::kSyntax);
}

constexpr std::string_view kHelp[] = {
    "ADDSLOTS <slot> [<slot> ...]",
    "    Give slots to this server.",
    "ADDSLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...]",
    "    Give ranges of slots to this server.",
    "BUMPEPOCH",
    "    Give a map without an epoch its first one.",
    "COUNTKEYSINSLOT <slot>",
    "    Answer with the number of keys of a slot here.",
    "DELSLOTS <slot> [<slot> ...]",
    "    Take slots from their servers.",
    "DELSLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...]",
    "    Take ranges of slots from their servers.",
    "FAILOVER [FORCE|TAKEOVER]",
    "    Make this replica the master of its line; the master is asked, or not.",
    "FLUSHSLOTS",
    "    Take all slots from this server.",
    "FORGET <node-id>",
    "    Take a server out of the map of this one.",
    "GETKEYSINSLOT <slot> <count>",
    "    Answer with names of keys of a slot here.",
    "INFO",
    "    Answer with the state of the cluster.",
    "KEYSLOT <key>",
    "    Answer with the slot of a key.",
    "MAP CHECK [cursor]",
    "    Answer with the number of locks that are held here, by slots.",
    "MAP GET",
    "    Answer with the map as a file has it.",
    "MAP LOAD",
    "    Read the file of the map again.",
    "MAP PUT <map> [MEET]",
    "    Merge another server's map with the one here, and answer with its digest.",
    "MEET <ip> <port>",
    "    Ask a server to let this one into its map.",
    "MYID",
    "    Answer with the id of this server.",
    "NODES",
    "    Answer with the servers, a line each:",
    "    <id> <host:port@0> <flags> <master> 0 0 <epoch> connected <slot> ...",
    "REPLICAS <node-id>",
    "    Answer with the replicas of a master.",
    "REPLICATE <node-id>",
    "    Follow that master.",
    "RESET [HARD|SOFT]",
    "    Forget all other servers; a replica becomes an empty master.",
    "SAVECONFIG",
    "    Write the map to cluster-config-file.",
    "SET-CONFIG-EPOCH <epoch>",
    "    Set the epoch of a server that knows no other.",
    "SETSLOT <slot> (IMPORTING|MIGRATING|STABLE|NODE <node-id>)",
    "    Begin or end a slot's way to another server, or give it away.",
    "SHARDS",
    "    Answer with the slots and the servers that share them.",
    "SLOTS",
    "    Answer with each range of slots and its servers.",
};
void Help(CommandCall& call) { ReplyHelp(call, kHelp); }

// --- the table

constexpr uint32_t kChanges = kAdmin | kStale | kNoAsyncLoading;
constexpr uint32_t kLooks = kStale;
constexpr uint32_t kLooksAsAdmin = kAdmin | kStale;
constexpr std::string_view kVaries = "nondeterministic_output";
constexpr std::string_view kSlots = "slot:integer [slot:integer ...]";
constexpr std::string_view kForSlots = "O(N) where N is the total number of hash slot arguments";
constexpr std::string_view kSlotRanges =
    "start-slot_end-slot=<start-slot:integer end-slot:integer> ...";
constexpr std::string_view kForRanges =
    "O(N) where N is the total number of the slots between the start slot and end slot arguments.";

// Their summaries say what Redis has them for.
constexpr CommandRow kClusterSubcommandsListed[] = {
    {.name = "ADDSLOTS",
     .arity = -3,
     .flags = kChanges,
     .run = InCluster<ClusterAddSlots>,
     .complexity = kForSlots,
     .usage = kSlots,
     .summary = "Give slots to this node."},
    {.name = "ADDSLOTSRANGE",
     .arity = -4,
     .flags = kChanges,
     .run = InCluster<ClusterAddSlotsRange>,
     .since = "7.0.0",
     .complexity = kForRanges,
     .usage = kSlotRanges,
     .summary = "Give ranges of slots to this node."},
    {.name = "BUMPEPOCH",
     .arity = 2,
     .flags = kChanges,
     .run = InCluster<ClusterBumpEpoch>,
     .summary = "Advance the configuration epoch.",
     .tips = kVaries},
    {.name = "COUNT-FAILURE-REPORTS",
     .arity = 3,
     .flags = kLooksAsAdmin,
     .run = InCluster<ClusterFailureReports>,
     .complexity = "O(N) where N is the number of failure reports",
     .usage = "node-id",
     .summary = "How many nodes hold that one for failed.",
     .tips = kVaries},
    {.name = "COUNTKEYSINSLOT",
     .arity = 3,
     .flags = kLooks,
     .run = InCluster<ClusterCountKeysInSlot>,
     .usage = "slot:integer",
     .summary = "How many keys a slot has here."},
    {.name = "DELSLOTS",
     .arity = -3,
     .flags = kChanges,
     .run = InCluster<ClusterDelSlots>,
     .complexity = kForSlots,
     .usage = kSlots,
     .summary = "Take slots from this node."},
    {.name = "DELSLOTSRANGE",
     .arity = -4,
     .flags = kChanges,
     .run = InCluster<ClusterDelSlotsRange>,
     .since = "7.0.0",
     .complexity = kForRanges,
     .usage = kSlotRanges,
     .summary = "Take ranges of slots from this node."},
    {.name = "FAILOVER",
     .arity = -2,
     .flags = kChanges,
     .run = InCluster<ClusterFailover>,
     .usage = "options=[FORCE | TAKEOVER]",
     .summary = "Make this replica the master."},
    {.name = "FLUSHSLOTS",
     .arity = 2,
     .flags = kChanges,
     .run = InCluster<ClusterFlushSlots>,
     .summary = "Take all slots from this node."},
    {.name = "FORGET",
     .arity = 3,
     .flags = kChanges,
     .run = InCluster<ClusterForget>,
     .usage = "node-id",
     .summary = "Drop a node from the table."},
    {.name = "GETKEYSINSLOT",
     .arity = 4,
     .flags = kLooks,
     .run = InCluster<ClusterGetKeysInSlot>,
     .complexity = "O(N) where N is the number of requested keys",
     .usage = "slot:integer count:integer",
     .summary = "Names of keys of a slot.",
     .tips = kVaries},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = InCluster<Help>,
     .since = "5.0.0",
     .summary = "What the subcommands do."},
    {.name = "INFO",
     .arity = 2,
     .flags = kLooks,
     .run = InCluster<ClusterInfo>,
     .summary = "The state of the cluster.",
     .tips = kVaries},
    {.name = "KEYSLOT",
     .arity = 3,
     .flags = kLooks,
     .run = ClusterKeySlot,
     .complexity = "O(N) where N is the number of bytes in the key",
     .usage = "key:string",
     .summary = "The slot of a key."},
    {.name = "LINKS",
     .arity = 2,
     .flags = kLooks,
     .run = InCluster<ClusterLinks>,
     .since = "7.0.0",
     .complexity = "O(N) where N is the total number of Cluster nodes",
     .summary = "The connections to other nodes.",
     .tips = kVaries},
    {.name = "MAP",
     .arity = -3,
     .flags = kChanges,
     .run = InCluster<Map>,
     .since = "0.1.0",
     .usage = "subcommand=<CHECK [cursor:integer] | GET | LOAD | PUT map:string [meet=MEET]>",
     .summary = "The map as a file has it, the file read again, or another server's map."},
    {.name = "MEET",
     .arity = -4,
     .flags = kChanges,
     .run = InCluster<ClusterMeet>,
     .usage = "ip port:integer [cluster_bus_port:integer]@4.0.0",
     .summary = "Get to know another node.",
     .history = "4.0.0 Added the optional `cluster_bus_port` argument."},
    {.name = "MYID",
     .arity = 2,
     .flags = kLooks,
     .run = InCluster<ClusterMyId>,
     .summary = "The id of this node."},
    {.name = "NODES",
     .arity = 2,
     .flags = kLooks,
     .run = InCluster<ClusterNodes>,
     .complexity = "O(N) where N is the total number of Cluster nodes",
     .summary = "The table of nodes.",
     .tips = kVaries},
    {.name = "REPLICAS",
     .arity = 3,
     .flags = kLooksAsAdmin,
     .run = InCluster<ClusterReplicas>,
     .since = "5.0.0",
     .usage = "node-id",
     .summary = "The replicas of a master.",
     .tips = kVaries},
    {.name = "REPLICATE",
     .arity = 3,
     .flags = kChanges,
     .run = InCluster<ClusterReplicate>,
     .usage = "node-id",
     .summary = "Make this node the replica of another."},
    {.name = "RESET",
     .arity = -2,
     .flags = kLooksAsAdmin | kNoScript,
     .run = InCluster<ClusterReset>,
     .complexity = "O(N) where N is the number of known nodes. The command may execute a "
                   "FLUSHALL as a side effect.",
     .usage = "hard_soft=[HARD | SOFT]",
     .summary = "Forget all about the cluster."},
    {.name = "SAVECONFIG",
     .arity = 2,
     .flags = kChanges,
     .run = InCluster<ClusterSaveConfig>,
     .summary = "Save the cluster's state."},
    {.name = "SET-CONFIG-EPOCH",
     .arity = 3,
     .flags = kChanges,
     .run = InCluster<ClusterSetConfigEpoch>,
     .usage = "config-epoch:integer",
     .summary = "Set the configuration epoch."},
    {.name = "SETSLOT",
     .arity = -4,
     .flags = kChanges,
     .run = InCluster<ClusterSetSlot>,
     .usage = "slot:integer subcommand=<IMPORTING node-id | MIGRATING node-id | NODE "
              "node-id | STABLE>",
     .summary = "Give a slot to a node."},
    {.name = "SHARDS",
     .arity = 2,
     .flags = kLooks,
     .run = InCluster<ClusterShards>,
     .since = "7.0.0",
     .complexity = "O(N) where N is the total number of cluster nodes",
     .summary = "Which nodes have which slots.",
     .tips = kVaries},
    {.name = "SLAVES",
     .arity = 3,
     .flags = kLooksAsAdmin,
     .run = InCluster<ClusterReplicas>,
     .usage = "node-id",
     .summary = "The replicas of a master.",
     .deprecated_since = "5.0.0",
     .replaced_by = "`CLUSTER REPLICAS`",
     .tips = kVaries},
    {.name = "SLOTS",
     .arity = 2,
     .flags = kLooks,
     .run = InCluster<ClusterSlots>,
     .complexity = "O(N) where N is the total number of Cluster nodes",
     .summary = "Which nodes have which slots.",
     .history = "4.0.0 Added node IDs.|7.0.0 Added additional networking metadata field.",
     .deprecated_since = "7.0.0",
     .replaced_by = "`CLUSTER SHARDS`",
     .tips = kVaries},
};
constexpr auto kClusterSubcommands =
    RowsOf(kClusterSubcommandsListed, {.group = "cluster", .since = "3.0.0", .complexity = "O(1)"});

// Four commands stand outside of CLUSTER; clients send READONLY to servers that they take for
// replicas.
constexpr CommandRow kClusterListed[] = {
    {.name = "ASKING",
     .arity = 1,
     .flags = kFast,
     .categories = kCatConnection,
     .run = InCluster<Asking>,
     .summary = "What follows was redirected here."},
    {.name = "CLUSTER",
     .arity = -2,
     .subcommands = kSpecsOf<kClusterSubcommands>,
     .complexity = "Depends on subcommand.",
     .summary = "Which servers have which keys."},
    {.name = "READONLY",
     .arity = 1,
     .flags = kFast | kLoading | kStale,
     .categories = kCatConnection,
     .run = InCluster<ReadOnly>,
     .summary = "Read from a replica of a cluster."},
    {.name = "READWRITE",
     .arity = 1,
     .flags = kFast | kLoading | kStale,
     .categories = kCatConnection,
     .run = InCluster<ReadWrite>,
     .summary = "Do not read from a replica of a cluster."},
};
constexpr auto kClusterRows =
    RowsOf(kClusterListed, {.group = "cluster", .since = "3.0.0", .complexity = "O(1)"});

}  // namespace

CommandFamily ClusterFamily() { return {"cluster", kSpecsOf<kClusterRows>}; }

}  // namespace sluice
