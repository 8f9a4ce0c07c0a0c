// Errors of scripts as Redis 7 shapes them: a table {err = "CODE text"}, to which the handler of a
// run adds where it was raised (source, line), and from which the reply is made.
#pragma once

#include <string>
#include <string_view>

#include "scripting/lua/lua_api.h"

namespace sluice {

// Forms of an error:
//
//   redis.error_reply("MYERR no")   {err = "MYERR no"}
//   redis.error_reply("no")         {err = "ERR no"}
//   error("boom") in line 3         {err = "ERR user_script:3: boom", line = 3,
//                                    source = "@user_script"}
//   which is answered as            -ERR user_script:3: boom script: <sha1>, on @user_script:3.
//
// Pushes {err = ...}. `text` may begin with '-'; without a code of its own (one word) it gets
// ERR's.
void PushErrorReply(lua_State* L, std::string_view text);
// Pushes {err = "ERR <sentence>"}: of the scripting machinery itself.
void PushError(lua_State* L, std::string_view sentence);
// Pushes {err = <line>, ignore_error_stats_update = true}: a command's, counted already.
void PushCommandError(lua_State* L, std::string_view line);
// PushError and lua_error.
int RaiseError(lua_State* L, std::string_view sentence);

// error value, a text or a table -> the same as a table with source and line
// The message handler of every run.
int HandleScriptError(lua_State* L);

// The error line for what lua_pcall left on top of the stack; `name`: the script's SHA1 or the
// function's name. `counted`: the statistics know it already.
std::string ErrorLine(lua_State* L, std::string_view name, bool& counted);

}  // namespace sluice
