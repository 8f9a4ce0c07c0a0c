// Commands that are Sluice's alone, in a cluster: all their keys count. What Redis has is compared
// with Redis (tests/differential/slots.py).
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster/cluster_state.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

constexpr std::string_view kCross = "-CROSSSLOT Keys in request don't hash to the same slot";
// Slots: {a} 15495, {b} 3300.
constexpr std::string_view kMoved = "-MOVED 15495 there:2";

class SlotGateTest : public testing::Test {
 protected:
  SlotGateTest() {
    disk_.files["/map"] = "epoch 1\n0-8191 here:1\n8192-16383 there:2\n";
    TestEngine::Options options;
    options.disk = &disk_;
    options.config = {
        {"cluster-enabled", "yes"}, {"cluster-map", "/map"}, {"cluster-me", "here:1"}};
    server_.emplace(options);
    client_ = &server_->Connect();
  }

  std::string Say(const std::string& line) { return client_->Line(line).ToText(); }

  MemoryDisk disk_;
  std::optional<TestEngine> server_;
  TestClient* client_;
};

TEST_F(SlotGateTest, LocksAreWhereTheirNamesAre) {
  EXPECT_EQ(Say("LOCK.ACQUIRE {a}lock me LEASE 1000"), kMoved);
  EXPECT_EQ(Say("LOCK.MACQUIRE 2 {b}1 {a}1 me LEASE 1000"), kCross);
  EXPECT_EQ(Say("LOCK.MACQUIRE 2 {a}1 {a}2 me LEASE 1000"), kMoved);
  EXPECT_EQ(Say("LOCK.ACQUIRE {b}lock me LEASE 1000").front(), '[');
}

TEST_F(SlotGateTest, LimitsOfOneRequestAreOfOneSlot) {
  EXPECT_EQ(Say("LIMIT.TAKE {a}limit GCRA 10 1000"), kMoved);
  EXPECT_EQ(Say("LIMIT.ALL 2 {a}x {b}y WINDOW 10 1000 1 1 WINDOW 10 1000 1 1"), kCross);
  EXPECT_EQ(Say("LIMIT.ALL 2 {a}x {a}y WINDOW 10 1000 1 1 WINDOW 10 1000 1 1"), kMoved);
}

TEST_F(SlotGateTest, AFencedCommandIsOfTheSlotOfItsLock) {
  EXPECT_EQ(Say("FENCED {b}lock 1 SET {a}x 1"), kCross);
  EXPECT_EQ(Say("FENCED {a}lock 1 SET {a}x 1"), kMoved);
}

TEST_F(SlotGateTest, OneKeyOfAMillionIsElsewhere) {
  std::vector<std::string> words(1'000'000, "{b}");
  words.front() = "EXISTS";
  EXPECT_EQ(client_->Run(words).ToText(), ":0");
  words.back() = "{a}";
  EXPECT_EQ(client_->Run(words).ToText(), kCross);
}

TEST_F(SlotGateTest, BracesThatMakeNoTagAreOfTheName) {
  // As of redis-server: the slots of the whole names.
  EXPECT_EQ(Say("CLUSTER KEYSLOT {}a"), ":10875");
  EXPECT_EQ(Say("GET {}a"), "-MOVED 10875 there:2");
  EXPECT_EQ(Say("CLUSTER KEYSLOT }{b"), ":542");
  EXPECT_EQ(Say("GET }{b"), "(nil)");
  EXPECT_EQ(Say("MGET {b} {}b"), kCross);
}

TEST_F(SlotGateTest, WaitersForKeysThatMoveAreSentThere) {
  TestClient& waiter = server_->Connect();
  waiter.Send({"BLPOP", "{b}list", "0"});
  server_->Settle();
  disk_.files["/map"] = "epoch 2\n0-16382 there:2\n16383 here:1\n";
  EXPECT_EQ(Say("CLUSTER MAP LOAD"), "+OK");
  EXPECT_EQ(waiter.Next()->ToText(), "-MOVED 3300 there:2");
}

TEST_F(SlotGateTest, AFileThatIsWrongChangesNothing) {
  disk_.files["/map"] = "epoch 2\n0-16383 there:2\n";
  EXPECT_EQ(Say("CLUSTER MAP LOAD"), "-ERR cluster-map '/map': no line is of cluster-me, 'here:1'");
  EXPECT_EQ(Say("GET {b}"), "(nil)");
  EXPECT_EQ(Say("GET {a}"), kMoved);
}

}  // namespace
}  // namespace sluice
