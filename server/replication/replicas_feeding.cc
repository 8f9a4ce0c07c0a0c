// Feeding replicas (replicas.h): images, made for all that wait, and the stream.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/replication/replicas.h"

namespace sluice {

// --- images

// One after the other: each that begins takes those of its kind along.
void Replicas::BeginDueSyncs() {
  std::vector<ImageKind> kinds;
  ForEach([&kinds](Session&, const Replica& replica) {
    const ImageKind kind = KindFor(replica);
    if (AwaitsImage(replica, kind) && std::ranges::find(kinds, kind) == kinds.end())
      kinds.push_back(kind);
  });
  for (const ImageKind& kind : kinds) BeginSyncIfDue(kind);
}

// A replica that reads slowly keeps its image, which may be as large as all data.
bool Replicas::MayBeginSync() const {
  std::vector<uint64_t> read;
  ForEach([&read](const Session&, const Replica& replica) {
    if (replica.image && std::ranges::find(read, replica.sync) == read.end())
      read.push_back(replica.sync);
  });
  return read.size() < kImagesMax;
}

// All that wait are given an image together, when the first of them has waited long enough for
// others.
void Replicas::BeginSyncIfDue(const ImageKind& kind) {
  if (!MayBeginSync()) return;
  const Settings& settings = on_.config.settings();
  int64_t waiting = 0;
  int64_t longest_ms = -1;
  bool is_delayed = settings.repl_diskless_sync;
  ForEach([&](Session&, const Replica& replica) {
    if (!AwaitsImage(replica, kind)) return;
    ++waiting;
    longest_ms = std::max(longest_ms, on_.clock.now().ms() - replica.since_ms);
    is_delayed &= replica.takes_eof;
  });
  const int64_t most = settings.repl_diskless_sync_max_replicas;
  const bool is_due = !is_delayed || (most > 0 && waiting >= most) ||
                      longest_ms >= settings.repl_diskless_sync_delay * 1000;
  if (is_due) BeginSync(kind);
}

void Replicas::BeginSync(const ImageKind& kind) {
  const uint64_t sync = ++syncs_;
  Log(LogLevel::kNotice, "Starting BGSAVE for SYNC with target: replicas sockets");
  std::unique_ptr<SnapshotSpool> spool = on_.snapshots.NewSpool();
  ForEach([&](Session&, Replica& replica) {
    if (!AwaitsImage(replica, kind)) return;
    replica.sync = sync;
    replica.image = spool->NewReader();
  });
  on_.snapshots.Enqueue({.spool = std::move(spool),
                         .for_redis = kind.for_redis,
                         .parts = kind.parts,
                         .begun = [this, sync] { ImageBegun(sync); }});
}

// At the end of a turn, all of which is in the stream.
void Replicas::ImageBegun(uint64_t sync) {
  stream_.EndTurn();
  stream_.BeginFullSync();
  const int64_t end = stream_.end();
  // A Sluice is told, too, what it cannot know of a stream that does not begin here.
  const StreamReading anew{.kind = StreamKind::kOfSluice};
  const std::string reading = Concat(" ", ReadingText(reading_.value_or(anew)));
  ForEach([&](Session& session, Replica& replica) {
    if (replica.sync != sync || replica.phase != ReplicaPhase::kWaits) return;
    if (!replica.is_silent) {
      const std::string own = replica.is_sluice ? reading + Greeting(replica) : std::string();
      Say(session, Concat("+FULLRESYNC ", ids_.id().text(), " ", end, own, "\r\n"));
    }
    if (replica.takes_eof && on_.config.settings().repl_diskless_sync)
      replica.end_mark = NewId(on_.host).text();
    replica.place.emplace(*stream_.backlog(), end + 1);
    SetPhase(replica, ReplicaPhase::kTakesImage);
  });
}

// The first replica opens the stream, between two commands.
void Replicas::BeginWantedSync() {
  wants_sync_ = false;
  if (!stream_.is_open()) {
    ids_.Replace(NewId(on_.host));
    OpenStream();
  }
  BeginDueSyncs();
}

// --- feeding

void Replicas::FeedAll() {
  if (wants_sync_ && !on_.effects.in_command()) BeginWantedSync();
  if (!stream_.is_open()) return;
  if (std::exchange(has_acks_, false)) ForgetWhatAllHave();
  if (std::exchange(wants_acks_, false) && !replicas_.empty()) AskForAcks();
  TakeFromStream();
  const bool has_grown = stream_.end() != seen_end_;
  SeeSluices();
  if (has_grown) TellTimeIfDue();
  seen_end_ = stream_.end();
  ForEach([this](Session& session, Replica& replica) {
    if (session.close == CloseMode::kNow) return;
    while (Feed(session, replica)) {
    }
    CheckBacklog(session, replica);
  });
  stream_.backlog()->Trim();
}

// Words of the server itself are no turn's news.
template <typename Tell>
void Replicas::TellOwnWords(const Tell& tell) {
  turns_.NoteEnd();
  tell();
  turns_.PassOverOwnWords();
}

void Replicas::AskForAcks() {
  TellOwnWords([this] { stream_.AskForAcks(); });
}

void Replicas::SeeSluices() {
  if (stream_.is_relayed()) return;
  std::vector<Replica*> sluices;
  bool any_greeted = false;
  ForEach([&](Session& session, Replica& replica) {
    if (session.close != CloseMode::kOpen) return;
    any_greeted |= replica.greeted_mark > 0;
    if (replica.is_online_sluice()) sluices.push_back(&replica);
  });
  witness_.See(sluices, any_greeted);
  if (!witness_.HasNews() || !MayGrow()) return;
  TellOwnWords([&] { witness_.Tell(sluices); });
}

// Only beside bytes of this turn, and those come at the latest with each PING: at rest the stream
// gets no longer than Redis's, not even a second behind the last of them. So whoever is made a
// replica has no more than those that had all.
void Replicas::TellTimeIfDue() {
  constexpr int64_t kApartMs = 1000;
  const int64_t now_ms = on_.clock.now().ms();
  if (now_ms - told_time_ms_ < kApartMs) return;
  if (!MayGrow() || stream_.is_relayed()) return;
  bool any_sluice = false;
  ForEach([&](const Session&, const Replica& replica) { any_sluice |= replica.is_sluice; });
  if (!any_sluice) return;
  TellOwnWords([this] { stream_.TellTime(); });
  told_time_ms_ = now_ms;
}

// All that was told so far becomes bytes of the backlog, and the files may say so.
void Replicas::TakeFromStream() {
  stream_.EndTurn();
  on_.state.stream =
      StreamPosition{.id = ids_.id(),
                     .offset = stream_.end(),
                     .db = reading_ ? reading_->db : StreamPosition::kUnknownDatabase,
                     .reading = reading_};
}

// Puts one more piece into its output. False: it has no room, or there is none at hand.
bool Replicas::Feed(Session& session, Replica& replica) {
  if (session.output.bytes() >= kAheadBytes) return false;
  if (replica.image && replica.image->fault() != 0) return FailImage(session);
  if (replica.phase == ReplicaPhase::kTakesImage) return FeedImage(session, replica);
  return replica.phase == ReplicaPhase::kOnline && FeedStream(session, replica);
}

// It comes back, and asks again.
bool Replicas::FailImage(Session& session) {
  Log(LogLevel::kWarning,
      Concat("Synchronization with replica ", AddressOf(session), " failed: there is no image"));
  on_.clients.Close(session, CloseMode::kNow);
  on_.clients.QueueSend(session);
  return false;
}

bool Replicas::FeedImage(Session& session, Replica& replica) {
  SpoolReader& image = *replica.image;
  if (!replica.is_begun) {
    const std::optional<uint64_t> total = image.total();
    if (replica.end_mark.empty() && !total) return false;
    replica.is_begun = true;
    Say(session, replica.end_mark.empty() ? Concat("$", *total, "\r\n")
                                          : Concat("$EOF:", replica.end_mark, "\r\n"));
  }
  if (image.is_at_end()) {
    FinishImage(session, replica);
    return true;
  }
  const std::string_view piece = image.Peek().substr(0, kAheadBytes - session.output.bytes());
  if (piece.empty()) return false;
  Say(session, piece);
  replica.image_end = session.output.appended();
  image.Consume(piece.size());
  replica.since_ms = on_.clock.now().ms();
  return true;
}

// Behind an image without a length nothing may follow until the replica has said that it is
// through: it could not tell the two apart.
void Replicas::FinishImage(Session& session, Replica& replica) {
  const bool has_mark = !replica.end_mark.empty();
  if (has_mark) Say(session, replica.end_mark);
  replica.image.reset();
  if (replica.wants_image_alone) {
    on_.clients.Close(session, CloseMode::kAfterReply);
    on_.clients.QueueSend(session);
  }
  SetPhase(replica, has_mark ? ReplicaPhase::kAwaitsAck : ReplicaPhase::kOnline);
  if (!has_mark) {
    Log(LogLevel::kNotice,
        Concat("Synchronization with replica ", AddressOf(session), " succeeded"));
  }
}

bool Replicas::FeedStream(Session& session, Replica& replica) {
  const std::string_view piece = replica.place->Take(kAheadBytes - session.output.bytes());
  if (piece.empty()) return false;
  Say(session, piece);
  return true;
}

// Past the session's sink, which refuses answers.
void Replicas::Say(Session& session, std::string_view bytes) {
  session.output.Append(bytes);
  on_.clients.QueueSend(session);
}

// All of the stream that waits for it counts. What is left of an image stands in front.
void Replicas::CheckBacklog(Session& session, const Replica& replica) {
  if (!replica.place) return;
  SessionRareParts& rare = session.rare.Make();
  rare.waiting_beside = replica.place->behind();
  rare.image_bytes = replica.image_end - std::min(replica.image_end, session.output.gone());
  on_.clients.CheckOutputLimit(session);
  if (session.close == CloseMode::kNow) on_.clients.QueueSend(session);
}

// Whether FeedImage would go on.
bool Replicas::HasImageAtHand(const Replica& replica) {
  SpoolReader& image = *replica.image;
  if (image.is_at_end()) return true;
  if (!replica.is_begun && replica.end_mark.empty() && !image.total()) return false;
  return !image.Peek().empty();
}

bool Replicas::any_to_feed() const {
  bool any = false;
  ForEach([&any](const Session& session, const Replica& replica) {
    if (session.output.bytes() >= kAheadBytes / 2 || session.close == CloseMode::kNow) return;
    any |= replica.phase == ReplicaPhase::kOnline && replica.place->behind() > 0;
    any |= replica.image && replica.image->fault() != 0;
    any |= replica.phase == ReplicaPhase::kTakesImage && HasImageAtHand(replica);
  });
  return any;
}

}  // namespace sluice
