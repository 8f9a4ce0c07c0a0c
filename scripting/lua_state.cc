#include "scripting/lua_state.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "scripting/libraries/libraries.h"
#include "scripting/sandbox.h"
#include "scripting/script_errors.h"

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
  return std::has_single_bit(bytes) || (bytes % kOdd == 0 && std::has_single_bit(bytes / kOdd));
}

}  // namespace

LuaState::LuaState(CommandPort& port, Kind kind) : port_(port), kind_(kind) {
  LiftBound();
  lua_ = lua_newstate(Allocate, this);
  if (!lua_) std::abort();  // malloc failed for a few kilobytes
  lua_atpanic(lua_, Panic);
  lua_pushcfunction(lua_, HandleScriptError);
  OpenSandbox(*this);
  argument_tables.Open(lua_);
  lua_sethook(lua_, Hook, LUA_MASKCOUNT, kHookInstructions);
  lua_gc(lua_, LUA_GCCOLLECT, 0);
  RestoreBound();
}

LuaState::~LuaState() {
  LiftBound();
  lua_close(lua_);
}

void* LuaState::Allocate(void* self, void* block, size_t old_bytes, size_t bytes) {
  LuaState& state = *static_cast<LuaState*>(self);
  if (bytes == 0) {
    state.memory_bytes_ -= old_bytes;
    std::free(block);
    return nullptr;
  }
  const size_t sum = state.memory_bytes_ - old_bytes + bytes;
  if (sum > kMemoryMax && bytes > old_bytes && state.bound_lifted_ == 0) return nullptr;
  void* const moved = block ? std::realloc(block, bytes) : std::malloc(bytes);
  if (!moved) {
    if (state.bound_lifted_ > 0) std::abort();
    return nullptr;
  }
  state.memory_bytes_ = sum;
  state.table_grown_ |= old_bytes > 0 || IsOfTable(bytes);
  if (bytes > kBlockNoticed) [[unlikely]]
    state.large_block_ = true;
  return moved;
}

void LuaState::Hook(lua_State* L, lua_Debug*) {
  LuaState& state = Of(L);
  if (state.loading) {
    if (++state.loading_hooks > kLoadingHooksMax) RaiseError(L, "FUNCTION LOAD timeout");
    return;
  }
  const std::string_view reason = state.port_.Interrupt();
  if (reason.empty()) return;
  // From now on at every line, so that no pcall in the script outlives it.
  state.hooked_by_line_ = true;
  lua_sethook(L, Hook, LUA_MASKLINE | LUA_MASKCOUNT, kHookInstructions);
  PushError(L, reason);
  lua_error(L);
}

void LuaState::BeginRun() {
  resp = 2;
}

void LuaState::EndRun() {
  LiftBound();
  lua_settop(lua_, kSlots);
  if (hooked_by_line_) [[unlikely]] {
    lua_sethook(lua_, Hook, LUA_MASKCOUNT, kHookInstructions);
    hooked_by_line_ = false;
  }
  if (changed_json) [[unlikely]] {
    lua_getfield(lua_, kGlobals, "cjson");
    if (PushViewed(lua_, -1)) ResetJson(lua_);
    lua_settop(lua_, kSlots);
    changed_json = false;
  }
  if (large_block_) [[unlikely]] {
    if (kind_ == Kind::kScripts) argument_tables.Clear(lua_);
    large_block_ = false;
  }
  // Thousands of cached scripts may need more for good: then the collector goes on by itself.
  if (memory_bytes_ > 2 * kept_bytes_) [[unlikely]] {
    // Lua gives up half of its own buffers a cycle.
    size_t before;
    do {
      before = memory_bytes_;
      lua_gc(lua_, LUA_GCCOLLECT, 0);
    } while (memory_bytes_ < before - before / 16);
    kept_bytes_ = std::max(memory_bytes_, kMemoryKept);
  }
  RestoreBound();
}

void LuaState::EndCompiling() {
  LiftBound();
  const size_t added = memory_bytes_ - std::min(compiled_bytes_, memory_bytes_);
  lua_gc(lua_, LUA_GCSTEP, static_cast<int>(added >> 10) + 1);
  compiled_bytes_ = memory_bytes_;
  RestoreBound();
}

}  // namespace sluice
