// Who leads the other lines of an operator's map, as their servers say.
#include "server/peers/line_leaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

constexpr std::string_view kOfB = "-MOVED 15495 b:1";
constexpr std::string_view kOfC = "-MOVED 15495 c:1";

// a leads a line of its own; b, and its replica c, have the slot of {a}.
class LineLeadersTest : public testing::Test {
 protected:
  LineLeadersTest() {
    disk_.files["/map"] = "0-8191 a:1\n8192-16383 b:1\nreplica-of b:1 c:1\n";
    for (const std::string name : {"a:1", "b:1", "c:1"}) {
      TestEngine::Options options;
      options.seed = seeds_++;
      options.disk = &disks_.emplace_back(disk_);
      options.entropy = options.seed;
      options.config = {{"cluster-enabled", "yes"},
                        {"cluster-map", "/map"},
                        {"cluster-me", name},
                        {"cluster-map-follow", "yes"},
                        {"repl-diskless-sync-delay", "0"}};
      servers_.emplace_back(options);
      network_.Add(name, servers_.back());
      clients_.push_back(&servers_.back().Connect());
    }
    Say('c', "REPLICAOF b 1");
    Settle();
  }
  std::string Say(char server, const std::string& line) {
    return clients_[static_cast<size_t>(server - 'a')]->Line(line).ToText();
  }
  void Settle(int seconds = 3) {
    for (int second = 0; second < seconds; ++second) {
      network_.Settle();
      for (TestEngine& server : servers_) server.AdvanceTime(1000);
    }
    network_.Settle();
  }

  uint64_t seeds_ = 1;
  MemoryDisk disk_;
  std::deque<MemoryDisk> disks_;
  std::deque<TestEngine> servers_;
  TestNetwork network_;
  std::vector<TestClient*> clients_;
};

TEST_F(LineLeadersTest, AReplicaThatWasPromotedIsNamed) {
  EXPECT_EQ(Say('a', "GET {a}"), kOfB);
  network_.Crash(servers_[1]);
  Settle(5);
  EXPECT_EQ(Say('a', "GET {a}"), kOfB);  // nobody leads
  Say('c', "REPLICAOF NO ONE");
  Settle(5);
  EXPECT_EQ(Say('a', "GET {a}"), kOfC);
  EXPECT_THAT(Say('a', "CLUSTER NODES"), HasSubstr("c:1@0,c master"));
  EXPECT_THAT(Say('a', "CLUSTER NODES"), HasSubstr("b:1@0,b slave"));
}

// While both say that they lead, the one that was seen to follow is the newer master.
TEST_F(LineLeadersTest, OfTwoMastersTheNewOneIsNamed) {
  Say('c', "REPLICAOF NO ONE");
  Settle();
  EXPECT_EQ(Say('a', "GET {a}"), kOfC);
  Settle(10);
  EXPECT_EQ(Say('a', "GET {a}"), kOfC);
  Say('b', "REPLICAOF c 1");
  Settle();
  Say('c', "REPLICAOF b 1");
  Say('b', "REPLICAOF NO ONE");
  Settle();
  EXPECT_EQ(Say('a', "GET {a}"), kOfB);
}

TEST_F(LineLeadersTest, AnotherMapBeginsAnew) {
  Say('c', "REPLICAOF NO ONE");
  Settle();
  disks_[0].files["/map"] = "epoch 2\n0-8191 a:1\n8192-16383 d:1\nreplica-of d:1 c:1\n";
  EXPECT_EQ(Say('a', "CLUSTER MAP LOAD"), "+OK");
  EXPECT_EQ(Say('a', "GET {a}"), "-MOVED 15495 d:1");
  Settle();
  EXPECT_EQ(Say('a', "GET {a}"), kOfC);  // d is nowhere, and c says that it leads
}

TEST_F(LineLeadersTest, ItMayBeSwitchedOff) {
  const size_t links = network_.links().size();
  Settle();
  EXPECT_EQ(network_.links().size(), links);  // the same connections
  Say('a', "CONFIG SET cluster-map-follow no");
  Say('c', "REPLICAOF NO ONE");
  Settle();
  EXPECT_EQ(Say('a', "GET {a}"), kOfB);
}

}  // namespace
}  // namespace sluice
