// See master_link.h. Log lines are Redis's, as its tests and operators wait for them.
#include "server/following/master_link.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <span>
#include <utility>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/replication/replication_ids.h"

namespace sluice {
namespace {

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kLostMax = 10;  // links in a row that are opened again at once

}  // namespace

MasterLink::MasterLink(const Uses& uses, LinkFollower& follower) : on_(uses), follower_(follower) {}

MasterLink::~MasterLink() { on_.links.Close(*this); }

void MasterLink::Follow(std::string host, int port) {
  GiveUp();
  host_ = std::move(host);
  port_ = port;
  state_ = LinkState::kConnect;
  down_since_ms_ = now_ms();
  next_try_ms_ = faults_ = lost_ = 0;
  last_fault_.clear();
  TryNow();
}

void MasterLink::TryNow() {
  if (state_ != LinkState::kConnect || !follower_.MayConnect()) return;
  Log(LogLevel::kNotice, Concat("Connecting to MASTER ", host_, ":", port_));
  Connect();
}

void MasterLink::Stop() {
  GiveUp();
  takes_over_ = false;
  host_.clear();
  port_ = 0;
  state_ = LinkState::kOff;
}

// --- opening

void MasterLink::Connect() {
  if (!follower_.MayConnect()) return;
  const Fault fault = on_.links.Open(LinkTargetOf(on_.config.settings(), host_, port_,
                                                  on_.config.settings().repl_timeout * kSecondMs),
                                     *this);
  if (fault) {
    Log(LogLevel::kWarning, Concat("Unable to connect to MASTER: ", fault.sentence()));
    return;
  }
  state_ = LinkState::kConnecting;
  since_ms_ = now_ms();
  Log(LogLevel::kNotice, "MASTER <-> REPLICA sync started");
}

void MasterLink::LinkFailed(std::string_view why) {
  Log(LogLevel::kWarning, Concat("Error condition on socket for SYNC: ", why));
  state_ = LinkState::kConnect;
}

void MasterLink::LinkOpened(Session& session) {
  Log(LogLevel::kNotice, "Non blocking connect for SYNC fired the event.");
  session_ = session.id;
  session.replays = true;
  state_ = LinkState::kHandshake;
  since_ms_ = now_ms();
  heard_bytes_ = session.bytes_in;
  MakeId();
  handshake_.emplace(Introduce(),
                     [this](LogLevel level, std::string_view line) { Log(level, line); });
  std::string out;
  handshake_->Begin(out);
  Say(out);
}

// By chance, for a run: its run id is shown to clients.
void MasterLink::MakeId() {
  if (!id_.empty()) return;
  std::array<uint8_t, ReplicationId::kBytes / 2> random;
  on_.host.process().FillWithRandom(random);
  id_ = ReplicationIdOf(random).text();
}

Introduction MasterLink::Introduce() const {
  const Settings& settings = on_.config.settings();
  const int64_t own_port = settings.tls_replication ? settings.tls_port : settings.port;
  return {.user = settings.masteruser,
          .password = settings.masterauth,
          .port = settings.replica_announce_port > 0 ? settings.replica_announce_port : own_port,
          .address = settings.replica_announce_ip,
          .place = follower_.PlaceWanted(),
          .takes_over = takes_over_,
          .run_id = follower_.RunId(),
          .link_id = id_};
}

// --- what comes

size_t MasterLink::LinkReceived(Session& session, std::string_view bytes) {
  const bool counts = state_ == LinkState::kHandshake || state_ == LinkState::kTransfer;
  if (counts) since_ms_ = now_ms();
  heard_bytes_ = session.bytes_in;
  if (unread_.empty()) return TakeWhole(session, bytes, 0);
  const size_t before = unread_.size();
  const std::string all = std::exchange(unread_, {}).append(bytes);
  return TakeWhole(session, all, before);
}

// `before`: so many of the bytes were taken already. The beginning of an answer is taken, and kept:
// of bytes that are left, no more are read from the master.
size_t MasterLink::TakeWhole(Session& session, std::string_view bytes, size_t before) {
  size_t taken = 0;
  if (state_ == LinkState::kHandshake) taken += TakeAnswers(session, bytes);
  if (state_ == LinkState::kTransfer) taken += TakeImage(bytes.substr(taken));
  if (IsAnswerAwaited()) {
    unread_ = bytes.substr(taken);
    taken = bytes.size();
  }
  return std::max(taken, before) - before;
}

bool MasterLink::IsAnswerAwaited() const {
  return state_ == LinkState::kHandshake ||
         (state_ == LinkState::kTransfer && reader_.state() == ImageReader::State::kHead);
}

size_t MasterLink::TakeAnswers(Session& session, std::string_view bytes) {
  std::string out;
  const size_t taken = handshake_->Take(bytes, out);
  if (!out.empty()) Say(out);
  if (handshake_->agreement().kind == Agreement::Kind::kNone) return taken;
  agreement_ = handshake_->agreement();
  is_with_sluice_ = handshake_->is_with_sluice();
  origin_ = handshake_->origin();
  master_run_id_ = handshake_->master_run_id();
  handshake_.reset();
  Agreed();
  if (state_ == LinkState::kConnected) on_.links.Parse(session);
  return taken;
}

// The other one has its stream from this server, and this one would have it from there.
bool MasterLink::IsCircle() const {
  const bool has_stream = agreement_.kind == Agreement::Kind::kContinue ||
                          agreement_.kind == Agreement::Kind::kFullSync;
  return has_stream && !agreement_.is_silent && follower_.HasMade(agreement_.id);
}

void MasterLink::Agreed() {
  const bool took_over = std::exchange(takes_over_, false);
  if (IsCircle()) {
    return Retry(Concat("a circle: the MASTER ", host_, ":", port_,
                        " has its stream from this server itself. One of them is to be a master "
                        "(REPLICAOF NO ONE)"));
  }
  switch (agreement_.kind) {
    case Agreement::Kind::kNone:
      return;
    case Agreement::Kind::kContinue:
      Log(LogLevel::kNotice,
          "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.");
      state_ = LinkState::kConnected;
      if (took_over) follower_.TakeOverEnded({});
      return follower_.GoOn(agreement_);
    case Agreement::Kind::kFullSync:
      if (took_over) follower_.TakeOverEnded({});
      return BeginTransfer();
    case Agreement::Kind::kLater:
      takes_over_ = took_over;
      return Retry(agreement_.why_not);
    case Agreement::Kind::kUseless:
      Retry({});
      return follower_.TakeOverEnded(agreement_.why_not);
  }
}

// --- the image

void MasterLink::BeginTransfer() {
  state_ = LinkState::kTransfer;
  follower_.FullSyncBegins();
  reader_ = {};
  Disk& disk = on_.config.disk();
  const std::string name =
      Concat("temp-", on_.clock.now().unix_s(), ".", on_.process_id, ".", ++files_, ".rdb");
  file_ = std::make_unique<ImageFile>(disk, on_.host.background(), disk.Absolute(name),
                                      [this] { ImageProgressed(); });
}

size_t MasterLink::TakeImage(std::string_view bytes) {
  if (!file_->has_room()) return 0;
  const bool was_head = reader_.state() == ImageReader::State::kHead;
  const size_t taken = reader_.Take(bytes, file_->waiting());
  switch (reader_.state()) {
    case ImageReader::State::kFault:
      Drop(reader_.fault());
      return bytes.size();
    case ImageReader::State::kHead:
      return taken;
    case ImageReader::State::kBytes:
    case ImageReader::State::kEnd:
      break;
  }
  if (was_head) {
    Log(LogLevel::kNotice,
        reader_.has_mark()
            ? std::string("MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF "
                          "to disk")
            : Concat("MASTER <-> REPLICA sync: receiving ", reader_.total(),
                     " bytes from master to disk"));
    if (reader_.total() > 0) file_->Expect(reader_.total());
    if (state_ != LinkState::kTransfer) return bytes.size();  // there is no room for it
  }
  if (reader_.state() == ImageReader::State::kEnd) {
    // The stream follows, and stays where it is until the image is loaded.
    state_ = LinkState::kLoading;
    file_->End();
  } else {
    file_->Append();
  }
  return taken;
}

// A piece is on the disk: there is room for more, or, once all has come, it was the last.
void MasterLink::ImageProgressed() {
  if (file_->fault() != 0) {
    return Drop(
        Concat("Write error or short write writing to the DB dump file needed for "
               "MASTER <-> REPLICA synchronization: ",
               std::strerror(file_->fault())));
  }
  if (state_ == LinkState::kLoading) {
    assert(file_->is_written());
    const std::string path = file_->path();
    file_.reset();
    return follower_.TakeImage(path, agreement_);
  }
  on_.links.ReadOn(standing());
}

void MasterLink::Loaded(bool is_whole) {
  if (state_ != LinkState::kLoading) return;  // it was lost meanwhile, and goes on from there
  if (!is_whole) return Drop({});
  state_ = LinkState::kConnected;
  since_ms_ = now_ms();
  on_.links.Parse(standing());
}

// --- the stream

void MasterLink::Acknowledge(int64_t applied, std::optional<int64_t> synced) {
  if (state_ != LinkState::kConnected || agreement_.is_silent) return;
  const std::string have = Int64Text(applied);
  const std::string on_disk = Int64Text(synced.value_or(0));
  const std::string_view words[] = {"REPLCONF", "ACK", have, "FACK", on_disk};
  std::string out;
  AppendRequest(out, std::span(words).first(synced ? 5 : 3));
  Say(out);
}

void MasterLink::Drop(std::string_view why) {
  constexpr int64_t kFaultsMax = 5;  // half a minute: each costs the master a full sync
  Retry(why == last_fault_ ? std::string_view() : why);
  if (!why.empty()) last_fault_ = why;
  faults_ = std::min(faults_ + 1, kFaultsMax);
  next_try_ms_ = now_ms() + (kSecondMs << faults_);
}

// --- its end

// The link that is open or being opened goes, and so does a file.
void MasterLink::GiveUp() {
  on_.links.Close(*this);
  session_.reset();
  handshake_.reset();
  unread_.clear();
  file_.reset();
}

// In the next second.
void MasterLink::Retry(std::string_view why) {
  if (!why.empty()) Log(LogLevel::kWarning, why);
  const bool was_up = state_ == LinkState::kConnected || state_ == LinkState::kLoading;
  GiveUp();
  state_ = LinkState::kConnect;
  if (!was_up) return;
  down_since_ms_ = now_ms();
  follower_.LinkLost();
}

void MasterLink::LinkClosed(Session&) {
  const LinkState was = state_;
  session_.reset();
  handshake_.reset();
  unread_.clear();
  state_ = LinkState::kConnect;
  switch (was) {
    case LinkState::kHandshake:
      return Log(LogLevel::kWarning, "Failed to read response from the server: it has closed");
    case LinkState::kTransfer:
      file_.reset();
      return Log(LogLevel::kWarning, "I/O error trying to sync with MASTER: connection lost");
    case LinkState::kLoading:
      if (file_) file_.reset();
      break;
    default:
      break;
  }
  down_since_ms_ = now_ms();
  Log(LogLevel::kWarning, "Connection with master lost.");
  follower_.LinkLost();
  // A second may be more writes than the backlog has. A master that closes again and again is asked
  // once a second.
  lost_ = std::min(lost_ + 1, kLostMax);
  if (lost_ == kLostMax) {
    next_try_ms_ = now_ms() + kSecondMs;
    return;
  }
  Log(LogLevel::kNotice, Concat("Reconnecting to MASTER ", host_, ":", port_));
  Connect();
}

void MasterLink::EverySecond() {
  const int64_t timeout_ms = on_.config.settings().repl_timeout * kSecondMs;
  const bool is_late = now_ms() - since_ms_ > timeout_ms;
  switch (state_) {
    case LinkState::kOff:
      return;
    case LinkState::kConnect:
      if (now_ms() >= next_try_ms_) TryNow();
      return;
    case LinkState::kConnecting:
    case LinkState::kHandshake:
      if (is_late && !AnyUnread()) Retry("Timeout connecting to the MASTER...");
      return;
    case LinkState::kTransfer:
      if (!is_late || AnyUnread()) return;
      return Retry(
          "Timeout receiving bulk data from MASTER... If the problem persists try to set "
          "the 'repl-timeout' parameter in redis.conf to a larger value.");
    case LinkState::kLoading:
      return KeepAwake();
    case LinkState::kConnected:
      faults_ = 0;
      lost_ = std::max<int64_t>(lost_ - 1, 0);
      last_fault_.clear();
      NoteHalfRequests();
      if (silent_s() * kSecondMs > timeout_ms)
        Retry("MASTER timeout: no data nor PING received...");
      return;
  }
}

// Bytes wait to be given here: a script ran for so long.
bool MasterLink::AnyUnread() const {
  return state_ != LinkState::kConnecting && standing().bytes_in != heard_bytes_;
}

// A long request that has not come whole is no silence.
void MasterLink::NoteHalfRequests() {
  const uint64_t bytes = standing().bytes_in;
  if (bytes == heard_bytes_) return;
  heard_bytes_ = bytes;
  Heard();
}

void MasterLink::KeepAwake() {
  const int64_t present_ms = on_.clock.clock().Sample().ms();  // the turn's may stand still
  if (present_ms - kept_awake_ms_ < kSecondMs) return;
  kept_awake_ms_ = present_ms;
  Say("\n");
}

void MasterLink::Say(std::string_view bytes) {
  Session* const link = session();
  if (!link) return;
  link->output.Append(bytes);
  on_.clients.QueueSend(*link);
}

Session* MasterLink::session() const { return session_ ? on_.clients.Find(*session_) : nullptr; }

Session& MasterLink::standing() const {
  Session* const link = session();
  assert(link);
  return *link;
}

void MasterLink::TimeShifted(int64_t ms) {
  since_ms_ += ms;
  down_since_ms_ += ms;
  next_try_ms_ += ms;
  kept_awake_ms_ += ms;
}

int64_t MasterLink::silent_s() const {
  return state_ == LinkState::kConnected ? (now_ms() - since_ms_) / kSecondMs : -1;
}

int64_t MasterLink::down_s() const { return (now_ms() - down_since_ms_) / kSecondMs; }

int64_t MasterLink::image_silent_s() const { return (now_ms() - since_ms_) / kSecondMs; }

}  // namespace sluice
