// Effects: what a command did, as the deterministic command that does it again anywhere and at any
// time (absolute deadlines, chosen members). This is what goes to the log and to replicas.
//
// Most write commands are their own effect: when a handler has changed the keyspace and said
// nothing of effects, the dispatcher records its arguments as they are. A handler whose outcome
// depends on the time, on chance or on state that a replay would not see says so with
// CommandCall::ReplaceWith(); with NoEffect() it denies.
//
// All that one command does is told whole or not at all: several effects of a command, of an EXEC
// with all its commands or of a script are one atomic group; a single one stands alone.
//
// An effect has targets, most have all of them. Each target has a sink, which encodes what it is
// told; its groups are of those effects alone that it is told of.
//
//   MULTI, PUBLISH c m, SET k v, EXEC  ->  log: SET k v     stream: {PUBLISH c m, SET k v}
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "server/dispatch/effects/change_audit.h"

namespace sluice {

// The kind of deadline that an effect names: a Unix time for good (kAbsolute), or one of engine
// time that is written as one, and feels no step of the wall clock (kRelative). Without a deadline,
// or where the command can only mean engine time (LOCK.RESTORE, LIMIT.TAKE AT, LBUCKET.COUNTAT), it
// is as it is.
enum class EffectTime : uint8_t { kAsItIs, kRelative, kAbsolute };

// Where effects go, as bits of a mask.
enum EffectTarget : uint8_t {
  kToLog = 1u << 0,     // the append-only log
  kToStream = 1u << 1,  // replicas
};
using EffectTargets = uint8_t;
inline constexpr EffectTargets kToAll = kToLog | kToStream;

// Takes the effects for one target: the append-only log, replication, a test.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void Effect(int db, Args command, EffectTime time) = 0;
  // The same of a command that Redis knows, where the value is one that only a Sluice can hold (a
  // limiter that is renamed).
  virtual void EffectForSluice(int db, Args command, EffectTime time) { Effect(db, command, time); }
  // Around at least two effects; groups do not nest.
  virtual void GroupBegin() = 0;  // MULTI
  virtual void GroupEnd() = 0;    // EXEC
};

class Effects {
 public:
  // A command is running, which may serve others meanwhile: what it does is not told in full yet.
  bool in_command() const { return depth_ > 0; }

  // Null: the target has no sink, and what was held back for it is dropped. Without any sink
  // recording costs one comparison.
  void set_sink(EffectTarget target, EffectSink* sink);
  // Whether one of these targets has a sink.
  bool wanted(EffectTargets targets = kToAll) const { return (sinks_ & targets) != 0; }

  // For handlers, which say it through their call: this command stands for what happened, in the
  // client's database. May be called several times. The views need to live only for the call.
  void ReplaceWith(Args command, EffectTime time = EffectTime::kAsItIs,
                   EffectTargets targets = kToAll) {
    replaced_ = true;
    if (wanted(targets)) [[unlikely]]
      Add(db_, command, time, targets);
  }
  // The same of what only a Sluice can follow: see EffectSink::EffectForSluice.
  void ReplaceForSluice(Args command, EffectTime time) {
    replaced_ = true;
    if (wanted()) [[unlikely]]
      Give({db_, command, time, /*for_sluice=*/true}, kToAll);
  }
  void Nothing() { replaced_ = true; }

  // Whether what handlers say of their changes is true.
  ChangeAudit& audit() { return audit_; }

  // For the dispatcher, around one handler, which may run others in between.
  void Begin(int db) {
    ++depth_;
    db_ = db;
    replaced_ = false;
  }
  void Finish(int db, bool changed, Args verbatim) {
    if (wanted()) [[unlikely]]
      Tell(db, changed, verbatim);
    --depth_;
  }
  // An effect outside any command (an expiry) or into another database than the client's.
  void Add(int db, Args command, EffectTime time = EffectTime::kAsItIs,
           EffectTargets targets = kToAll) {
    Give({db, command, time, /*for_sluice=*/false}, targets);
  }
  void Add(int db, std::initializer_list<std::string_view> command) {
    Add(db, Args(command.begin(), command.size()));
  }
  // The effects of the running command so far are told as one, and those to come as another: the
  // sinks are about to change (REPLICAOF inside MULTI).
  void TellSoFar();
  // redis.set_repl in a script: what happens from here on is told to these targets alone.
  void set_targets(EffectTargets targets) { targets_ = targets; }
  // While files are loaded into a server that is live nothing is told, whatever scripts say.
  void set_muted(bool muted) { muted_ = muted; }

 private:
  // How much is told of the command that runs, with all that it runs.
  enum class Told : uint8_t { kNothing, kHeldOne, kGroup };
  // An effect on its way to a sink.
  struct Telling {
    int db;
    Args command;
    EffectTime time;
    bool for_sluice;
  };
  // An effect that waits for a second one. Its memory is used again.
  struct Held {
    int db = 0;
    EffectTime time = EffectTime::kAsItIs;
    bool for_sluice = false;
    std::string bytes;         // of all words
    std::vector<size_t> ends;  // of each in `bytes`
  };
  struct Outlet {
    EffectTarget target;
    EffectSink* sink = nullptr;
    Told told = Told::kNothing;
    Held held;

    void Tell(const Telling& telling) const;
    void Hold(const Telling& telling);
    void TellHeld();
    void Add(const Telling& telling);
    void End();
  };

  // The targets among these that are told now.
  EffectTargets Open(EffectTargets targets) const {
    return muted_ ? 0 : static_cast<EffectTargets>(targets & targets_ & sinks_);
  }
  void Give(const Telling& telling, EffectTargets targets);
  void Tell(int db, bool changed, Args verbatim);

  EffectTargets sinks_ = 0;  // the targets that have one
  EffectTargets targets_ = kToAll;
  bool muted_ = false;
  bool replaced_ = false;
  int db_ = 0;
  int depth_ = 0;  // handlers that are running
  std::array<Outlet, 2> outlets_{{{.target = kToLog}, {.target = kToStream}}};
  ChangeAudit audit_;
};

}  // namespace sluice
