// Any text is a script that ends: with a value, or with an error. Commands are answered with
// replies of every shape.
#include <string>

#include "protocol/output_buffer.h"
#include "protocol/reply_writer.h"
#include "scripting/script_cache.h"
#include "scripting/script_runner.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/scripting/fake_port.h"

namespace sluice {
namespace {

void Answer(Args args, ReplySink& reply) {
  switch (args[0].size() % 8) {
    case 0:
      return reply.Error("WRONGTYPE x");
    case 1:
      return reply.Integer(7);
    case 2:
      reply.Map(2);
      reply.Bulk("k");
      reply.Null();
      reply.Null();
      return reply.Double(1.5);
    case 3:
      reply.Array(3);
      reply.Set(1);
      reply.Bulk("member");
      reply.Array(0);
      return reply.Bool(true);
    case 4:
      return reply.Verbatim("text", "txt");
    case 5:
      return reply.BigNumber("123");
    case 6:
      return reply.Null();
    default:
      return reply.Bulk(args[0]);
  }
}

}  // namespace

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "return "sv,
      "local x = "sv,
      "x"sv,
      "("sv,
      ")"sv,
      "{"sv,
      "}"sv,
      ","sv,
      ";"sv,
      "\n"sv,
      "redis.call('"sv,
      "redis.pcall('"sv,
      "')"sv,
      "GET"sv,
      "a"sv,
      "function() "sv,
      " end "sv,
      "pcall("sv,
      "error("sv,
      "while true do "sv,
      "cjson.decode("sv,
      "cjson.encode("sv,
      "cmsgpack.pack("sv,
      "cmsgpack.unpack("sv,
      "struct.pack('"sv,
      "struct.unpack('"sv,
      "bit.tohex("sv,
      "string.rep('x', "sv,
      "setmetatable("sv,
      "getmetatable("sv,
      "_G"sv,
      "rawset("sv,
      "next("sv,
      "loadstring("sv,
      "string.dump("sv,
      "unpack("sv,
      "coroutine.wrap("sv,
      "string.format('"sv,
      "string.gsub('"sv,
      "%d"sv,
      "1e5"sv,
      "-1"sv,
      "nil"sv,
      "true"sv,
      "'"sv,
      "[["sv,
      "]]"sv,
      "redis.setresp(3) "sv,
      "map = "sv,
      "for i = 1, 9 do "sv,
      "\x1bLua"sv,
      "#!lua flags="sv,
  };
  return kWords;
}

}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  FakePort port;
  port.answer = Answer;
  port.interrupts_left = 2;
  ScriptCache cache(port, SipKey{1});
  std::string error;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (int round = 0; round < 2; ++round) {
    const Script* const script = cache.Load(text, /*stays=*/false, error);
    FuzzCheck(script != nullptr || error.starts_with("ERR "), "a script or an error");
    if (!script) return 0;
    OutputBuffer out;
    ReplyWriter writer(out);
    ScriptFailure failure;
    const std::string_view words[] = {"key", "1"};
    const ScriptRun run{script->function, script->name(), words, words};
    const bool returned = RunScript(cache.lua(), run, writer, failure);
    FuzzCheck(returned != out.empty(), "a value is answered, a failure is not");
    FuzzCheck(returned || !failure.line.empty(), "a failure has its sentence");
    FuzzCheck(lua_gettop(cache.lua().lua()) == LuaState::kSlots, "nothing stays on the stack");
  }
  return 0;
}
