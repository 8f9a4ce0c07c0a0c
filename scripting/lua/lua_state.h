// LuaState: one Lua interpreter with its allocator, its clockwork and what its functions share: the
// port to the server, the RESP version of the script that runs.
//
// All memory of the interpreter is counted and bounded: beyond kMemoryMax a script gets Lua's "not
// enough memory".
//
// All work is counted too, in units of about an instruction: what Lua's own code does by its count
// hook, what a C function does that loops by Work(). For each kHookInstructions units the port is
// asked whether to go on. An instruction, or a step of a C function, may look at all of the largest
// string or table of the run (compare, join, search): the larger that is, the more a unit counts
// (weight()), and the more often the hook comes. Once the port has said no, the script ends:
// nothing in it catches an error any more (Caught()).
//
// A unit is an instruction of Lua's; 16 bytes of a text that is copied or searched; a token of
// JSON; a value of MessagePack; a tenth of a share for each command. 100,000 of them are a share.
//
// Errors of Lua are longjmps; what that means for code in C++ is said in lua_api.h.
//
// Stack of the main thread between runs: slots up to kSlots, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scripting/lua/argument_tables.h"
#include "scripting/lua/command_port.h"
#include "scripting/lua/lua_api.h"

namespace sluice {

// A run, from outside:
//
//   state.BeginRun(block);
//   lua_pcall(...);              its hook: Work -> Ask -> CommandPort::Interrupt
//   state.Returned();            the pcall is over, whatever it jumped over
//   ... answer with the bound lifted ...
//   state.EndRun();              stack back to kSlots, garbage looked after
//
// Single-threaded, as all of the engine. Memory is counted by its allocator, to the byte.
class LuaState {
 public:
  // Bound of one state. Redis has none; a script that asks for more gets Lua's own error.
  static constexpr size_t kMemoryMax = 320UL << 20;
  // A share of work: a millisecond or so of plain instructions.
  static constexpr int kHookInstructions = 100'000;
  // A coroutine's share; it adds what it has counted to its state's units.
  static constexpr int kCoroutineHookInstructions = 1000;
  // Bytes that the instructions between two hooks may look at. The slowest look is `<` of strings
  // of zeros, some 5 ns a byte: in a loop of three instructions it comes to a second.
  static constexpr size_t kHookBytes = 512UL << 20;
  // Memory that may stay in use after a run; above it the garbage is collected at once.
  static constexpr size_t kMemoryKept = 8UL << 20;

  // A larger block taken while a script runs costs it the tables of its arguments.
  static constexpr size_t kBlockNoticed = 1024;
  // Shares that loading a library may take: about half a second.
  static constexpr int kLoadingHooksMax = 500;

  // Lua's own values of collectgarbage("setpause") and ("setstepmul").
  static constexpr int kCollectorUsual = 200;

  static constexpr int kErrorHandler = 1;                    // stack slots
  static constexpr int kGlobals = ArgumentTables::kGlobals;  // the table behind the protected _G
  static constexpr int kSlots = kGlobals + ArgumentTables::kSlots;

  // Use of the state: scripts (EVAL), which leave nothing behind, or the functions of libraries,
  // whose variables stay.
  enum class Kind : uint8_t { kScripts, kFunctions };

  // `port` outlives the state. The port of a state that runs nothing is never called. `fill` gives
  // it its globals (OpenSandbox).
  LuaState(CommandPort& port, Kind kind, void (*fill)(LuaState&));
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  // The owner of a thread's state.
  static LuaState& Of(lua_State* L) {
    void* self = nullptr;
    lua_getallocf(L, &self);
    return *static_cast<LuaState*>(self);
  }

  // The main thread. Coroutines have a thread each, and the same state (Of).
  lua_State* lua() { return lua_; }
  CommandPort& port() { return port_; }
  Kind kind() const { return kind_; }
  // All that Lua has, garbage that is not collected yet included.
  size_t memory_bytes() const { return memory_bytes_; }

  // Around what must not fail for want of memory. Nothing between the two may raise an error;
  // should it, Caught() and the end of the run restore the bound.
  void LiftBound() { ++bound_lifted_; }
  void RestoreBound() { --bound_lifted_; }
  bool bound_lifted() const { return bound_lifted_ > 0; }
  // Whether so many more bytes are within the bound.
  bool HasRoom(size_t bytes) const {
    return memory_bytes_ <= kMemoryMax && bytes <= kMemoryMax - memory_bytes_;
  }
  // The same, after garbage is collected if need be: Lua 5.1 does not do so when memory ends.
  bool MakeRoom(size_t bytes) { return HasRoom(bytes) || CollectFor(bytes); }

  // Counts work that is not Lua's instructions. Raises an error when the script has to end.
  void Work(lua_State* L, size_t units) {
    work_left_ -= static_cast<int64_t>(units);
    if (work_left_ <= 0) [[unlikely]]
      Ask(L);
  }
  // The most that a look through the largest object of the run may cost, in units.
  size_t weight() const { return static_cast<size_t>(kHookInstructions / hook_every_); }
  // The script has to end: errors are not caught, handlers not run.
  bool ending() const { return ending_; }
  // Code goes on in that thread: into a coroutine, and back.
  void Enter(lua_State* thread) {
    running_ = thread;
    if (lua_gethookcount(thread) != HookEvery(thread)) SetHook(thread);
  }
  // After the lua_pcall of a run, before anything else: no coroutine runs any more, and what an
  // error jumped over is set right.
  void Returned() {
    running_ = lua_;
    bound_lifted_ = 0;
  }
  // For a function that has caught an error in `L`, which is on top of the stack: sets right what
  // the error jumped over, and raises it again if the script has to end.
  void Caught(lua_State* L) {
    bound_lifted_ = 0;
    Enter(L);
    if (ending_) lua_error(L);
  }

  // For tests: the allocation after the next `count` that may fail does so, once; negative: none.
  // True if one has failed since this was last called.
  bool FailAllocation(int count) {
    allocations_until_failure_ = count;
    bytes_max_ = count < 0 ? kMemoryMax : 0;
    return std::exchange(allocation_failed_, false);
  }

  // Whether a table may have grown, for which it takes memory, or have been given a metatable,
  // since this was last asked.
  bool TableChanged() { return std::exchange(table_changed_, false); }
  void NoteMetatable() { table_changed_ = true; }

  // Before and after a run, however it ended. A run begins with the usual settings, whatever the
  // one before has set. `largest_block`: of what the code holds (TakeLargestBlock).
  void BeginRun(size_t largest_block);
  void EndRun();
  // The largest block since the last run, taken by compiling; it is forgotten.
  size_t TakeLargestBlock();
  // Before and after code is compiled outside of a run. The collector does its share afterwards,
  // for no code has run meanwhile; LoadText counts the parser's work.
  void BeginCompiling();
  void EndCompiling();

  ArgumentTables argument_tables;
  int resp = 2;               // redis.setresp
  bool changed_json = false;  // cjson's settings are not the usual ones, or it holds memory:
  void (*reset_json)(lua_State*) = nullptr;  // gives it the usual ones again, and lets go
  // Values that the script has set by collectgarbage; the collector does not obey.
  int collector_pause = kCollectorUsual;
  int collector_step = kCollectorUsual;
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
  // For the one LuaReplySink that may be in use: a script cannot call inside of a call.
  std::vector<OpenReply> open_replies;

 private:
  // lua_Alloc's contract; `self` is this state. Refuses growth beyond the bound by a null, at which
  // Lua 5.1 raises "not enough memory" without collecting first (MakeRoom); never refuses to
  // shrink.
  static void* Allocate(void* self, void* block, size_t old_bytes, size_t bytes);
  static void Hook(lua_State* L, lua_Debug* activation);

  // How many instructions lie between two calls of the hook in this thread.
  int HookEvery(lua_State* L) const {
    return L == lua_ || hook_every_ < kCoroutineHookInstructions ? hook_every_
                                                                 : kCoroutineHookInstructions;
  }
  void SetHook(lua_State* L) { lua_sethook(L, Hook, LUA_MASKCOUNT, HookEvery(L)); }
  // Whether an allocation is refused that would make the sum so large: beyond the bound, or chosen
  // by a test.
  bool Refuses(size_t sum);
  void NoteBlock(size_t bytes);
  void ForgetBlocks();
  // A share of work is done: asks the port whether to go on, which may serve other clients
  // meanwhile. If not, raises its sentence, as an error table or, where the parser expects that, as
  // plain text.
  void Ask(lua_State* L);
  bool CollectFor(size_t bytes);

  CommandPort& port_;
  const Kind kind_;
  lua_State* lua_ = nullptr;
  size_t memory_bytes_ = 0;
  bool table_changed_ = false;
  bool ending_ = false;
  bool compiling_ = false;        // outside of a run
  size_t largest_block_ = 0;      // taken in this run, if above kBlockNoticed
  lua_State* running_ = nullptr;  // the thread whose hook follows largest_block_
  int hook_every_ = kHookInstructions;
  int64_t work_left_ = kHookInstructions;
  size_t bytes_max_ = kMemoryMax;  // 0: FailAllocation decides
  int allocations_until_failure_ = -1;
  bool allocation_failed_ = false;
  // Twice this is when EndRun collects.
  size_t kept_bytes_ = kMemoryKept;  // after the last full collection
  size_t compiled_bytes_ = 0;        // memory after code was last compiled
  // A count, because liftings nest.
  int bound_lifted_ = 0;
};

}  // namespace sluice
