// The `redis` table (and `server`, the same under Valkey's name): how a script talks to the server.
#pragma once

#include "scripting/lua/lua_state.h"

namespace sluice {

// redis.call  redis.pcall  redis.log  redis.LOG_*  redis.REDIS_VERSION*  redis.setresp
// redis.sha1hex  redis.error_reply  redis.status_reply  redis.set_repl  redis.REPL_*
// redis.acl_check_cmd; scripts also have breakpoint, debug and replicate_commands
//
// Puts `redis` and `server` into the globals (stack slot LuaState::kGlobals).
void OpenRedisApi(LuaState& state);
// Pushes a table with what a library sees of it while it is loaded: log and the constants.
void PushLoaderApi(lua_State* L);

}  // namespace sluice
