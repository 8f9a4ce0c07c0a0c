// The replication family: whom the server follows, what it is, and how many replicas have what was
// written. sync.cc has what replicas say.
//
//   > REPLICAOF 10.0.0.7 6379     OK, and its data become those of that server
//   > WAIT 1 100          1, as soon as a replica has it; 0 after 100 ms: none had
//   > WAITAOF 1 0 0       [1, 0] as soon as this server's log has everything on disk

#include <algorithm>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/commit/turn_gate.h"
#include "server/commit/turn_waits.h"
#include "server/dispatch/arg_reader.h"
#include "server/engine/client_lines.h"
#include "server/following/failover.h"
#include "server/following/following.h"
#include "server/log/log_service.h"
#include "server/replication/replicas.h"

namespace sluice {
namespace {

// In Redis's words.
std::string_view StateWord(LinkState state) {
  switch (state) {
    case LinkState::kOff:
      return "none";
    case LinkState::kConnect:
      return "connect";
    case LinkState::kConnecting:
      return "connecting";
    case LinkState::kHandshake:
      return "handshake";
    case LinkState::kTransfer:
    case LinkState::kLoading:
      return "sync";
    case LinkState::kConnected:
      return "connected";
  }
  return "unknown";
}

// The form of a replica's answer: its master, how far the link is, the offset that is applied.
void RoleOfReplica(CommandCall& call) {
  const Following& following = call.part<Following>();
  call.reply.Array(5);
  call.reply.Bulk("slave");
  call.reply.Bulk(following.link().host());
  call.reply.Integer(following.link().port());
  call.reply.Bulk(StateWord(following.link().state()));
  call.reply.Integer(following.applied());
}

// The form of a master's answer: the word, the offset, and who follows: address, port, what it has.
void Role(CommandCall& call) {
  if (call.part<Following>().is_on()) return RoleOfReplica(call);
  const Replicas& replicas = call.part<Replicas>();
  call.reply.Array(3);
  call.reply.Bulk("master");
  call.reply.Integer(replicas.stream().end());
  size_t online = 0;
  replicas.VisitAll([&online](const Session&, const Replica& replica) {
    online += replica.phase == ReplicaPhase::kOnline;
  });
  call.reply.Array(online);
  replicas.VisitAll([&](const Session& session, const Replica& replica) {
    if (replica.phase != ReplicaPhase::kOnline) return;
    call.reply.Array(3);
    call.reply.Bulk(replicas.IpOf(session));
    call.reply.Bulk(Concat(replica.port));
    call.reply.Bulk(Concat(replica.acked));
  });
}

// --- WAIT, WAITAOF

// The time of a wait is over: how many have what it was for.
void ReplyReplicasLate(CommandCall& call) {
  const uint64_t turn = call.part<TurnWaits>().cancelled_turn();
  call.reply.Integer(static_cast<int64_t>(call.part<Replicas>().CountWith(turn, false)));
}

uint32_t WantedReplicas(int64_t wanted) {
  return static_cast<uint32_t>(std::clamp<int64_t>(wanted, 0, UINT32_MAX));
}

// Programs wait for a replica to have their writes, or for the time to be over. The answer is how
// many have what the client had written or seen when its last command ended. The time-out is in
// ms, and 0 is for ever.
//   WAIT 0 0   → 0  how many replicas have it now
//   WAIT x 0   → -ERR value is not an integer or out of range
//   WAIT 0 -1  → -ERR timeout is negative
void Wait(CommandCall& call) {
  ArgReader args(call.args);
  if (call.part<Following>().is_on()) {
    return call.reply.Error(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if "
        "a replica is configured to be writable (which is not the default) writes to replicas are "
        "just local and are not propagated.");
  }
  const int64_t wanted = args.Int();
  const int64_t deadline_ms = args.failed() ? 0 : ReadTimeoutMs(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  Replicas& replicas = call.part<Replicas>();
  const uint64_t turn = replicas.TurnSeenBy(call.client);
  const auto count = static_cast<int64_t>(replicas.CountWith(turn, false));
  // Redis keeps 32 bits of it.
  if (static_cast<int32_t>(wanted) <= count || !call.may_wait()) return call.reply.Integer(count);
  replicas.WantAcks();
  call.part<TurnWaits>().Block(call, {.needs = {.replicas = WantedReplicas(wanted)},
                                      .turn = turn,
                                      .deadline_ms = deadline_ms,
                                      .on_timeout = ReplyReplicasLate,
                                      .answer = [&replicas, turn](ReplySink& reply) {
                                        const size_t count = replicas.CountWith(turn, false);
                                        reply.Integer(static_cast<int64_t>(count));
                                      }});
}

// How many servers have a turn on disk: this one (0 or 1), and replicas.
struct Synced {
  int64_t here;
  int64_t at_replicas;
};

Synced CountSynced(const LogService& log, const Replicas& replicas, uint64_t turn) {
  const bool is_here = log.is_on() && (log.IsAllDurable() || log.TurnsOnDisk() >= turn);
  return {is_here ? 1 : 0, static_cast<int64_t>(replicas.CountWith(turn, true))};
}

void ReplySynced(ReplySink& reply, const Synced& synced) {
  reply.Array(2);
  reply.Integer(synced.here);
  reply.Integer(synced.at_replicas);
}

// The time of a wait is over.
void ReplySyncedLate(CommandCall& call) {
  const uint64_t turn = call.part<TurnWaits>().cancelled_turn();
  ReplySynced(call.reply, CountSynced(call.part<LogService>(), call.part<Replicas>(), turn));
}

// Redis 7.2's: as WAIT, for what is on disk, here (numlocal is 0 or 1) and at replicas that say so
// (FACK). With numlocal 1 and no log there is nothing to wait for, which is an error. Here it is
// about all that was written so far, as a log has turns that no stream has.
void WaitAof(CommandCall& call) {
  ArgReader args(call.args);
  const int64_t local = args.Int();
  if (local < 0 || local > 1) args.Fail("ERR value is out of range, value must between 0 and 1");
  const int64_t wanted = args.failed() ? 0 : args.Int();
  if (wanted < 0) args.Fail("ERR value is out of range, must be positive");
  const int64_t deadline_ms = args.failed() ? 0 : ReadTimeoutMs(args, call);
  if (args.failed()) return call.reply.Error(args.error());
  LogService& log = call.part<LogService>();
  Replicas& replicas = call.part<Replicas>();
  if (local == 1 && !log.is_on()) return call.reply.Error(kNoLogToWaitFor);
  const uint64_t turn =
      local == 1 ? call.part<TurnGate>().so_far() : replicas.TurnSeenBy(call.client);
  const Synced synced = CountSynced(log, replicas, turn);
  const bool is_met = local <= synced.here && wanted <= synced.at_replicas;
  if (is_met || !call.may_wait()) return ReplySynced(call.reply, synced);
  if (local == 1) log.WantSync(turn);
  if (wanted > 0) replicas.WantAcks();
  call.part<TurnWaits>().Block(call, {.needs = {.disk = local == 1,
                                                .on_replicas_disk = wanted > 0,
                                                .replicas = WantedReplicas(wanted)},
                                      .turn = turn,
                                      .deadline_ms = deadline_ms,
                                      .on_timeout = ReplySyncedLate,
                                      .answer = [&log, &replicas, turn](ReplySink& reply) {
                                        ReplySynced(reply, CountSynced(log, replicas, turn));
                                      }});
}

// --- REPLICAOF

void LogRequest(const CommandCall& call, std::string_view what) {
  call.part<Host>().Log(LogLevel::kNotice,
                        Concat(what, " (user request from '",
                               call.part<ClientLines>().Describe(call.client, {}), "')"));
}

void BecomeMaster(CommandCall& call) {
  Following& following = call.part<Following>();
  if (following.is_on()) {
    following.BeMaster();
    LogRequest(call, "MASTER MODE enabled");
  }
  call.reply.Ok();
}

// NO ONE is OK for a master, too: clients promote a server to be sure that it is one.
//   REPLICAOF host x  → -ERR Invalid master port
void ReplicaOf(CommandCall& call) {
  constexpr int64_t kPortMax = 65535;
  if (call.part<Failover>().state() != Failover::State::kNone)
    return call.reply.Error("ERR REPLICAOF not allowed while failing over.");
  if (IsWord(call.args[1], "NO") && IsWord(call.args[2], "ONE")) return BecomeMaster(call);
  if (call.client.kind == SessionKind::kReplica)
    return call.reply.Error("ERR Command is not valid when client is a replica.");
  const std::optional<int64_t> port = ParseInt64(call.args[2]);
  if (!port || *port < 0 || *port > kPortMax) return call.reply.Error("ERR Invalid master port");
  if (!call.part<Host>().opens_links())
    return call.reply.Error("ERR a database inside a program follows no other server");
  Following& following = call.part<Following>();
  const std::string_view host = call.args[1];
  if (following.Follows(host, *port)) {
    call.part<Host>().Log(LogLevel::kNotice,
                          "REPLICAOF would result into synchronization with the master we are "
                          "already connected with. No operation performed.");
    return call.reply.Status("OK Already connected to specified master");
  }
  following.Follow(std::string(host), *port);
  LogRequest(call, Concat("REPLICAOF ", host, ":", *port, " enabled"));
  call.reply.Ok();
}

// --- FAILOVER

bool ReadTarget(ArgReader& args, Failover::Request& request) {
  if (request.to || args.left() < 2) return false;
  const std::string_view host = args.Bytes();
  request.to = {.host = std::string(host), .port = args.Int()};
  return true;
}

bool ReadFailoverTime(ArgReader& args, Failover::Request& request) {
  if (request.timeout_ms != 0 || args.left() < 1) return false;
  request.timeout_ms = args.Int();
  if (!args.failed() && request.timeout_ms <= 0)
    args.Fail("ERR FAILOVER timeout must be greater than 0");
  return true;
}

// The words in any order, each once.
bool ReadFailover(ArgReader& args, Failover::Request& request) {
  while (!args.failed() && args.left() > 0) {
    const std::string_view word = args.Bytes();
    bool is_known = false;
    if (IsWord(word, "TO")) is_known = ReadTarget(args, request);
    if (IsWord(word, "TIMEOUT")) is_known = ReadFailoverTime(args, request);
    if (IsWord(word, "FORCE")) is_known = !std::exchange(request.is_forced, true);
    if (!is_known) args.Fail(ErrorCode::kSyntax);
  }
  return !args.failed();
}

//   FAILOVER TO 10.0.0.8 6379 TIMEOUT 1000   → OK; INFO's master_failover_state says how it goes
//   FAILOVER ABORT                           → -ERR No failover in progress.
void FailoverTo(CommandCall& call) {
  Failover& failover = call.part<Failover>();
  ArgReader args(call.args);
  Failover::Request request;
  const bool aborts = call.args.size() == 2 && IsWord(call.args[1], "ABORT");
  if (!aborts && !ReadFailover(args, request)) return call.reply.Error(args.error());
  const Fault fault = aborts ? failover.Abort() : failover.Begin(std::move(request));
  fault.empty() ? call.reply.Ok() : call.reply.Error(fault);
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
          .summary = "Follow another server, or none."};
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
    {.name = "FAILOVER",
     .arity = -1,
     .flags = kAdmin | kNoScript | kStale,
     .run = FailoverTo,
     .group = "server",
     .since = "6.2.0",
     .complexity = "O(1)",
     .usage = "target=[TO host:string port:integer [FORCE]] [ABORT] [TIMEOUT milliseconds:integer]",
     .summary = "Hand this server's part over to one of its replicas."},
    ReplicaOfRow("REPLICAOF"),
    {.name = "ROLE",
     .arity = 1,
     .flags = kNoScript | kLoading | kStale | kFast,
     .categories = kCatAdmin | kCatDangerous,
     .run = Role,
     .group = "server",
     .since = "2.8.12",
     .complexity = "O(1)",
     .summary = "Whether the server is a master or a replica, and of whom."},
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
     .summary = "Wait until so many replicas have all writes.",
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
     .summary = "Wait until all writes are on disk here, and at so many replicas.",
     .tips = "request_policy:all_shards,response_policy:agg_min"},
};

}  // namespace

CommandFamily ReplicationFamily() { return {"replication", kSpecsOf<kReplicationRows>}; }

}  // namespace sluice
