// LuaState: one Lua interpreter with its allocator, its clockwork and what its functions share: the
// port to the server, the RESP version of the script that runs.
//
// All memory of the interpreter is counted and bounded: beyond kMemoryMax a script gets Lua's "not
// enough memory". Every kHookInstructions instructions the port is asked whether to go on.
//
// Stack of the main thread between runs: slots up to kSlots, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scripting/argument_tables.h"
#include "scripting/command_port.h"
#include "scripting/libraries/lua_api.h"

namespace sluice {

class LuaState {
 public:
  // Lower than what overflows an `int` in lua-cjson's buffer for one string (6 bytes a character).
  static constexpr size_t kMemoryMax = 320UL << 20;
  static constexpr int kHookInstructions = 100'000;
  // What is left standing after a run; above it the garbage is collected at once.
  static constexpr size_t kMemoryKept = 8UL << 20;

  // A larger block taken while a script runs costs it the tables of its arguments.
  static constexpr size_t kBlockNoticed = 1024;
  // What loading a library may take: about half a second.
  static constexpr int kLoadingHooksMax = 500;

  static constexpr int kErrorHandler = 1;  // stack slots
  static constexpr int kGlobals = 2;       // the table behind the protected _G
  static constexpr int kSlots = kGlobals + ArgumentTables::kSlots;

  // What the script that runs has asked for.
  enum class Kind : uint8_t { kScripts, kFunctions };

  // `port` outlives the state. The port of a state that runs nothing is never called.
  LuaState(CommandPort& port, Kind kind);
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  // The owner of a thread's state.
  static LuaState& Of(lua_State* L) {
    void* self = nullptr;
    lua_getallocf(L, &self);
    return *static_cast<LuaState*>(self);
  }

  lua_State* lua() { return lua_; }
  CommandPort& port() { return port_; }
  Kind kind() const { return kind_; }
  size_t memory_bytes() const { return memory_bytes_; }

  // Around what must not fail for want of memory.
  void LiftBound() { ++bound_lifted_; }
  void RestoreBound() { --bound_lifted_; }
  bool over_bound() const { return memory_bytes_ > kMemoryMax; }

  // Whether a table may have grown, for which it takes memory, since this was last asked.
  bool TableGrown() { return std::exchange(table_grown_, false); }

  // Before and after a run, however it ended.
  void BeginRun();
  void EndRun();
  // After code has been compiled: the collector does its share, for no code has run meanwhile.
  void EndCompiling();

  ArgumentTables argument_tables;
  int resp = 2;               // redis.setresp
  bool changed_json = false;  // cjson's settings are not the usual ones
  // The functions of the library being loaded (register_function.cc), and for how long already.
  void* loading = nullptr;
  int loading_hooks = 0;

  // Room that a call of a command borrows, so that it need not be made each time.
  std::vector<std::string_view> arguments;
  std::vector<char> number_text;
  struct OpenReply {
    size_t left;    // replies still to come, keys of a map included
    size_t at;      // elements so far
    uint8_t shape;  // see lua_values.cc
  };
  std::vector<OpenReply> open_replies;

 private:
  static void* Allocate(void* self, void* block, size_t old_bytes, size_t bytes);
  static void Hook(lua_State* L, lua_Debug* activation);

  CommandPort& port_;
  const Kind kind_;
  lua_State* lua_ = nullptr;
  size_t memory_bytes_ = 0;
  bool large_block_ = false;         // taken in this run
  bool table_grown_ = false;
  bool hooked_by_line_ = false;
  size_t kept_bytes_ = kMemoryKept;  // after the last full collection
  size_t compiled_bytes_ = 0;        // memory after code was last compiled
  int bound_lifted_ = 0;
};

}  // namespace sluice
