// Lua 5.1 as Debian packages it: the one place that names its headers.
//
// It is the C build, whose errors are longjmps: they pass over C++ frames without running
// destructors. (The C++ build throws instead, but Debian's cjson and bit are made for the C one,
// and a throw costs a hundred times a longjmp.) Hence the rule of this folder: a function that Lua
// calls has no local with a destructor alive when it calls what may raise an error. While a command
// runs (CommandPort::Call) nothing may raise: the allocator's bound is lifted, and checked after
// it.
#pragma once

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}
