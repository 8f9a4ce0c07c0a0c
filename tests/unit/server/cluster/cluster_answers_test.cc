// CLUSTER's answers where a map has many servers, and of a server that alone changes its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClusterAnswers : public testing::Test {
 protected:
  void Start(const std::string& map) {
    disk_.files["/map"] = map;
    TestEngine::Options options;
    options.disk = &disk_;
    options.config = {{"cluster-enabled", "yes"}, {"cluster-map", "/map"}, {"cluster-me", "a:1"}};
    server_.emplace(options);
    ASSERT_EQ(server_->start_fault(), "");
    client_ = &server_->Connect();
  }
  std::string Say(const std::string& line) { return client_->Line(line).ToText(); }

  MemoryDisk disk_;
  std::optional<TestEngine> server_;
  TestClient* client_ = nullptr;
};

TEST_F(ClusterAnswers, SlotsInSeveralRangesAreOneShard) {
  Start("0-5 a:1\n6-16382 b:2\n16383 a:1\nreplica-of b:2 c:3\n");
  EXPECT_THAT(Say("CLUSTER NODES"), HasSubstr("myself,master - 0 0 0 connected 0-5 16383"));
  EXPECT_EQ(client_->Line("CLUSTER SLOTS").elements.size(), 3u);
  const Reply shards = client_->Line("CLUSTER SHARDS");
  ASSERT_EQ(shards.elements.size(), 2u);
  EXPECT_THAT(shards.elements[0].ToText(), HasSubstr("[:0, :5, :16383, :16383]"));
  EXPECT_THAT(shards.elements[1].ToText(), HasSubstr("\"replica\""));
  EXPECT_THAT(Say("CLUSTER INFO"), HasSubstr("cluster_size:2"));
}

// The worst map that there may be: each slot a range of its own, of a thousand servers.
TEST_F(ClusterAnswers, SixteenThousandRangesAreAnswered) {
  std::string map;
  for (int slot = 0; slot < 16384; ++slot)
    ConcatTo(map, slot, " ", slot % 1000 == 0 ? "a" : "b", ":", slot % 1000 + 1, "\n");
  Start(map);
  EXPECT_EQ(client_->Line("CLUSTER SLOTS").elements.size(), 16384u);
  EXPECT_EQ(client_->Line("CLUSTER SHARDS").elements.size(), 1000u);
  EXPECT_EQ(Say("CLUSTER MAP LOAD"), "+OK");
}

TEST_F(ClusterAnswers, KeysOfASlotAreCountedAndNamed) {
  Start("0-16383 a:1\n");
  for (const char* const key : {"{b}1", "{b}2", "{b}3", "other"}) client_->Run({"SET", key, "v"});
  EXPECT_EQ(Say("CLUSTER COUNTKEYSINSLOT 3300"), ":3");
  EXPECT_EQ(client_->Line("CLUSTER GETKEYSINSLOT 3300 2").elements.size(), 2u);
  EXPECT_EQ(client_->Line("CLUSTER GETKEYSINSLOT 3300 100").elements.size(), 3u);
  EXPECT_EQ(Say("CLUSTER GETKEYSINSLOT 3300 0"), "[]");
  EXPECT_EQ(Say("CLUSTER GETKEYSINSLOT 1 10"), "[]");
  client_->Run({"FLUSHALL"});
  EXPECT_EQ(Say("CLUSTER COUNTKEYSINSLOT 3300"), ":0");
}

TEST_F(ClusterAnswers, ASlotThatNobodyServesIsCounted) {
  TestEngine alone({.config = {{"cluster-enabled", "yes"}}});
  TestClient& client = alone.Connect();
  EXPECT_THAT(client.Line("CLUSTER INFO").ToText(), HasSubstr("cluster_state:fail"));
  EXPECT_EQ(client.Line("CLUSTER ADDSLOTSRANGE 0 16383").ToText(), "+OK");
  EXPECT_THAT(client.Line("CLUSTER INFO").ToText(), Not(HasSubstr("fail\r")));
  EXPECT_EQ(client.Line("CLUSTER DELSLOTS 7").ToText(), "+OK");
  EXPECT_THAT(client.Line("CLUSTER INFO").ToText(), HasSubstr("cluster_slots_assigned:16383"));
}

// A file that cannot be written leaves what was, and the next change is as the first.
TEST_F(ClusterAnswers, AChangeThatCannotBeWrittenIsNone) {
  MemoryDisk disk;
  TestEngine::Options options;
  options.disk = &disk;
  options.config = {{"cluster-enabled", "yes"}};
  TestEngine server(options);
  TestClient& client = server.Connect();
  disk.replace_fault = ENOSPC;
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_THAT(client.Line("CLUSTER ADDSLOTS 1").ToText(), HasSubstr("the map is not changed"));
    EXPECT_EQ(client.Line("CLUSTER SLOTS").ToText(), "[]");
  }
  disk.replace_fault = 0;
  EXPECT_EQ(client.Line("CLUSTER ADDSLOTS 1").ToText(), "+OK");
}

}  // namespace
}  // namespace sluice
