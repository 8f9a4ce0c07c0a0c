// The cluster family, as a server answers that is not part of one: that it is not. Its rows are all
// of Redis's, so that a client is told so and not that a word is unknown.
//
// Cluster-aware clients take exactly this sentence for "use me as a single server".

#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/command.h"

namespace sluice {
namespace {

// One handler for all rows: arity is checked before it, as the dispatcher does for any command.
//   CLUSTER INFO    → -ERR This instance has cluster support disabled
//   CLUSTER NOSUCH  → -ERR unknown subcommand 'NOSUCH'. Try CLUSTER HELP.
//   READONLY        → -ERR This instance has cluster support disabled
void Disabled(CommandCall& call) {
  call.reply.Error("ERR This instance has cluster support disabled");
}

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
     .run = Disabled,
     .complexity = kForSlots,
     .usage = kSlots,
     .summary = "Give slots to this node."},
    {.name = "ADDSLOTSRANGE",
     .arity = -4,
     .flags = kChanges,
     .run = Disabled,
     .since = "7.0.0",
     .complexity = kForRanges,
     .usage = kSlotRanges,
     .summary = "Give ranges of slots to this node."},
    {.name = "BUMPEPOCH",
     .arity = 2,
     .flags = kChanges,
     .run = Disabled,
     .summary = "Advance the configuration epoch.",
     .tips = kVaries},
    {.name = "COUNT-FAILURE-REPORTS",
     .arity = 3,
     .flags = kLooksAsAdmin,
     .run = Disabled,
     .complexity = "O(N) where N is the number of failure reports",
     .usage = "node-id",
     .summary = "How many nodes hold that one for failed.",
     .tips = kVaries},
    {.name = "COUNTKEYSINSLOT",
     .arity = 3,
     .flags = kLooks,
     .run = Disabled,
     .usage = "slot:integer",
     .summary = "How many keys a slot has here."},
    {.name = "DELSLOTS",
     .arity = -3,
     .flags = kChanges,
     .run = Disabled,
     .complexity = kForSlots,
     .usage = kSlots,
     .summary = "Take slots from this node."},
    {.name = "DELSLOTSRANGE",
     .arity = -4,
     .flags = kChanges,
     .run = Disabled,
     .since = "7.0.0",
     .complexity = kForRanges,
     .usage = kSlotRanges,
     .summary = "Take ranges of slots from this node."},
    {.name = "FAILOVER",
     .arity = -2,
     .flags = kChanges,
     .run = Disabled,
     .usage = "options=[FORCE | TAKEOVER]",
     .summary = "Make this replica the master."},
    {.name = "FLUSHSLOTS",
     .arity = 2,
     .flags = kChanges,
     .run = Disabled,
     .summary = "Take all slots from this node."},
    {.name = "FORGET",
     .arity = 3,
     .flags = kChanges,
     .run = Disabled,
     .usage = "node-id",
     .summary = "Drop a node from the table."},
    {.name = "GETKEYSINSLOT",
     .arity = 4,
     .flags = kLooks,
     .run = Disabled,
     .complexity = "O(log(N)) where N is the number of requested keys",
     .usage = "slot:integer count:integer",
     .summary = "Names of keys of a slot.",
     .tips = kVaries},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = Disabled,
     .since = "5.0.0",
     .summary = "What the subcommands do."},
    {.name = "INFO",
     .arity = 2,
     .flags = kLooks,
     .run = Disabled,
     .summary = "The state of the cluster.",
     .tips = kVaries},
    {.name = "KEYSLOT",
     .arity = 3,
     .flags = kLooks,
     .run = Disabled,
     .complexity = "O(N) where N is the number of bytes in the key",
     .usage = "key:string",
     .summary = "The slot of a key."},
    {.name = "LINKS",
     .arity = 2,
     .flags = kLooks,
     .run = Disabled,
     .since = "7.0.0",
     .complexity = "O(N) where N is the total number of Cluster nodes",
     .summary = "The connections to other nodes.",
     .tips = kVaries},
    {.name = "MEET",
     .arity = -4,
     .flags = kChanges,
     .run = Disabled,
     .usage = "ip port:integer [cluster_bus_port:integer]@4.0.0",
     .summary = "Get to know another node.",
     .history = "4.0.0 Added the optional `cluster_bus_port` argument."},
    {.name = "MYID",
     .arity = 2,
     .flags = kLooks,
     .run = Disabled,
     .summary = "The id of this node."},
    {.name = "NODES",
     .arity = 2,
     .flags = kLooks,
     .run = Disabled,
     .complexity = "O(N) where N is the total number of Cluster nodes",
     .summary = "The table of nodes.",
     .tips = kVaries},
    {.name = "REPLICAS",
     .arity = 3,
     .flags = kLooksAsAdmin,
     .run = Disabled,
     .since = "5.0.0",
     .usage = "node-id",
     .summary = "The replicas of a master.",
     .tips = kVaries},
    {.name = "REPLICATE",
     .arity = 3,
     .flags = kChanges,
     .run = Disabled,
     .usage = "node-id",
     .summary = "Make this node the replica of another."},
    {.name = "RESET",
     .arity = -2,
     .flags = kLooksAsAdmin | kNoScript,
     .run = Disabled,
     .complexity = "O(N) where N is the number of known nodes. The command may execute a "
                   "FLUSHALL as a side effect.",
     .usage = "hard_soft=[HARD | SOFT]",
     .summary = "Forget all about the cluster."},
    {.name = "SAVECONFIG",
     .arity = 2,
     .flags = kChanges,
     .run = Disabled,
     .summary = "Save the cluster's state."},
    {.name = "SET-CONFIG-EPOCH",
     .arity = 3,
     .flags = kChanges,
     .run = Disabled,
     .usage = "config-epoch:integer",
     .summary = "Set the configuration epoch."},
    {.name = "SETSLOT",
     .arity = -4,
     .flags = kChanges,
     .run = Disabled,
     .usage = "slot:integer subcommand=<IMPORTING node-id | MIGRATING node-id | NODE "
              "node-id | STABLE>",
     .summary = "Give a slot to a node."},
    {.name = "SHARDS",
     .arity = 2,
     .flags = kLooks,
     .run = Disabled,
     .since = "7.0.0",
     .complexity = "O(N) where N is the total number of cluster nodes",
     .summary = "Which nodes have which slots.",
     .tips = kVaries},
    {.name = "SLAVES",
     .arity = 3,
     .flags = kLooksAsAdmin,
     .run = Disabled,
     .usage = "node-id",
     .summary = "The replicas of a master.",
     .deprecated_since = "5.0.0",
     .replaced_by = "`CLUSTER REPLICAS`",
     .tips = kVaries},
    {.name = "SLOTS",
     .arity = 2,
     .flags = kLooks,
     .run = Disabled,
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
     .run = Disabled,
     .summary = "What follows was redirected here."},
    {.name = "CLUSTER",
     .arity = -2,
     .subcommands = kSpecsOf<kClusterSubcommands>,
     .complexity = "Depends on subcommand.",
     .summary = "There is no cluster."},
    {.name = "READONLY",
     .arity = 1,
     .flags = kFast | kLoading | kStale,
     .categories = kCatConnection,
     .run = Disabled,
     .summary = "Read from a replica of a cluster."},
    {.name = "READWRITE",
     .arity = 1,
     .flags = kFast | kLoading | kStale,
     .categories = kCatConnection,
     .run = Disabled,
     .summary = "Do not read from a replica of a cluster."},
};
constexpr auto kClusterRows =
    RowsOf(kClusterListed, {.group = "cluster", .since = "3.0.0", .complexity = "O(1)"});

}  // namespace

CommandFamily ClusterFamily() { return {"cluster", kSpecsOf<kClusterRows>}; }

}  // namespace sluice
