// StreamPlayer: runs what a master's stream says, as Session::replays, past the gates of clients
// and through Dispatcher::Run, so that statistics, tracking, events, WATCH and clients that wait
// hear of it. Nothing is answered; a command that fails is logged and counted.
//
//   SELECT, PING, REPLCONF GETACK      the stream's own words
//   PING <envelope>                    what only a Sluice says: server/replication/envelope.h
//   MULTI … EXEC                       gathered as bytes, and run as one
//   any other                          run, at the moment that it is meant at
//
// A replica decides nothing by time: what has ended its master tells. So the commands of a Sluice
// run at the last moment that it has told, and those of Redis, whose stream has no time, before all
// moments, as a log is played: Redis keeps a key past its deadline until the DEL comes.
//
// Where a redis-server makes the stream of a Sluice from here on, the keys that it cannot hold go
// first, a slice each time that its next request is shown.
//
// Bytes become part of this server's own stream as they were, once they are whole: a transaction
// with its EXEC, the mark of an absolute deadline with its command. So offsets never lie inside of
// what is one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/args.h"
#include "protocol/text/fault.h"
#include "server/clients/host.h"
#include "server/clients/session.h"
#include "server/config/settings.h"
#include "server/core/log_limit.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/effects/effects.h"
#include "server/dispatch/snapshot_barrier.h"
#include "server/following/own_keys.h"
#include "server/observe/statistics.h"
#include "server/replication/envelope.h"
#include "storage/log/stream_position.h"

namespace sluice {

class StreamPlayer {
 public:
  // A transaction that does not end is the master's fault. It takes as much memory as it has bytes:
  // its requests are read again when it ends.
  static constexpr size_t kUnitBytesMax = kEnvelopeBytesMax;

  // The parts that it works with; all of them outlive the player.
  struct Uses {
    const Settings& settings;
    Host& host;
    TurnClock& clock;
    Dispatcher& dispatcher;
    Effects& effects;
    Statistics& statistics;
    SnapshotBarrier& snapshot_barrier;
    const SlowPathFlags& flags;
    Keyspace& keyspace;
  };
  // Called with news of the stream.
  struct Tells {
    std::function<void(std::string_view bytes)> whole;  // the next bytes, before they are applied
    std::function<void()> asks_for_ack;
    std::function<void(int64_t engine_ms)> time;  // the master's, just now
    std::function<void(const LogClock&)> clock;   // and it is another one
    std::function<void(const ReservedEnvelope&)> reserved;
  };
  StreamPlayer(const Uses& uses, Tells tells);

  // The next request is the first behind a position in the stream.
  void Begin(const StreamReading& reading);
  // Words of this origin follow from its offset on; none: they are what they were.
  void SetOrigin(const std::optional<StreamOrigin>& origin) { origin_ = origin; }
  // How the stream is to be read behind what is whole.
  const StreamReading& reading() const { return reading_; }
  // Whose words follow an offset behind which none was played: those of the origin may begin there.
  StreamKind KindBehind(int64_t end) const;

  // Plays a request of the session, which is the link; `bytes` are its own, `end` the stream's
  // offset before them. No words: it is an empty line.
  enum class Outcome : uint8_t {
    kPlayed,
    kWaits,  // for a snapshot, or keys to go: to be shown again when the session goes on
    kFault,  // the stream makes no sense: fault() says why
  };
  Outcome Play(Session& session, Args words, std::string_view bytes, int64_t end);
  const std::string& fault() const { return fault_; }
  // Plays a command that is no part of the stream. Requires: nothing of that is half played.
  void PlayBeside(Session& session, Args words);

 private:
  // A request of the stream: how it begins, and what it says.
  enum class Word : uint8_t { kPing, kSelect, kReplConf, kMulti, kExec, kOther };
  struct Said {
    Word word = Word::kOther;
    std::optional<int> db;  // of SELECT
    Envelope envelope;      // of PING
    Args command;           // to be run; views of the request; none: there is none
  };
  using Visit = std::function<bool(const Said& said)>;

  bool IsAtOrigin(int64_t end) const;
  StreamKind Turned(StreamKind kind) const;
  bool TurnInto(Session& session, StreamKind kind);
  bool TakeOwnKeysOut(Session& session);
  std::string NoDatabaseText(std::string_view db) const;
  Word WordOf(std::string_view name) const;
  std::optional<Said> Read(Args words);
  bool ReadPing(Args words, Said& said);
  bool ReadSelect(Args words, Said& said);
  void Note(const Said& said);
  void TellTime(const Said& said) const;
  Outcome Gather(const Said& said, std::string_view bytes);
  Outcome PlayExec(Session& session, std::string_view bytes);
  bool AnyWaits(Session& session);
  bool VisitUnit(std::string_view unit, const Visit& visit);
  Outcome PlayCommand(Session& session, Args words, std::string_view bytes);
  void RunCommand(Session& session, Args words);
  std::optional<Request> ToBePlayed(Args words);
  bool MayPlay(Args words, const Command& row);
  bool Waits(Session& session, const Request& request);
  void Run(Session& session, const Request& request, bool is_relative);
  Now Moment() const;
  bool is_relative() const;
  void Pass(std::string_view bytes);
  Outcome Fail(std::string fault);
  void Refused(std::string_view name, std::string_view error);

  const Uses on_;
  const Tells tells_;
  const Command* const words_[5];  // of the stream's own, in the order of Word
  StreamReading reading_;
  std::optional<StreamOrigin> origin_;
  OwnKeys own_keys_;
  int64_t end_ = 0;   // of what was whole before the request that is played
  std::string unit_;  // bytes that are not whole yet
  bool in_multi_ = false;
  bool is_absolute_ = false;  // the deadline in the next command
  LogLimit refusals_;
  std::string fault_;
};

}  // namespace sluice
