// cmsgpack: MessagePack to and from Lua values, byte for byte what Redis's library of that name
// makes. Packing is in message_pack_write.cc, reading in message_pack_read.cc.
//
// The first byte of a value:
//
//   00 .. 7f  the number itself        c0     nil              d0 .. d3  signed 1, 2, 4, 8 bytes
//   80 .. 8f  map of 0 .. 15           c2 c3  false, true      d9 da db  text, length of 1, 2, 4
//   90 .. 9f  array of 0 .. 15         ca cb  float, double    dc dd     array, length of 2, 4
//   a0 .. bf  text of 0 .. 31          cc .. cf unsigned       de df     map, length of 2, 4
//   e0 .. ff  -32 .. -1
#pragma once

#include "scripting/lua/lua_api.h"

namespace sluice {

int PackMessage(lua_State* L);
int UnpackMessage(lua_State* L);
int UnpackOneMessage(lua_State* L);
int UnpackLimitedMessages(lua_State* L);

}  // namespace sluice
