// See lua_values.h. An answer is weighed before it is sent: a table may hold itself, and small
// tables that hold each other stand for huge answers.
#include "scripting/lua/lua_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "protocol/text/number_text.h"
#include "protocol/text/truncated.h"
#include "scripting/lua/script_errors.h"

namespace sluice {

// --- reply -> Lua

namespace {

// Bytes that Lua takes for values, or a little more.
constexpr size_t kValueBytes = 16;   // in an array
constexpr size_t kStringBytes = 32;  // beside its characters
constexpr size_t kTableBytes = 160;  // with one field
constexpr size_t kEntryBytes = 100;  // in a table that grows: the old and the new one are there
// No array of so many is within the bound.
constexpr size_t kRepliesMax = LuaState::kMemoryMax / kValueBytes;

}  // namespace

// {ok = text}: redis.call's way of telling a status from a text.
void LuaReplySink::Status(std::string_view text) {
  if (!HasRoom(kTableBytes + kStringBytes + text.size())) return;
  lua_createtable(L_, 0, 1);
  lua_pushlstring(L_, text.data(), text.size());
  lua_setfield(L_, -2, "ok");
  Put();
}

// Only the reply as a whole makes redis.call raise: an error inside of an array is a value.
void LuaReplySink::Error(std::string_view text) {
  if (open_.empty()) failed_ = true;
  state_.port().ErrorReplied(text);
  if (!HasRoom(2 * kTableBytes + 2 * (kStringBytes + text.size()))) return;
  PushCommandError(L_, text);
  Put();
}

// Beyond 2^53 the nearest double, as in Redis: a Lua number is one.
void LuaReplySink::Integer(int64_t value) {
  if (full_) return;
  lua_pushnumber(L_, static_cast<lua_Number>(value));
  Put();
}

void LuaReplySink::Bulk(std::string_view bytes) {
  if (!HasRoom(kStringBytes + bytes.size())) return;
  lua_pushlstring(L_, bytes.data(), bytes.size());
  Put();
}

// RESP2's null is false, for a table cannot hold nil; RESP3's is nil.
void LuaReplySink::Null() {
  if (full_) return;
  if (version_ == 2) {
    lua_pushboolean(L_, 0);
  } else {
    lua_pushnil(L_);
  }
  Put();
}

// In RESP3 {map = {key = value}}; in RESP2 keys and values in turn.
void LuaReplySink::Map(size_t pairs) {
  const size_t replies = std::min(pairs, kRepliesMax) * 2;
  if (version_ == 2) return Array(replies);
  Open(replies, 0, kMapKey);
}

// RESP3: {set = {member = true}}.
void LuaReplySink::Set(size_t length) {
  if (version_ == 2) return Array(length);
  Open(length, 0, kSet);
}

// RESP3 only: {double = n}.
void LuaReplySink::Double(double value) {
  if (version_ == 2) {
    char text[kDoubleTextMax];
    return Bulk({text, static_cast<size_t>(FormatDouble(text, value) - text)});
  }
  if (!HasRoom(kTableBytes)) return;
  lua_pushnumber(L_, value);
  Wrap("double");
  Put();
}

void LuaReplySink::PlainDouble(double value) {
  if (version_ == 2) return Bulk(HumanLongDoubleText(value));
  Double(value);
}

// RESP2 has no booleans: 1 and 0.
void LuaReplySink::Bool(bool value) {
  if (version_ == 2) return Integer(value ? 1 : 0);
  if (full_) return;
  lua_pushboolean(L_, value);
  Put();
}

// RESP3 only: {big_number = digits}.
void LuaReplySink::BigNumber(std::string_view digits) {
  if (version_ == 2) return Bulk(digits);
  if (!HasRoom(kTableBytes + kStringBytes + digits.size())) return;
  lua_pushlstring(L_, digits.data(), digits.size());
  Wrap("big_number");
  Put();
}

// RESP3: {verbatim_string = {string = , format = }}.
void LuaReplySink::Verbatim(std::string_view bytes, std::string_view format) {
  if (version_ == 2) return Bulk(bytes);
  if (!HasRoom(2 * (kTableBytes + kStringBytes) + bytes.size() + format.size())) return;
  lua_createtable(L_, 0, 2);
  lua_pushlstring(L_, bytes.data(), bytes.size());
  lua_setfield(L_, -2, "string");
  lua_pushlstring(L_, format.data(), format.size());
  lua_setfield(L_, -2, "format");
  Wrap("verbatim_string");
  Put();
}

// Attributes say something about the next reply; scripts have no use for them.
void LuaReplySink::Attribute(size_t pairs) {
  if (version_ != 2) Open(std::min(pairs, kRepliesMax) * 2, 0, kDropped);
}

// The value on top becomes {field = value}.
void LuaReplySink::Wrap(const char* field) {
  lua_createtable(L_, 0, 1);
  lua_insert(L_, -2);
  lua_setfield(L_, -2, field);
}

void LuaReplySink::Open(size_t replies, size_t room, Shape shape) {
  // All the room that the table itself will take is asked for at once, for nothing of it may fail.
  constexpr int kSlots = 4;  // of a level, and what makes a value
  const size_t each = shape == kArray ? kValueBytes : kEntryBytes;
  if (replies > kRepliesMax || !HasRoom(2 * kTableBytes + replies * each)) {
    full_ = true;
    return;
  }
  if (!lua_checkstack(L_, kSlots)) {
    full_ = true;
    return;
  }
  lua_createtable(L_, static_cast<int>(room), 0);
  open_.push_back({replies, 0, shape});
  if (replies == 0) Close();
}

// All elements of the innermost aggregate are there: it is put, as a value, into the one around it,
// which may close in turn.
void LuaReplySink::Close() {
  const uint8_t shape = open_.back().shape;
  open_.pop_back();
  if (shape == kDropped) return lua_pop(L_, 1);
  if (shape == kMapKey) Wrap("map");
  if (shape == kSet) Wrap("set");
  Put();
}

// A whole value is on top: into the aggregate that is open, if any.
void LuaReplySink::Put() {
  if (open_.empty()) return;
  LuaState::OpenReply& into = open_.back();
  switch (into.shape) {
    case kArray:
      lua_rawseti(L_, -2, static_cast<int>(++into.at));
      break;
    case kMapKey:
      into.shape = kMapValue;  // the key stays on the stack until its value comes
      break;
    case kMapValue:
      into.shape = kMapKey;
      if (lua_isnil(L_, -2)) {
        lua_pop(L_, 2);  // nothing can be found under it
      } else {
        lua_rawset(L_, -3);
      }
      break;
    case kSet:
      lua_pushboolean(L_, 1);
      if (lua_isnil(L_, -2)) {
        lua_pop(L_, 2);
      } else {
        lua_rawset(L_, -3);
      }
      break;
    default:
      lua_pop(L_, 1);
  }
  if (--into.left == 0) Close();
}

// --- Lua -> reply

namespace {

// Slots that one level needs at most while it looks at a table.
constexpr int kSlotsALevel = 4;

std::string_view TextAt(lua_State* L, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return {text, size};
}

// Pushes table[field], raw; true if it has that type, else pops it.
bool PushField(lua_State* L, const char* field, int type) {
  lua_pushstring(L, field);
  lua_rawget(L, -2);
  if (lua_type(L, -1) == type) return true;
  lua_pop(L, 1);
  return false;
}

// Sends the text on one line. Replies nest as deep as Lua's stack allows, some 8,000 levels: what
// would make the frame of a level large on ours is kept out of line.
using SendText = void (ReplySink::*)(std::string_view);
[[gnu::noinline]] void SendOneLine(std::string_view text, ReplySink& reply, SendText send) {
  if (text.find_first_of("\r\n") == text.npos) return (reply.*send)(text);
  std::string one_line(text);
  std::replace(one_line.begin(), one_line.end(), '\r', ' ');
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  (reply.*send)(one_line);
}

// Statuses and errors are C strings in Redis.
std::string_view UpToNul(std::string_view text) { return text.substr(0, text.find('\0')); }

// --- how large an answer would be
// A table {t, t} that holds one table twice, which holds one twice, and so on 40 deep, takes little
// memory and stands for 2^40 values. So the answer is weighed first, with an end at the bound.

// A reply's head and end.
constexpr size_t kReplyBytes = 16;
// A table's price, so that looking at tables met again and again has an end, too: after some 2
// million.
constexpr size_t kLookBytes = 256;

size_t Weigh(lua_State* L, size_t bytes);

// As Weigh, all keys and values of the table on top. To look at them may take as long as the
// largest table has places.
size_t WeighPairs(lua_State* L, size_t bytes) {
  bytes += kLookBytes * LuaState::Of(L).weight();
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    bytes = Weigh(L, bytes);
    lua_pop(L, 1);
    bytes = Weigh(L, bytes);  // the key
    if (bytes <= kScriptReplyBytesMax) continue;
    lua_pop(L, 1);
    break;
  }
  return bytes;
}

// All of Redis's fields are weighed, though only the first that is there is sent: too much is safe.
size_t WeighTable(lua_State* L, size_t bytes) {
  bytes += kLookBytes;
  for (const char* field : {"err", "ok", "big_number"}) {
    if (!PushField(L, field, LUA_TSTRING)) continue;
    bytes += lua_objlen(L, -1);
    lua_pop(L, 1);
  }
  for (const char* field : {"map", "set", "verbatim_string"}) {
    if (!PushField(L, field, LUA_TTABLE)) continue;
    bytes = WeighPairs(L, bytes);
    lua_pop(L, 1);
  }
  for (int i = 1; bytes <= kScriptReplyBytesMax; ++i) {
    lua_rawgeti(L, -1, i);
    const bool end = lua_isnil(L, -1);
    if (!end) bytes = Weigh(L, bytes);
    lua_pop(L, 1);
    if (end) break;
  }
  return bytes;
}

// Adds to `bytes` what the value on top takes in an answer, or somewhat more. Nothing is looked at
// beyond the bound.
size_t Weigh(lua_State* L, size_t bytes) {
  bytes += kReplyBytes;
  const int type = lua_type(L, -1);
  if (type == LUA_TSTRING) return bytes + lua_objlen(L, -1);
  if (type != LUA_TTABLE || bytes > kScriptReplyBytesMax || !lua_checkstack(L, kSlotsALevel)) {
    return bytes;
  }
  return WeighTable(L, bytes);
}

// --- sending. `weighed`: as part of an answer that is not too large.

void Send(lua_State* L, int resp, ReplySink& reply, bool weighed);

bool FitsReply(size_t bytes, ReplySink& reply) {
  if (bytes <= kScriptReplyBytesMax) [[likely]]
    return true;
  reply.Error("ERR The script's answer is too large");
  return false;
}

// The table on top, up to its first nil: counted first, because the length stands before the
// elements, and weighed on the way.
void SendArray(lua_State* L, int resp, ReplySink& reply, bool weighed) {
  size_t bytes = 0;
  int length = 0;
  while (true) {
    lua_rawgeti(L, -1, length + 1);
    const bool end = lua_isnil(L, -1);
    if (!weighed && !end) bytes = Weigh(L, bytes);
    lua_pop(L, 1);
    if (end || bytes > kScriptReplyBytesMax) break;
    ++length;
  }
  if (!FitsReply(bytes, reply)) return;
  reply.Array(static_cast<size_t>(length));
  for (int i = 1; i <= length; ++i) {
    lua_rawgeti(L, -1, i);
    Send(L, resp, reply, true);
  }
}

// Pairs of the table on top: Lua 5.1 knows no number of them.
size_t Count(lua_State* L) {
  size_t count = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) ++count;
  return count;
}

void SendMap(lua_State* L, int resp, ReplySink& reply, bool weighed) {
  if (!weighed && !FitsReply(WeighPairs(L, 0), reply)) return;
  reply.Map(Count(L));
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pushvalue(L, -2);
    Send(L, resp, reply, true);  // the key
    Send(L, resp, reply, true);  // the value; the key stays for the next
  }
}

// The keys are the members; values are not looked at.
void SendSet(lua_State* L, int resp, ReplySink& reply, bool weighed) {
  if (!weighed && !FitsReply(WeighPairs(L, 0), reply)) return;
  reply.Set(Count(L));
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    Send(L, resp, reply, true);
  }
}

// Without a text it is an empty array.
[[gnu::noinline]] void SendVerbatim(lua_State* L, ReplySink& reply) {
  const int table = lua_gettop(L);
  if (PushField(L, "string", LUA_TSTRING)) {
    lua_pushliteral(L, "format");
    lua_rawget(L, table);
    if (lua_type(L, -1) == LUA_TSTRING) {
      constexpr size_t kFormatBytes = 3;
      reply.Verbatim(TextAt(L, -2), TextAt(L, -1).substr(0, kFormatBytes));
      return lua_settop(L, table);
    }
  }
  lua_settop(L, table);
  reply.Array(0);
}

// A command's error that the script hands on has been counted as that command's.
[[gnu::noinline]] void SendError(lua_State* L, int table, std::string_view line, ReplySink& reply) {
  lua_pushliteral(L, "ignore_error_stats_update");
  lua_rawget(L, table);
  if (lua_isboolean(L, -1) && lua_toboolean(L, -1)) {
    LuaState::Of(L).port().RepeatError(reply, line);
  } else {
    reply.Error(line);
  }
}

// The first of Redis's fields that is there decides; raw reads, so that no metatable of the script
// runs code here. Recurses through SendArray, SendMap and SendSet; Lua's stack bounds the depth.
void SendTable(lua_State* L, int resp, ReplySink& reply, bool weighed) {
  const int table = lua_gettop(L);
  if (PushField(L, "err", LUA_TSTRING)) {
    SendError(L, table, UpToNul(TextAt(L, -1)), reply);
  } else if (PushField(L, "ok", LUA_TSTRING)) {
    SendOneLine(UpToNul(TextAt(L, -1)), reply, &ReplySink::Status);
  } else if (PushField(L, "double", LUA_TNUMBER)) {
    reply.Double(lua_tonumber(L, -1));
  } else if (PushField(L, "map", LUA_TTABLE)) {
    SendMap(L, resp, reply, weighed);
  } else if (PushField(L, "set", LUA_TTABLE)) {
    SendSet(L, resp, reply, weighed);
  } else if (PushField(L, "big_number", LUA_TSTRING)) {
    SendOneLine(TextAt(L, -1), reply, &ReplySink::BigNumber);
  } else if (PushField(L, "verbatim_string", LUA_TTABLE)) {
    SendVerbatim(L, reply);
  } else {
    SendArray(L, resp, reply, weighed);
  }
  lua_settop(L, table);
}

void SendNumber(lua_State* L, ReplySink& reply) {
  reply.Integer(Truncated<int64_t>(lua_tonumber(L, -1)));
}

// The value on top, which is popped.
void Send(lua_State* L, int resp, ReplySink& reply, bool weighed) {
  if (!lua_checkstack(L, kSlotsALevel)) {
    reply.Error("ERR reached lua stack limit");
    return lua_pop(L, 1);
  }
  switch (lua_type(L, -1)) {
    case LUA_TSTRING:
      reply.Bulk(TextAt(L, -1));
      break;
    case LUA_TBOOLEAN:
      if (resp == 3) {
        reply.Bool(lua_toboolean(L, -1));
      } else if (lua_toboolean(L, -1)) {
        reply.Integer(1);
      } else {
        reply.Null();
      }
      break;
    case LUA_TNUMBER:
      SendNumber(L, reply);
      break;
    case LUA_TTABLE:
      SendTable(L, resp, reply, weighed);
      break;
    default:
      reply.Null();
  }
  lua_pop(L, 1);
}

}  // namespace

// Most scripts answer with a number, which takes no room to look at.
void SendLuaValue(lua_State* L, int resp, ReplySink& reply) {
  if (lua_type(L, -1) != LUA_TNUMBER) return Send(L, resp, reply, /*weighed=*/false);
  SendNumber(L, reply);
  lua_pop(L, 1);
}

}  // namespace sluice
