// See replicas.h. Log lines are Redis's, as programs and tests wait for them.
#include "server/replication/replicas.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/planted_faults.h"
#include "server/replication/backlog_file.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

constexpr int64_t kSecondMs = 1000;

}  // namespace

ReplicationId Replicas::NewId(Host& host) {
  std::array<uint8_t, ReplicationId::kBytes / 2> random;
  host.process().FillWithRandom(random);
  return ReplicationIdOf(random);
}

size_t Replica::MemoryBytes() const {
  return BlockSize(sizeof(*this)) + HeapBytes(address) + HeapBytes(link_id) +
         HeapBytes(told_origin) + HeapBytes(end_mark);
}

Replicas::Replicas(const Uses& uses)
    : on_(uses),
      ids_(*ReplicationId::Of(uses.run_id)),
      stream_(uses.effects, uses.clock, uses.commands),
      turns_(stream_, [this] { TakeFromStream(); }),
      witness_({.settings = uses.config.settings(),
                .clock = uses.clock,
                .reservation = uses.reservation,
                .horizon = uses.horizon,
                .stream = stream_,
                .id = ids_.id()}),
      pinged_ms_(uses.clock.now().ms()) {}

Replicas::~Replicas() {
  // Sessions outlive the backlog, and the snapshots.
  ForEach([](Session&, Replica& replica) {
    replica.place.reset();
    replica.image.reset();
  });
  if (stream_.is_open()) on_.turn_gate.Remove(turns_);
}

// --- the handshake

Replica& Replicas::Introduce(Session& session) {
  if (!session.rare->replica) session.rare.Make().replica = std::make_unique<Replica>();
  return *ReplicaOf(session);
}

void Replicas::Sync(Session& session, std::string_view id, int64_t offset) {
  const ResyncAnswer answer = AnswerResync(ids_, stream_.backlog(), stream_.end(), id, offset);
  Replica& replica = Adopt(session);
  if (answer == ResyncAnswer::kContinue) return Continue(session, replica, offset);
  if (answer != ResyncAnswer::kAskedForAll) ++counts_.refused_partial;
  LogRefusal(answer, session, id, offset);
  AwaitImage(session, replica);
}

void Replicas::SyncSilently(Session& session) {
  Replica& replica = Adopt(session);
  replica.is_silent = true;
  AwaitImage(session, replica);
}

// It is a replica from now on, whatever becomes of it.
Replica& Replicas::Adopt(Session& session) {
  Replica& replica = Introduce(session);
  replica.acked_ms = on_.clock.now().ms();
  DropFormerLinks(replica.link_id);
  Log(LogLevel::kNotice, Concat("Replica ", AddressOf(session), " asks for synchronization"));
  on_.clients.SetKind(session, SessionKind::kReplica);
  if (on_.config.settings().repl_disable_tcp_nodelay) on_.host.GatherPackets(session);
  replicas_.push_back(session.id);
  deserted_ms_ = -1;
  return replica;
}

void Replicas::DropFormerLinks(const std::string& link_id) {
  if (link_id.empty()) return;
  ForEach([&](Session& session, Replica& replica) {
    if (replica.link_id != link_id) return;
    Log(LogLevel::kNotice, Concat("Closing a former link of replica ", AddressOf(session)));
    replica.has_acked = replica.is_admitted = false;
    on_.clients.Close(session, CloseMode::kNow);
  });
}

void Replicas::Continue(Session& session, Replica& replica, int64_t offset) {
  ++counts_.partial;
  // Behind it may lie grants.
  const bool has_all = offset == stream_.told() + 1;
  const Now now = on_.clock.now();
  const std::string time =
      replica.is_sluice ? Concat(" T", now.ms(), ":", now.unix_offset_ms) : std::string();
  const std::string greeting = has_all ? Greeting(replica) : std::string();
  Say(session, replica.takes_new_id ? Concat("+CONTINUE ", ids_.id().text(), time, greeting, "\r\n")
                                    : "+CONTINUE\r\n");
  replica.place.emplace(*stream_.backlog(), offset);
  Log(LogLevel::kNotice,
      Concat("Partial resynchronization request from ", AddressOf(session), " accepted. Sending ",
             replica.place->behind(), " bytes of backlog starting from offset ", offset, "."));
  SetPhase(replica, ReplicaPhase::kOnline);
}

// A relayed stream has its master's words.
std::string Replicas::Greeting(Replica& replica) {
  if (!replica.is_sluice || !replica.takes_new_id || stream_.is_relayed()) return {};
  const std::optional<ReservedEnvelope> reserved = witness_.Greet(replica);
  return reserved ? " " + ReservedText(*reserved) : std::string();
}

void Replicas::LogRefusal(ResyncAnswer answer, const Session& session, std::string_view id,
                          int64_t offset) {
  switch (answer) {
    case ResyncAnswer::kContinue:
      return;
    case ResyncAnswer::kAskedForAll:
      return Log(LogLevel::kNotice,
                 Concat("Full resync requested by replica ", AddressOf(session)));
    case ResyncAnswer::kOtherHistory:
      return Log(LogLevel::kNotice,
                 Concat("Partial resynchronization not accepted: Replication ID mismatch (Replica "
                        "asked for '",
                        ReplicationId::Of(id) ? id : "no id", "', my replication IDs are '",
                        ids_.id().text(), "' and '", ids_.second().text(), "')"));
    case ResyncAnswer::kBeyondSecond:
      return Log(LogLevel::kNotice,
                 Concat("Partial resynchronization not accepted: Requested offset for second ID "
                        "was ",
                        offset, ", but I can reply up to ", ids_.second_end()));
    case ResyncAnswer::kNotInBacklog:
    case ResyncAnswer::kAheadOfTheStream:
      Log(LogLevel::kNotice, Concat("Unable to partial resync with replica ", AddressOf(session),
                                    " for lack of backlog (Replica request was: ", offset, ")."));
      if (answer == ResyncAnswer::kAheadOfTheStream) {
        Log(LogLevel::kWarning,
            Concat("Warning: replica ", AddressOf(session),
                   " tried to PSYNC with an offset that is greater than the master replication "
                   "offset."));
      }
  }
}

void Replicas::AwaitImage(Session& session, Replica& replica) {
  ++counts_.full;
  SetPhase(replica, ReplicaPhase::kWaits);
  wants_sync_ = true;
  if (on_.config.settings().repl_diskless_sync && replica.takes_eof &&
      on_.config.settings().repl_diskless_sync_delay > 0) {
    Log(LogLevel::kNotice, "Delay next BGSAVE for diskless SYNC");
  }
  on_.clients.QueueSend(session);
}

// One that waits for an image has no place yet; what it says is of another stream.
bool Replicas::IsBeyondSent(Session& session, int64_t offset) {
  const Replica& replica = *ReplicaOf(session);
  if (!replica.place || offset < replica.place->next_offset()) return false;
  Log(LogLevel::kWarning, Concat("Replica ", AddressOf(session), " acknowledges offset ", offset,
                                 ", and was sent the stream up to ",
                                 replica.place->next_offset() - 1, ": closing the link"));
  on_.clients.Close(session, CloseMode::kNow);
  on_.clients.QueueSend(session);
  return true;
}

void Replicas::Acknowledged(Session& session, int64_t offset) {
  Replica& replica = *ReplicaOf(session);
  if (IsBeyondSent(session, offset)) return;
  replica.acked = std::max(replica.acked, std::min(offset, stream_.end()));
  replica.acked_ms = on_.clock.now().ms();
  if (replica.phase == ReplicaPhase::kAwaitsAck) {
    SetPhase(replica, ReplicaPhase::kOnline);
    Log(LogLevel::kNotice,
        Concat("Synchronization with replica ", AddressOf(session), " succeeded"));
  }
  replica.has_acked |= replica.phase == ReplicaPhase::kOnline;
  has_acks_ = true;
}

void Replicas::HeardEmptyLine(Session& session) {
  if (session.kind == SessionKind::kReplica) ReplicaOf(session)->acked_ms = on_.clock.now().ms();
}

void Replicas::AcknowledgedDisk(Session& session, int64_t offset) {
  Replica& replica = *ReplicaOf(session);
  if (IsBeyondSent(session, offset)) return;
  replica.synced = std::max(replica.synced, std::min(offset, stream_.end()));
}

// --- the stream

// `kept`: its last bytes, which another process has put down.
void Replicas::OpenStream(std::string_view kept) {
  stream_.Open(on_.config.settings().repl_backlog_size);
  stream_.backlog()->Append(kept);
  seen_end_ = stream_.end();
  turns_.Restart(on_.turn_gate.last());
  on_.turn_gate.Add(turns_);
  Log(LogLevel::kNotice, Concat("Replication backlog created, my new replication IDs are '",
                                ids_.id().text(), "' and '", ids_.second().text(), "'"));
}

void Replicas::TakeUp(const StreamPosition& loaded) {
  if (stream_.is_open()) return;  // the data were loaded anew: what replicas have goes on
  const auto kept = TakeBacklogFile(on_.config.disk(), HandOverPath(), loaded);
  ids_.Replace(loaded.id);
  const bool is_one_history = stream_.is_relayed() || kept || IsPlanted(PlantedFault::kSameHistory);
  if (!is_one_history) ids_.Part(NewId(on_.host), loaded.offset);
  stream_.set_end(loaded.offset - static_cast<int64_t>(kept ? kept->size() : 0));
  if (stream_.is_relayed() && loaded.reading) NoteReading(*loaded.reading);
  OpenStream(kept ? std::string_view(*kept) : std::string_view());
}

std::string Replicas::HandOverPath() const { return on_.config.disk().Absolute(kBacklogFileName); }

void Replicas::HandOver() {
  Backlog* const backlog = stream_.backlog();
  if (backlog == nullptr) return;
  const StreamPosition at{.id = ids_.id(), .offset = backlog->end()};
  const int fault = WriteBacklogFile(on_.config.disk(), HandOverPath(), at, *backlog);
  if (fault != 0)
    Log(LogLevel::kWarning,
        Concat("the replication backlog is not handed over: ", std::strerror(fault)));
}

void Replicas::TakeBack() { on_.config.disk().Remove(HandOverPath()); }

// Redis frees a backlog without replicas, and what is written then is not of its history any more.
void Replicas::CloseIdleStream() {
  const int64_t ttl_s = on_.config.settings().repl_backlog_ttl;
  if (!stream_.is_open() || stream_.is_relayed() || !replicas_.empty() || ttl_s == 0) return;
  if (deserted_ms_ < 0) deserted_ms_ = on_.clock.now().ms();
  if (on_.clock.now().ms() - deserted_ms_ < ttl_s * kSecondMs) return;
  CloseStream();
  ids_.Replace(NewId(on_.host));
  Log(LogLevel::kNotice,
      Concat("Replication backlog freed after ", ttl_s, " seconds without connected replicas."));
}

// --- seconds

void Replicas::TimeShifted(int64_t ms) {
  pinged_ms_ += ms;
  told_time_ms_ += ms;
  if (deserted_ms_ >= 0) deserted_ms_ += ms;
  ForEach([ms](Session&, Replica& replica) {
    replica.acked_ms += ms;
    replica.since_ms += ms;
  });
}

void Replicas::EverySecond() {
  if (Backlog* const backlog = stream_.backlog())
    backlog->set_size(on_.config.settings().repl_backlog_size);
  if (replicas_.empty()) return CloseIdleStream();
  if (!stream_.is_open()) return;  // its first replica has come just now
  const int64_t now_ms = on_.clock.now().ms();
  const int64_t period_ms = on_.config.settings().repl_ping_replica_period * kSecondMs;
  if (now_ms - pinged_ms_ >= period_ms && MayGrow()) {
    pinged_ms_ = now_ms;
    stream_.Ping();
  }
  ForEach([&](Session& session, Replica& replica) {
    KeepAwake(session, replica);
    if (!IsOverdue(session, replica)) return;
    Log(LogLevel::kWarning, Concat("Disconnecting timedout replica (",
                                   replica.phase == ReplicaPhase::kOnline ? "streaming" : "full",
                                   " sync): ", AddressOf(session)));
    on_.clients.Close(session, CloseMode::kNow);
    on_.clients.QueueSend(session);
  });
  BeginDueSyncs();
  NoteGood();
}

// It waits for the first byte, and would take silence for a broken link.
void Replicas::KeepAwake(Session& session, const Replica& replica) {
  const bool waits = replica.phase == ReplicaPhase::kWaits ||
                     (replica.phase == ReplicaPhase::kTakesImage && !replica.is_begun);
  if (waits && session.output.empty()) Say(session, "\n");
}

bool Replicas::IsOverdue(const Session& session, const Replica& replica) const {
  if (replica.is_silent) return false;
  const int64_t timeout_ms = on_.config.settings().repl_timeout * kSecondMs;
  const int64_t now_ms = on_.clock.now().ms();
  const bool has_all = replica.phase == ReplicaPhase::kOnline ||
                       replica.phase == ReplicaPhase::kAwaitsAck;  // which it loads
  if (has_all) return now_ms - std::max(replica.acked_ms, replica.since_ms) > timeout_ms;
  // One that has taken all there was waits for this server.
  return replica.phase == ReplicaPhase::kTakesImage && replica.is_begun &&
         !session.output.empty() && now_ms - replica.since_ms > timeout_ms;
}

size_t Replicas::good() const {
  size_t good = 0;
  const int64_t lag_max_s = on_.config.settings().min_replicas_max_lag;
  ForEach([&](const Session&, const Replica& replica) {
    good += replica.phase == ReplicaPhase::kOnline && LagSeconds(replica) <= lag_max_s;
  });
  return good;
}

void Replicas::NoteGood() {
  const Settings& settings = on_.config.settings();
  const int64_t wanted = settings.min_replicas_max_lag > 0 ? settings.min_replicas_to_write : 0;
  on_.state.lacks_replicas = static_cast<int64_t>(good()) < wanted;
  if (on_.state.lacks_replicas) {
    on_.flags.Raise(SlowPathFlags::kReplicas);
  } else {
    on_.flags.Lower(SlowPathFlags::kReplicas);
  }
}

void Replicas::Forget(Session& session) {
  if (std::erase(replicas_, session.id) == 0) return;
  Replica& replica = *ReplicaOf(session);
  Log(LogLevel::kWarning, Concat("Connection with replica ", AddressOf(session), " lost."));
  replica.place.reset();
  replica.image.reset();
  NoteGood();
  ForgetWhatAllHave();
}

void Replicas::SetPhase(Replica& replica, ReplicaPhase phase) {
  replica.phase = phase;
  replica.since_ms = on_.clock.now().ms();
  if (phase != ReplicaPhase::kOnline) return;
  NoteGood();
  witness_.ReplicaCame(replica);
}

// --- who has what

void Replicas::ForgetWhatAllHave() {
  int64_t least = INT64_MAX;
  ForEach([&least](const Session&, const Replica& replica) {
    if (replica.phase == ReplicaPhase::kOnline && !replica.is_silent)
      least = std::min(least, replica.acked);
  });
  turns_.Forget(std::min(least, stream_.end()));
}

uint64_t Replicas::TurnsAt(uint32_t replicas, bool on_disk) const {
  std::vector<int64_t> acked;
  ForEach([&](const Session&, const Replica& replica) {
    if (replica.phase == ReplicaPhase::kOnline)
      acked.push_back(on_disk ? replica.synced : replica.acked);
  });
  return TurnsOfNth(acked, replicas);
}

// Up to which turn the one has everything that has the nth most.
uint64_t Replicas::TurnsOfNth(std::vector<int64_t>& offsets, uint32_t nth) const {
  if (nth == 0 || offsets.size() < nth) return TurnGate::kNoTurn;
  const auto place = offsets.begin() + (nth - 1);
  std::ranges::nth_element(offsets, place, std::greater<>());
  return turns_.TurnAt(*place);
}

size_t Replicas::CountWith(uint64_t turn, bool on_disk) const {
  size_t count = 0;
  ForEach([&](const Session&, const Replica& replica) {
    const int64_t acked = on_disk ? replica.synced : replica.acked;
    const bool has_it = turns_.TurnAt(acked) >= turn;
    count +=
        replica.phase == ReplicaPhase::kOnline && (has_it || IsPlanted(PlantedFault::kSentCounts));
  });
  return count;
}

size_t Replicas::Sluices() const {
  size_t count = 0;
  ForEach([&](const Session&, const Replica& replica) { count += replica.keeps_grants(); });
  return count;
}

uint64_t Replicas::TurnsAtSluices(uint32_t sluices) const {
  if (IsPlanted(PlantedFault::kGrantsBeforeReplicas)) return on_.turn_gate.last();
  std::vector<int64_t> acked;
  ForEach([&](const Session&, const Replica& replica) {
    if (replica.keeps_grants()) acked.push_back(replica.acked);
  });
  return TurnsOfNth(acked, sluices);
}

size_t Replicas::SluicesWith(uint64_t turn) const {
  size_t count = 0;
  ForEach([&](const Session&, const Replica& replica) {
    count += replica.keeps_grants() && turns_.TurnAt(replica.acked) >= turn;
  });
  return count;
}

uint64_t Replicas::TurnSeenBy(const Session& session) const {
  // Of another history the offset may lie beyond the end.
  return turns_.TurnOf(std::min(session.stream_seen, stream_.told()), on_.turn_gate.so_far());
}

// --- the end of the server

bool Replicas::HaveAll() const {
  bool all = true;
  ForEach([&](const Session&, const Replica& replica) {
    all &= replica.acknowledges_nothing() || replica.acked == stream_.told();
  });
  return all;
}

void Replicas::LogLagging() const {
  size_t lagging = 0;
  ForEach([&](const Session& session, const Replica& replica) {
    if (replica.acked == stream_.told()) return;
    ++lagging;
    const bool is_online = replica.phase == ReplicaPhase::kOnline;
    Log(LogLevel::kWarning, Concat("Lagging replica ", AddressOf(session), " reported offset ",
                                   stream_.told() - replica.acked,
                                   " behind master, lag=", is_online ? LagSeconds(replica) : 0,
                                   ", state=", StateOf(replica), "."));
  });
  if (replicas_.empty()) return;
  Log(LogLevel::kNotice, Concat(replicas_.size() - lagging, " of ", replicas_.size(),
                                " replicas are in sync when shutting down."));
}

// --- as they are seen

// An image without a length counts as one that is being made.
std::string_view Replicas::StateOf(const Replica& replica) {
  switch (replica.phase) {
    case ReplicaPhase::kWaits:
    case ReplicaPhase::kAwaitsAck:
      return "wait_bgsave";
    case ReplicaPhase::kTakesImage:
      return replica.is_begun && replica.end_mark.empty() ? "send_bulk" : "wait_bgsave";
    case ReplicaPhase::kOnline:
      return "online";
  }
  return "";
}

// As it has said, or where it comes from: of "[::1]:7000" that is "::1".
std::string Replicas::IpOf(const Session& session) const {
  const std::string& said = ReplicaOf(session)->address;
  if (!said.empty()) return said;
  const std::string_view peer = session.peer.address;
  std::string_view ip = peer.substr(0, peer.rfind(':'));
  if (ip.starts_with('[')) ip = ip.substr(1, ip.size() - 2);
  return std::string(ip);
}

const Replica* Replicas::Find(std::string_view host, int64_t port) const {
  const Replica* found = nullptr;
  ForEach([&](const Session& session, const Replica& replica) {
    if (replica.port == port && IpOf(session) == host) found = &replica;
  });
  return found;
}

// As Redis's log names it.
std::string Replicas::AddressOf(const Session& session) const {
  const int64_t port = ReplicaOf(session)->port;
  if (port == 0) return IpOf(session) + ":<unknown-replica-port>";
  return Concat(IpOf(session), ":", port);
}

int64_t Replicas::LagSeconds(const Replica& replica) const {
  return (on_.clock.now().ms() - replica.acked_ms) / kSecondMs;
}

}  // namespace sluice
