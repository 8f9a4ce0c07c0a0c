// Effects: what a command did, as the deterministic command that does it again anywhere and at any
// time (absolute deadlines, chosen members). This is what goes to the log and to replicas.
//
// Most write commands are their own effect: when a handler has changed the keyspace and said nothing,
// the dispatcher records its arguments as they are. A handler whose outcome depends on the time, on
// chance or on state that a replay would not see says so with Instead(); with Nothing() it denies.
// The effects of one EXEC or script are wrapped into one atomic group.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"

namespace sluice {

// Who takes the effects: the append-only log, replication, a test.
class EffectSink {
 public:
  virtual ~EffectSink() = default;
  virtual void Effect(int db, Args command) = 0;
  virtual void GroupBegin() = 0;  // MULTI
  virtual void GroupEnd() = 0;    // EXEC
};

class Effects {
 public:
  // Null: nobody listens and recording costs one comparison.
  void set_sink(EffectSink* sink) { sink_ = sink; }
  bool wanted() const { return sink_ != nullptr; }

  // For handlers: this command stands for what happened, in the client's database. May be called several
  // times. The views need to live only for the call.
  void Instead(std::initializer_list<std::string_view> command);
  void Instead(Args command);
  void Nothing() { replaced_ = true; }

  // For the dispatcher, around one handler.
  void Begin(int db) {
    db_ = db;
    replaced_ = false;
  }
  void Finish(int db, bool changed, Args verbatim);
  // An effect outside any command (an expiry) or into another database than the client's.
  void Add(int db, Args command);
  void Add(int db, std::initializer_list<std::string_view> command) {
    Add(db, Args(command.begin(), command.size()));
  }
  // One atomic group from here to GroupEnd (nests); written only if something happens inside.
  void GroupBegin() { ++group_depth_; }
  void GroupEnd();
  // redis.set_repl(REPL_NONE) in a script: what happens is told to nobody.
  void set_muted(bool muted) { muted_ = muted; }

 private:
  EffectSink* sink_ = nullptr;
  int db_ = 0;
  bool replaced_ = false;
  bool muted_ = false;
  int group_depth_ = 0;
  bool group_open_ = false;
};

}  // namespace sluice
