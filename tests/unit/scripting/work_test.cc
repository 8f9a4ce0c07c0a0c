// Every script can be ended: whatever it does counts as work, the port is asked each so many units,
// and once it has said no nothing in the script goes on. The tests count how often it is asked, not
// time; a script that hides would run for ever.
#include <gmock/gmock.h>

#include "tests/unit/scripting/script_fixture.h"

namespace sluice {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

using ScriptWork = ScriptFixture;

// Loops of Lua's own code, in places that count on their own or catch what ends them.
TEST_F(ScriptWork, EndlessLoopsEnd) {
  for (const char* text : {
           "while true do end",
           "while true do pcall(function() while true do end end) end",
           // Coroutines, each with a hook that has counted nothing yet.
           "while true do coroutine.wrap(function() for i = 1, 900 do end end)() end",
           "local function f() coroutine.wrap(f)() end while true do pcall(f) end",
           "while true do local c = coroutine.create(function() while true do end end) "
           "coroutine.resume(c) end",
           "local c = coroutine.wrap(function() while true do coroutine.yield() end end) "
           "while true do c() end",
           "while true do coroutine.resume(coroutine.create(function() "
           "pcall(coroutine.wrap(function() while true do end end)) end)) end",
           // A handler runs inside the hook that has raised the error, and so without one.
           "while true do xpcall(function() while true do end end, "
           "function() while true do end end) end",
           "xpcall(function() string.rep('', 1) while true do string.find('aaaa', '.-b') end end, "
           "function() while true do end end)",
           "while true do load(function() while true do end end) end",
           "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
           "while true do pcall(function() return t[1] end) end",
           "local s = string.rep('x', 100) while true do s:gsub('.', function() end) end",
           "while true do redis.call('GET', 'x') end",
           "while true do redis.pcall('GET', 'x') end",
       }) {
    port_.interrupts_left = 20;
    EXPECT_THAT(Eval(text), HasSubstr("killed")) << text;
    port_.interrupts_left = 20;
    EXPECT_EQ(Eval("return 1"), ":1\r\n") << "after " << text;
  }
}

// Functions of C that would take minutes to hours in one call.
TEST_F(ScriptWork, EndlessCallsEnd) {
  for (const char* text : {
           "return string.find(string.rep('a', 100000), string.rep('a-', 50) .. 'b')",
           "return string.rep('a', 40):match(string.rep('a?', 40) .. string.rep('a', 40))",
           "return string.gsub(string.rep('a', 1e6), '.-.-.-b', '')",
           "for x in string.gmatch(string.rep('a', 1e6), '.-.-b') do end",
           "return string.find(string.rep('(', 1e6), '%b()b')",
           "return string.find(string.rep('ab', 1e6), '[' .. string.rep('x', 1e6) .. ']-y')",
           "return string.match(string.rep('a', 1e5), '(.-)%1-%1-b')",
           "table.insert({}, -2147483647, 1)",
           // The border of such a table is found at a power of two.
           "local t = {} for i = 29, 0, -1 do t[2 ^ i] = 1 end table.remove(t, 1)",
           "local t = {} for i = 29, 0, -1 do t[2 ^ i] = 1 end table.foreachi(t, math.randomseed)",
           // Quicksort at its worst: the pivot is always the smallest but one.
           "local t, n = {}, 40000 for i = 1, n do t[i] = '' end for i = 1, n do "
           "t[i] = string.rep('x', 300) .. i end local m = 0 while true do table.sort(t) end",
           "return load(math.random)",
           "while true do collectgarbage() end",
           "while true do collectgarbage('step', 1000000) end",
           "local t = {} for i = 1, 60 do t = {t, t} end return cjson.encode(t)",
           "local t = {} for i = 1, 100 do t[i] = t end return cmsgpack.pack(t)",
           "local t = {} for i = 1, 2e5 do t[i] = 1 end for i = 1, 2e5 do t[i] = nil end "
           "local u = {} for i = 1, 1e6 do u[i] = t end return cjson.encode(u)",
           // Each `break` walks past those before it.
           "local s = 'while true do ' .. string.rep('do break end ', 120000) .. ' end ' "
           "return loadstring(string.rep(s, 10))",
       }) {
    port_.interrupts_left = 30;
    EXPECT_THAT(Eval(text), AnyOf(HasSubstr("killed"), HasSubstr("not enough memory"))) << text;
    port_.interrupts_left = 20;
    EXPECT_EQ(Eval("return 1"), ":1\r\n") << "after " << text;
  }
}

// What looks endless and is not.
TEST_F(ScriptWork, CountsThatMeanNothingCostNothing) {
  port_.interrupts_left = 5;
  EXPECT_EQ(Eval("return #string.rep('', 2147483647)"), ":0\r\n");
  EXPECT_EQ(Eval("for i = 1, 1000 do string.rep('', 2147483647) end return 1"), ":1\r\n");
  EXPECT_THAT(Eval("return table.concat({}, '', 1, 2147483647)"), HasSubstr("invalid value (nil)"));
  EXPECT_THAT(Eval("return cjson.encode({[420000000] = 1})"),
              HasSubstr("excessively sparse array"));
  EXPECT_THAT(Eval("cjson.encode_sparse_array(false, 0) return cjson.encode({[500000000] = 1})"),
              HasSubstr("not enough memory"));
  EXPECT_THAT(Eval("cjson.encode_sparse_array(false, 0) "
                   "return cjson.encode({[420000000] = string.rep('x', 20000000)})"),
              HasSubstr("not enough memory"));
}

// The larger the largest block of a run, the fewer instructions pass between two questions.
TEST_F(ScriptWork, LargeStringsAreAskedAboutMoreOften) {
  const auto asked = [&](const char* text) {
    port_.interrupts_left = 1'000'000;
    Eval(text);
    return 1'000'000 - port_.interrupts_left;
  };
  const int small = asked("local a = 'x' local b = 'y' for i = 1, 1e5 do local c = a < b end");
  const int large =
      asked("local a = string.rep('x', 1e6) local b = a .. 'y' for i = 1, 1e5 do local c = i end");
  EXPECT_LT(small, 10);
  EXPECT_GT(large, 20 * small);
  // A string of the script's text is as large when the script is run again.
  const std::string text = "local a = '" + std::string(1000000, 'x') + "' for i = 1, 1e5 do end";
  asked(text.c_str());
  EXPECT_GT(asked(text.c_str()), 50);
  EXPECT_LT(asked("for i = 1, 1e5 do end"), 10);
  EXPECT_LT(asked("local c = coroutine.wrap(function() for i = 1, 1e5 do end end) c()"), 10);
}

TEST_F(ScriptWork, TheCollectorKeepsItsPace) {
  EXPECT_EQ(Eval("return {collectgarbage('setpause', 0), collectgarbage('setpause', 1), "
                 "collectgarbage('setstepmul', 0), collectgarbage('stop')}"),
            "*4\r\n:200\r\n:0\r\n:200\r\n:0\r\n");
  EXPECT_EQ(Eval("return collectgarbage('setpause', 0)"), ":200\r\n");
  EXPECT_EQ(Eval("return {collectgarbage(), collectgarbage('step') ~= nil, "
                 "collectgarbage('count') > 10}"),
            "*3\r\n:0\r\n:1\r\n:1\r\n");
}

// An answer is weighed before it is sent.
TEST_F(ScriptWork, AnswersAreBounded) {
  port_.interrupts_left = 1'000'000;
  for (const char* text : {
           "local t = {} t[1] = t t[2] = t return t",
           "local s = string.rep('x', 1e8) local t = {} for i = 1, 100 do t[i] = s end return t",
           "local s = string.rep('x', 1e8) local t = {} for i = 1, 100 do t[i] = {err = s} end "
           "return t",
           "local t = {} for i = 1, 60 do t = {t, t} end return t",
           "redis.setresp(3) local t = {} t.map = {a = t, b = t} return t",
           "redis.setresp(3) local m = {} m[m] = 1 local t = {set = m} m[t] = 1 m[1] = t return "
           "{t, t}",
       }) {
    EXPECT_THAT(Eval(text), AnyOf(HasSubstr("answer is too large"), HasSubstr("stack limit")))
        << text;
  }
  EXPECT_EQ(Eval("return {1, {2, {3}, {map = {a = 1}}}}"), Eval("return {1, {2, {3}, {'a', 1}}}"));
}

// --- replies of commands

TEST_F(ScriptWork, RepliesAreBoundedBeforeTheyAreMade) {
  size_t sent = 0;
  port_.answer = [&](Args args, ReplySink& reply) {
    if (args[0] == "MANY") {
      reply.Array(140'000'000);
      for (sent = 0; sent < 140'000'000 && !reply.full(); ++sent) reply.Integer(1);
    } else if (args[0] == "DEEP") {
      for (int i = 0; i < 100'000 && !reply.full(); ++i) reply.Array(1);
      reply.Ok();
    } else if (args[0] == "LARGE") {
      const std::string large(100 << 20, 'x');
      reply.Array(10);
      for (int i = 0; i < 10 && !reply.full(); ++i) {
        reply.Bulk(large + std::to_string(i));
        sent = static_cast<size_t>(i);
      }
    } else if (args[0] == "MAP") {
      reply.Map(1 << 30);
    } else {
      reply.Ok();
    }
  };
  for (const char* command : {"MANY", "DEEP", "LARGE", "MAP"}) {
    for (const char* resp : {"", "redis.setresp(3) "}) {
      port_.interrupts_left = 1'000'000;
      const std::string call = std::string("redis.call('") + command + "')";
      EXPECT_THAT(Eval(std::string(resp) + call), HasSubstr("not enough memory"));
      EXPECT_LT(sent, 10u);
      // The bound is there as before.
      EXPECT_EQ(Eval(std::string(resp) + "local ok, e = pcall(redis.call, '" + command +
                     "') return {ok and 1 or 0, e, (pcall(string.rep, 'x', 1e9)) and 1 or 0, "
                     "redis.call('OK').ok}"),
                "*4\r\n:0\r\n$17\r\nnot enough memory\r\n:0\r\n$2\r\nOK\r\n");
    }
  }
}

}  // namespace
}  // namespace sluice
