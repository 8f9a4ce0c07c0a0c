// What a script must not be able to do: reach outside, leave traces, or end the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/scripting/script_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Sandbox = ScriptFixture;

TEST_F(Sandbox, NothingOfTheSystemIsThere) {
  for (const char* name : {"io", "os", "debug", "package", "require", "module", "dofile",
                           "loadfile", "getfenv", "setfenv", "newproxy"}) {
    EXPECT_THAT(Eval(std::string("return ") + name),
                HasSubstr("Script attempted to access nonexistent global variable"))
        << name;
  }
}

// An address would tell where memory is, and differ from run to run.
TEST_F(Sandbox, ObjectsHaveNamesInsteadOfAddresses) {
  EXPECT_EQ(Eval("local t = {} return {tostring(t), tostring(print), tostring(t), tostring({})}"),
            Eval("return {'table: 0x000000000001', 'function: 0x000000000002', "
                 "'table: 0x000000000001', 'table: 0x000000000003'}"));
  EXPECT_EQ(Eval("return {tostring(print), tostring({}), tostring(cjson.null)}"),
            Eval("return {'function: 0x000000000002', 'table: 0x000000000004', "
                 "'userdata: (nil)'}"));
  EXPECT_EQ(Eval("return {tostring(nil), tostring(true), tostring(1.5), tostring('x'), "
                 "tostring(setmetatable({}, {__tostring = function() return 'T' end}))}"),
            Eval("return {'nil', 'true', '1.5', 'x', 'T'}"));
  EXPECT_THAT(Eval("error(print)"), HasSubstr("function: 0x000000000002"));
  EXPECT_THAT(Eval("return tostring()"), HasSubstr("value expected"));
}

TEST_F(Sandbox, SharedTablesCannotBeChanged) {
  for (const char* text :
       {"x = 1", "_G.x = 1", "rawset(_G, 'x', 1)", "rawset(redis, 'x', 1)", "redis.call = nil",
        "string.len = nil", "table.insert(math, 1)", "setmetatable(_G, {})",
        "setmetatable(cjson, {})", "getmetatable('').__index = nil",
        "setmetatable(getmetatable(''), {})", "getmetatable(_G).__index = nil", "KEYS = 1",
        "coroutine.wrap(function() _G.pcall = 1 end)()", "loadstring('x = 1')()",
        "local t = {1, 2.5, true, 'x'} return (function() return function() pcall = t end end)()()",
        "function redis() end", "for i = 1, 9 do local f = function() ARGV = i end f() end",
        "loadstring('return function() _G, x = 1, 2 end')()()"}) {
    EXPECT_THAT(Eval(text), HasSubstr("Attempt to modify a readonly table")) << text;
    EXPECT_EQ(Eval("return {type(redis.call), ('x'):len(), rawget(_G, 'x') or 0}"),
              "*3\r\n$8\r\nfunction\r\n:1\r\n:0\r\n");
  }
}

// KEYS and ARGV are tables that scripts before have had, filled again: nothing of that shows.
TEST_F(Sandbox, ArgumentsCarryNoTraces) {
  constexpr char kLook[] =
      "local n = 0 for k in pairs(KEYS) do n = n + 1 end for k in pairs(ARGV) do n = n + 1 end "
      "return {#KEYS, #ARGV, n, KEYS[1] or '-', ARGV[1] or '-', KEYS[#KEYS + 1] or '-', "
      "KEYS.x or '-', tostring(getmetatable(KEYS)), tostring(getmetatable(ARGV))}";
  const std::string one_each = Eval(kLook, {"a"}, {"b"});
  const std::string none = Eval(kLook);
  const std::string many = Eval(kLook, {"1", "2", "3", "4", "5", "6", "7"}, {"8", "9"});
  EXPECT_EQ(one_each,
            "*9\r\n:1\r\n:1\r\n:2\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\n-\r\n$1\r\n-\r\n$3\r\nnil\r\n"
            "$3\r\nnil\r\n");
  for (const char* text :
       {"KEYS[1] = 'changed'", "KEYS[2] = 'x'", "KEYS.x = 1", "KEYS[1] = nil",
        "KEYS[1] = nil KEYS.x = 1", "ARGV[0] = 1 ARGV[-1] = 2", "table.remove(KEYS)",
        "table.insert(ARGV, 'x')", "KEYS.x = 1 error('x')",
        "setmetatable(KEYS, {__index = function() return 'leak' end})",
        "setmetatable(ARGV, {__newindex = function() end}) ARGV[1] = nil",
        "for i = 1, 1e5 do KEYS[i] = 'x' end for i = 1, 1e5 do KEYS[i] = nil end",
        "for i = 1, 40 do KEYS['k' .. i] = i end for i = 1, 40 do KEYS['k' .. i] = nil end"}) {
    Eval(text, {"a"}, {"b"});
    EXPECT_EQ(Eval(kLook, {"a"}, {"b"}), one_each) << text;
    Eval(text);
    EXPECT_EQ(Eval(kLook), none) << text;
    Eval(text, {"1", "2", "3", "4", "5", "6", "7"}, {"8", "9"});
    EXPECT_EQ(Eval(kLook, {"1", "2", "3", "4", "5", "6", "7"}, {"8", "9"}), many) << text;
  }
}

// Room that one script has made in a table must not serve another one, in any order of scripts that
// take memory for tables and of those that take none.
TEST_F(Sandbox, ArgumentsCarryNoTracesOverManyScripts) {
  constexpr char kLook[] =
      "local n = 0 for k in pairs(KEYS) do n = n + 1 end for k in pairs(ARGV) do n = n + 1 end "
      "return n .. tostring(KEYS.x) .. tostring(ARGV.y) .. tostring(getmetatable(KEYS))";
  constexpr const char* kScripts[] = {
      "return 1",
      "return {1}",
      "KEYS.x = 1",
      "KEYS.x = 1 KEYS.x = nil",
      "KEYS.x = nil",
      "ARGV.y = 1",
      "ARGV.y = 1 ARGV.y = nil",
      "KEYS[1] = nil",
      "KEYS[1] = nil KEYS.x = 1",
      "KEYS[9] = 1 KEYS[9] = nil",
      "KEYS.x = 1 KEYS.y = 1 KEYS.z = 1 KEYS[1] = nil KEYS[2] = nil",
      "setmetatable(KEYS, ARGV)",
      "KEYS.x, KEYS.y, KEYS.z = nil, nil, nil",
      "error('x')"};
  const std::vector<std::string_view> words = {"a", "b", "c", "d", "e"};
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    const size_t keys = random() % 6;
    const size_t arguments = random() % 6;
    const auto run = [&](const char* text) {
      return Eval(text, {words.begin(), words.begin() + static_cast<ptrdiff_t>(keys)},
                  {words.begin(), words.begin() + static_cast<ptrdiff_t>(arguments)});
    };
    for (size_t i = random() % 6; i > 0; --i) run(kScripts[random() % std::size(kScripts)]);
    const std::string expected = std::to_string(keys + arguments) + "nilnilnil";
    ASSERT_THAT(run(kLook), HasSubstr(expected)) << round;
  }
}

// Words that come again are not written again, unless a script has written over them.
TEST_F(Sandbox, ArgumentsThatComeAgainAreWhatWasSent) {
  constexpr char kLook[] = "return {type(ARGV[1]), unpack(ARGV)}";
  const auto looks = [&](std::vector<std::string_view> arguments) {
    return Eval(kLook, {}, std::move(arguments));
  };
  EXPECT_EQ(looks({"60000"}), "*2\r\n$6\r\nstring\r\n$5\r\n60000\r\n");
  for (const char* text : {"ARGV[1] = 60000", "ARGV[1] = '60001'", "ARGV[1] = nil", "ARGV[1] = {}",
                           "ARGV[1] = true", "return ARGV[1]"}) {
    Eval(text, {}, {"60000"});
    EXPECT_EQ(looks({"60000"}), "*2\r\n$6\r\nstring\r\n$5\r\n60000\r\n") << text;
    Eval(text, {}, {"60000", "2"});
    EXPECT_EQ(looks({"60000"}), "*2\r\n$6\r\nstring\r\n$5\r\n60000\r\n") << text;
    EXPECT_EQ(looks({"60000", "2"}), "*3\r\n$6\r\nstring\r\n$5\r\n60000\r\n$1\r\n2\r\n") << text;
  }
  // Of the same last bytes, and of the same first ones.
  EXPECT_EQ(looks({"a:12345678"}), "*2\r\n$6\r\nstring\r\n$10\r\na:12345678\r\n");
  EXPECT_EQ(looks({"b:12345678"}), "*2\r\n$6\r\nstring\r\n$10\r\nb:12345678\r\n");
  EXPECT_EQ(looks({"b:12345679"}), "*2\r\n$6\r\nstring\r\n$10\r\nb:12345679\r\n");
  EXPECT_EQ(looks({"12345679"}), "*2\r\n$6\r\nstring\r\n$8\r\n12345679\r\n");
  EXPECT_EQ(looks({""}), "*2\r\n$6\r\nstring\r\n$0\r\n\r\n");
  EXPECT_EQ(looks({std::string_view("\0", 1)}),
            std::string("*2\r\n$6\r\nstring\r\n$1\r\n\0\r\n", 23));
}

TEST_F(Sandbox, HugeArgumentsAreLetGo) {
  Eval("return 1", {"a"}, {"b"});
  const size_t before = cache_.lua_bytes();
  const std::string huge(100 << 20, 'x');
  EXPECT_EQ(Eval("return #KEYS[1] + #ARGV[1]", {huge}, {huge}), ":209715200\r\n");
  EXPECT_LT(cache_.lua_bytes(), before + LuaState::kMemoryKept);
}

TEST_F(Sandbox, CompilingLeavesNoGarbage) {
  Eval("return 0");
  for (int i = 0; i < 2000; ++i) {
    std::string error;
    cache_.Load("local n = redis.call('INCR', KEYS[1]) return n + " + std::to_string(i), false,
                error);
  }
  EXPECT_LT(cache_.lua_bytes(), 2000 * 1200u);
  const size_t before = cache_.lua_bytes();
  for (int i = 0; i < 5000; ++i) {
    std::string error;
    const std::string constants(1000, static_cast<char>('a' + i % 26));
    EXPECT_FALSE(cache_.Load("return '" + constants + std::to_string(i) + "' +", false, error));
  }
  EXPECT_LT(cache_.lua_bytes(), 2 * before);
  cache_.Flush();
  EXPECT_EQ(cache_.lua_bytes(), 0u);
}

TEST_F(Sandbox, ScriptsAreFoundByDigitsAlone) {
  Eval("return 1");
  EXPECT_TRUE(cache_.Find("e0e1f9fabfc9d4800c877a703b823ac0578ff8db"));
  EXPECT_TRUE(cache_.Find("E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"));
  EXPECT_FALSE(
      cache_.Find("e\x10"
                  "e1f9fabfc9d4800c877a703b823ac0578ff8db"));
  EXPECT_FALSE(cache_.Find("e0e1f9fabfc9d4800c877a703b823ac0578ff8d"));
  EXPECT_FALSE(cache_.Find("e0e1f9fabfc9d4800c877a703b823ac0578ff8db0"));
}

TEST_F(Sandbox, ViewsLookLikeTheirTables) {
  EXPECT_EQ(Eval("local n = 0 for k in pairs(string) do n = n + 1 end return n"), ":15\r\n");
  EXPECT_EQ(Eval("return next(_G) ~= nil and rawget(_G, 'redis') == redis"), ":1\r\n");
  EXPECT_EQ(Eval("return rawequal(_G, _G._G)"), ":1\r\n");
  EXPECT_EQ(Eval("return redis == server"), ":1\r\n");
}

TEST_F(Sandbox, BinaryChunksAreText) {
  EXPECT_THAT(Eval("\x1bLua"), HasSubstr("unexpected symbol near"));
  EXPECT_THAT(Eval("return assert(loadstring(string.dump(function() end)))"),
              HasSubstr("unexpected symbol near"));
  EXPECT_THAT(Eval("local s = string.dump(function() end) local done "
                   "return assert(load(function() if done then return nil end done = true "
                   "return s end))"),
              HasSubstr("unexpected symbol near"));
}

TEST_F(Sandbox, BombsAreErrorsAndMemoryComesBack) {
  Eval("return 1");
  const size_t before = cache_.lua_bytes();
  for (const char* text :
       {"return #string.rep('x', 1e9)", "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "local s = string.rep('x', 1e6) local t = {} for i = 1, 1e6 do t[i] = s end "
        "return table.concat(t)"}) {
    port_.interrupts_left = 10'000'000;
    EXPECT_THAT(Eval(text), HasSubstr("not enough memory")) << text;
    EXPECT_LT(cache_.lua_bytes(), before + LuaState::kMemoryKept) << text;
  }
}

TEST_F(Sandbox, RecursionEnds) {
  port_.interrupts_left = 1'000'000;
  EXPECT_THAT(Eval("local function f() return f() + 1 end return f()"),
              HasSubstr("stack overflow"));
  EXPECT_THAT(Eval("return string.find(string.rep('a', 1e6), string.rep('a?', 5e5))"),
              HasSubstr("pattern too complex"));
  EXPECT_THAT(Eval(std::string("return ") + std::string(100'000, '(')),
              HasSubstr("too many syntax levels"));
  EXPECT_THAT(Eval("local t = {} t[1] = t return t"), HasSubstr("reached lua stack limit"));
  EXPECT_THAT(Eval("return cjson.decode(string.rep('[', 1e6))"), HasSubstr("too many nested"));
  EXPECT_THAT(Eval("cjson.decode_max_depth(1e9) return cjson.decode(string.rep('[', 1e6))"),
              HasSubstr("too many nested"));
  EXPECT_THAT(Eval("local t = {} t.t = t return cjson.encode(t)"), HasSubstr("excessive nesting"));
  EXPECT_THAT(Eval("local t = {} t.t = t cjson.encode_max_depth(1e9) return cjson.encode(t)"),
              HasSubstr("excessive nesting"));
  EXPECT_THAT(Eval("return cmsgpack.unpack(string.rep('\\145', 1e6))"), StartsWith("ERR "));
  EXPECT_EQ(Eval("local t = {} t[1] = t return #cmsgpack.pack(t)"), ":17\r\n");
  EXPECT_THAT(Eval("return unpack({}, 1, 1e9)"), HasSubstr("too many results to unpack"));
  EXPECT_THAT(Eval("return unpack({}, 0, 2147483647)"), HasSubstr("too many results to unpack"));
}

TEST_F(Sandbox, JsonThatIsTooLargeIsRefused) {
  port_.interrupts_left = 100'000'000;
  EXPECT_THAT(Eval("local s = string.rep('\\1', 6e7) return #cjson.encode({s, s, s, s})"),
              HasSubstr("not enough memory"));
}

TEST_F(Sandbox, SettingsOfJsonAreForgotten) {
  EXPECT_EQ(Eval("cjson.encode_number_precision(3) return cjson.encode(1.23456)"),
            "$4\r\n1.23\r\n");
  EXPECT_EQ(Eval("return cjson.encode(1.23456)"), "$7\r\n1.23456\r\n");
}

TEST_F(Sandbox, LibrariesSurviveTheirCves) {
  EXPECT_EQ(Eval("return bit.tohex(1, -2147483648)"), "$8\r\n00000001\r\n");
  EXPECT_THAT(Eval("return struct.pack('>I2147483648', 10)"), HasSubstr("overflow"));
  EXPECT_THAT(Eval("return struct.unpack('c0', 'abc', 2)"), HasSubstr("needs a previous size"));
  EXPECT_THAT(Eval("return struct.unpack('Lc0', '\\255\\255\\255\\255\\255\\255\\255\\127x')"),
              HasSubstr("data string too short"));
  // As a double it is 2^64, which is no size: 0, as there.
  EXPECT_EQ(Eval("return struct.unpack('Lc0', '\\255\\255\\255\\255\\255\\255\\255\\255x')"),
            "$0\r\n\r\n");
  EXPECT_THAT(Eval("return struct.pack('!3', 1)"), HasSubstr("not a power of 2"));
  EXPECT_THAT(Eval("return cmsgpack.unpack('\\219\\255\\255\\255\\255')"),
              HasSubstr("Missing bytes"));
  EXPECT_THAT(Eval("return cmsgpack.unpack_limit('x', -1, 0)"), HasSubstr("Invalid request"));
}

TEST_F(Sandbox, EndlessScriptsAreKilledThoughTheyCatch) {
  port_.interrupts_left = 3;
  EXPECT_THAT(Eval("while true do pcall(function() while true do end end) end"),
              HasSubstr("killed"));
  port_.interrupts_left = 3;
  EXPECT_THAT(Eval("coroutine.wrap(function() while true do end end)()"), HasSubstr("killed"));
  port_.interrupts_left = 100;
  EXPECT_EQ(Eval("return 1"), ":1\r\n");
}

TEST_F(Sandbox, RandomNumbersGoOnFromScriptToScript) {
  constexpr char kDraw[] = "return {math.random(1000), math.random(1000)}";
  const std::string drawn = Eval(kDraw);
  EXPECT_EQ(drawn, "*2\r\n:397\r\n:841\r\n");
  EXPECT_NE(Eval(kDraw), drawn);
  const std::string seeded = Eval("math.randomseed(7) return math.random(1000)");
  EXPECT_EQ(Eval("math.randomseed(7) return math.random(1000)"), seeded);
}

TEST_F(Sandbox, PrintGoesToTheLog) {
  Eval("print('a', 1, nil, true)");
  ASSERT_EQ(port_.log.size(), 1u);
  EXPECT_EQ(port_.log[0], "0 a\t1\tnil\ttrue");
}

TEST_F(Sandbox, NumbersBecomeArguments) {
  Eval("redis.call('X', 1, 1.5, 0.1, 1e15, 1e17, -0, 2^53)");
  ASSERT_EQ(port_.calls.size(), 1u);
  EXPECT_THAT(port_.calls[0],
              testing::ElementsAre("X", "1", "1.5", "0.10000000000000001", "1000000000000000",
                                   "1e+17", "-0", "9007199254740992"));
}

}  // namespace
}  // namespace sluice
