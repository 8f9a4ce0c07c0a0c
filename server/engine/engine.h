// Engine: the whole server without the outside world. Bytes of clients go in, bytes come out; time,
// chance and the end of the process are handed in. Sockets, a host program, a fuzzer and a
// simulator drive it in the same way, one turn after another:
//
//   Engine engine(config, clock, host, commands, options);
//   SessionId id = engine.Open(peer);
//   engine.Receive(id, bytes);   // as often as there is something; bytes stay valid until RunTurn
//   engine.RunTurn();            // runs requests and due timers, hands outputs to the host
//   ... wait until engine.NextWork() or until more bytes come ...
//
// This is its API. assembly.h makes and joins its parts, and turn_loop.h runs a turn over them. One
// thread calls all of it, and nothing here locks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "protocol/text/fault.h"
#include "server/clients/session.h"
#include "server/core/end_outcome.h"
#include "server/core/parts.h"
#include "server/core/request_outcome.h"
#include "server/engine/engine_options.h"
#include "storage/time/clock.h"

namespace sluice {

class CommandTable;
class Config;
class Host;
class Keyspace;
class LinkListener;
class TimerWheel;
struct RandomState;
struct Settings;
struct Statistics;

class Engine final {
 public:
  Engine(Config& config, Clock& clock, Host& host, const CommandTable& commands,
         EngineOptions options);
  ~Engine();

  // Reads the ACL file where users are in one, opens the append-only log where there is to be one,
  // and begins to load it, or a snapshot: once, before the first turn, in the working directory.
  // Returns a sentence why the server cannot start, or an empty one.
  Fault StartLog();
  // Instead: `sluice --import` (LogService).
  void Import(std::vector<std::string> paths, bool is_snapshot, bool keeps_ended);
  bool loading() const;
  Fault WriteFiles();
  // No turn follows: all of the log is made durable. False: it could not be.
  bool FinishLog();
  // A signal asks for the end, with these words of SHUTDOWN. Between two turns.
  EndOutcome End(std::string_view words);
  // The data go to another process: all is saved. False: it cannot be.
  bool SaveForHandOver();

  // --- sessions
  SessionId Open(Peer peer);
  // The connection stands that the host was asked for (Host::OpenLink), and it has opened that
  // session for it; or there is none. Between two turns; a turn follows.
  void LinkOpened(SessionId id, LinkListener& listener);
  void LinkFailed(LinkListener& listener, std::string_view why);
  // The connection is gone: forget the session, whatever it was doing.
  void Drop(SessionId id);
  Session* Find(SessionId id) const;  // null when gone
  void ForEachSession(const std::function<void(Session&)>& visit) const;
  size_t session_count() const;

  // --- a turn
  // `bytes` are parsed now or in RunTurn and must stay valid until RunTurn returns.
  void Receive(SessionId id, std::string_view bytes);
  void Receive(Session& session, std::string_view bytes);
  // The host reads the rest of a long request to where it belongs, without a copy: RoomFor is that
  // place (empty: there is none, anywhere will do), ReceiveInPlace tells how much has come there
  // since.
  std::span<char> RoomFor(Session& session);
  void ReceiveInPlace(Session& session, size_t bytes);
  // Runs what was received, due timers and background slices, at most about kTurnBudgetNanos of it;
  // then ends the turn: effects out, outputs sent. True when work is left and the next turn should
  // come at once.
  bool RunTurn();
  // For a host program, between turns: runs one command of that session at once, as a turn of its
  // own, and puts the answer into its sink; work that was due runs before. kHeld: to be shown again
  // when the session is no longer paused. None: there is no such session any more. RunTurn does the
  // work that the command leaves for later. Requires: the session does not wait.
  std::optional<RequestOutcome> RunNow(SessionId id, Args args);
  // The session, if something of it may be done without a command now, as nobody but its program is
  // to hear of it: there is no log and no event, and no client watches, waits, tracks or is shown
  // commands. Work that was due has been done by then, and the time is of now. Else null.
  Session* DirectSession(SessionId id);
  // The last turn left work that goes on at once.
  bool has_left_over() const;
  // False for the client whose command runs now: it must neither be read from nor dropped.
  bool MayTouch(SessionId id) const;
  // When RunTurn should be called next if nothing arrives, in engine ms; TimerWheel::kNever if
  // never.
  int64_t NextWork() const;
  // For a test double: once a second of real time, where EngineOptions::movable_clock is set. The
  // server's own work of each second neither stands still with that clock nor is in its way.
  void Housekeep();
  // Whether nothing is to be read of it now (Session::has_backlog). It may last:
  bool HasBacklog(SessionId id) const;
  // Nothing is to be read of it until Host::ReadOn, however many turns there are.
  bool IsStalled(SessionId id) const;
  // A session whose Send left bytes behind got rid of all of them, or made progress.
  void Sent(SessionId id);

  // --- what it consists of
  template <typename Part>
  Part& part() const {
    return parts().Get<Part>();
  }
  const Parts& parts() const;
  const EngineOptions& options() const;  // that it was made with
  const Settings& settings() const;
  Statistics& statistics();
  OutputBuffer::Spares& spare_blocks();  // see Clients
  Keyspace& keyspace();
  const TimerWheel& wheel() const;
  Now now() const;
  size_t UsedMemory() const;
  // Between turns: where all generators stand.
  RandomState SaveRandom() const;
  void RestoreRandom(const RandomState& state);
  // Between turns: the first violated invariant of sessions and of those who listen, as a sentence,
  // or empty. The keyspace has an audit of its own.
  std::string Audit() const;

 private:
  struct Inside;
  const std::unique_ptr<Inside> inside_;
};

}  // namespace sluice
