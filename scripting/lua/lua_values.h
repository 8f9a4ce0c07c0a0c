// Replies as Lua values, both ways, with Redis's conversions.
//
//   reply of a command            Lua, RESP2 (redis.setresp 3 where it differs)
//   integer                       number
//   bulk                          string
//   null                          false (nil)
//   status, error                 {ok = text}, {err = text}
//   array                         {...}
//   map, set                      arrays ({map = {...}}, {set = {member = true}})
//   double, bool                  string, 1 or 0 ({double = n}, boolean)
//   big number, verbatim          string ({big_number = s}, {verbatim_string = {string, format}})
#pragma once

#include <cstddef>

#include "protocol/reply_sink.h"
#include "scripting/lua/lua_api.h"
#include "scripting/lua/lua_state.h"

namespace sluice {

// HGETALL of two fields, under RESP2: Map(2), which is Array(4), then Bulk four times
//
//   Open: {} pushed, 4 to come -> each Put stores into it -> the last one closes: {"a","1","b","2"}
//
// Pushes the one reply of a command onto the stack of a script. The state's memory bound must be
// lifted while it is used: handlers have destructors that an error would skip. So before a part of
// the reply is made, the sink looks whether it is within the bound; from the first that is not it
// keeps nothing, and what it has pushed is no value.
class LuaReplySink final : public ReplySink {
 public:
  LuaReplySink(lua_State* L, LuaState& state)
      : L_(L), state_(state), version_(state.resp), open_(state.open_replies) {
    open_.clear();
  }

  // The reply was an error.
  bool failed() const { return failed_; }
  bool full() const override { return full_; }

  void Status(std::string_view text) override;
  void Error(std::string_view text) override;
  using ReplySink::Error;
  void Integer(int64_t value) override;
  void Bulk(std::string_view bytes) override;
  void Null() override;
  void NullArray() override { Null(); }
  void Array(size_t length) override { Open(length, length, kArray); }
  void Map(size_t pairs) override;
  void Set(size_t length) override;
  void Push(size_t length) override { Array(length); }
  void Double(double value) override;
  void PlainDouble(double value) override;
  void Bool(bool value) override;
  void BigNumber(std::string_view digits) override;
  void Verbatim(std::string_view bytes, std::string_view format) override;
  void Attribute(size_t pairs) override;
  int version() const override { return version_; }

 private:
  // The form of an open aggregate; a map's tells whether a key or a value comes next.
  enum Shape : uint8_t { kArray, kMapKey, kMapValue, kSet, kDropped };

  // False, and so from now on, if so many bytes more are not within the bound.
  bool HasRoom(size_t bytes) { return !full_ && (state_.MakeRoom(bytes) || !(full_ = true)); }
  // Begins an aggregate of so many replies, in a table with room for `room` elements.
  void Open(size_t replies, size_t room, Shape shape);
  void Close();
  void Put();
  void Wrap(const char* field);

  lua_State* L_;
  LuaState& state_;
  const int version_;
  std::vector<LuaState::OpenReply>& open_;
  bool failed_ = false;
  bool full_ = false;
};

// The most that a script's answer may take; beyond it an error is answered. A table can be met
// again and again within another, and in itself.
inline constexpr size_t kScriptReplyBytesMax = 512UL << 20;

// string -> bulk; number -> integer, its fraction cut off; nil -> null; true, false -> 1 and null,
// under RESP3 booleans; {ok =} status, {err =} error; {double =}, {map =}, {set =}, {big_number =}
// and {verbatim_string =} what they say; any other table -> array up to its first nil
//
// Sends the value on top of the stack as a script's answer and pops it. `resp`: the script's. Never
// raises if the memory bound is lifted.
void SendLuaValue(lua_State* L, int resp, ReplySink& reply);

}  // namespace sluice
