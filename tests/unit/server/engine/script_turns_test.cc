// Turns inside a script that runs too long: who is served meanwhile, how it is ended, and that
// everything is as usual afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/dispatch/script_state.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kSecond = 1'000'000'000;  // in ns

constexpr char kBusyScript[] =
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
constexpr char kBusyFunction[] =
    "-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";
constexpr char kUnkillable[] = "-UNKILLABLE Sorry the script already executed write commands";
constexpr char kForEver[] = "while true do end";

class ScriptTurns : public EngineFixture {
 protected:
  ScriptTurns() : other_(Connect()) {}

  // From here on scripts take long, and `serve` is what others do meanwhile.
  void Serve(std::function<void()> serve) {
    server().set_tick_step(kSecond);
    server().OnPoll([this, serve = std::move(serve)] {
      ++polls_;
      serve();
    });
  }
  // The reply to a command of client() that takes long.
  std::string Slow(const std::vector<std::string>& command, std::function<void()> serve) {
    Serve(std::move(serve));
    std::string reply = Run(command).ToText();
    server().set_tick_step(0);
    server().OnPoll(nullptr);
    return reply;
  }
  std::string Other(const std::string& line) { return other_.Line(line).ToText(); }
  void ExpectAllWell() {
    EXPECT_FALSE(engine().part<ScriptState>().running());
    EXPECT_EQ(Other("EVAL 'return 1' 0"), ":1");
    EXPECT_EQ(Run({"PING"}).ToText(), "+PONG");
  }

  TestClient& other_;
  int polls_ = 0;
};

TEST_F(ScriptTurns, AKilledScriptEndsWithItsSentence) {
  const std::string reply = Slow({"EVAL", kForEver, "0"}, [&] {
    EXPECT_EQ(Other("GET a"), kBusyScript);
    EXPECT_EQ(Other("FUNCTION KILL"), kBusyScript);
    EXPECT_EQ(Other("SHUTDOWN"), kBusyScript);
    EXPECT_EQ(Other("SCRIPT KILL"), "+OK");
  });
  EXPECT_THAT(reply, StartsWith("-ERR Script killed by user with SCRIPT KILL... script: "));
  EXPECT_EQ(polls_, 1);
  EXPECT_FALSE(server().shutdown_code());
  ExpectAllWell();
}

TEST_F(ScriptTurns, ExecMeanwhileEndsItsTransaction) {
  EXPECT_EQ(Other("MULTI"), "+OK");
  EXPECT_EQ(Other("SET a 1"), "+QUEUED");
  Slow({"EVAL", kForEver, "0"}, [&] {
    EXPECT_EQ(Other("EXEC"), Concat("-EXECABORT Transaction discarded because of: ",
                                    std::string_view(kBusyScript).substr(1)));
    EXPECT_EQ(Other("SCRIPT KILL"), "+OK");
  });
  EXPECT_EQ(Other("GET a"), "(nil)");  // at once: it is out of MULTI
  ExpectAllWell();
}

TEST_F(ScriptTurns, NobodyIsServedBeforeTheThreshold) {
  server().set_tick_step(1);
  server().OnPoll([this] { ++polls_; });
  EXPECT_EQ(Run({"EVAL", "for i = 1, 1e6 do end return 1", "0"}).ToText(), ":1");
  EXPECT_EQ(polls_, 0);
}

TEST_F(ScriptTurns, AScriptThatEndsByItselfAnswers) {
  EXPECT_EQ(Slow({"EVAL", "for i = 1, 3e6 do end return redis.call('GET', 'a') or 'none'", "0"},
                 [&] { EXPECT_EQ(Other("SET a stolen"), kBusyScript); }),
            "\"none\"");
  EXPECT_GT(polls_, 1);
  ExpectAllWell();
}

TEST_F(ScriptTurns, NoPcallOutlivesTheKill) {
  EXPECT_THAT(Slow({"EVAL", "while true do pcall(function() while true do end end) end", "0"},
                   [&] { EXPECT_EQ(Other("SCRIPT KILL"), "+OK"); }),
              HasSubstr("Script killed by user"));
  ExpectAllWell();
}

TEST_F(ScriptTurns, AFunctionIsKilledByItsOwnCommand) {
  ASSERT_EQ(Other("FUNCTION LOAD \"#!lua name=l\\n"
                  "redis.register_function{function_name = 'f', flags = {'no-writes'},"
                  " callback = function() while true do end end}\""),
            "\"l\"");
  const std::string reply = Slow({"FCALL", "f", "1", "k", "v"}, [&] {
    EXPECT_EQ(Other("GET a"), kBusyFunction);
    EXPECT_EQ(Other("SCRIPT KILL"), kBusyFunction);
    const std::string running = Other("FUNCTION STATS");
    EXPECT_THAT(running, HasSubstr("\"f\""));
    EXPECT_THAT(running, HasSubstr("\"FCALL\""));
    EXPECT_THAT(running, HasSubstr("duration_ms"));
    EXPECT_EQ(Other("FUNCTION KILL"), "+OK");
  });
  EXPECT_THAT(reply, HasSubstr("Script killed by user with SCRIPT KILL..."));
  EXPECT_THAT(Other("FUNCTION STATS"), HasSubstr("(nil)"));
  ExpectAllWell();
}

TEST_F(ScriptTurns, WhatHasWrittenEndsOnlyWithTheServer) {
  Serve([&] {
    EXPECT_THAT(Other("SCRIPT KILL"), StartsWith(kUnkillable));
    EXPECT_THAT(Other("FUNCTION KILL"), StartsWith(kUnkillable));
    if (polls_ < 3) return;
    other_.Send({"SHUTDOWN", "NOSAVE"});
    EXPECT_TRUE(other_.closed());
  });
  client().Send({"EVAL", "redis.call('SET', KEYS[1], 1) while true do end", "1", "a"});
  EXPECT_EQ(polls_, 3);
  EXPECT_EQ(server().shutdown_code(), 0);
  EXPECT_TRUE(client().closed());
  EXPECT_EQ(client().TakeBytes(), "");
}

TEST_F(ScriptTurns, AWriteThatFailedIsAWrite) {
  Run({"SET", "a", "text"});
  Serve([&] {
    EXPECT_THAT(Other("SCRIPT KILL"), StartsWith(kUnkillable));
    other_.Send({"SHUTDOWN", "NOSAVE"});
  });
  client().Send({"EVAL", "redis.pcall('INCR', 'a') while true do end", "0"});
  EXPECT_EQ(polls_, 1);
}

TEST_F(ScriptTurns, TheCallersOwnRequestsWait) {
  TestClient& caller = client();
  server().set_tick_step(kSecond);
  server().OnPoll([&] {
    EXPECT_FALSE(engine().MayTouch(caller.id()));
    EXPECT_EQ(caller.TakeBytes(), "");
    EXPECT_EQ(Other("SCRIPT KILL"), "+OK");
  });
  caller.SendBytes("EVAL \"while true do end\" 0\r\nPING\r\n");
  EXPECT_THAT(caller.Next()->ToText(), StartsWith("-ERR "));
  EXPECT_EQ(caller.Next()->ToText(), "+PONG");
}

TEST_F(ScriptTurns, OthersOfTheSameTurnAreServedFromWithin) {
  TestClient& caller = client();
  server().set_tick_step(kSecond);
  server().OnPoll([&] {
    while (engine().RunTurn()) {
    }
  });
  engine().Receive(caller.id(), "EVAL \"while true do end\" 0\r\n");
  engine().Receive(other_.id(), "GET a\r\nSCRIPT KILL\r\nGET a\r\n");
  server().Settle();
  EXPECT_EQ(other_.Next()->ToText(), kBusyScript);
  EXPECT_EQ(other_.Next()->ToText(), "+OK");
  EXPECT_EQ(other_.Next()->ToText(), kBusyScript);
  EXPECT_THAT(caller.Next()->ToText(), HasSubstr("Script killed by user"));
}

TEST_F(ScriptTurns, SessionsComeAndGoMeanwhile) {
  Slow({"EVAL", kForEver, "0"}, [&] {
    TestClient& newcomer = Connect();
    EXPECT_EQ(newcomer.Line("GET a").ToText(), kBusyScript);
    newcomer.Disconnect();
    if (polls_ == 3) {
      EXPECT_EQ(Other("SCRIPT KILL"), "+OK");
    }
  });
  ExpectAllWell();
}

TEST_F(ScriptTurns, ATransactionIsBusyAsAWhole) {
  TestClient& caller = client();
  caller.Line("MULTI");
  caller.Line("SET a 1");
  caller.Send({"EVAL", kForEver, "0"});
  caller.Next();
  caller.Send({"SET", "b", "2"});
  caller.Next();
  EXPECT_EQ(Slow({"EXEC"}, [&] { EXPECT_EQ(Other("SCRIPT KILL"), "+OK"); }).substr(0, 30),
            "[+OK, -ERR Script killed by us");
  EXPECT_EQ(Other("GET b"), "\"2\"");
}

// As in Redis 7.0: TIME goes on, and yet no key ends.
TEST_F(ScriptTurns, NoKeyEndsInAScript) {
  Run({"SET", "lock", "me", "PX", "1000"});
  server().set_tick_step(kSecond);
  server().OnPoll([&] { server().clock().Advance(10'000); });
  EXPECT_EQ(Run({"EVAL",
                 "local t = redis.call('TIME') for i = 1, 2e6 do end local u = redis.call('TIME') "
                 "return {redis.call('GET', 'lock') or 'gone', u[1] - t[1] >= 10}",
                 "0"})
                .ToText(),
            "[\"me\", :1]");
  server().set_tick_step(0);
  EXPECT_EQ(Other("GET lock"), "(nil)");
}

TEST_F(ScriptTurns, NothingRunsNothingIsKilled) {
  constexpr char kNothing[] = "-NOTBUSY No scripts in execution right now.";
  EXPECT_EQ(Other("SCRIPT KILL"), kNothing);
  EXPECT_EQ(Other("FUNCTION KILL"), kNothing);
}

}  // namespace
}  // namespace sluice
