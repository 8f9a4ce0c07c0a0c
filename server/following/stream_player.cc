// See stream_player.h. Bytes are passed on before their command runs, as a long argument may become
// a value without a copy.
#include "server/following/stream_player.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "protocol/null_sink.h"
#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "storage/log/held_clock.h"

namespace sluice {
namespace {

constexpr size_t kErrorShownMax = 256;
constexpr size_t kUnitBytesKept = 64 * 1024;

// Keeps the first error of an answer, but for those inside an array.
class FirstErrorSink final : public NullSink {
 public:
  void Array(size_t) override { is_inside_ = true; }
  void Error(std::string_view text) override {
    if (!is_inside_ && error_.empty()) error_ = text.substr(0, kErrorShownMax);
  }
  const std::string& error() const { return error_; }

 private:
  std::string error_;
  bool is_inside_ = false;
};

}  // namespace

StreamPlayer::StreamPlayer(const Uses& uses, Tells tells)
    : on_(uses),
      tells_(std::move(tells)),
      words_{
          uses.dispatcher.commands().FindOwn("PING"), uses.dispatcher.commands().FindOwn("SELECT"),
          uses.dispatcher.commands().FindOwn("REPLCONF"),
          uses.dispatcher.commands().FindOwn("MULTI"), uses.dispatcher.commands().FindOwn("EXEC")} {
}

void StreamPlayer::Begin(const StreamReading& reading) {
  reading_ = reading;
  unit_.clear();
  queue_.clear();
  in_multi_ = is_absolute_ = false;
  fault_.clear();
}

StreamPlayer::Outcome StreamPlayer::Play(Session& session, Args words, std::string_view bytes,
                                         int64_t end) {
  static constexpr PlayWord kPlays[] = {&StreamPlayer::PlayPing, &StreamPlayer::PlaySelect,
                                        &StreamPlayer::PlayReplConf, &StreamPlayer::PlayMulti,
                                        &StreamPlayer::PlayExec};
  if (origin_ && end + 1 >= origin_->from && unit_.empty()) TurnInto(origin_->kind);
  if (unit_.size() + bytes.size() > kUnitBytesMax && !unit_.empty())
    return Fail("its transaction does not end");
  if (words.empty()) return Pass(bytes), Outcome::kPlayed;
  if (reading_.db >= on_.settings.databases) return Fail(NoDatabaseText(Int64Text(reading_.db)));
  session.db = reading_.db;
  const Command* const row = on_.dispatcher.commands().FindLogged(words[0]);
  const auto* const own = row ? std::ranges::find(words_, row) : std::end(words_);
  if (own != std::end(words_)) return (this->*kPlays[own - words_])(session, words, bytes);
  return PlayCommand(session, words, bytes);
}

std::string StreamPlayer::NoDatabaseText(std::string_view db) const {
  return Concat("it selects a database that is not there: ", db, " (databases ",
                on_.settings.databases, ")");
}

// Data that a redis-server has left out once are not there, whoever is followed directly later.
void StreamPlayer::TurnInto(StreamKind kind) {
  origin_.reset();
  const bool stays =
      kind == StreamKind::kOfSluice && reading_.kind == StreamKind::kOfSluiceThroughRedis;
  if (!stays) reading_.kind = kind;
}

// --- the stream's own words

StreamPlayer::Outcome StreamPlayer::PlayPing(Session& session, Args words, std::string_view bytes) {
  if (words.size() != 2) return Pass(bytes), Outcome::kPlayed;
  Fault fault;
  const std::optional<Envelope> envelope = ReadEnvelope(words[1], fault);
  if (!envelope) return Fail(std::string(fault));
  return PlayEnvelope(session, *envelope, bytes);
}

// An envelope in the middle of a transaction counts for what follows there.
StreamPlayer::Outcome StreamPlayer::PlayEnvelope(Session& session, const Envelope& envelope,
                                                 std::string_view bytes) {
  if (std::holds_alternative<NoEnvelope>(envelope)) return Pass(bytes), Outcome::kPlayed;
  // Only a Sluice says such things, and who has stood between has left out what it cannot hold.
  if (reading_.kind == StreamKind::kOfRedis) reading_.kind = StreamKind::kOfSluiceThroughRedis;
  if (const auto* const effect = std::get_if<EffectEnvelope>(&envelope)) {
    const ArgumentList& list = effect->words;
    return PlayCommand(session, Args(list.data(), list.size()), bytes);
  }
  if (const auto* const clock = std::get_if<ClockEnvelope>(&envelope)) {
    reading_.unix_offset_ms = clock->clock.unix_offset_ms;
    if (reading_.kind == StreamKind::kOfSluice) tells_.clock(clock->clock);
  }
  if (const auto* const time = std::get_if<TimeEnvelope>(&envelope)) {
    reading_.told_ms = std::max<int64_t>(time->engine_ms, reading_.told_ms);
    if (reading_.kind == StreamKind::kOfSluice) tells_.time(time->engine_ms);
  }
  if (std::holds_alternative<AbsoluteEnvelope>(envelope)) is_absolute_ = true;
  Pass(bytes);
  return Outcome::kPlayed;
}

StreamPlayer::Outcome StreamPlayer::PlaySelect(Session& session, Args words,
                                               std::string_view bytes) {
  const std::optional<int64_t> db = words.size() == 2 ? ParseInt64(words[1]) : std::nullopt;
  if (!db || *db < 0 || *db >= on_.settings.databases) {
    return Fail(NoDatabaseText(words.size() == 2 ? words[1].substr(0, kErrorShownMax) : "none"));
  }
  session.db = reading_.db = static_cast<int>(*db);
  Pass(bytes);
  return Outcome::kPlayed;
}

StreamPlayer::Outcome StreamPlayer::PlayReplConf(Session&, Args words, std::string_view bytes) {
  constexpr std::string_view kGetAck = "GETACK";
  Pass(bytes);
  if (words.size() == 3 && IsSameInAnyCase(words[1], kGetAck)) tells_.asks_for_ack();
  return Outcome::kPlayed;
}

StreamPlayer::Outcome StreamPlayer::PlayMulti(Session&, Args, std::string_view bytes) {
  if (in_multi_) return Fail("a MULTI stands inside of another one");
  in_multi_ = true;
  Pass(bytes);
  return Outcome::kPlayed;
}

// All that is in it is told as one: to the log, and to who tracks keys.
StreamPlayer::Outcome StreamPlayer::PlayExec(Session& session, Args, std::string_view bytes) {
  if (!in_multi_) return Fail("an EXEC has no MULTI");
  for (const Queued& queued : queue_) {
    session.db = queued.db;
    if (Waits(session, queued.command.request())) return Outcome::kWaits;
  }
  in_multi_ = false;
  Pass(bytes);
  const std::vector<Queued> queue = std::exchange(queue_, {});
  on_.effects.Begin(session.db);
  for (const Queued& queued : queue) {
    session.db = queued.db;
    Run(session, queued.command.request(), queued.is_relative);
  }
  on_.effects.Finish(session.db, /*changed=*/false, {});
  session.db = reading_.db;
  return Outcome::kPlayed;
}

// --- commands

StreamPlayer::Outcome StreamPlayer::PlayCommand(Session& session, Args words,
                                                std::string_view bytes) {
  const CommandTable& commands = on_.dispatcher.commands();
  const Command* const row = commands.FindLogged(words[0]);
  const std::optional<Request> request = commands.Check(words, row);
  const bool may_play = request && MayPlay(session, words, &request->command);
  if (may_play && !in_multi_ && Waits(session, *request)) return Outcome::kWaits;
  const bool is_relative = this->is_relative();
  is_absolute_ = false;
  if (!request) Refused(session, words[0], commands.TextOf(commands.WhyNot(words, row)));
  if (may_play && in_multi_) queue_.push_back({QueuedCommand(*request), session.db, is_relative});
  Pass(bytes);
  if (may_play && !in_multi_) Run(session, *request, is_relative);
  return Outcome::kPlayed;
}

// Whether it is for this server. A command that changes nothing has no place in a stream.
bool StreamPlayer::MayPlay(const Session& session, Args words, const Command* row) {
  const uint32_t lacking = reading_.kind == StreamKind::kOfSluiceThroughRedis
                               ? uint32_t{kCatLock} | uint32_t{kCatLimit}
                               : 0;
  if (row->spec->categories & lacking) return false;
  const bool keeps_script = row->spec->categories & kCatScripting;  // SCRIPT LOAD, of old masters
  if ((row->spec->flags & (kWrite | kMayReplicate)) || keeps_script) return true;
  Refused(session, words[0], "ERR it changes nothing and does not belong in a stream");
  return false;
}

bool StreamPlayer::Waits(Session& session, const Request& request) {
  if (!on_.flags.Raised(SlowPathFlags::kSaving)) return false;
  if (!on_.snapshot_barrier.Holds(session, request, request.command.spec->flags)) return false;
  on_.snapshot_barrier.Hold(session);
  return true;
}

void StreamPlayer::Run(Session& session, const Request& request, bool is_relative) {
  FirstErrorSink sink;
  session.replays_relative = is_relative;
  {
    const TurnClock::Hold hold = on_.clock.HoldAt(Moment());
    on_.dispatcher.Run(session, request, sink);
  }
  if (sink.error().empty()) return;
  // Its key has not come through the redis-server between.
  if (reading_.kind == StreamKind::kOfSluiceThroughRedis) return;
  on_.statistics.CountError(sink.error());
  Refused(session, request.command.full_name, sink.error());
}

void StreamPlayer::PlayBeside(Session& session, Args words) {
  session.db = reading_.db;
  const std::optional<Request> request =
      on_.dispatcher.commands().Check(words, on_.dispatcher.commands().FindLogged(words[0]));
  if (request) Run(session, *request, /*is_relative=*/false);
}

// Moments of a Sluice are those of engine time, which is the master's here; a redis-server between
// may have kept the heartbeats away.
bool StreamPlayer::is_relative() const {
  return reading_.kind == StreamKind::kOfSluice && reading_.unix_offset_ms && !is_absolute_;
}

Now StreamPlayer::Moment() const {
  Now moment = on_.clock.now();
  if (reading_.kind == StreamKind::kOfSluice && reading_.unix_offset_ms)
    moment.unix_offset_ms = *reading_.unix_offset_ms;
  if (reading_.kind == StreamKind::kOfSluice && reading_.told_ms > 0) {
    moment.steady_us = reading_.told_ms * 1000;
  } else {
    moment.steady_us -= kHeldBackSeconds * 1'000'000;
  }
  return moment;
}

// A transaction, and a mark with its command, are whole with their last bytes alone.
void StreamPlayer::Pass(std::string_view bytes) {
  const bool is_whole = !in_multi_ && !is_absolute_;
  if (is_whole && unit_.empty()) [[likely]]
    return tells_.whole(bytes);
  unit_.append(bytes);
  if (!is_whole) return;
  tells_.whole(unit_);
  unit_.clear();
  if (unit_.capacity() > kUnitBytesKept) unit_.shrink_to_fit();
}

StreamPlayer::Outcome StreamPlayer::Fail(std::string fault) {
  fault_ = std::move(fault);
  return Outcome::kFault;
}

// In Redis's words, which its tests wait for.
void StreamPlayer::Refused(const Session&, std::string_view name, std::string_view error) {
  ++on_.statistics.unexpected_error_replies;
  on_.host.Log(LogLevel::kWarning,
               Concat("== CRITICAL == This replica is sending an error to its master: '",
                      error.substr(0, kErrorShownMax), "' after processing the command '",
                      name.substr(0, kErrorShownMax), "'"));
  if (on_.settings.propagation_error_behavior == "ignore" || !on_.settings.replica_read_only)
    return;
  on_.host.Log(LogLevel::kWarning,
               "This replica panicked sending an error to its master (propagation-error-behavior)");
  std::abort();
}

}  // namespace sluice
