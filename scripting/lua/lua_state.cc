// See lua_state.h. lua_error is a longjmp: a function that may raise holds nothing with a
// destructor.
#include "scripting/lua/lua_state.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "scripting/lua/object_names.h"
#include "scripting/lua/read_only_view.h"
#include "scripting/lua/script_errors.h"

namespace sluice {
namespace {

// Only a bug leads here: everything that can fail runs under lua_pcall or with the bound lifted.
int Panic(lua_State* L) {
  const char* text = lua_tostring(L, -1);
  std::fprintf(stderr, "sluice: unprotected Lua error: %s\n", text ? text : "(no text)");
  std::abort();
}

// Whether a new block may be one of a table's parts: a power of two of values or of nodes. Some
// strings are as long.
bool IsOfTable(size_t bytes) {
  constexpr size_t kNode = 40;  // sizeof(Node) in lobject.h; a TValue is 16
  constexpr size_t kOdd = kNode / 8;
  const size_t odd = bytes >> std::countr_zero(bytes);
  return odd == 1 || odd == kOdd;
}

}  // namespace

// --- coming and going

LuaState::LuaState(CommandPort& port, Kind kind, void (*fill)(LuaState&))
    : port_(port), kind_(kind) {
  // Nothing here is protected: the bound is lifted, and a malloc that fails ends the process.
  LiftBound();
  lua_ = lua_newstate(Allocate, this);
  if (!lua_) std::abort();  // malloc failed for a few kilobytes
  lua_atpanic(lua_, Panic);
  lua_pushcfunction(lua_, HandleScriptError);
  fill(*this);
  argument_tables.Open(lua_);
  running_ = lua_;
  ForgetBlocks();
  SetHook(lua_);
  lua_gc(lua_, LUA_GCCOLLECT, 0);
  RestoreBound();
}

LuaState::~LuaState() {
  LiftBound();
  lua_close(lua_);
}

// --- memory

void* LuaState::Allocate(void* self, void* block, size_t old_bytes, size_t bytes) {
  LuaState& state = *static_cast<LuaState*>(self);
  if (bytes == 0) {
    state.memory_bytes_ -= old_bytes;
    std::free(block);
    return nullptr;
  }
  const size_t sum = state.memory_bytes_ - old_bytes + bytes;
  if (sum > state.bytes_max_ && bytes > old_bytes && state.bound_lifted_ == 0 && state.Refuses(sum))
      [[unlikely]] {
    return nullptr;
  }
  void* const moved = block ? std::realloc(block, bytes) : std::malloc(bytes);
  if (!moved) {
    if (state.bound_lifted_ > 0) std::abort();
    return nullptr;
  }
  state.memory_bytes_ = sum;
  // Tables grow by a new block of nodes or a larger array: see argument_tables.h for who asks.
  state.table_changed_ |= old_bytes > 0 || IsOfTable(bytes);
  if (bytes > kBlockNoticed && bytes > state.largest_block_) [[unlikely]]
    state.NoteBlock(bytes);
  return moved;
}

bool LuaState::Refuses(size_t sum) {
  if (sum > kMemoryMax) return true;
  if (allocations_until_failure_ < 0 || allocations_until_failure_-- > 0) return false;
  allocation_failed_ = true;
  return true;
}

// The larger the largest object, the longer an instruction may last, the fewer of them until the
// next hook: 512 MiB / 1 MiB = 512 instructions. Rounded to a power of two, so that a block that
// grows byte by byte does not reset the hook each time.
void LuaState::NoteBlock(size_t bytes) {
  largest_block_ = bytes;
  const size_t every = std::clamp<size_t>(kHookBytes / std::bit_ceil(bytes), 1, kHookInstructions);
  if (static_cast<int>(every) >= hook_every_) return;
  hook_every_ = static_cast<int>(every);
  if (running_) SetHook(running_);
}

// The hook goes back to its usual pace.
void LuaState::ForgetBlocks() {
  largest_block_ = 0;
  hook_every_ = kHookInstructions;
  SetHook(lua_);
}

size_t LuaState::TakeLargestBlock() {
  const size_t largest = largest_block_;
  if (largest > 0) ForgetBlocks();
  return largest;
}

// --- work

// Lua calls this after so many instructions of a thread, whichever thread that is.
void LuaState::Hook(lua_State* L, lua_Debug*) {
  LuaState& state = Of(L);
  state.Work(L, static_cast<size_t>(lua_gethookcount(L)) * state.weight());
}

void LuaState::Ask(lua_State* L) {
  work_left_ = kHookInstructions;
  std::string_view reason;
  if (ending_) {
    reason = "Script has to end.";  // where a handler of its own runs on
  } else if (!loading) {
    reason = port_.Interrupt();
  } else if (++loading_hooks > kLoadingHooksMax) {
    reason = "FUNCTION LOAD timeout";
  }
  if (reason.empty()) return;
  ending_ = true;
  LiftBound();
  if (compiling_) {
    lua_pushlstring(L, reason.data(), reason.size());
  } else {
    PushError(L, reason);
  }
  RestoreBound();
  lua_error(L);
}

// The cycle is work: what raises no error here does so with the next that is counted.
bool LuaState::CollectFor(size_t bytes) {
  if (bytes > kMemoryMax) return false;
  constexpr size_t kBytesAUnit = 32;
  work_left_ -= static_cast<int64_t>(memory_bytes_ / kBytesAUnit);
  lua_gc(lua_, LUA_GCCOLLECT, 0);
  return HasRoom(bytes);
}

// --- runs

void LuaState::BeginRun(size_t largest_block) {
  resp = 2;
  ending_ = false;
  collector_pause = collector_step = kCollectorUsual;
  if (largest_block > largest_block_) [[unlikely]]
    NoteBlock(largest_block);
}

// However the run ended. Garbage is left to Lua's own pace unless memory has doubled since the last
// full collection: then it is collected now, so that no script pays for another's.
void LuaState::EndRun() {
  bound_lifted_ = 0;
  LiftBound();
  running_ = lua_;
  lua_settop(lua_, kSlots);
  if (changed_json) [[unlikely]] {
    lua_getfield(lua_, kGlobals, "cjson");
    if (PushViewed(lua_, -1)) reset_json(lua_);
    lua_settop(lua_, kSlots);
    changed_json = false;
  }
  if (largest_block_ > 0 && kind_ == Kind::kScripts) [[unlikely]] {
    argument_tables.Clear(lua_);
    ForgetBlocks();
  }
  // Thousands of cached scripts may need more for good: then the collector goes on by itself.
  if (memory_bytes_ > 2 * kept_bytes_) [[unlikely]] {
    ForgetObjectNames(lua_);
    lua_settop(lua_, kSlots);
    // Lua gives up half of its own buffers a cycle.
    size_t before;
    do {
      before = memory_bytes_;
      lua_gc(lua_, LUA_GCCOLLECT, 0);
    } while (memory_bytes_ < before - before / 16);
    kept_bytes_ = std::max(memory_bytes_, kMemoryKept);
  }
  // Functions may keep what they like in the variables of their library.
  if (largest_block_ > memory_bytes_) [[unlikely]] {
    ForgetBlocks();
    NoteBlock(memory_bytes_);
  }
  RestoreBound();
}

void LuaState::BeginCompiling() {
  ending_ = false;
  compiling_ = true;
  port_.BeginCompiling();
}

// A text that is compiled and never run makes no steps of the collector: a step in proportion is
// made here.
void LuaState::EndCompiling() {
  compiling_ = false;
  LiftBound();
  const size_t added = memory_bytes_ - std::min(compiled_bytes_, memory_bytes_);
  lua_gc(lua_, LUA_GCSTEP, static_cast<int>(added >> 10) + 1);
  compiled_bytes_ = memory_bytes_;
  RestoreBound();
}

}  // namespace sluice
