// Two moments in one turn: a command of the test's own runs another one at a moment that it names,
// as what plays a log does.
//   TEST.AT ms command [word ...]   runs the command so many ms from now (before, if negative)
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "protocol/text/number_text.h"
#include "server/commands/shared/rows.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/dispatcher.h"
#include "server/engine/engine.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

static_assert(!std::is_reference_v<decltype(CommandCall::now)>);

void At(CommandCall& call) {
  auto& clock = call.part<TurnClock>();
  const Now present = clock.now();
  Now moment = present;
  moment.steady_us += *ParseInt64(call.args[1]) * 1000;
  const std::optional<Request> request =
      call.part<const CommandTable>().Check(call.args.subspan(2));
  {
    const TurnClock::Hold hold = clock.HoldAt(moment);
    EXPECT_EQ(call.now.steady_us, present.steady_us) << "the call around it has its own";
    call.part<Dispatcher>().Run(call.client, *request, call.reply);
    EXPECT_EQ(clock.now().steady_us, moment.steady_us);
  }
  EXPECT_EQ(call.now.steady_us, present.steady_us);
  EXPECT_EQ(clock.now().steady_us, present.steady_us);
}

constexpr CommandRow kRows[] = {
    {.name = "TEST.AT",
     .arity = -3,
     .flags = kWrite,
     .categories = kCatDangerous,  // which keys it looks for is no concern here
     .run = At,
     .group = "test",
     .summary = "For this test."},
};

class TwoMoments : public testing::Test {
 protected:
  // All in one turn.
  std::string AnswersTo(std::string_view requests) {
    client_.SendBytes(requests);
    return client_.TakeBytes();
  }

  TestEngine server_{{.families = {{"moments", kSpecsOf<kRows>}}}};
  TestClient& client_ = server_.Connect();
};

TEST_F(TwoMoments, TheNextCommandOfTheTurnSeesThePresent) {
  EXPECT_EQ(AnswersTo("SET k v PX 60000\r\n"
                      "TEST.AT 20000 PTTL k\r\n"
                      "PTTL k\r\n"
                      "TEST.AT -20000 PTTL k\r\n"
                      "PTTL k\r\n"),
            "+OK\r\n:40000\r\n:60000\r\n:80000\r\n:60000\r\n");
}

TEST_F(TwoMoments, WhatIsSetAtAMomentEndsByIt) {
  EXPECT_EQ(AnswersTo("TEST.AT -20000 SET early v PX 1000\r\n"
                      "TEST.AT -20000 GET early\r\n"
                      "TEST.AT 20000 SET late v PX 1000\r\n"
                      "PTTL late\r\n"
                      "GET early\r\n"),
            "+OK\r\n$1\r\nv\r\n+OK\r\n:21000\r\n$-1\r\n");
  server_.AdvanceTime(20'999);
  EXPECT_EQ(client_.Run({"GET", "late"}).text, "v");
  server_.AdvanceTime(1);
  EXPECT_EQ(client_.Run({"DBSIZE"}).integer, 0);
}

TEST_F(TwoMoments, AScriptSeesOneInAllItsCalls) {
  EXPECT_EQ(AnswersTo("SET k v PX 60000\r\n"
                      "TEST.AT 1000 EVAL \"redis.call('pexpire', KEYS[1], 5000) return "
                      "redis.call('pttl', KEYS[1])\" 1 k\r\n"
                      "PTTL k\r\n"),
            "+OK\r\n:5000\r\n:6000\r\n");
}

// In Redis 7.0, too, a script that waits by TIME or PTTL comes to its end, and a key has all the
// time that it is given there; whether one is over goes by the script's first moment.
TEST_F(TwoMoments, InAScriptTimesAreCountedFromThePresent) {
  EXPECT_EQ(AnswersTo("DEBUG SET-DISABLE-DENY-SCRIPTS 1\r\n"), "+OK\r\n");
  const auto run = [this](const std::string& script) {
    return client_.Run({"EVAL", script, "2", "early", "late"}).ToText();
  };
  EXPECT_EQ(run("local function left(k) return redis.call('PTTL', k) end "
                "local function pass(s) redis.call('DEBUG', 'SLEEP', s) end "
                "redis.call('SET', KEYS[1], 'v', 'PX', 1000) pass('0.4') "
                "redis.call('SET', KEYS[2], 'v', 'PX', 1000) "
                "local before = {left(KEYS[1]), left(KEYS[2])} pass('0.7') "
                "return {before, left(KEYS[1]), redis.call('GET', KEYS[1]), left(KEYS[2])}"),
            "[[:600, :1000], :0, \"v\", :300]");
  EXPECT_EQ(client_.Run({"PTTL", "late"}).integer, 300);
  EXPECT_EQ(client_.Run({"EXISTS", "early"}).integer, 0);
  EXPECT_EQ(run("local from = redis.call('TIME') redis.call('DEBUG', 'SLEEP', '2.5') "
                "local to = redis.call('TIME') "
                "return (to[1] - from[1]) * 1000000 + to[2] - from[2]"),
            ":2500000");
  EXPECT_EQ(run("local first = redis.call('XADD', 's', '*', 'f', 'v') "
                "redis.call('DEBUG', 'SLEEP', '0.5') "
                "local second = redis.call('XADD', 's', '*', 'f', 'v') "
                "return string.match(second, '%d+') - string.match(first, '%d+')"),
            ":500");
  EXPECT_EQ(run("redis.call('HSET', KEYS[1], 'f', 'v') redis.call('DEBUG', 'SLEEP', '1') "
                "redis.call('HPEXPIRE', KEYS[1], 2000, 'FIELDS', 1, 'f') "
                "return redis.call('HPTTL', KEYS[1], 'FIELDS', 1, 'f')"),
            "[:2000]");
}

TEST_F(TwoMoments, AWaitIsNoShorterBehindASlowScript) {
  AnswersTo("DEBUG SET-DISABLE-DENY-SCRIPTS 1\r\n");
  client_.Run({"LOCK.ACQUIRE", "l", "other", "LEASE", "60000"});
  client_.Run({"LIMIT.TAKE", "r", "WINDOW", "1", "60000"});
  for (const std::string wait :
       {"BLPOP k 0.1", "XREAD BLOCK 100 STREAMS s 0", "WAIT 1 100",
        "LOCK.ACQUIRE l me LEASE 5000 WAIT 100", "LIMIT.TAKE r WINDOW 1 60000 WAIT 100"}) {
    EXPECT_EQ(AnswersTo("EVAL \"redis.call('DEBUG', 'SLEEP', '0.2')\" 0\r\n" + wait + "\r\n"),
              "$-1\r\n");
    server_.AdvanceTime(99);
    EXPECT_EQ(client_.TakeBytes(), "") << wait;
    server_.AdvanceTime(1);
    EXPECT_NE(client_.TakeBytes(), "") << wait;
  }
}

TEST_F(TwoMoments, ATransactionGoesOnInThePresent) {
  EXPECT_EQ(AnswersTo("SET k v PX 60000\r\n"
                      "MULTI\r\n"
                      "TEST.AT 1000 PTTL k\r\n"
                      "PTTL k\r\n"
                      "EXEC\r\n"),
            "+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:59000\r\n:60000\r\n");
}

TEST_F(TwoMoments, LeasesAndLimitsGoByTheMomentOfTheirCommand) {
  EXPECT_EQ(AnswersTo("TEST.AT 1000 LOCK.ACQUIRE l a LEASE 5000\r\n").substr(0, 4), "*4\r\n");
  EXPECT_EQ(AnswersTo("LOCK.RENEW l a LEASE 7000\r\n"), ":7000\r\n");
  EXPECT_EQ(client_.Run({"LIMIT.TAKE", "r", "WINDOW", "1", "100"}).elements.at(0).integer, 1);
  EXPECT_EQ(client_.Run({"TEST.AT", "100", "LIMIT.TAKE", "r", "WINDOW", "1", "100"})
                .elements.at(0)
                .integer,
            1);
}

// DEBUG SLEEP lets the turn's time go on: not that of a moment that is named.
TEST_F(TwoMoments, NothingMovesAMomentThatIsNamed) {
  EXPECT_EQ(AnswersTo("SET k v PX 60000\r\n"
                      "TEST.AT -5000 DEBUG SLEEP 1\r\n"
                      "PTTL k\r\n"
                      "DEBUG SLEEP 1\r\n"
                      "PTTL k\r\n"),
            "+OK\r\n+OK\r\n:60000\r\n+OK\r\n:58000\r\n");
}

}  // namespace
}  // namespace sluice
