// cmsgpack: MessagePack to and from Lua values, byte for byte what Redis's library of that name
// makes. Packing is in message_pack_write.cc, reading in message_pack_read.cc.
#pragma once

#include "scripting/lua/lua_api.h"

namespace sluice {

int PackMessage(lua_State* L);
int UnpackMessage(lua_State* L);
int UnpackOneMessage(lua_State* L);
int UnpackLimitedMessages(lua_State* L);

}  // namespace sluice
