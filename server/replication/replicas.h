// Replicas: the servers that follow this one. Each is a session that has said PSYNC or SYNC; it
// goes on where it was, if the backlog has what it lacks, or it gets an image of all data first.
//
//   PSYNC ─┬─ CONTINUE ──────────────────────────────────────────────┐
//          └─ waits for others (repl-diskless-sync-delay) ─ image ───┴─ stream ─ ACK ─ ACK ...
//
// One image serves all that wait for one of its kind: for Redis without what only Sluice has, or
// for Sluice (capa sluice). It is made at its own pace (SnapshotSpool), and the stream behind its
// instant waits in the backlog, where each replica has a place. Of either at most kAheadBytes lie
// in a replica's output, so a slow one costs a place, and what it lacks. Who lacks more than
// client-output-buffer-limit replica, or says nothing for repl-timeout, is closed.
//
// The stream leaves in the turn that makes it, beside the log's sync and not behind it. So a
// replica may have more than this server's disk.
//
// Once a turn, and once a second, the work is O(replicas); nothing without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/commit/turn_gate.h"
#include "server/config/config.h"
#include "server/core/follower_turns.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/effects/effects.h"
#include "server/dispatch/log_state.h"
#include "server/replication/replica.h"
#include "server/replication/replica_turns.h"
#include "server/replication/replica_witness.h"
#include "server/replication/replication_ids.h"
#include "server/replication/replication_stream.h"
#include "server/snapshots/snapshots.h"

namespace sluice {

class CommandTable;

class Replicas final : public FollowerTurns {
 public:
  // So much of an image or the stream lies in a replica's output.
  static constexpr size_t kAheadBytes = 256 * 1024;
  // So many images are read at a time, each by all that share it; for another one replicas wait.
  static constexpr size_t kImagesMax = 4;

  // The parts that they work with; all of them outlive the replicas.
  struct Uses {
    Config& config;
    Host& host;
    const TurnClock& clock;
    Clients& clients;
    Effects& effects;
    const CommandTable& commands;
    TurnGate& turn_gate;
    Snapshots& snapshots;
    LogState& state;
    SlowPathFlags& flags;
    Reservation& reservation;
    LeaseHorizon& horizon;
    const std::string& run_id;  // of the stream, too, until there is one
  };
  struct Counts {
    uint64_t full = 0;
    uint64_t partial = 0;
    uint64_t refused_partial = 0;
  };

  explicit Replicas(const Uses& uses);
  ~Replicas() override;

  // The files that were loaded have said up to where the data are those of a stream. This server
  // goes on from there: as another history, so that a replica that has no more than the files need
  // not begin anew; or, where it follows a master (BeginRelaying), as that one's. After a hand-over
  // that is no other history: it goes on under the same id, with the last bytes.
  void TakeUp(const StreamPosition& loaded);
  // Another process is to go on with the data, which are on disk: so are the stream's last bytes
  // from now on; without them, replicas that lag get all data anew. Waits for the disk. TakeBack:
  // it does not, after all.
  void HandOver();
  void TakeBack();

  // --- the handshake
  // What the session says of itself, from its first REPLCONF on.
  Replica& Introduce(Session& session);
  // PSYNC `id` `offset`: it is a replica from now on. Requires: it is a client.
  void Sync(Session& session, std::string_view id, int64_t offset);
  // SYNC, from those who know no offsets.
  void SyncSilently(Session& session);
  // REPLCONF ACK `offset`. One that acknowledges more than it was sent is closed: whatever it has,
  // it is not this stream. Requires: it is a replica.
  void Acknowledged(Session& session, int64_t offset);
  // A line without words: a replica that loads, or runs a script, says so that it is there.
  void HeardEmptyLine(Session& session);
  // REPLCONF ACK ... FACK `offset`: it has the stream up to there on its disk. Requires the same.
  void AcknowledgedDisk(Session& session, int64_t offset);

  // --- the stream of a master that this server follows (replicas_relaying.cc); also in a command
  // From here on it is the master's: it stands where it is until bytes come.
  void BeginRelaying();
  // All data are those of this place in the stream of that id: a full sync. Replicas begin anew.
  // Without an id it is a history that no other server knows.
  void AdoptHistory(const std::optional<ReplicationId>& id, int64_t offset);
  // The master goes on where this server is, under that id. Replicas of another one come again.
  void GoOnAs(const ReplicationId& id);
  // The master's next bytes, which have been applied; and how what follows is to be read.
  void Relay(std::string_view bytes, const StreamReading& reading);
  // How it is to be read where it begins here.
  void NoteReading(const StreamReading& reading);
  // Null: it is not known, or the stream is this server's own.
  const std::optional<StreamReading>& reading() const { return reading_; }
  // The server whose words this one sends, and since when.
  StreamOrigin origin() const;
  // This server is a master, and its history another one from here on. Replicas come again.
  void EndRelaying();

  // The stream gets no longer by itself: a replica is about to take over.
  void set_quiet(bool quiet) { is_quiet_ = quiet; }

  // --- WAIT, WAITAOF: `on_disk` asks for what replicas have on their disks
  // Up to which turn so many replicas have everything; TurnGate::kNoTurn: there are not so many.
  uint64_t TurnsAt(uint32_t replicas, bool on_disk) const;
  // How many have all of this turn.
  size_t CountWith(uint64_t turn, bool on_disk) const;
  // The turn with all that this client has written, or can have seen, before its last command
  // ended.
  uint64_t TurnSeenBy(const Session& session) const;
  // --- FollowerTurns
  size_t Sluices() const override;
  uint64_t TurnsAtSluices(uint32_t sluices) const override;
  size_t SluicesWith(uint64_t turn) const override;
  uint64_t NextTurn() const override { return on_.turn_gate.last() + 1; }

  // In this turn all are asked to acknowledge what they have.
  void WantAcks() { wants_acks_ = true; }

  // DEBUG REPLICATE: these words stand in the stream, if there is one.
  void TellWords(Args words) {
    if (stream_.is_open()) stream_.TellWords(words);
  }

  // --- the end of the server
  // Every replica has acknowledged the whole stream, but for those that acknowledge nothing.
  bool HaveAll() const;
  // Which do not, and how many do.
  void LogLagging() const;
  // It waits for them to have all: the stream does not get longer by itself.
  void set_ending(bool ending) { is_ending_ = ending; }

  // --- turns
  // Before the turn gets its number, and before outputs are sent.
  void EndTurn() {
    if (stream_.is_open() || wants_sync_) [[unlikely]]
      FeedAll();
  }
  // Something can be put into a replica's output at once.
  bool any_to_feed() const;
  void EverySecond();
  // The session ends.
  void Forget(Session& session);

  // Engine time is so much later from now on.
  void TimeShifted(int64_t ms);

  // min-replicas-to-write or min-replicas-max-lag has changed.
  void NoteGood();

  // --- as they are seen: in the order in which they came
  template <typename Visit>  // void(const Session&, const Replica&)
  void VisitAll(const Visit& visit) const {
    ForEach([&visit](const Session& session, const Replica& replica) { visit(session, replica); });
  }
  size_t count() const { return replicas_.size(); }
  // The one that listens there; null: there is none.
  const Replica* Find(std::string_view host, int64_t port) const;
  std::string IpOf(const Session& session) const;
  std::string AddressOf(const Session& session) const;      // with its port
  static std::string_view StateOf(const Replica& replica);  // in Redis's words
  int64_t LagSeconds(const Replica& replica) const;
  size_t good() const;  // online, and heard of within min-replicas-max-lag
  const ReplicationIds& ids() const { return ids_; }
  const std::string& run_id() const { return on_.run_id; }
  const ReplicationStream& stream() const { return stream_; }
  const Counts& counts() const { return counts_; }
  void ResetStatistics() { counts_ = {}; }
  size_t memory() const { return stream_.memory(); }
  // Of that, what is kept for slow replicas alone.
  size_t memory_beyond_backlog() const {
    return stream_.backlog() ? stream_.backlog()->memory_beyond_size() : 0;
  }

 private:
  static ReplicationId NewId(Host& host);
  bool MayGrow() const { return !is_quiet_ && !is_ending_; }  // the stream, by itself
  std::string HandOverPath() const;
  void OpenStream(std::string_view kept = {});
  void AskForAcks();
  void BeginWantedSync();
  void CloseIdleStream();
  void CloseStream();
  void DropAll();
  Replica& Adopt(Session& session);
  // A Sluice follows over one link. Another one of it is dead, though nobody may have heard: what
  // it has acknowledged would count twice. Its link id is told to masters alone, so that no other
  // replica can end its link.
  void DropFormerLinks(const std::string& link_id);
  void Continue(Session& session, Replica& replica, int64_t offset);
  void AwaitImage(Session& session, Replica& replica);
  std::string Greeting(Replica& replica);
  void LogRefusal(ResyncAnswer answer, const Session& session, std::string_view id, int64_t offset);
  void SetPhase(Replica& replica, ReplicaPhase phase);
  bool IsBeyondSent(Session& session, int64_t offset);
  uint64_t TurnsOfNth(std::vector<int64_t>& offsets, uint32_t nth) const;

  // --- images
  // Those that can share an image want the same.
  struct ImageKind {
    bool for_redis;
    ImageParts parts;
    bool operator==(const ImageKind&) const = default;
  };
  static ImageKind KindFor(const Replica& replica) {
    return {.for_redis = !replica.is_sluice, .parts = replica.wanted};
  }
  static bool AwaitsImage(const Replica& replica, const ImageKind& kind) {
    return replica.phase == ReplicaPhase::kWaits && replica.sync == 0 && KindFor(replica) == kind;
  }
  bool MayBeginSync() const;
  void BeginSync(const ImageKind& kind);
  void BeginSyncIfDue(const ImageKind& kind);
  void BeginDueSyncs();
  void ImageBegun(uint64_t sync);

  // --- feeding
  void FeedAll();
  void TellTimeIfDue();
  void SeeSluices();
  template <typename Tell>
  void TellOwnWords(const Tell& tell);
  void TakeFromStream();
  bool Feed(Session& session, Replica& replica);
  bool FailImage(Session& session);
  bool FeedImage(Session& session, Replica& replica);
  void FinishImage(Session& session, Replica& replica);
  static bool HasImageAtHand(const Replica& replica);
  bool FeedStream(Session& session, Replica& replica);
  void Say(Session& session, std::string_view bytes);
  void CheckBacklog(Session& session, const Replica& replica);

  // --- seconds
  bool IsOverdue(const Session& session, const Replica& replica) const;
  void KeepAwake(Session& session, const Replica& replica);
  void ForgetWhatAllHave();
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const SessionId id : replicas_) {
      if (Session* const session = on_.clients.Find(id)) visit(*session, *ReplicaOf(*session));
    }
  }
  void Log(LogLevel level, std::string_view line) const { on_.host.Log(level, line); }

  const Uses on_;
  ReplicationIds ids_;
  ReplicationStream stream_;
  ReplicaTurns turns_;
  ReplicaWitness witness_;
  std::vector<SessionId> replicas_;
  Counts counts_;
  uint64_t syncs_ = 0;        // images that were asked for
  int64_t pinged_ms_;         // or since the start
  int64_t told_time_ms_ = 0;  // the last heartbeat
  int64_t seen_end_ = 0;      // of the stream, in the turn before
  int64_t deserted_ms_ = -1;  // since then there is no replica; -1: there is one, or no stream
  std::optional<StreamReading> reading_;  // of a stream that is relayed
  int64_t kind_since_ = 0;                // the first byte of that kind that is known to be
  bool is_quiet_ = false;
  bool is_ending_ = false;
  bool wants_acks_ = false;
  bool has_acks_ = false;    // some were told in this turn
  bool wants_sync_ = false;  // one came that may have its image at once
};

}  // namespace sluice
