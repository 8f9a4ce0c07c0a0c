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
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "server/dispatch/change_audit.h"

namespace sluice {

// The kind of moment that an effect names: a Unix time for good, or one of engine time that is
// written as one, and feels no step of the wall clock. Without a moment, or where the command can
// only mean engine time (LOCK.RESTORE, LIMIT.TAKE AT, LBUCKET.COUNTAT), it is as it is.
enum class EffectTime : uint8_t { kAsItIs, kRelative };

// Takes the effects: the append-only log, replication, a test.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void Effect(int db, Args command, EffectTime time) = 0;
  // Around at least two effects; groups do not nest.
  virtual void GroupBegin() = 0;  // MULTI
  virtual void GroupEnd() = 0;    // EXEC
};

class Effects {
 public:
  // A command is running, which may serve others meanwhile: what it does is not told in full yet.
  bool in_command() const { return depth_ > 0; }

  // Null: there is no sink, and recording costs one comparison. Not while a command runs.
  void set_sink(EffectSink* sink) { sink_ = sink; }
  bool wanted() const { return sink_ != nullptr; }

  // For handlers, which say it through their call: this command stands for what happened, in the
  // client's database. May be called several times. The views need to live only for the call.
  void ReplaceWith(Args command, EffectTime time = EffectTime::kAsItIs) {
    if (wanted()) [[unlikely]]
      Replace(command, time);
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
  void Add(int db, Args command, EffectTime time = EffectTime::kAsItIs);
  void Add(int db, std::initializer_list<std::string_view> command) {
    Add(db, Args(command.begin(), command.size()));
  }
  // redis.set_repl(REPL_NONE) in a script: what happens is not told.
  void set_muted(bool muted) { muted_ = muted; }

 private:
  // How much is told of the command that runs, with all that it runs.
  enum class Told : uint8_t { kNothing, kHeldOne, kGroup };
  // An effect that waits for a second one. Its memory is used again.
  struct Held {
    int db = 0;
    EffectTime time = EffectTime::kAsItIs;
    std::string bytes;         // of all words
    std::vector<size_t> ends;  // of each in `bytes`
  };

  void Replace(Args command, EffectTime time);
  void Tell(int db, bool changed, Args verbatim);
  void Hold(int db, Args command, EffectTime time);
  void TellHeld();

  EffectSink* sink_ = nullptr;
  int db_ = 0;
  int depth_ = 0;  // handlers that are running
  bool replaced_ = false;
  bool muted_ = false;
  Told told_ = Told::kNothing;
  Held held_;
  ChangeAudit audit_;
};

}  // namespace sluice
