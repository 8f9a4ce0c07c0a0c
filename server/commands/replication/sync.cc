// How a server becomes a replica of this one, and what it says then.
//
//   > REPLCONF listening-port 6380             OK
//   > REPLCONF capa eof capa psync2            OK
//   > PSYNC ? -1                               +FULLRESYNC <id> <offset>, an RDB file, the stream
//   > REPLCONF ACK 1234                        nothing: a replica is answered nothing
//
// The words of these answers are written past the session's sink, see server/replication.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"
#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/config/follow_state.h"
#include "server/dispatch/arg_reader.h"
#include "server/engine/client_lines.h"
#include "server/following/failover.h"
#include "server/following/following.h"
#include "server/replication/replicas.h"

namespace sluice {
namespace {

constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";

// A replica whose own link is down has nothing that would go on.
bool IsStreamThere(CommandCall& call) {
  const FollowState& state = call.part<FollowState>();
  return !state.is_on || state.is_link_up;
}

// A master that hands over is about to have no stream of its own.
bool HasStream(CommandCall& call) {
  if (call.part<Failover>().state() != Failover::State::kNone) {
    call.reply.Error("NOMASTERLINK Can't SYNC while failing over");
    return false;
  }
  if (IsStreamThere(call)) return true;
  call.reply.Error("NOMASTERLINK Can't SYNC while not connected with my master");
  return false;
}

// --- REPLCONF

// One word of it and its value. False: it was refused, and the rest is not read.
using ConfWord = bool (*)(CommandCall& call, std::string_view value);

Replica& IntroducedBy(CommandCall& call) { return call.part<Replicas>().Introduce(call.client); }

bool SetPort(CommandCall& call, std::string_view value) {
  const std::optional<int64_t> port = ParseInt64(value);
  if (!port) return call.reply.Error(kNoInteger), false;
  IntroducedBy(call).port = *port;
  return true;
}

// Values that are kept, or cost work by their length, have a bound.
bool IsTooLong(CommandCall& call, std::string_view name, std::string_view value) {
  constexpr size_t kValueBytesMax = 255;
  if (value.size() <= kValueBytesMax) return false;
  call.reply.Error(Concat("ERR REPLCONF ", name,
                          " provided by replica instance is too long: ", value.size(), " bytes"));
  return true;
}

bool SetAddress(CommandCall& call, std::string_view value) {
  if (IsTooLong(call, "ip-address", value)) return false;
  IntroducedBy(call).address = value;
  return true;
}

// The replica says what it can do; unknown abilities are passed over.
bool SetAbility(CommandCall& call, std::string_view value) {
  Replica& replica = IntroducedBy(call);
  if (IsWord(value, "EOF")) replica.takes_eof = true;
  if (IsWord(value, "PSYNC2")) replica.takes_new_id = true;
  if (IsWord(value, "SLUICE")) replica.is_sluice = true;
  return true;
}

bool SetImageAlone(CommandCall& call, std::string_view value) {
  const std::optional<int64_t> alone = ParseInt64(value);
  if (!alone) return call.reply.Error(kNoInteger), false;
  if (*alone < 0 || *alone > 1)
    return call.reply.Error("ERR value is out of range, value must between 0 and 1"), false;
  IntroducedBy(call).wants_image_alone = *alone == 1;
  return true;
}

// The parts of the data that it wants, for redis-cli --functions-rdb: words as in a configuration
// file, of which there is one. No word: nothing.
bool SetFilter(CommandCall& call, std::string_view value) {
  if (IsTooLong(call, "rdb-filter-only", value)) return false;
  std::vector<std::string> words;
  if (!SplitWords(value, words)) {
    call.reply.Error("ERR Missing rdb-filter-only values");
    return false;
  }
  Replica& replica = IntroducedBy(call);
  replica.wanted = {.keys = false, .functions = false};
  for (const std::string& word : words) {
    if (!IsWord(word, "FUNCTIONS")) {
      call.reply.Error(Concat("ERR Unsupported rdb-filter-only option: ", word));
      return false;
    }
    replica.wanted.functions = true;
  }
  return true;
}

// Valkey's; nothing depends on it.
bool PassOver(CommandCall&, std::string_view) { return true; }

// The origin of all that a replica is sent from here on; "none 0": it is sent nothing.
std::string OriginHere(CommandCall& call) {
  return IsStreamThere(call) ? OriginText(call.part<Replicas>().origin()) : "none 0";
}

// A Sluice that follows asks whose words it is about to be sent, from which offset on, and who
// answers. It may be this server itself, which then has no stream. `link_id`: of who asks, or "?".
bool TellOrigin(CommandCall& call, std::string_view link_id) {
  Replica& replica = IntroducedBy(call);
  if (ReplicationId::Of(link_id)) replica.link_id = link_id;
  replica.told_origin = OriginHere(call);
  call.reply.Status(Concat(replica.told_origin, " ", call.part<Replicas>().run_id()));
  return false;
}

// False: this server has become a master, or follows another one, since it told this replica whose
// words follow, which would take the stream for another one's. It comes again, and asks again.
bool IsAsTold(CommandCall& call) {
  const Replica* const replica = ReplicaOf(call.client);
  if (!replica || replica->told_origin.empty() || replica->told_origin == OriginHere(call))
    return true;
  call.reply.Error("NOMASTERLINK Can't SYNC: the role has changed since REPLCONF sluice-stream");
  return false;
}

constexpr struct {
  std::string_view word;
  ConfWord read;
} kConfWords[] = {
    {"LISTENING-PORT", SetPort},   {"IP-ADDRESS", SetAddress},     {"CAPA", SetAbility},
    {"RDB-ONLY", SetImageAlone},   {"RDB-FILTER-ONLY", SetFilter}, {"VERSION", PassOver},
    {"SLUICE-STREAM", TellOrigin},
};

// ACK `offset` [FACK `offset`]. No answer follows, whoever sends it. The second is 7.2's, from a
// replica with a log: so much it has on disk. Other words are passed over. `words`: from ACK on.
void Acknowledge(CommandCall& call, Args words) {
  if (call.client.kind != SessionKind::kReplica) return;
  const std::optional<int64_t> acked = ParseInt64(words[1]);
  if (!acked) return;
  call.part<Replicas>().Acknowledged(call.client, *acked);
  if (words.size() < 4 || !IsWord(words[2], "FACK")) return;
  const std::optional<int64_t> synced = ParseInt64(words[3]);
  if (synced) call.part<Replicas>().AcknowledgedDisk(call.client, *synced);
}

// The words are read from the left; those before a wrong one count.
void ReplConf(CommandCall& call) {
  if (call.args.size() % 2 == 0) return call.reply.Error(ErrorText(ErrorCode::kSyntax));
  for (size_t i = 1; i < call.args.size(); i += 2) {
    const std::string_view word = call.args[i];
    if (IsWord(word, "ACK")) return Acknowledge(call, call.args.subspan(i));
    if (IsWord(word, "GETACK")) return;  // of a master, of which this server has none
    const auto* const found = std::ranges::find_if(
        kConfWords, [word](const auto& row) { return IsWord(word, row.word); });
    if (found == std::end(kConfWords))
      return call.reply.Error(Concat("ERR Unrecognized REPLCONF option: ", word));
    if (!found->read(call, call.args[i + 1])) return;
  }
  call.reply.Ok();
}

// --- PSYNC, SYNC

// It has a stream, or is one, or is shown commands, which may not stand inside one.
bool IsNoClient(const CommandCall& call) {
  return call.client.kind != SessionKind::kClient || (call.client.conditions & kMonitor);
}

// Whether a stream can begin here: nothing may stand before it.
bool MaySync(CommandCall& call) {
  if (!HasStream(call)) return false;
  if (call.client.sink != &call.client.writer) {
    call.reply.Error("ERR a session inside the server's program cannot become a replica");
    return false;
  }
  if (!call.client.output.empty()) {
    call.reply.Error("ERR SYNC and PSYNC are invalid with pending output");
    return false;
  }
  const Replica* const replica = ReplicaOf(call.client);
  if (!replica || replica->is_whole() || replica->takes_eof) return true;
  call.reply.Error("ERR Filtered replica requires EOF capability");
  return false;
}

std::string_view SafeId(std::string_view id) { return ReplicationId::Of(id) ? id : "no id"; }

// A master that hands over to this replica says so (FAILOVER). False: it has been refused, and this
// server stays what it is.
bool TakeOver(CommandCall& call, const std::optional<int64_t>& offset) {
  Following& following = call.part<Following>();
  Host& host = call.part<Host>();
  host.Log(LogLevel::kWarning,
           Concat("Failover request received for replid ", SafeId(call.args[1]), "."));
  if (!following.is_on())
    return call.reply.Error("ERR PSYNC FAILOVER can't be sent to a master."), false;
  if (!IsSameInAnyCase(call.args[1], call.part<Replicas>().ids().id().text()))
    return call.reply.Error("ERR PSYNC FAILOVER replid must match my replid."), false;
  if (!offset) return call.reply.Error(kNoInteger), false;
  following.BeMaster();
  host.Log(LogLevel::kNotice, Concat("MASTER MODE enabled (failover request from '",
                                     call.part<ClientLines>().Describe(call.client, {}), "')"));
  return true;
}

// It may not have said anything of itself.
std::string AddressOfAsking(CommandCall& call) {
  Replicas& replicas = call.part<Replicas>();
  replicas.Introduce(call.client);
  return replicas.AddressOf(call.client);
}

// Refusals, and their texts, come in Redis's order.
void PSync(CommandCall& call) {
  if (IsNoClient(call)) return;
  const std::optional<int64_t> offset = ParseInt64(call.args[2]);
  const bool takes_over = call.args.size() > 3 && IsWord(call.args[3], "FAILOVER");
  if (takes_over && !TakeOver(call, offset)) return;
  if (!MaySync(call)) return;
  if (!takes_over && !IsAsTold(call)) return;  // that one's own words go on
  if (!offset) {
    call.part<Host>().Log(LogLevel::kWarning,
                          Concat("Replica ", AddressOfAsking(call),
                                 " asks for synchronization but with a wrong offset"));
    return call.reply.Error(kNoInteger);
  }
  call.part<Replicas>().Sync(call.client, call.args[1], *offset);
}

void Sync(CommandCall& call) {
  if (!IsNoClient(call) && MaySync(call)) call.part<Replicas>().SyncSilently(call.client);
}

constexpr CommandRow kSyncRows[] = {
    {.name = "PSYNC",
     .arity = -3,
     .flags = kAdmin | kNoScript | kNoAsyncLoading | kNoMulti,
     .run = PSync,
     .group = "server",
     .since = "2.8.0",
     .usage = "replicationid:string offset:integer",
     .summary = "Become a replica, from an offset of a stream on or with all data."},
    {.name = "REPLCONF",
     .arity = -1,
     .flags = kAdmin | kNoScript | kLoading | kStale | kAllowBusy | kSystem,
     .run = ReplConf,
     .group = "server",
     .since = "3.0.0",
     .complexity = "O(1)",
     .summary = "What a replica says of itself, and how much of the stream it has."},
    {.name = "SYNC",
     .arity = 1,
     .flags = kAdmin | kNoScript | kNoAsyncLoading | kNoMulti,
     .run = Sync,
     .group = "server",
     .since = "1.0.0",
     .summary = "Become a replica that knows no offsets: all data, and then the stream."},
};

}  // namespace

CommandFamily SyncFamily() { return {"sync", kSpecsOf<kSyncRows>}; }

}  // namespace sluice
