// Memory may end at any allocation of a script: the script then gets an error, nothing else
// happens. Each script runs again and again, and each time a later allocation fails. Afterwards the
// bound is there, nothing is left on the stack, and the memory comes back; in the ASan build a
// destructor that an error jumped over is a leak.
#include <gmock/gmock.h>

#include "tests/unit/scripting/script_fixture.h"

namespace sluice {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

using ScriptMemory = ScriptFixture;

void AnswerShapes(Args args, ReplySink& reply) {
  if (args[0] == "ERROR") return reply.Error("WRONGTYPE " + std::string(200, 'x'));
  if (args[0] == "BULK") return reply.Bulk(std::string(3000, 'x'));
  reply.Array(3);
  reply.Map(2);
  reply.Bulk("key");
  reply.Double(1.5);
  reply.Null();
  reply.Verbatim("text", "txt");
  reply.Set(2);
  reply.BigNumber("123");
  reply.Bool(true);
  reply.Status("OK");
}

constexpr const char* kScripts[] = {
    "return redis.call('SHAPES')",
    "redis.setresp(3) return redis.call('SHAPES')",
    "local t = {} for i = 1, 30 do t[i] = 'x' .. i end return redis.call('BULK', unpack(t))",
    "return redis.pcall('ERROR').err",
    "return {pcall(redis.call, 'ERROR')}",
    "return cjson.encode({a = {1, 2.5, true, 'x/\\n'}, b = string.rep('y', 3000)})",
    "return cjson.decode('{\"a\":[1,2.5,true,null,\"' .. string.rep('\\\\n', 900) .. '\"]}').a",
    "local c = cjson.new() c.encode_max_depth(5) return c.encode({{{}}})",
    "return {cmsgpack.unpack(cmsgpack.pack({1, {a = 'b'}}, string.rep('z', 3000)))}",
    "return {struct.unpack('>Is', struct.pack('>Is', 7, string.rep('s', 2000)))}",
    "return {string.gsub(string.rep('ab', 700), '(a)(b)', '%2%1')}",
    "local n = 0 for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do n = n + v end return n",
    "return {string.find('hello world', '(o) (w)()')}",
    "return #string.rep('x', 5000)",
    "local t = {} for i = 1, 50 do t[i] = (i * 7) % 50 end table.sort(t) table.insert(t, 1, 0) "
    "table.remove(t, 2) return table.concat(t, ',')",
    "return {coroutine.resume(coroutine.create(function(...) return coroutine.yield(...) end), 1)}",
    "return coroutine.wrap(function() return redis.call('SHAPES') end)()",
    "return {xpcall(function() error({err = 'x'}) end, function(e) return {e, 'handled'} end)}",
    "return {pcall(function() local t = setmetatable({}, {__index = function() error('i') end}) "
    "return t.x end)}",
    "return assert(loadstring('return ' .. string.rep('1 + ', 300) .. '1'))()",
    "local n = 0 return load(function() n = n + 1 return ({'return ', '7'})[n] end)()",
    "error('a text')",
    "error({err = 'MINE x'})",
    "local t = nil return t.x",
    "return redis.error_reply('MY ' .. string.rep('e', 100))",
    "redis.log(redis.LOG_NOTICE, 'a', string.rep('b', 2000)) print('x', 1, nil)",
    "return {redis.sha1hex(''), tostring(1.5), bit.tohex(255), math.random(5)}",
    "local t = {} t[1] = t return t",
    "return string.format('%s %q %5.2f %d', string.rep('f', 200), 'q\\n', 1.5, 3)",
    "return #string.dump(function() return 1 end)",
};

TEST_F(ScriptMemory, AnyAllocationMayFail) {
  port_.answer = AnswerShapes;
  constexpr int kTriesMax = 3000;
  for (const char* text : kScripts) {
    port_.interrupts_left = 1 << 30;
    const std::string whole = Eval(text);
    LuaState& state = cache_.lua();
    int tries = 0;
    bool failed = true;
    for (; failed && tries < kTriesMax; ++tries) {
      state.FailAllocation(tries);
      const std::string answer = Eval(text);
      failed = state.FailAllocation(-1);
      // A script that catches it may answer something else.
      if (!failed) {
        EXPECT_EQ(answer, whole) << text;
      }
      EXPECT_FALSE(answer.empty()) << text;
      EXPECT_FALSE(state.bound_lifted()) << text;
      EXPECT_EQ(lua_gettop(state.lua()), LuaState::kSlots) << text;
    }
    EXPECT_LT(tries, kTriesMax) << text;
    EXPECT_THAT(Eval("return #string.rep('x', 1e9)"), HasSubstr("not enough memory")) << text;
  }
  lua_gc(cache_.lua().lua(), LUA_GCCOLLECT, 0);
  EXPECT_LT(cache_.lua_bytes(), 1u << 20);
}

// An error leaves a coroutine behind, which large blocks must not look for.
TEST_F(ScriptMemory, CoroutinesThatFailedAreForgotten) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Eval("coroutine.wrap(function() coroutine.wrap(function() local s = "
                     "string.rep('x', 5000) error({err = 'ERR ' .. s .. s}) end)() end)()"),
                HasSubstr("ERR xxx"));
    EXPECT_EQ(Eval("collectgarbage() return #string.rep('x', 100000)"), ":100000\r\n");
  }
}

// The state is taken to its bound, then scripts are compiled and evicted.
TEST_F(ScriptMemory, CompilingMayFail) {
  for (const char* text : {"return 1 + 1", "\x1bLua", "x =", "#!lua flags=no-writes\nreturn 2"}) {
    std::string error;
    ScriptCache cache(port_, SipKey{1});
    cache.Load("return 0", /*stays=*/true, error);
    bool failed = true;
    for (int tries = 0; failed && tries < 1000; ++tries) {
      port_.interrupts_left = 1 << 30;
      cache.lua().FailAllocation(tries);
      error.clear();
      const Script* const script = cache.Load(text, /*stays=*/false, error);
      failed = cache.lua().FailAllocation(-1);
      EXPECT_TRUE(script != nullptr || error.starts_with("ERR Error compiling script")) << error;
      EXPECT_FALSE(cache.lua().bound_lifted());
      EXPECT_EQ(lua_gettop(cache.lua().lua()), LuaState::kSlots);
    }
    EXPECT_FALSE(failed) << text;
  }
  const std::string binary = "\x1bLua" + std::string(200 << 20, 'x');
  port_.interrupts_left = 1 << 30;
  EXPECT_THAT(Eval(binary), HasSubstr("ERR Error compiling script"));
}

}  // namespace
}  // namespace sluice
