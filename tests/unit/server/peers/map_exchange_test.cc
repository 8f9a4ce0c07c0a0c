// Servers without sockets that hand each other their maps: who comes to know of whom, what is
// refused, what a file that cannot be written does, and roles that follow the map.
#include "server/peers/map_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"
#include "tests/support/test_network.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

// server(n) is 10.0.0.n:7000; at first each is alone.
class MapExchangeTest : public testing::Test {
 protected:
  void Start(size_t count) {
    for (size_t i = 1; i <= count; ++i) {
      const std::string host = Concat("10.0.0.", i);
      TestEngine::Options options;
      options.seed = i;
      options.disk = &disks_.emplace_back();
      options.entropy = i;
      options.config = {{"cluster-enabled", "yes"},
                        {"cluster-announce-ip", host},
                        {"port", "7000"},
                        {"repl-diskless-sync-delay", "0"}};
      servers_.emplace_back(options);
      network_.Add(Concat(host, ":7000"), servers_.back());
      clients_.push_back(&servers_.back().Connect());
    }
  }
  std::string Say(size_t server, const std::string& line) {
    return clients_[server - 1]->Line(line).ToText();
  }
  std::string IdOf(size_t server) { return clients_[server - 1]->Line("CLUSTER MYID").text; }
  std::string InfoOf(size_t server) { return clients_[server - 1]->Line("CLUSTER INFO").text; }
  std::string DigestOf(size_t server) {
    const std::string info = InfoOf(server);
    return info.substr(info.find("cluster_map_digest:"), 35);
  }
  // Until nobody says more, and so many seconds.
  void Settle(int seconds = 2) {
    for (int second = 0; second <= seconds; ++second) {
      EXPECT_TRUE(network_.Settle());
      for (TestEngine& server : servers_) server.AdvanceTime(1000);
    }
    EXPECT_TRUE(network_.Settle());
  }
  void MeetAll() {
    for (size_t i = 2; i <= servers_.size(); ++i)
      EXPECT_EQ(Say(i, "CLUSTER MEET 10.0.0.1 7000"), "+OK");
    Settle(4);
  }
  bool HasLogged(size_t server, const std::string& words) {
    for (const std::string& line : servers_[server - 1].log()) {
      if (line.find(words) != line.npos) return true;
    }
    return false;
  }

  std::deque<MemoryDisk> disks_;
  std::deque<TestEngine> servers_;
  TestNetwork network_;
  std::vector<TestClient*> clients_;
};

TEST_F(MapExchangeTest, WhoMeetsOneKnowsAll) {
  Start(4);
  EXPECT_EQ(Say(1, "CLUSTER ADDSLOTSRANGE 0 8000"), "+OK");
  EXPECT_EQ(Say(2, "CLUSTER ADDSLOTSRANGE 8001 16383"), "+OK");
  MeetAll();
  for (size_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(DigestOf(i), DigestOf(1));
    EXPECT_THAT(InfoOf(i), HasSubstr("cluster_known_nodes:4"));
    EXPECT_THAT(InfoOf(i), HasSubstr("cluster_state:ok"));
    EXPECT_THAT(InfoOf(i), HasSubstr("cluster_map_differs:\r\n"));
  }
  EXPECT_THAT(Say(1, "GET {a}"), HasSubstr("MOVED 15495 10.0.0.2:7000"));
}

// What is agreed on is not said again.
TEST_F(MapExchangeTest, NothingIsSaidWhileNothingChanges) {
  Start(3);
  MeetAll();
  const size_t links = network_.links().size();
  Settle(60);
  EXPECT_EQ(network_.links().size(), links);
  EXPECT_EQ(Say(3, "CLUSTER ADDSLOTS 5"), "+OK");
  Settle();
  EXPECT_GT(network_.links().size(), links);
  EXPECT_EQ(DigestOf(1), DigestOf(3));
}

TEST_F(MapExchangeTest, WhoIsAwayIsToldLater) {
  Start(3);
  MeetAll();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Say(1, Concat("CLUSTER ADDSLOTS ", i)), "+OK");
    while (network_.opening() > 0) network_.FailNext("Connection refused");
  }
  EXPECT_THAT(InfoOf(1), HasSubstr("cluster_map_differs:10.0.0."));
  for (int second = 0; second < 3; ++second) {
    servers_[0].AdvanceTime(1000);
    while (network_.opening() > 0) network_.FailNext("Connection refused");
  }
  EXPECT_TRUE(HasLogged(1, "is not exchanged with 10.0.0.2:7000: Connection refused"));
  EXPECT_THAT(Say(1, "CLUSTER NODES"), HasSubstr("disconnected"));
  Settle(20);
  EXPECT_EQ(DigestOf(2), DigestOf(1));
  EXPECT_THAT(Say(1, "CLUSTER NODES"), Not(HasSubstr("disconnected")));
}

TEST_F(MapExchangeTest, MeetingNobodyComesToNothing) {
  Start(1);
  EXPECT_EQ(Say(1, "CLUSTER MEET 10.0.0.9 7000"), "+OK");
  EXPECT_EQ(Say(1, "CLUSTER MEET 10.0.0.1 7000"), "+OK");
  Settle(20);
  EXPECT_TRUE(
      HasLogged(1, "CLUSTER MEET of 10.0.0.9:7000 has come to nothing: Connection refused"));
  EXPECT_TRUE(HasLogged(1, "CLUSTER MEET of 10.0.0.1:7000 has come to nothing"));
  EXPECT_THAT(InfoOf(1), HasSubstr("cluster_known_nodes:1"));
  const size_t links = network_.links().size();
  Settle(20);
  EXPECT_EQ(network_.links().size(), links);
}

TEST_F(MapExchangeTest, MeetingsAreBounded) {
  Start(1);
  for (size_t i = 0; i < MapExchange::kMeetsMax; ++i)
    EXPECT_EQ(Say(1, Concat("CLUSTER MEET 10.0.1.1 ", i + 1)), "+OK");
  EXPECT_LE(network_.opening(), MapExchange::kActiveMax);
  EXPECT_EQ(Say(1, "CLUSTER MEET 10.0.1.1 6379"),
            Concat("-ERR more than ", MapExchange::kMeetsMax, " servers are being met"));
}

TEST_F(MapExchangeTest, OnlyWhoIsMetIsLetIn) {
  Start(2);
  const std::string stranger(40, 'e');
  const std::string map = Concat("me ", stranger, "\nserver 10.0.0.7:1 ", stranger, "\n");
  TestClient& client = *clients_[0];
  EXPECT_EQ(client.Run({"CLUSTER", "MAP", "PUT", map}).ToText(),
            Concat("-ERR Unknown node ", stranger));
  const Reply taken = client.Run({"CLUSTER", "MAP", "PUT", map, "MEET"});
  ASSERT_EQ(taken.elements.size(), 2u) << taken.ToText();
  EXPECT_THAT(taken.elements[1].text, HasSubstr(Concat("me ", IdOf(1))));
  // The same map again is agreed on: no more is said than its digest.
  const Reply again = client.Run(
      {"CLUSTER", "MAP", "PUT", Concat(client.Line("CLUSTER MAP GET").text, "me ", stranger)});
  EXPECT_EQ(again.elements.size(), 1u) << again.ToText();
}

TEST_F(MapExchangeTest, AForgottenServerStaysAway) {
  Start(3);
  MeetAll();
  const std::string gone = IdOf(3);
  EXPECT_EQ(Say(1, Concat("CLUSTER FORGET ", gone)), "+OK");
  Settle(5);  // the second one has it still, and says so
  EXPECT_THAT(InfoOf(1), HasSubstr("cluster_known_nodes:2"));
  EXPECT_EQ(Say(2, Concat("CLUSTER FORGET ", gone)), "+OK");
  EXPECT_EQ(Say(3, "CLUSTER RESET"), "+OK");
  Settle(90);
  for (size_t i = 1; i <= 2; ++i) EXPECT_THAT(InfoOf(i), HasSubstr("cluster_known_nodes:2")) << i;
  EXPECT_THAT(InfoOf(3), HasSubstr("cluster_known_nodes:1"));
  EXPECT_EQ(Say(3, "CLUSTER MEET 10.0.0.1 7000"), "+OK");
  Settle(4);
  EXPECT_THAT(InfoOf(2), HasSubstr("cluster_known_nodes:3"));
}

TEST_F(MapExchangeTest, AMapThatCannotBeWrittenIsNotTaken) {
  Start(2);
  disks_[0].replace_fault = ENOSPC;
  MeetAll();
  EXPECT_THAT(InfoOf(1), HasSubstr("cluster_known_nodes:1"));
  EXPECT_TRUE(HasLogged(2, "the map is not changed"));
  disks_[0].replace_fault = 0;
  Settle(20);
  EXPECT_EQ(DigestOf(1), DigestOf(2));
}

TEST_F(MapExchangeTest, AServerThatIsInNoClusterRefuses) {
  Start(1);
  TestEngine plain;
  network_.Add("10.0.0.8:7000", plain);
  EXPECT_EQ(Say(1, "CLUSTER MEET 10.0.0.8 7000"), "+OK");
  Settle(3);
  EXPECT_TRUE(HasLogged(1, "This instance has cluster support disabled"));
}

TEST_F(MapExchangeTest, TheMapOfTheOperatorIsHisAlone) {
  MemoryDisk disk;
  disk.files["/map"] = "0-16383 10.0.0.5:7000\n";
  TestEngine::Options options;
  options.disk = &disk;
  options.config = {
      {"cluster-enabled", "yes"}, {"cluster-map", "/map"}, {"cluster-me", "10.0.0.5:7000"}};
  TestEngine server(options);
  TestClient& client = server.Connect();
  for (const char* const line :
       {"CLUSTER MEET 10.0.0.1 7000", "CLUSTER FORGET x", "CLUSTER REPLICATE x", "CLUSTER RESET",
        "CLUSTER MAP PUT x", "CLUSTER DELSLOTS 1"}) {
    EXPECT_THAT(client.Line(line).ToText(), HasSubstr("the map is cluster-map's")) << line;
  }
}

TEST_F(MapExchangeTest, ReplicasFollowTheMapAndTheMapTheirRole) {
  Start(3);
  EXPECT_EQ(Say(1, "CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
  MeetAll();
  for (size_t i = 2; i <= 3; ++i) EXPECT_EQ(Say(i, Concat("CLUSTER REPLICATE ", IdOf(1))), "+OK");
  Settle(3);
  EXPECT_EQ(Say(1, "SET {a} v"), "+OK");
  Settle();
  EXPECT_THAT(Say(2, "ROLE"), HasSubstr("connected"));
  EXPECT_THAT(Say(3, "GET {a}"), HasSubstr("MOVED 15495 10.0.0.1:7000"));
  EXPECT_EQ(Say(2, "CLUSTER FAILOVER TAKEOVER"), "+OK");
  Settle(6);
  EXPECT_EQ(Say(2, "GET {a}"), "\"v\"");
  for (const size_t i : {size_t{1}, size_t{3}}) {
    EXPECT_THAT(Say(i, "ROLE"), HasSubstr("\"slave\", \"10.0.0.2\", :7000")) << i;
    EXPECT_THAT(Say(i, "GET {a}"), HasSubstr("MOVED 15495 10.0.0.2:7000")) << i;
    EXPECT_EQ(DigestOf(i), DigestOf(2));
  }
}

TEST_F(MapExchangeTest, AMasterHandsOverWithNothingLost) {
  Start(2);
  EXPECT_EQ(Say(1, "CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
  MeetAll();
  EXPECT_EQ(Say(2, Concat("CLUSTER REPLICATE ", IdOf(1))), "+OK");
  Settle(3);
  EXPECT_EQ(Say(2, "CLUSTER FAILOVER"), "+OK");
  Settle(6);
  EXPECT_TRUE(HasLogged(2, "the master does not hand over") ||
              HasLogged(2, "the master hands over to this server"));
}

// It has files; a start takes them up, and who it follows.
TEST_F(MapExchangeTest, AReplicaThatStartsAgainFollows) {
  Start(2);
  EXPECT_EQ(Say(1, "CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
  MeetAll();
  EXPECT_EQ(Say(2, Concat("CLUSTER REPLICATE ", IdOf(1))), "+OK");
  Settle(3);
  TestEngine::Options options;
  options.disk = &disks_[1];
  options.config = {{"cluster-enabled", "yes"},
                    {"cluster-announce-ip", "10.0.0.3"},
                    {"port", "7000"},
                    {"repl-diskless-sync-delay", "0"}};
  TestEngine again(options);
  network_.Add("10.0.0.3:7000", again);
  TestClient& client = again.Connect();
  EXPECT_THAT(client.Line("ROLE").ToText(), HasSubstr("\"slave\", \"10.0.0.1\", :7000"));
  network_.Crash(servers_[1]);
  for (int second = 0; second < 5; ++second) {
    again.AdvanceTime(1000);
    Settle(0);
  }
  // It has moved, and all hear of it.
  EXPECT_THAT(Say(1, "CLUSTER NODES"), HasSubstr("10.0.0.3:7000@0 slave"));
}

}  // namespace
}  // namespace sluice
