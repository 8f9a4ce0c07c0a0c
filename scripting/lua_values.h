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
#include "scripting/libraries/lua_api.h"
#include "scripting/lua_state.h"

namespace sluice {

// Pushes the one reply of a command onto the stack of a script. The state's memory bound must be
// lifted while it is used: handlers have destructors that an error would skip.
class LuaReplySink final : public ReplySink {
 public:
  LuaReplySink(lua_State* L, LuaState& state)
      : L_(L), version_(state.resp), port_(state.port()), open_(state.open_replies) {
    open_.clear();
  }

  // The reply was an error.
  bool failed() const { return failed_; }

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
  enum Shape : uint8_t { kArray, kMapKey, kMapValue, kSet, kDropped };

  void Open(size_t replies, size_t room, Shape shape);
  void Close();
  void Put();
  void Wrap(const char* field);

  lua_State* L_;
  const int version_;
  CommandPort& port_;
  std::vector<LuaState::OpenReply>& open_;
  bool failed_ = false;
};

// Sends the value on top of the stack as a script's answer and pops it. `resp`: the script's. Never
// raises if the memory bound is lifted.
void SendLuaValue(lua_State* L, int resp, ReplySink& reply);

}  // namespace sluice
