// ScriptState: the script or function that runs, if one does, as the rest of the server sees it:
// whose call it is, and whether it is past its time, so that others are answered -BUSY.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/clients/session.h"
#include "server/dispatch/command.h"
#include "storage/keyspace/segment_table.h"

namespace sluice {

// On the stack of ScriptEngine::Run, as long as the script runs. `caller` outlives it: a client
// that is gone meanwhile is dropped only after the turn.
struct RunningScript {
  Session* caller;
  std::string_view name;
  Request request;  // of the call
  bool is_function;
  bool read_only;
  bool may_take_memory;  // flag allow-oom
  bool may_cross_slots;  // flag allow-cross-slot-keys, or it declares nothing
  int64_t begin_ns;
  HashedKey first_key;  // of the call, if it has been hashed
  bool wrote = false;
  bool late = false;
  bool killed = false;
};

class ScriptState {
 public:
  const RunningScript* now_running() const { return running_; }
  bool running() const { return running_ != nullptr; }
  // Past its time: commands of others are answered with BusyText().
  bool busy() const { return running_ && running_->late; }
  std::string_view BusyText() const {
    return running_ && running_->is_function
               ? "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN "
                 "NOSAVE."
               : "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
                 "NOSAVE.";
  }

 private:
  friend class ScriptEngine;
  RunningScript* running_ = nullptr;
};

}  // namespace sluice
