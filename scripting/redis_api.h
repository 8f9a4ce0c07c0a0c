// The `redis` table (and `server`, the same under Valkey's name): how a script talks to the server.
#pragma once

namespace sluice {

class LuaState;

// Puts `redis` and `server` into the globals (stack slot LuaState::kGlobals).
void OpenRedisApi(LuaState& state);

}  // namespace sluice
