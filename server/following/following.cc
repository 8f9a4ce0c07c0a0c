// See following.h. Log lines are Redis's.
#include "server/following/following.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/words.h"
#include "server/core/planted_faults.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"

namespace sluice {

Following::Following(const Uses& uses)
    : on_(uses),
      link_(uses.link, *this),
      player_(uses.player,
              {.whole =
                   [this](std::string_view bytes) { on_.replicas.Relay(bytes, player_.reading()); },
               .asks_for_ack = [this] { owes_ack_ = true; },
               .time =
                   [this](int64_t engine_ms) {
                     on_.time.Heartbeat(engine_ms);
                     data_of_ms_ = engine_ms;
                   },
               .clock = [this](const LogClock& clock) { on_.time.ClockChanged(clock); },
               .reserved = [this](const ReservedEnvelope& what) { NoteReserved(what); }}) {}

// --- roles

void Following::Start() {
  if (on_.config.settings().replicaof.host.empty()) return;
  Begin();
  awaits_files_ = true;
  may_lack_locks_ = true;  // until the files say otherwise
  const Settings::Master master = on_.config.settings().replicaof;
  link_.Follow(master.host, static_cast<int>(master.port));
}

void Following::FilesLoaded(const std::optional<StreamPosition>& loaded) {
  const bool is_start = std::exchange(awaits_files_, false);
  if (!is_on()) return;
  has_place_ = is_whole_ = loaded.has_value();
  may_lack_locks_ = !loaded || !loaded->reading || loaded->reading->kind == StreamKind::kOfSluice;
  reading_ = loaded ? loaded->reading : std::nullopt;
  const bool is_clock_known =
      reading_ && reading_->kind == StreamKind::kOfSluice && reading_->unix_offset_ms;
  if (is_clock_known) on_.time.ClockChanged({.unix_offset_ms = *reading_->unix_offset_ms});
  if (is_start) link_.TryNow();
}

void Following::Follow(std::string host, int64_t port) {
  if (!is_on()) {
    UnblockAll();
    Begin();
    has_place_ = true;  // in its own history
    is_whole_ = true;
    may_lack_locks_ = false;
    own_history_ = on_.replicas.ids().id();
    reading_ = on_.replicas.reading();
  }
  on_.config.SetMaster({.host = host, .port = port});
  SetUp(false);
  GiveImageUp();
  on_.time.NewMaster();
  link_.Follow(std::move(host), static_cast<int>(port));
}

void Following::HandOverTo(std::string host, int64_t port) {
  link_.set_takes_over(true);
  Follow(std::move(host), port);
}

void Following::Begin() {
  on_.state.is_on = true;
  on_.flags.Raise(SlowPathFlags::kFollowing);
  on_.flags.Raise(SlowPathFlags::kKeys);  // OwnDeadlines may listen from now on
  if (!IsPlanted(PlantedFault::kReplicaEndsKeys))
    on_.standstill.Begin(Standstill::kFollowing, on_.clock.now());
  on_.replicas.BeginRelaying();
}

void Following::BeMaster() {
  if (!is_on()) return;
  const PromotedReplica was{
      .may_lack_locks = may_lack_locks_, .is_whole = is_whole_, .is_link_up = on_.state.is_link_up};
  link_.Stop();
  SetUp(false);
  GiveImageUp();
  on_.config.SetMaster({});
  on_.state.is_on = on_.state.lacks_data = false;
  on_.flags.Lower(SlowPathFlags::kFollowing);
  has_place_ = false;
  own_history_.reset();
  data_of_ms_.reset();
  owes_ack_ = false;
  on_.replicas.EndRelaying();
  on_.time.Promoted();
  on_.locks.Promoted(was);
  on_.log.Promoted();
  on_.standstill.End(Standstill::kFollowing);
}

// One whose loading has begun goes on to its end.
void Following::GiveImageUp() {
  if (on_.loader.busy() && on_.loader.Cancel()) RemoveImage();
}

// The worker does it, as that takes long for a large file.
void Following::RemoveImage() {
  Disk& disk = on_.config.disk();
  on_.link.host.background().Run(
      WorkerLane::kSnapshot, [&disk, path = std::exchange(image_path_, {})] { disk.Remove(path); },
      [] {});
}

bool Following::Follows(std::string_view host, int64_t port) const {
  const Settings::Master& master = on_.config.settings().replicaof;
  return is_on() && IsSameInAnyCase(master.host, host) && master.port == port;
}

// On a replica nothing happens that they could wait for.
void Following::UnblockAll() {
  std::vector<Session*> blocked;
  on_.clients.ForEach([&blocked](Session& session) {
    if (session.blocked) blocked.push_back(&session);
  });
  for (Session* const session : blocked) {
    on_.blocked_clients.Refuse(*session,
                               "UNBLOCKED force unblock from blocking operation, instance state "
                               "changed (master -> replica?)");
    on_.clients.Close(*session, CloseMode::kAfterReply);
  }
}

// --- the link

std::optional<Introduction::Place> Following::PlaceWanted() {
  if (!has_place_) return std::nullopt;
  return Introduction::Place{.id = std::string(on_.replicas.ids().id().text()),
                             .offset = on_.replicas.stream().end()};
}

bool Following::MayConnect() const {
  return !awaits_files_ && !on_.log.loading() && !on_.loader.busy();
}

bool Following::HasMade(std::string_view id) const {
  if (!own_history_) return false;
  return own_history_ == (id.empty() ? on_.replicas.ids().id() : ReplicationId::Of(id));
}

// This server has kept what the stream has said before a position, or the master says it
// again where it has begun to make the stream itself.
bool Following::IsReadingKnown() const {
  return reading_ || (link_.origin() && on_.replicas.stream().end() + 1 == link_.origin()->from);
}

void Following::GoOn(const Agreement& agreement) {
  if (!IsReadingKnown()) {
    has_place_ = false;
    return link_.Drop(
        "the files do not tell how the master's stream goes on: all data are asked "
        "for");
  }
  const ReplicationId id = ReplicationId::Of(agreement.id).value_or(on_.replicas.ids().id());
  StreamReading reading = reading_.value_or(StreamReading{});
  // Another master, or another process of it, has gone on from here, by a clock of its own and
  // since a moment that it has not told: maybe long ago. Under the same id, too, behind a
  // hand-over.
  const bool is_other_id = id != on_.replicas.ids().id();
  if (is_other_id) reading.told_ms = 0;
  if (is_other_id || clock_run_ != link_.master_run_id()) on_.time.NewMaster();
  clock_run_ = link_.master_run_id();
  on_.replicas.GoOnAs(id);
  StreamBegins(reading, link_.origin());
  const bool is_of_sluice =
      player_.KindBehind(on_.replicas.stream().end()) == StreamKind::kOfSluice;
  if (agreement.time && is_of_sluice) {
    on_.time.ClockChanged({.unix_offset_ms = agreement.time->unix_offset_ms});
    on_.time.Heartbeat(agreement.time->engine_ms);
  }
  if (agreement.reserved) NoteReserved(*agreement.reserved);
  is_whole_ = true;
  SetUp(true);
}

void Following::TakeImage(const std::string& path, const Agreement& agreement) {
  image_path_ = path;
  on_.loader.Begin({.path = path,
                    .made_ms = image_made_ms_,
                    .slice = [this] { link_.KeepAwake(); },
                    .done =
                        [this, agreement](const FullSyncOutcome& outcome) {
                          RemoveImage();
                          ImageLoaded(outcome, agreement);
                        }});
}

void Following::ImageLoaded(const FullSyncOutcome& outcome, const Agreement& agreement) {
  const bool is_whole = outcome.fault.empty();
  if (!outcome.kept_old_data) on_.state.lacks_data = is_on() && !is_whole;
  if (!is_whole) {
    has_place_ = has_place_ && outcome.kept_old_data;
    if (!outcome.kept_old_data) on_.replicas.AdoptHistory({}, 0);  // what is left is of no history
    Log(LogLevel::kWarning,
        Concat("Failed trying to load the MASTER synchronization DB from disk: ", outcome.fault));
    return link_.Loaded(/*is_whole=*/false);
  }
  // It has become a master meanwhile. Those who follow it are of the history of before.
  if (!is_on()) return on_.replicas.AdoptHistory({}, agreement.offset);
  if (outcome.facts.is_of_sluice) on_.time.FullSync(image_made_ms_);
  StreamReading reading = ReadingOf(outcome, agreement);
  // The file has told the clock, which the stream says with its first effect: that may be long
  // after this server's next start.
  if (outcome.facts.is_of_sluice && reading.kind == StreamKind::kOfSluice)
    reading.unix_offset_ms = reading.unix_offset_ms.value_or(on_.clock.now().unix_offset_ms);
  data_of_ms_.reset();
  has_place_ = !agreement.is_silent;
  is_whole_ = true;
  on_.replicas.AdoptHistory(ReplicationId::Of(agreement.id), agreement.offset);
  // A Sluice has said it all.
  StreamBegins(reading, agreement.reading ? std::nullopt : link_.origin());
  if (agreement.reserved) NoteReserved(*agreement.reserved);
  PlayScripts(outcome.facts.scripts);
  link_.Loaded(/*is_whole=*/true);
  SetUp(link_.state() == LinkState::kConnected);  // it may have been lost meanwhile
  owes_ack_ = true;
}

// A Redis before 7 names them by their digests in its stream.
void Following::PlayScripts(const std::vector<std::string>& scripts) {
  Session* const session = link_.session();
  for (const std::string& script : scripts) {
    const std::string_view words[] = {"SCRIPT", "LOAD", script};
    if (session) player_.PlayBeside(*session, words);
  }
}

StreamReading Following::ReadingOf(const FullSyncOutcome& outcome,
                                   const Agreement& agreement) const {
  StreamReading reading;
  if (agreement.reading) return *agreement.reading;
  if (outcome.facts.stream && outcome.facts.stream->db >= 0) reading.db = outcome.facts.stream->db;
  if (link_.is_with_sluice()) reading.kind = StreamKind::kOfSluice;
  return reading;
}

void Following::StreamBegins(const StreamReading& reading,
                             const std::optional<StreamOrigin>& origin) {
  reading_ = reading;
  unsynced_.clear();
  synced_ = 0;
  may_lack_locks_ = reading.kind == StreamKind::kOfSluice;
  player_.Begin(reading);
  player_.SetOrigin(origin);
  on_.replicas.NoteReading(reading);
  on_.locks.MasterHasSaid({});
}

void Following::LinkLost() {
  SetUp(false);
  owes_ack_ = false;
}

void Following::SetUp(bool is_up) {
  // As of the last whole unit: what stands in an open MULTI is said again.
  if (!is_up && on_.state.is_link_up) reading_ = on_.replicas.reading();
  on_.state.is_link_up = is_up;
}

void Following::NoteReserved(const ReservedEnvelope& reserved) {
  const bool is_complete =
      reserved.complete_at && reserved.complete_at->text() == link_.master_run_id();
  on_.locks.MasterHasSaid({.token_mark = reserved.token_mark,
                           .horizon_ms = on_.clock.now().ms() + reserved.horizon_ms,
                           .is_complete = is_complete});
}

// --- the stream

bool Following::Play(Session& session, Args words, std::string_view bytes) {
  if (!link_.is_link(session)) return true;
  link_.Heard();
  switch (player_.Play(session, words, bytes, on_.replicas.stream().end())) {
    case StreamPlayer::Outcome::kWaits:
      return false;
    case StreamPlayer::Outcome::kPlayed:
      owes_ack_ |= link_.is_with_sluice();
      NoteWord();
      return true;
    case StreamPlayer::Outcome::kFault:
      GiveStreamUp(player_.fault());
      return true;
  }
  return true;
}

// A Sluice tells the time in its stream.
void Following::NoteWord() {
  if (player_.reading().kind != StreamKind::kOfSluice) data_of_ms_ = on_.clock.now().ms();
}

void Following::ProtocolError(std::string_view error) {
  constexpr size_t kShownBytesMax = 256;
  GiveStreamUp(EscapedText(error, kShownBytesMax));
}

void Following::GiveStreamUp(std::string_view error) {
  const std::string line = Concat("the stream of the master ", link_.host(), ":", link_.port(),
                                  " makes no sense behind offset ", on_.replicas.stream().end(),
                                  ": ", error, "; all data are asked for");
  has_place_ = false;  // where the next bytes would lie is not known
  link_.Drop(line);
}

void Following::Acknowledge() {
  owes_ack_ = false;
  NoteTurn();
  const bool asks_for_disk = link_.is_with_sluice() && on_.log.is_on();
  link_.Acknowledge(on_.replicas.stream().end(), asks_for_disk ? Synced() : std::nullopt);
}

// Where many wait for the disk the last one stands for more: it is on disk later than those.
void Following::NoteTurn() {
  constexpr size_t kUnsyncedMax = 4096;
  const UnsyncedTurn now{on_.turn_gate.so_far(), on_.replicas.stream().end()};
  if (!on_.log.is_on() || (!unsynced_.empty() && unsynced_.back().end == now.end)) return;
  if (unsynced_.size() == kUnsyncedMax) unsynced_.pop_back();
  unsynced_.push_back(now);
}

// Up to which offset all that was applied is in the log, on disk.
std::optional<int64_t> Following::Synced() {
  const uint64_t on_disk = on_.log.TurnsOnDisk();
  for (; !unsynced_.empty() && unsynced_.front().turn <= on_disk; unsynced_.pop_front())
    synced_ = unsynced_.front().end;
  return synced_ > 0 ? std::optional(synced_) : std::nullopt;
}

void Following::EverySecond() {
  link_.EverySecond();
  if (link_.state() == LinkState::kConnected) Acknowledge();
}

int64_t Following::applied() const {
  return link_.state() == LinkState::kConnected ? on_.replicas.stream().end() : -1;
}

std::optional<int64_t> Following::lag_ms() const {
  if (link_.state() != LinkState::kConnected || !data_of_ms_) return std::nullopt;
  return std::max<int64_t>(0, on_.clock.now().ms() - *data_of_ms_);
}

int64_t Following::received() const {
  const Session* const session = link_.session();
  const bool is_stream = session && link_.state() == LinkState::kConnected;
  const int64_t waiting = is_stream ? static_cast<int64_t>(session->pending.view().size()) : 0;
  return on_.replicas.stream().end() + waiting;
}

}  // namespace sluice
