// The replication family, as a server answers that has no replicas and follows nobody: what it is, and
// how many replicas have what was written.

#include "server/commands/blocking.h"
#include "server/commands/families.h"
#include "server/engine/arg_reader.h"
#include "server/engine/waiters.h"

namespace sluice {
namespace {

constexpr int64_t kReplicas = 0;

void Role(CommandCall& call) {
  call.reply.Array(3);
  call.reply.Bulk("master");
  call.reply.Integer(0);  // the offset in a stream that nobody reads
  call.reply.Array(0);    // replicas
}

void ReplyReplicas(CommandCall& call) { call.reply.Integer(kReplicas); }

// Programs wait for a replica to have their write, or for the time to be over.
void Wait(CommandCall& call) {
  ArgReader args(call.args);
  const int64_t wanted = args.Int();
  const int64_t deadline_ms = args.failed() ? 0 : ReadTimeoutMs(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  // Redis keeps 32 bits of it.
  if (static_cast<int32_t>(wanted) <= kReplicas) return ReplyReplicas(call);
  call.Park({}, {.deadline_ms = deadline_ms, .on_timeout = ReplyReplicas});
}

constexpr CommandSpec kRows[] = {
    {.name = "ROLE",
     .arity = 1,
     .flags = kNoScript | kLoading | kStale | kFast,
     .categories = kCatAdmin | kCatDangerous,
     .run = Role,
     .group = "server",
     .since = "2.8.12",
     .complexity = "O(1)",
     .summary = "Whether the server is a master or a replica: always a master."},
    {.name = "WAIT",
     .arity = 3,
     .flags = kNoScript,
     .categories = kCatConnection,
     .run = Wait,
     .group = "generic",
     .since = "3.0.0",
     .complexity = "O(1)",
     .usage = "numreplicas:integer timeout:integer",
     .summary = "Wait until so many replicas have all writes; there are none.",
     .tips = "request_policy:all_shards,response_policy:agg_min"},
};

}  // namespace

CommandFamily ReplicationFamily() { return {"replication", kRows}; }

}  // namespace sluice
