// Following: this server as a replica. It joins what a replica consists of: the link to the master
// (MasterLink), the data of a full sync (FullSyncLoader), the stream (StreamPlayer), and what this
// server's own replicas are sent of it (Replicas).
//
//   REPLICAOF host port ─ Follow ─> link ─┬─ image ─ loader ─┐
//                                         └─ +CONTINUE ──────┴─ Play, Play, ... ─ ACK
//   REPLICAOF NO ONE ─ BeMaster ─> the history parts, and clients may write
//
// Where the data stand in the master's stream is one offset, Replicas' end of the stream: what has
// been applied is in it, and nothing else. With it the link goes on where it was, unless data and
// offset may have come apart: then a full sync is asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/args.h"
#include "server/clients/clients.h"
#include "server/commit/turn_gate.h"
#include "server/config/config.h"
#include "server/config/follow_state.h"
#include "server/core/slow_path_flags.h"
#include "server/core/standstill.h"
#include "server/following/full_sync_loader.h"
#include "server/following/master_link.h"
#include "server/following/master_time.h"
#include "server/following/stream_player.h"
#include "server/replication/replicas.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

class Following final : private LinkFollower {
 public:
  // The parts that it works with; all of them outlive it.
  struct Uses {
    Config& config;
    const TurnClock& clock;
    Clients& clients;
    BlockedClients& blocked_clients;
    Standstill& standstill;
    SlowPathFlags& flags;
    FollowState& state;
    LogService& log;
    LockService& locks;
    const TurnGate& turn_gate;
    Replicas& replicas;
    FullSyncLoader& loader;
    MasterTime& time;
    MasterLink::Uses link;
    StreamPlayer::Uses player;
  };
  explicit Following(const Uses& uses);

  // --- roles
  // `replicaof` in the file, before anything is loaded. The link is opened when the files are: they
  // say where it may go on.
  void Start();
  // The files were loaded, as of this place in the master's stream, if they say so; or there are
  // none.
  void FilesLoaded(const std::optional<StreamPosition>& loaded);
  // Another server is followed from here on. In a command, or between two.
  void Follow(std::string host, int64_t port);
  // The same of a replica of this server, which is asked to be the master. The listener is told
  // when it is, or why not (a refusal that is not empty).
  void HandOverTo(std::string host, int64_t port);
  using TakeOverListener = std::function<void(std::string_view refusal)>;
  void set_take_over_listener(TakeOverListener listener) { taken_over_ = std::move(listener); }
  // None is. Nothing where none was.
  void BeMaster();
  bool is_on() const { return on_.state.is_on; }
  // Its data are those of a master, whole: since they were last known to be, no full sync has begun
  // or failed. Others are not to be promoted.
  bool is_whole() const { return is_whole_; }
  // It follows that one already.
  bool Follows(std::string_view host, int64_t port) const;

  // --- turns
  // A request that the master's link has brought; `bytes` are its own. False: it has to wait, and
  // is shown again.
  bool Play(Session& session, Args words, std::string_view bytes);
  // The master has sent something that is no request.
  void ProtocolError(std::string_view error);
  // Before outputs are sent.
  void EndTurn() {
    if (owes_ack_) [[unlikely]]
      Acknowledge();
  }
  void EverySecond();
  // While a command takes so long that others are served meanwhile: what the master says waits.
  void KeepMasterAwake() {
    if (link_.state() >= LinkState::kTransfer) [[unlikely]]
      link_.KeepAwake();
  }
  void TimeShifted(int64_t ms) { link_.TimeShifted(ms); }

  // --- as it is seen
  const MasterLink& link() const { return link_; }
  // The offset of the last byte that has been applied; -1: the link is down.
  int64_t applied() const;
  // How old the data are at most; null: that is not known. A master that is no Sluice does not say
  // when it has said something: as old as its last word then.
  std::optional<int64_t> lag_ms() const;
  // And that of the last byte that has come.
  int64_t received() const;
  bool is_syncing() const {
    return link_.state() == LinkState::kTransfer || link_.state() == LinkState::kLoading;
  }

 private:
  // --- LinkFollower
  std::optional<Introduction::Place> PlaceWanted() override;
  bool MayConnect() const override;
  const std::string& RunId() const override { return on_.replicas.run_id(); }
  bool HasMade(std::string_view id) const override;
  void FullSyncBegins() override {
    image_made_ms_ = on_.loader.OwnMs();
    is_whole_ = false;
    may_lack_locks_ = link_.is_with_sluice();
  }
  void GoOn(const Agreement& agreement) override;
  void TakeImage(const std::string& path, const Agreement& agreement) override;
  void LinkLost() override;
  void TakeOverEnded(std::string_view refusal) override {
    if (taken_over_) taken_over_(refusal);
  }

  void Begin();
  void GiveImageUp();
  void RemoveImage();
  void UnblockAll();
  bool IsReadingKnown() const;
  void ImageLoaded(const FullSyncOutcome& outcome, const Agreement& agreement);
  void PlayScripts(const std::vector<std::string>& scripts);
  StreamReading ReadingOf(const FullSyncOutcome& outcome, const Agreement& agreement) const;
  void StreamBegins(const StreamReading& reading, const std::optional<StreamOrigin>& origin);
  void GiveStreamUp(std::string_view error);
  void Acknowledge();
  void NoteTurn();
  void NoteReserved(const ReservedEnvelope& reserved);
  void NoteWord();
  std::optional<int64_t> Synced();
  void SetUp(bool is_up);
  void Log(LogLevel level, std::string_view line) const { on_.link.host.Log(level, line); }

  const Uses on_;
  TakeOverListener taken_over_;
  MasterLink link_;
  StreamPlayer player_;
  // The data are those of a stream at Replicas' end of it.
  bool has_place_ = false;
  bool is_whole_ = false;
  bool awaits_files_ = false;
  bool may_lack_locks_ = false;           // grants of the master, a Sluice
  std::optional<StreamReading> reading_;  // there; null: it is not known
  int64_t image_made_ms_ = 0;
  std::string clock_run_;  // of the master whose clock MasterTime knows
  // The history that this server made as a master, before it followed; none: it made none.
  std::optional<ReplicationId> own_history_;
  std::string image_path_;  // of the image that is being loaded; empty: none is
  bool owes_ack_ = false;
  // Turns that may not be on disk yet, and where the stream has ended behind each.
  struct UnsyncedTurn {
    uint64_t turn;
    int64_t end;
  };
  std::deque<UnsyncedTurn> unsynced_;
  int64_t synced_ = 0;
  // The engine time of a moment whose data these are: the master's own, which is this server's.
  std::optional<int64_t> data_of_ms_;
};

}  // namespace sluice
