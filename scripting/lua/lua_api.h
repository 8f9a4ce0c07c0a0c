// Lua 5.1 as Debian packages it: the one place that names its headers.
//
// It is the C build, whose errors are longjmps: they pass over C++ frames without running
// destructors. (The C++ build throws instead, but Debian's bit is made for the C one, and a throw
// costs a hundred times a longjmp.) Hence the rules of this folder:
//
//   * A function that Lua calls has no object with a destructor alive, and has changed nothing that
//     must be changed back, when it calls what may raise an error. lua_* and luaL_* functions that
//     take memory may; so may LuaState::Work. Room for such objects is the state's (LuaState), or a
//     userdata's.
//   * While a command runs (CommandPort::Call), and before and after lua_pcall, nothing may raise.
//     The memory bound is lifted, and what is pushed is asked for before (LuaState::HasRoom) and
//     within Lua's own limits. Every other call outside of lua_pcall is of functions that never
//     raise.
//   * A function that catches an error (lua_pcall, lua_resume) calls LuaState::Caught, which sets
//     right what the state itself was in the middle of.
//
// tests/unit/scripting/memory_test.cc lets every allocation of many scripts fail, one after the
// other.
#pragma once

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}
