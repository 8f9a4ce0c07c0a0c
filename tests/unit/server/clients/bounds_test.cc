// What one client can make wait for it: before it has logged in, as one that is shown what others
// do, and that it is closed when it is more.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/limits.h"
#include "server/observe/statistics.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr size_t kMegabyte = 1024 * 1024;

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// --- before login

class StrangerTest : public testing::Test {
 protected:
  TestEngine server_{{.config = {{"requirepass", "secret"}}}};
  TestClient& stranger_ = server_.Connect();
};

TEST_F(StrangerTest, AnErrorToEachOfALongPipelineIsNoOffence) {
  stranger_.SendBytes(Times(5000, "GET k\r\n"));
  EXPECT_FALSE(stranger_.closed());
  EXPECT_GT(stranger_.TakeBytes().size(), 100'000u);
  EXPECT_EQ(stranger_.Run({"AUTH", "secret"}).ToText(), "+OK");
}

TEST_F(StrangerTest, IsClosedWhenItDoesNotRead) {
  stranger_.set_reading(false);
  const Session& session = *server_.engine().Find(stranger_.id());
  size_t most = 0;
  for (int i = 0; i < 1000 && !stranger_.closed(); ++i) {
    stranger_.SendBytes("GET k\r\n");
    if (!stranger_.closed()) most = std::max(most, session.MemoryBytes());
  }
  EXPECT_TRUE(stranger_.closed());
  EXPECT_LE(most, kReplyBytesBeforeLoginMax + 24 * 1024);
  EXPECT_EQ(server_.engine().statistics().output_limit_closed, 1u);
}

TEST_F(StrangerTest, OneTurnMakesABoundedReply) {
  stranger_.set_reading(false);
  stranger_.SendBytes(Times(200'000, "GET k\r\n"));
  EXPECT_TRUE(stranger_.closed());
}

TEST_F(StrangerTest, MayBeginASmallRequestOnly) {
  stranger_.SendBytes("*2\r\n$4\r\nAUTH\r\n$16384\r\n");
  for (int i = 0; i < 8; ++i) stranger_.SendBytes(std::string(1024, 'x'));
  EXPECT_FALSE(stranger_.closed());
  TestClient& other = server_.Connect();
  other.SendBytes("*10\r\n" + Times(9, "$16384\r\n" + std::string(16384, 'x') + "\r\n"));
  other.SendBytes("x");
  EXPECT_TRUE(other.closed());
  EXPECT_EQ(server_.engine().statistics().query_limit_closed, 1u);
}

// From the moment at which it had to: a client that resets itself has the whole time again.
TEST_F(StrangerTest, HasAMinuteToLogIn) {
  TestClient& other = server_.Connect();
  EXPECT_EQ(other.Run({"AUTH", "secret"}).ToText(), "+OK");
  server_.AdvanceTime(50'000);
  EXPECT_EQ(other.Run({"RESET"}).ToText(), "+RESET");
  server_.AdvanceTime(9'000);
  EXPECT_FALSE(stranger_.closed());
  server_.AdvanceTime(2'000);
  EXPECT_TRUE(stranger_.closed());
  EXPECT_FALSE(other.closed());
  EXPECT_EQ(other.Run({"AUTH", "secret"}).ToText(), "+OK");
  server_.AdvanceTime(200'000);
  EXPECT_FALSE(other.closed());
  EXPECT_EQ(server_.engine().statistics().login_timeout_closed, 1u);
}

TEST_F(StrangerTest, TheTimeIsAnOption) {
  TestClient& other = server_.Connect();
  other.Run({"AUTH", "secret"});
  EXPECT_EQ(other.Run({"CONFIG", "SET", "login-timeout", "0"}).ToText(), "+OK");
  server_.AdvanceTime(500'000);
  EXPECT_FALSE(stranger_.closed());
  EXPECT_EQ(other.Run({"CONFIG", "SET", "login-timeout", "5"}).ToText(), "+OK");
  server_.AdvanceTime(1'000);
  EXPECT_TRUE(stranger_.closed());
}

// It waits for the answer, and nobody with it: neither the loop nor one who knows the password.
TEST_F(StrangerTest, AWrongPasswordMayTakeItsTime) {
  TestClient& other = server_.Connect();
  other.Run({"AUTH", "secret"});
  EXPECT_EQ(other.Run({"CONFIG", "SET", "failed-login-delay", "1000"}).ToText(), "+OK");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"AUTH", "wrong"}, {"HELLO", "3", "AUTH", "default", "wrong"}}) {
    stranger_.Send(wrong);
    stranger_.Send({"AUTH", "guess"});
    server_.AdvanceTime(999);
    EXPECT_EQ(stranger_.TakeBytes(), "");
    EXPECT_EQ(other.Run({"PING"}).ToText(), "+PONG");
    server_.AdvanceTime(1);
    EXPECT_TRUE(stranger_.TakeBytes().starts_with("-WRONGPASS"));
    server_.AdvanceTime(999);
    EXPECT_EQ(stranger_.TakeBytes(), "");
    server_.AdvanceTime(1);
    EXPECT_TRUE(stranger_.TakeBytes().starts_with("-WRONGPASS"));
  }
  EXPECT_EQ(stranger_.Run({"AUTH", "secret"}).ToText(), "+OK");
}

TEST_F(StrangerTest, WhoLeavesWhileItWaitsIsForgotten) {
  TestClient& other = server_.Connect();
  other.Run({"AUTH", "secret"});
  other.Run({"CONFIG", "SET", "failed-login-delay", "1000"});
  stranger_.Send({"AUTH", "wrong"});
  stranger_.Disconnect();
  server_.AdvanceTime(2000);
  EXPECT_EQ(other.Run({"PING"}).ToText(), "+PONG");
}

// --- those that are shown what others do

class ListenerTest : public EngineFixture {
 protected:
  // Commands until the listener is closed; the most that waited for it. 0: it never was.
  size_t UntilClosed(TestClient& listener, const std::vector<std::string>& command) {
    listener.set_reading(false);
    size_t most = 0;
    for (int i = 0; i < 1000; ++i) {
      Run(command);
      if (listener.closed()) return most;
      most = std::max(most, engine().Find(listener.id())->MemoryBytes());
    }
    return 0;
  }
};

TEST_F(ListenerTest, MonitorsAreBoundedAsSubscribersAre) {
  TestClient& monitor = Connect();
  monitor.Run({"MONITOR"});
  const size_t most = UntilClosed(monitor, {"ECHO", std::string(kMegabyte, 'x')});
  EXPECT_GT(most, 30 * kMegabyte);
  EXPECT_LE(most, 33 * kMegabyte);
  TestClient& subscriber = Connect();
  subscriber.Run({"SUBSCRIBE", "c"});
  EXPECT_LE(UntilClosed(subscriber, {"PUBLISH", "c", std::string(kMegabyte, 'x')}), 33 * kMegabyte);
  EXPECT_TRUE(subscriber.closed());
}

TEST_F(ListenerTest, ARequestLargerThanTheBoundIsNotEvenWritten) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "pubsub 20000 0 0"});
  TestClient& monitor = Connect();
  monitor.Run({"MONITOR"});
  Run({"ECHO", std::string(100, 'x')});
  EXPECT_FALSE(monitor.closed());
  Run({"ECHO", std::string(40000, 'x')});
  EXPECT_TRUE(monitor.closed());
}

// A client that tracks, and whose one script changes all that it has read.
TEST_F(ListenerTest, InvalidationsHeldForAScriptAreBounded) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 20000 0 0"});
  TestClient& tracking = Connect();
  tracking.Run({"HELLO", "3"});
  tracking.Run({"CLIENT", "TRACKING", "ON"});
  for (int i = 0; i < 400; ++i) tracking.Run({"EXISTS", "key:" + std::to_string(i)});
  const std::string script = "for i = 0, 399 do redis.call('SET', 'key:' .. i, 'x') end";
  tracking.Send({"EVAL", script, "0"});
  EXPECT_TRUE(tracking.closed());
  EXPECT_EQ(Run({"DBSIZE"}).integer, 400);
}

TEST_F(ListenerTest, ALowerTrackingLimitActsAtOnce) {
  TestClient& tracking = Connect();
  tracking.Run({"HELLO", "3"});
  tracking.Run({"CLIENT", "TRACKING", "ON"});
  for (int i = 0; i < 5000; ++i) tracking.Run({"EXISTS", "key:" + std::to_string(i)});
  Run({"CONFIG", "SET", "tracking-table-max-keys", "10"});
  int told = 0;
  while (tracking.Next()) ++told;
  EXPECT_EQ(told, 4990);
}

// --- to the byte

TEST_F(ListenerTest, TheOutputLimitIsExact) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 20000 0 0"});
  Run({"SET", "fits", std::string(20000 - 10, 'x')});  // $19990, two line ends
  Run({"SET", "above", std::string(20000 - 9, 'x')});
  TestClient& one = Connect();
  one.set_reading(false);
  one.Send({"GET", "fits"});
  EXPECT_EQ(engine().Find(one.id())->output.bytes(), 20000u);
  EXPECT_FALSE(one.closed());
  TestClient& other = Connect();
  other.Send({"GET", "above"});
  EXPECT_TRUE(other.closed());
}

// As in Redis, where the client's own buffer is not counted: nobody can lock all others out.
TEST_F(ListenerTest, ALimitBelowOneBufferIsThatBuffer) {
  Run({"CONFIG", "SET", "client-output-buffer-limit", "normal 1 1 0 pubsub 1 1 0"});
  Run({"SET", "small", std::string(16000, 'x')});
  Run({"SET", "large", std::string(17000, 'x')});
  TestClient& one = Connect();
  one.set_reading(false);
  one.Send({"GET", "small"});
  AdvanceTime(3000);
  EXPECT_FALSE(one.closed());
  TestClient& other = Connect();
  other.Send({"GET", "large"});
  EXPECT_TRUE(other.closed());
  EXPECT_EQ(Run({"CONFIG", "GET", "client-output-buffer-limit"}).ToText(),
            "[\"client-output-buffer-limit\", \"normal 1 1 0 slave 268435456 67108864 60 pubsub 1 "
            "1 0\"]");
}

}  // namespace
}  // namespace sluice
