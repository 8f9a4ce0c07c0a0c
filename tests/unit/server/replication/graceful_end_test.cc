// The end of a server that others follow: whom it waits for, what goes on meanwhile, and how it is
// called off.
#include "server/replication/graceful_end.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/replication/replicas_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kFailed = "-ERR Errors trying to SHUTDOWN. Check logs.\r\n";

class GracefulEndTest : public ReplicasFixture {
 protected:
  bool has_ended() { return server().shutdown_code().has_value(); }
  bool HasLogged(std::string_view line) {
    return std::ranges::any_of(server().log(), [line](const std::string& logged) {
      return logged.find(line) != std::string::npos;
    });
  }
  // A client whose SHUTDOWN waits, or has ended the server.
  TestClient& ShutDown(const std::vector<std::string>& words = {}) {
    TestClient& client = Connect();
    std::vector<std::string> request{"SHUTDOWN"};
    request.insert(request.end(), words.begin(), words.end());
    client.Send(request);
    server().Settle();
    return client;
  }
  // One replica, which does not have all.
  TestClient& LaggingReplica() {
    TestClient& replica = OnlineReplica();
    Run({"SET", "k", "v"});
    return replica;
  }
};

TEST_F(GracefulEndTest, WithoutReplicasNothingIsWaitedFor) {
  ShutDown();
  EXPECT_EQ(server().shutdown_code(), 0);
}

TEST_F(GracefulEndTest, ReplicasThatHaveAllAreNotWaitedFor) {
  TestClient& replica = OnlineReplica();
  Acknowledge(replica, end());
  ShutDown();
  EXPECT_TRUE(has_ended());
  EXPECT_TRUE(HasLogged("1 of 1 replicas are in sync when shutting down."));
}

TEST_F(GracefulEndTest, EndsWhenTheLastReplicaHasAll) {
  TestClient& first = LaggingReplica();
  TestClient& second = OnlineReplica();
  TestClient& client = ShutDown();
  EXPECT_FALSE(has_ended());
  EXPECT_TRUE(HasLogged("Waiting for replicas before shutting down."));
  EXPECT_EQ(Field("blocked_clients"), "1");
  EXPECT_EQ(Field("shutdown_in_milliseconds"), "10000");
  Acknowledge(second, end());
  EXPECT_FALSE(has_ended());
  Acknowledge(first, end());
  EXPECT_EQ(server().shutdown_code(), 0);
  EXPECT_EQ(client.TakeBytes(), "");
  EXPECT_FALSE(HasLogged("Lagging replica"));
  EXPECT_TRUE(HasLogged("2 of 2 replicas are in sync when shutting down."));
}

TEST_F(GracefulEndTest, WaitsAsLongWhereEngineTimeIsShifted) {
  LaggingReplica();
  ShutDown();
  AdvanceTime(2000);
  EXPECT_EQ(Field("shutdown_in_milliseconds"), "8000");
  engine().part<GracefulEnd>().TimeShifted(5000);  // the clock follows
  EXPECT_EQ(Field("shutdown_in_milliseconds"), "13000");
  AdvanceTime(12'000);
  EXPECT_FALSE(has_ended());
  AdvanceTime(1001);
  EXPECT_TRUE(has_ended());
}

TEST_F(GracefulEndTest, AReplicaThatGoesIsNotWaitedFor) {
  TestClient& replica = LaggingReplica();
  ShutDown();
  replica.Disconnect();
  server().Settle();
  EXPECT_TRUE(has_ended());
}

// Each second it would have to acknowledge more than it had.
TEST_F(GracefulEndTest, TheStreamDoesNotGetLongerByItself) {
  TestClient& sluice = NewReplica("sluice");
  Sync(sluice);
  Run({"SET", "k", "v"});
  Set("repl-ping-replica-period", "1");
  ShutDown();
  const int64_t had = end();
  AdvanceTime(3'000);
  EXPECT_EQ(end(), had);
}

TEST_F(GracefulEndTest, AfterItsTimeTheServerEndsAnyway) {
  LaggingReplica();
  Set("shutdown-timeout", "3");
  ShutDown();
  AdvanceTime(2'900);
  EXPECT_FALSE(has_ended());
  AdvanceTime(200);
  EXPECT_EQ(server().shutdown_code(), 0);
  EXPECT_TRUE(HasLogged("Lagging replica 127.0.0.1:6380 reported offset "));
  EXPECT_TRUE(HasLogged(" behind master, lag=3, state=online."));
  EXPECT_TRUE(HasLogged("0 of 1 replicas are in sync when shutting down."));
}

TEST_F(GracefulEndTest, WritesWaitAndReadsDoNot) {
  TestClient& replica = LaggingReplica();
  TestClient& writer = Connect();
  TestClient& publisher = Connect();
  ShutDown();
  writer.Send({"SET", "k", "w"});
  publisher.Send({"PUBLISH", "channel", "message"});
  EXPECT_EQ(Run({"GET", "k"}).text, "v");
  EXPECT_FALSE(writer.has_received());
  EXPECT_FALSE(publisher.has_received());
  Run({"SHUTDOWN", "ABORT"});
  server().Settle();
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
  EXPECT_EQ(publisher.TakeBytes(), ":0\r\n");
  EXPECT_FALSE(replica.closed());
}

TEST_F(GracefulEndTest, NothingEndsByItselfMeanwhile) {
  LaggingReplica();
  Run({"SET", "short", "v", "PX", "500"});
  ShutDown();
  const int64_t had = end();
  AdvanceTime(1'000);
  EXPECT_EQ(end(), had) << "its DEL is one more thing to acknowledge";
  EXPECT_EQ(Run({"GET", "short"}).ToText(), "(nil)");
}

TEST_F(GracefulEndTest, AbortAnswersAllThatHaveSaidIt) {
  TestClient& replica = LaggingReplica();
  TestClient& first = ShutDown();
  TestClient& second = ShutDown({"NOW"});
  EXPECT_FALSE(has_ended()) << "as in Redis: the first one's words count";
  EXPECT_EQ(Field("blocked_clients"), "2");
  EXPECT_EQ(Run({"SHUTDOWN", "ABORT"}).ToText(), "+OK");
  EXPECT_EQ(first.TakeBytes(), kFailed);
  EXPECT_EQ(second.TakeBytes(), kFailed);
  EXPECT_TRUE(HasLogged("Shutdown manually aborted."));
  EXPECT_EQ(Field("shutdown_in_milliseconds"), "");
  Acknowledge(replica, end());
  AdvanceTime(20'000);
  EXPECT_FALSE(has_ended());
  EXPECT_EQ(Run({"SHUTDOWN", "ABORT"}).ToText(), "-ERR No shutdown in progress.");
}

TEST_F(GracefulEndTest, AClientThatGoesLeavesTheEndToCome) {
  TestClient& replica = LaggingReplica();
  ShutDown().Disconnect();
  Acknowledge(replica, end());
  EXPECT_TRUE(has_ended());
}

TEST_F(GracefulEndTest, WhereTheDataCannotBeSavedItGoesOn) {
  TestClient& replica = LaggingReplica();
  TestClient& client = ShutDown({"SAVE"});
  server().disk().write_fault = ENOSPC;
  Acknowledge(replica, end());
  EXPECT_FALSE(has_ended());
  EXPECT_EQ(client.TakeBytes(), kFailed);
  EXPECT_TRUE(HasLogged("Errors trying to shut down the server."));
  EXPECT_EQ(Run({"SET", "k", "w"}).ToText(), "+OK") << "no write is held back any more";
  Run({"SET", "k", "x"});
  ShutDown({"SAVE", "FORCE"});
  EXPECT_FALSE(has_ended());
  Acknowledge(replica, end());
  EXPECT_TRUE(has_ended());
}

TEST_F(GracefulEndTest, NowAndATimeoutOfZeroWaitForNobody) {
  LaggingReplica();
  ShutDown({"NOW"});
  EXPECT_TRUE(has_ended());
  EXPECT_TRUE(HasLogged("0 of 1 replicas are in sync"));
}

TEST_F(GracefulEndTest, ATimeoutOfZeroIsNow) {
  LaggingReplica();
  Set("shutdown-timeout", "0");
  ShutDown();
  EXPECT_TRUE(has_ended());
}

TEST_F(GracefulEndTest, ASignalWaitsToo) {
  TestClient& replica = LaggingReplica();
  EXPECT_EQ(engine().End("default"), EndOutcome::kWaits);
  EXPECT_EQ(engine().End("nosave"), EndOutcome::kWaits);
  Acknowledge(replica, end());
  EXPECT_TRUE(has_ended());
}

TEST_F(GracefulEndTest, OneThatAcknowledgesNothingIsNotWaitedFor) {
  TestClient& silent = Connect();
  silent.SendBytes(Request({"SYNC"}));
  server().Settle();
  Run({"SET", "k", "v"});
  ShutDown();
  EXPECT_TRUE(has_ended());
}

// A pause that clients have asked for lasts as long as it was to last, and no longer.
TEST_F(GracefulEndTest, IsApartFromClientPause) {
  LaggingReplica();
  TestClient& writer = Connect();
  ShutDown();
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  writer.Send({"SET", "k", "w"});
  Run({"CLIENT", "UNPAUSE"});
  EXPECT_FALSE(writer.has_received()) << "the end still waits";
  Run({"CLIENT", "PAUSE", "1000", "WRITE"});
  Run({"SHUTDOWN", "ABORT"});
  server().Settle();
  EXPECT_FALSE(writer.has_received()) << "the pause still lasts";
  AdvanceTime(1'100);
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
}

TEST_F(GracefulEndTest, AStricterPauseEndsIntoTheWeakerOne) {
  LaggingReplica();
  TestClient& writer = Connect();
  TestClient& reader = Connect();
  ShutDown();
  Run({"CLIENT", "PAUSE", "1000", "ALL"});
  writer.Send({"SET", "k", "w"});
  reader.Send({"GET", "k"});
  EXPECT_FALSE(reader.has_received());
  AdvanceTime(1'100);
  EXPECT_EQ(reader.TakeBytes(), "$1\r\nv\r\n");
  EXPECT_FALSE(writer.has_received());
}

}  // namespace
}  // namespace sluice
