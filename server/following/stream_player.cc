// See stream_player.h. Bytes are passed on before their command runs, as a long argument may become
// a value without a copy.
#include "server/following/stream_player.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/base/macros.h"
#include "protocol/limits.h"
#include "protocol/null_sink.h"
#include "protocol/request_parser.h"
#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"
#include "storage/log/held_clock.h"

namespace sluice {
namespace {

constexpr size_t kErrorShownMax = 256;
constexpr size_t kWordShownMax = 64;
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

bool IsAckAsked(Args words) {
  constexpr std::string_view kGetAck = "GETACK";
  return words.size() == 3 && IsSameInAnyCase(words[1], kGetAck);
}

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
  own_keys_ = {};
  unit_.clear();
  in_multi_ = is_absolute_ = false;
  fault_.clear();
}

StreamPlayer::Outcome StreamPlayer::Play(Session& session, Args words, std::string_view bytes,
                                         int64_t end) {
  end_ = end;
  if (IsAtOrigin(end) && !TurnInto(session, origin_->kind)) return Outcome::kWaits;
  if (unit_.size() + bytes.size() > kUnitBytesMax && !unit_.empty())
    return Fail("its transaction does not end");
  if (words.empty()) return Pass(bytes), Outcome::kPlayed;
  if (!bytes.starts_with('*')) return Fail("it goes on in words of no request");
  if (reading_.db >= on_.settings.databases) return Fail(NoDatabaseText(Int64Text(reading_.db)));
  session.db = reading_.db;
  const std::optional<Said> said = Read(words);
  if (!said) return Outcome::kFault;
  if (said->word == Word::kExec) return PlayExec(session, bytes);
  if (in_multi_) return Gather(*said, bytes);
  Note(*said);
  TellTime(*said);
  session.db = reading_.db;
  if (!said->command.empty()) return PlayCommand(session, said->command, bytes);
  in_multi_ = said->word == Word::kMulti;
  Pass(bytes);
  if (said->word == Word::kReplConf && IsAckAsked(words)) tells_.asks_for_ack();
  return Outcome::kPlayed;
}

std::string StreamPlayer::NoDatabaseText(std::string_view db) const {
  return Concat("it selects a database that is not there: ", db, " (databases ",
                on_.settings.databases, ")");
}

StreamKind StreamPlayer::KindBehind(int64_t end) const {
  return IsAtOrigin(end) ? Turned(origin_->kind) : reading_.kind;
}

bool StreamPlayer::IsAtOrigin(int64_t end) const {
  return origin_ && end + 1 >= origin_->from && unit_.empty();
}

// Data that a redis-server has left out once are not there, whoever is followed directly later.
StreamKind StreamPlayer::Turned(StreamKind kind) const {
  const bool stays =
      kind == StreamKind::kOfSluice && reading_.kind == StreamKind::kOfSluiceThroughRedis;
  return stays ? reading_.kind : kind;
}

// False: some of those that a redis-server leaves out are still here.
bool StreamPlayer::TurnInto(Session& session, StreamKind kind) {
  const bool leaves_out = kind == StreamKind::kOfRedis && reading_.kind == StreamKind::kOfSluice;
  if (leaves_out && !TakeOwnKeysOut(session)) return false;
  origin_.reset();
  reading_.kind = Turned(kind);
  return true;
}

// A DEL each, which tells the log, and who watches or tracks them.
bool StreamPlayer::TakeOwnKeysOut(Session& session) {
  return own_keys_.Slice(on_.keyspace, [&](int db, std::string_view key) {
    const std::string_view words[] = {"DEL", key};
    session.db = db;
    const std::optional<Request> request =
        on_.dispatcher.commands().Check(words, on_.dispatcher.commands().FindLogged(words[0]));
    if (!request || Waits(session, *request)) return !request;
    Run(session, *request, /*is_relative=*/false);
    return true;
  });
}

// --- what a request says

StreamPlayer::Word StreamPlayer::WordOf(std::string_view name) const {
  const Command* const row = on_.dispatcher.commands().FindLogged(name);
  const auto* const own = row ? std::ranges::find(words_, row) : std::end(words_);
  return static_cast<Word>(own - words_);
}

// Null: it makes no sense, and fault() says why. Nothing has changed.
std::optional<StreamPlayer::Said> StreamPlayer::Read(Args words) {
  Said said{.word = WordOf(words[0])};
  const bool makes_sense = said.word == Word::kPing     ? ReadPing(words, said)
                           : said.word == Word::kSelect ? ReadSelect(words, said)
                                                        : true;
  if (!makes_sense) return std::nullopt;
  if (said.word == Word::kOther) said.command = words;
  return said;
}

bool StreamPlayer::ReadPing(Args words, Said& said) {
  if (words.size() != 2) return true;
  Fault fault;
  std::optional<Envelope> envelope = ReadEnvelope(words[1], fault);
  if (!envelope) return Fail(std::string(fault)), false;
  said.envelope = *std::move(envelope);
  if (const auto* const effect = std::get_if<EffectEnvelope>(&said.envelope))
    said.command = Args(effect->words.data(), effect->words.size());
  return true;
}

bool StreamPlayer::ReadSelect(Args words, Said& said) {
  const std::optional<int64_t> db = words.size() == 2 ? ParseInt64(words[1]) : std::nullopt;
  if (!db || *db < 0 || *db >= on_.settings.databases) {
    const std::string_view given = words.size() == 2 ? words[1] : "none";
    return Fail(NoDatabaseText(EscapedText(given, kWordShownMax))), false;
  }
  said.db = static_cast<int>(*db);
  return true;
}

// It counts for what follows.
void StreamPlayer::Note(const Said& said) {
  if (said.db) reading_.db = *said.db;
  if (std::holds_alternative<NoEnvelope>(said.envelope)) return;
  // Only a Sluice says such things, and who has stood between has left out what it cannot hold.
  if (reading_.kind == StreamKind::kOfRedis) reading_.kind = StreamKind::kOfSluiceThroughRedis;
  if (const auto* const clock = std::get_if<ClockEnvelope>(&said.envelope)) {
    reading_.unix_offset_ms = clock->clock.unix_offset_ms;
    if (reading_.kind == StreamKind::kOfSluice) tells_.clock(clock->clock);
  }
  if (const auto* const time = std::get_if<TimeEnvelope>(&said.envelope))
    reading_.told_ms = std::max<int64_t>(time->engine_ms, reading_.told_ms);
  if (std::holds_alternative<AbsoluteEnvelope>(said.envelope)) is_absolute_ = true;
  const auto* const reserved = std::get_if<ReservedEnvelope>(&said.envelope);
  if (reserved && reading_.kind == StreamKind::kOfSluice) tells_.reserved(*reserved);
}

// Inside a transaction that is late already, nobody looks at the time.
void StreamPlayer::TellTime(const Said& said) const {
  const auto* const time = std::get_if<TimeEnvelope>(&said.envelope);
  if (time && reading_.kind == StreamKind::kOfSluice) tells_.time(time->engine_ms);
}

// --- transactions

StreamPlayer::Outcome StreamPlayer::Gather(const Said& said, std::string_view bytes) {
  if (said.word == Word::kMulti) return Fail("a MULTI stands inside of another one");
  unit_.append(bytes);
  return Outcome::kPlayed;
}

// All that is in it is told as one: to the log, and to who tracks keys.
StreamPlayer::Outcome StreamPlayer::PlayExec(Session& session, std::string_view bytes) {
  if (!in_multi_) return Fail("an EXEC has no MULTI");
  if (on_.flags.Raised(SlowPathFlags::kSaving) && AnyWaits(session)) return Outcome::kWaits;
  in_multi_ = false;
  std::string unit = std::exchange(unit_, {});
  unit.append(bytes);
  on_.effects.Begin(session.db);
  const bool is_played = VisitUnit(unit, [&](const Said& said) {
    Note(said);
    if (!said.command.empty()) RunCommand(session, said.command);
    return true;
  });
  on_.effects.Finish(session.db, /*changed=*/false, {});
  is_absolute_ = false;
  session.db = reading_.db;
  if (!is_played) return Outcome::kFault;
  tells_.whole(unit);
  ClearKeeping(unit, kUnitBytesKept);
  unit_ = std::move(unit);
  return Outcome::kPlayed;
}

bool StreamPlayer::AnyWaits(Session& session) {
  int db = reading_.db;
  bool waits = false;
  VisitUnit(unit_, [&](const Said& said) {
    db = said.db.value_or(db);
    if (said.command.empty()) return true;
    const CommandTable& commands = on_.dispatcher.commands();
    const Command* const row = commands.FindLogged(said.command[0]);
    const std::optional<Request> request = commands.Check(said.command, row);
    session.db = db;
    waits = request && Waits(session, *request);
    return !waits;
  });
  session.db = reading_.db;
  return waits;
}

// Every request of it, until one is not to be followed by another. False: one makes no sense.
bool StreamPlayer::VisitUnit(std::string_view unit, const Visit& visit) {
  RequestParser parser;
  ArgumentList words;
  const ParseLimits limits{.bulk_bytes_max = static_cast<int64_t>(kUnitBytesMax)};
  while (!unit.empty()) {
    words.Clear();
    const ParseStatus status = parser.Next(unit, limits, words);
    ABSL_HARDENING_ASSERT(status == ParseStatus::kRequest);  // it was read before
    unit.remove_prefix(parser.consumed());
    if (!words.empty()) {
      const std::optional<Said> said = Read(Args(words.data(), words.size()));
      if (!said) return false;
      if (!visit(*said)) return true;
    }
    parser.ReleaseInline();
  }
  return true;
}

// --- commands

StreamPlayer::Outcome StreamPlayer::PlayCommand(Session& session, Args words,
                                                std::string_view bytes) {
  const std::optional<Request> request = ToBePlayed(words);
  if (request && Waits(session, *request)) return Outcome::kWaits;
  const bool is_relative = this->is_relative();
  is_absolute_ = false;
  Pass(bytes);
  if (request) Run(session, *request, is_relative);
  return Outcome::kPlayed;
}

// The same in a transaction, of which nothing waits.
void StreamPlayer::RunCommand(Session& session, Args words) {
  session.db = reading_.db;
  const std::optional<Request> request = ToBePlayed(words);
  if (request) Run(session, *request, is_relative());
  is_absolute_ = false;
}

// Null: it is not for this server, or no command, which is logged.
std::optional<Request> StreamPlayer::ToBePlayed(Args words) {
  const CommandTable& commands = on_.dispatcher.commands();
  const Command* const row = commands.FindLogged(words[0]);
  std::optional<Request> request = commands.Check(words, row);
  if (!request) return Refused(words[0], commands.TextOf(commands.WhyNot(words, row))), request;
  return MayPlay(words, request->command) ? request : std::nullopt;
}

// Whether it is for this server. A command that changes nothing has no place in a stream.
bool StreamPlayer::MayPlay(Args words, const Command& row) {
  const uint32_t lacking = reading_.kind == StreamKind::kOfSluiceThroughRedis
                               ? uint32_t{kCatLock} | uint32_t{kCatLimit}
                               : 0;
  if (row.spec->categories & lacking) return false;
  const bool keeps_script = row.spec->categories & kCatScripting;  // SCRIPT LOAD, of old masters
  if ((row.spec->flags & (kWrite | kMayReplicate)) || keeps_script) return true;
  Refused(words[0], "ERR it changes nothing and does not belong in a stream");
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
  session.last_command = &request.command.full_name;
  {
    const TurnClock::Hold hold = on_.clock.HoldAt(Moment());
    on_.dispatcher.Run(session, request, sink);
  }
  if (sink.error().empty()) return;
  // Its key has not come through the redis-server between.
  if (reading_.kind == StreamKind::kOfSluiceThroughRedis) return;
  on_.statistics.CountError(sink.error());
  Refused(request.command.full_name, sink.error());
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
  ClearKeeping(unit_, kUnitBytesKept);
}

StreamPlayer::Outcome StreamPlayer::Fail(std::string fault) {
  fault_ = std::move(fault);
  return Outcome::kFault;
}

// In Redis's words, which its tests wait for, and what to do.
void StreamPlayer::Refused(std::string_view name, std::string_view error) {
  ++on_.statistics.unexpected_error_replies;
  const bool panics =
      on_.settings.propagation_error_behavior != "ignore" && on_.settings.replica_read_only;
  if (const std::optional<uint64_t> left_out = refusals_.Admit(on_.clock.now().ms())) {
    on_.host.Log(LogLevel::kWarning,
                 Concat("== CRITICAL == This replica is sending an error to its master: '",
                        EscapedText(error, kErrorShownMax), "' after processing the command '",
                        EscapedText(name, kWordShownMax), "' of ", on_.settings.replicaof.host, ":",
                        on_.settings.replicaof.port, ", behind offset ", end_,
                        ". The data are no longer the master's: REPLICAOF NO ONE, and REPLICAOF "
                        "again, take all of them anew"));
    if (*left_out > 0) {
      on_.host.Log(LogLevel::kWarning, Concat(*left_out, " more such errors were not logged"));
    }
  }
  if (!panics) return;
  on_.host.Log(LogLevel::kWarning,
               "This replica panicked sending an error to its master (propagation-error-behavior)");
  std::abort();
}

}  // namespace sluice
