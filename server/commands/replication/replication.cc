// The replication family, as a server answers that has no replicas and follows no master: what it
// is, and how many replicas have what was written.
//
//   > WAIT 1 100          0, after 100 ms: there are no replicas
//   > WAITAOF 1 0 0       [1, 0] as soon as this server's log has everything on disk

#include <algorithm>
#include <optional>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/commit/turn_gate.h"
#include "server/commit/turn_waits.h"
#include "server/dispatch/arg_reader.h"
#include "server/log/log_service.h"

namespace sluice {
namespace {

// A name for the number, so that the comparisons below read as they will with replicas.
constexpr int64_t kReplicas = 0;

// The form of a master's answer: the word, the offset, the replicas.
void Role(CommandCall& call) {
  call.reply.Array(3);
  call.reply.Bulk("master");
  call.reply.Integer(0);  // the offset in a stream without readers
  call.reply.Array(0);    // replicas
}

void ReplyReplicas(CommandCall& call) { call.reply.Integer(kReplicas); }

// Programs wait for a replica to have their write, or for the time to be over. The answer is how
// many have it, always 0 here: a caller that wants one waits its whole time-out, in ms, and 0 is
// for ever.
//   WAIT 0 0   → 0  how many replicas have it: there are none
//   WAIT x 0   → -ERR value is not an integer or out of range
//   WAIT 0 -1  → -ERR timeout is negative
void Wait(CommandCall& call) {
  ArgReader args(call.args);
  const int64_t wanted = args.Int();
  const int64_t deadline_ms = args.failed() ? 0 : ReadTimeoutMs(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  // Redis keeps 32 bits of it.
  const auto replicas = static_cast<int32_t>(wanted);
  if (replicas <= kReplicas) return ReplyReplicas(call);
  call.part<TurnWaits>().Block(
      call, {.needs = {.replicas = static_cast<uint32_t>(replicas)},
             .turn = call.part<TurnGate>().so_far(),
             .deadline_ms = deadline_ms,
             .on_timeout = ReplyReplicas,
             .answer = [replicas](ReplySink& reply) { reply.Integer(replicas); }});
}

// Answers WAITAOF: how many servers have all writes on disk, as two numbers: this one (0 or 1), and
// replicas.
void ReplySynced(CommandCall& call) {
  const LogService& log = call.part<LogService>();
  call.reply.Array(2);
  call.reply.Integer(log.is_on() && log.IsAllDurable() ? 1 : 0);
  call.reply.Integer(kReplicas);
}

// Redis 7.2's. numlocal is 0 or 1, numreplicas any number. With numlocal 1 and no log there is
// nothing to wait for, which is an error; with only numlocal it ends as soon as the disk has
// everything up to now.
void WaitAof(CommandCall& call) {
  ArgReader args(call.args);
  const int64_t local = args.Int();
  if (local < 0 || local > 1) args.Fail("ERR value is out of range, value must between 0 and 1");
  const int64_t replicas = args.failed() ? 0 : args.Int();
  if (replicas < 0) args.Fail("ERR value is out of range, must be positive");
  const int64_t deadline_ms = args.failed() ? 0 : ReadTimeoutMs(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  LogService& log = call.part<LogService>();
  if (local == 1 && !log.is_on()) return call.reply.Error(kNoLogToWaitFor);
  const bool is_synced = local == 0 || log.IsAllDurable();
  if ((is_synced && replicas <= kReplicas) || !call.may_wait()) return ReplySynced(call);
  const uint64_t turn = call.part<TurnGate>().so_far();
  if (local == 1) log.WantSync(turn);
  const auto at_replicas = static_cast<uint32_t>(std::min<int64_t>(replicas, UINT32_MAX));
  call.part<TurnWaits>().Block(call, {.needs = {.disk = local == 1, .replicas = at_replicas},
                                      .turn = turn,
                                      .deadline_ms = deadline_ms,
                                      .on_timeout = ReplySynced,
                                      .answer = [local, replicas](ReplySink& reply) {
                                        reply.Array(2);
                                        reply.Integer(local);
                                        reply.Integer(replicas);
                                      }});
}

// NO ONE is OK, though it changes nothing: clients promote a server to be sure that it is a master.
//   REPLICAOF host x  → -ERR Invalid master port
void ReplicaOf(CommandCall& call) {
  constexpr int64_t kPortMax = 65535;
  if (IsWord(call.args[1], "NO") && IsWord(call.args[2], "ONE")) return call.reply.Ok();
  const std::optional<int64_t> port = ParseInt64(call.args[2]);
  if (!port || *port < 0 || *port > kPortMax) return call.reply.Error("ERR Invalid master port");
  call.reply.Error("ERR Sluice does not replicate: it is a master, and stays one");
}

// REPLICAOF and its older name differ in their words alone.
constexpr CommandRow ReplicaOfRow(std::string_view name) {
  return {.name = name,
          .arity = 3,
          .flags = kAdmin | kNoScript | kStale | kNoAsyncLoading,
          .run = ReplicaOf,
          .group = "server",
          .since = "5.0.0",
          .complexity = "O(1)",
          .usage = "args=<host-port=<host port:integer> | no-one=<NO ONE>>",
          .summary = "Follow another server, which is refused, or none."};
}

// The older name, with the versions of its own.
constexpr CommandRow SlaveOfRow() {
  CommandRow row = ReplicaOfRow("SLAVEOF");
  row.since = "1.0.0";
  row.deprecated_since = "5.0.0";
  row.replaced_by = "`REPLICAOF`";
  return row;
}

// WAIT and WAITAOF may wait; inside MULTI and scripts they answer at once what there is.
constexpr CommandRow kReplicationRows[] = {
    ReplicaOfRow("REPLICAOF"),
    {.name = "ROLE",
     .arity = 1,
     .flags = kNoScript | kLoading | kStale | kFast,
     .categories = kCatAdmin | kCatDangerous,
     .run = Role,
     .group = "server",
     .since = "2.8.12",
     .complexity = "O(1)",
     .summary = "Whether the server is a master or a replica: always a master."},
    SlaveOfRow(),
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
    {.name = "WAITAOF",
     .arity = 4,
     .flags = kBlocking,
     .categories = kCatConnection,
     .run = WaitAof,
     .group = "generic",
     .since = "7.2.0",
     .complexity = "O(1)",
     .usage = "numlocal:integer numreplicas:integer timeout:integer",
     .summary = "Wait until all writes are on disk here, and at so many replicas; there are none.",
     .tips = "request_policy:all_shards,response_policy:agg_min"},
};

}  // namespace

CommandFamily ReplicationFamily() { return {"replication", kSpecsOf<kReplicationRows>}; }

}  // namespace sluice
