// See redis_api.h. A command runs with the bound on memory lifted, because an error of Lua must not
// jump over the server's frames; "not enough memory" is raised behind it.
#include "scripting/redis_api.h"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>

#include "protocol/text/number_text.h"
#include "protocol/text/truncated.h"
#include "scripting/lua/lua_state.h"
#include "scripting/lua/lua_values.h"
#include "scripting/lua/read_only_view.h"
#include "scripting/lua/script_errors.h"
#include "storage/hashing/sha.h"

namespace sluice {
namespace {

// Commands of so many words need no memory of the heap for their views.
constexpr int kArgumentsInPlace = 16;
constexpr size_t kNumberTextMax = kDoubleTextMax;

// --- redis.call
// The way of a command: arguments as views of Lua's own strings -> CommandPort::Call -> the handler
// answers into LuaReplySink, which pushes values. No RESP is made or parsed.

// 3 -> "3"    3.5 -> "3.5"    0.1 -> "0.10000000000000001"    1e17 -> "1e+17"
//
// A number as Redis writes it for a command: %.17g. Whole ones below 1e17 need no printf.
std::string_view NumberText(lua_Number number, char* text) {
  const auto whole = static_cast<int64_t>(std::abs(number) < 1e17 ? number : 0);
  char* end;
  if (static_cast<lua_Number>(whole) == number && (whole != 0 || !std::signbit(number)))
      [[likely]] {
    end = FormatInt64(text, whole);
  } else {
    end = text + std::snprintf(text, kNumberTextMax, "%.17g", number);
  }
  return {text, static_cast<size_t>(end - text)};
}

// Makes views of the arguments: strings where Lua has them, numbers written into `number_text`.
// False when one is neither.
bool ReadArguments(lua_State* L, int count, std::string_view* arguments, char* number_text) {
  for (int i = 0; i < count; ++i) {
    switch (lua_type(L, i + 1)) {
      case LUA_TSTRING: {
        size_t size = 0;
        const char* text = lua_tolstring(L, i + 1, &size);
        std::construct_at(arguments + i, text, size);
        break;
      }
      case LUA_TNUMBER:
        std::construct_at(arguments + i, NumberText(lua_tonumber(L, i + 1), number_text));
        number_text += kNumberTextMax;
        break;
      default:
        return false;
    }
  }
  return true;
}

// Room of the state's for so many arguments, if they are too many for a frame.
void BorrowRoom(LuaState& state, int count) {
  state.arguments.resize(static_cast<size_t>(count));
  state.number_text.resize(static_cast<size_t>(count) * kNumberTextMax);
}

// Runs the command whose words are the arguments of this C function and pushes the reply. True when
// it is an error.
bool PushReplyOf(lua_State* L, int count) {
  // The cost of a command is not known, so every tenth asks whether to go on.
  constexpr size_t kCallUnits = LuaState::kHookInstructions / 10;
  LuaState& state = LuaState::Of(L);
  state.Work(L, kCallUnits);
  // Room for views: sixteen that are empty take as long to make as the rest of this.
  alignas(std::string_view) std::byte in_place[kArgumentsInPlace * sizeof(std::string_view)];
  char text_in_place[kArgumentsInPlace * kNumberTextMax];
  auto* arguments = reinterpret_cast<std::string_view*>(in_place);
  char* number_text = text_in_place;
  if (count > kArgumentsInPlace) {
    BorrowRoom(state, count);
    arguments = state.arguments.data();
    number_text = state.number_text.data();
  }
  if (!ReadArguments(L, count, arguments, number_text)) {
    PushError(L, "Lua redis lib command arguments must be strings or integers");
    return true;
  }
  bool failed;
  bool full;
  state.LiftBound();
  {
    LuaReplySink reply(L, state);
    state.port().Call({arguments, static_cast<size_t>(count)}, reply);
    failed = reply.failed();
    full = reply.full();
  }
  state.RestoreBound();
  // Only here, behind the last object with a destructor: luaL_error jumps over this frame.
  if (full) [[unlikely]]
    luaL_error(L, "not enough memory");
  return failed;
}

// False has pushed the fault: Call raises it, PCall returns it.
bool HasArguments(lua_State* L) {
  if (lua_gettop(L) > 0) return true;
  PushError(L, "Please specify at least one argument for this redis lib call");
  return false;
}

// redis.call(name, ...) -> reply; an error reply is raised, as a table with its text.
int Call(lua_State* L) {
  const int count = lua_gettop(L);
  if (!HasArguments(L) || PushReplyOf(L, count)) [[unlikely]]
    return lua_error(L);
  return 1;
}

// redis.pcall(name, ...) -> reply, or the error as a table {err = ...}.
int PCall(lua_State* L) {
  const int count = lua_gettop(L);
  if (HasArguments(L)) PushReplyOf(L, count);
  return 1;
}

// redis.acl_check_cmd(name, ...) -> boolean: may the client that runs the script call this?
int AclCheckCommand(lua_State* L) {
  if (!HasArguments(L)) return lua_error(L);
  LuaState& state = LuaState::Of(L);
  const int count = lua_gettop(L);
  BorrowRoom(state, count);
  if (!ReadArguments(L, count, state.arguments.data(), state.number_text.data())) {
    return RaiseError(L, "Lua redis lib command arguments must be strings or integers");
  }
  const auto permission = state.port().MayCall(state.arguments);
  if (permission == CommandPort::Permission::kUnknownCommand) {
    return RaiseError(L, "Invalid command passed to redis.acl_check_cmd()");
  }
  lua_pushboolean(L, permission == CommandPort::Permission::kAllowed);
  return 1;
}

// --- replies of one field

// {field = text}, or an error table if the argument is no text.
bool HasOneText(lua_State* L) {
  if (lua_gettop(L) == 1 && lua_type(L, 1) == LUA_TSTRING) return true;
  PushError(L, "wrong number or type of arguments");
  return false;
}

// redis.error_reply(text) -> {err = text}, with a code in front of it if it has none.
int ErrorReply(lua_State* L) {
  if (!HasOneText(L)) return 1;
  size_t size = 0;
  const char* text = lua_tolstring(L, 1, &size);
  PushErrorReply(L, {text, size});
  return 1;
}

// redis.status_reply(text) -> {ok = text}.
int StatusReply(lua_State* L) {
  if (!HasOneText(L)) return 1;
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "ok");
  return 1;
}

// --- the rest

// redis.sha1hex(text) -> 40 hex digits; what is neither text nor number counts as empty text.
int Sha1Hex(lua_State* L) {
  if (lua_gettop(L) != 1) return RaiseError(L, "wrong number of arguments");
  size_t size = 0;
  const char* text = lua_tolstring(L, 1, &size);
  const auto digest = Sha1({text ? text : "", size});
  char hex[2 * sizeof digest];
  for (size_t i = 0; i < sizeof digest; ++i) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  lua_pushlstring(L, hex, sizeof hex);
  return 1;
}

// redis.log(level, text, ...): texts and numbers, with blanks between them; all else is left out.
int Log(lua_State* L) {
  const int count = lua_gettop(L);
  if (count < 2) return RaiseError(L, "redis.log() requires two arguments or more.");
  if (!lua_isnumber(L, 1)) {
    return RaiseError(L, "First argument must be a number (log level).");
  }
  const auto level = Truncated<int>(lua_tonumber(L, 1));
  if (level < 0 || level > 3) return RaiseError(L, "Invalid debug level.");
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  bool first = true;
  for (int i = 2; i <= count; ++i) {
    if (!lua_isstring(L, i)) continue;
    if (!first) luaL_addchar(&line, ' ');
    first = false;
    lua_pushvalue(L, i);
    luaL_addvalue(&line);
  }
  luaL_pushresult(&line);
  size_t size = 0;
  const char* text = lua_tolstring(L, -1, &size);
  LuaState::Of(L).port().Log(level, {text, size});
  return 0;
}

// redis.setresp(2 or 3): how replies look from here on, until the script ends.
int SetResp(lua_State* L) {
  if (lua_gettop(L) != 1) return RaiseError(L, "redis.setresp() requires one argument.");
  const auto version = Truncated<int>(lua_tonumber(L, 1));
  if (version != 2 && version != 3) return RaiseError(L, "RESP version must be 2 or 3.");
  LuaState::Of(L).resp = version;
  return 0;
}

// redis.set_repl(flags): whether effects from here on go to the log (1) and to replicas (2).
int SetRepl(lua_State* L) {
  if (lua_gettop(L) != 1) return RaiseError(L, "redis.set_repl() requires two arguments.");
  const auto flags = Truncated<int>(lua_tonumber(L, 1));
  if ((flags & ~3) != 0) {
    return RaiseError(L,
                      "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or "
                      "REPL_NONE.");
  }
  LuaState::Of(L).port().SetReplication(flags & 1, flags & 2);
  return 0;
}

// Effects are what is replicated, always.
// redis.replicate_commands() -> true, as in Redis 7, which does nothing else either.
int ReplicateCommands(lua_State* L) {
  lua_pushboolean(L, 1);
  return 1;
}

// There is no debugger to break into.
int Breakpoint(lua_State* L) {
  lua_pushboolean(L, 0);
  return 1;
}

int Debug(lua_State*) { return 0; }

// Rows of the tables below: a field of `redis` each.
struct NamedFunction {
  const char* name;
  lua_CFunction function;
};
struct NamedNumber {
  const char* name;
  int number;
};

// In Redis's order, which shows in pairs().
constexpr NamedFunction kCalls[] = {{"call", Call}, {"pcall", PCall}, {"log", Log}};
constexpr NamedNumber kLevels[] = {
    {"LOG_DEBUG", 0}, {"LOG_VERBOSE", 1}, {"LOG_NOTICE", 2}, {"LOG_WARNING", 3}};
// As Redis 7.0.15 tells it: 0x00MMmmpp.
constexpr NamedNumber kVersion[] = {{"REDIS_VERSION_NUM", 0x0007000f}};
constexpr NamedFunction kApiFunctions[] = {
    {"setresp", SetResp},          {"sha1hex", Sha1Hex},  {"error_reply", ErrorReply},
    {"status_reply", StatusReply}, {"set_repl", SetRepl},
};
// Bits: 1 the log, 2 replicas. SLAVE is REPLICA's old name.
constexpr NamedNumber kReplication[] = {
    {"REPL_NONE", 0}, {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2}, {"REPL_AOF", 1}, {"REPL_ALL", 3}};
constexpr NamedFunction kAcl[] = {{"acl_check_cmd", AclCheckCommand}};
// Functions of a library do not have these.
constexpr NamedFunction kScriptFunctions[] = {
    {"breakpoint", Breakpoint},
    {"debug", Debug},
    {"replicate_commands", ReplicateCommands},
};
// Both overloads set fields of the table on top of the stack.
void Set(lua_State* L, std::span<const NamedFunction> rows) {
  for (const NamedFunction& row : rows) {
    lua_pushcfunction(L, row.function);
    lua_setfield(L, -2, row.name);
  }
}

void Set(lua_State* L, std::span<const NamedNumber> rows) {
  for (const NamedNumber& row : rows) {
    lua_pushinteger(L, row.number);
    lua_setfield(L, -2, row.name);
  }
}

}  // namespace

// A library that is being loaded may log and read constants: commands are for its functions.
void PushLoaderApi(lua_State* L) {
  lua_newtable(L);
  Set(L, std::span(kCalls).last(1));
  Set(L, kLevels);
  lua_pushliteral(L, "7.0.15");
  lua_setfield(L, -2, "REDIS_VERSION");
  Set(L, kVersion);
}

// The order of the rows is the order of the keys that scripts see in pairs().
void OpenRedisApi(LuaState& state) {
  lua_State* L = state.lua();
  lua_newtable(L);
  Set(L, kCalls);
  Set(L, kLevels);
  lua_pushliteral(L, "7.0.15");
  lua_setfield(L, -2, "REDIS_VERSION");
  Set(L, kVersion);
  Set(L, kApiFunctions);
  Set(L, kReplication);
  Set(L, kAcl);
  if (state.kind() == LuaState::Kind::kScripts) Set(L, kScriptFunctions);
  PushView(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, LuaState::kGlobals, "redis");
  lua_setfield(L, LuaState::kGlobals, "server");
}

}  // namespace sluice
