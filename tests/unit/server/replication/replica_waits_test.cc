// WAIT and WAITAOF, as clients see them: what each of them waits for, and what it is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "server/replication/replica_turns.h"
#include "tests/unit/server/replication/replicas_fixture.h"

namespace sluice {
namespace {

using testing::EndsWith;

class ReplicaWaitsTest : public ReplicasFixture {
 protected:
  void AcknowledgeDisk(TestClient& replica, int64_t offset, int64_t synced) {
    replica.SendBytes(
        Request({"REPLCONF", "ACK", std::to_string(offset), "FACK", std::to_string(synced)}));
    server().Settle();
  }
  // What a client is answered at once, or "" while it waits.
  std::string Ask(TestClient& client, const std::vector<std::string>& words) {
    client.Send(words);
    server().Settle();
    return client.TakeBytes();
  }
};

TEST_F(ReplicaWaitsTest, EndsWhenReplicasHaveWhatWasWritten) {
  TestClient& replica = OnlineReplica();
  Run({"SET", "k", "v"});
  TestClient& writer = Connect();
  writer.SendBytes(Request({"SET", "k", "w"}) + Request({"WAIT", "1", "0"}));
  const std::string asks = Request({"REPLCONF", "GETACK", "*"});
  EXPECT_THAT(Sent(replica), EndsWith(asks));
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
  Acknowledge(replica, end() - static_cast<int64_t>(asks.size()) - 1);
  EXPECT_EQ(writer.TakeBytes(), "");
  // A replica acknowledges what it has before the words that ask for it.
  Acknowledge(replica, end() - static_cast<int64_t>(asks.size()));
  EXPECT_EQ(writer.TakeBytes(), ":1\r\n");
  writer.SendBytes(Request({"SET", "k", "x"}) + Request({"WAIT", "2", "100"}));
  server().Settle();
  writer.TakeBytes();
  Acknowledge(replica, end());
  AdvanceTime(200);
  EXPECT_EQ(writer.TakeBytes(), ":1\r\n") << "one of two had it";
  EXPECT_EQ(Run({"WAIT", "0", "0"}).ToText(), ":1");
}

TEST_F(ReplicaWaitsTest, OneThatHasWrittenNothingWaitsForNobody) {
  OnlineReplica();
  TestClient& reader = Connect();
  Run({"SET", "k", "v"});
  EXPECT_EQ(Ask(reader, {"WAIT", "1", "0"}), ":1\r\n");
}

// As in Redis: what it has read is as good as what it has written.
TEST_F(ReplicaWaitsTest, WhatAClientMayHaveReadCounts) {
  TestClient& replica = OnlineReplica();
  TestClient& reader = Connect();
  Run({"SET", "k", "v"});
  reader.Run({"GET", "k"});
  EXPECT_EQ(Ask(reader, {"WAIT", "1", "0"}), "");
  Acknowledge(replica, end());
  EXPECT_EQ(reader.TakeBytes(), ":1\r\n");
}

TEST_F(ReplicaWaitsTest, WhatOthersWriteLaterIsNotWaitedFor) {
  TestClient& replica = OnlineReplica();
  TestClient& writer = Connect();
  TestClient& other = Connect();
  writer.Run({"SET", "k", "v"});
  const int64_t written = end();
  other.Run({"SET", "k", "w"});
  Acknowledge(replica, written);
  EXPECT_EQ(Ask(writer, {"WAIT", "1", "0"}), ":1\r\n");
  EXPECT_EQ(Ask(other, {"WAIT", "1", "0"}), "");
}

// One turn has both, and one number.
TEST_F(ReplicaWaitsTest, TellsClientsOfOneTurnApart) {
  OnlineReplica();
  TestClient& idle = Connect();
  TestClient& writer = Connect();
  const std::string write = Request({"SET", "k", "v"}) + Request({"WAIT", "1", "0"});
  const std::string wait = Request({"WAIT", "1", "0"});
  engine().Receive(writer.id(), write);
  engine().Receive(idle.id(), wait);
  server().Settle();
  EXPECT_EQ(writer.TakeBytes(), "+OK\r\n");
  EXPECT_EQ(idle.TakeBytes(), ":1\r\n");
}

TEST_F(ReplicaWaitsTest, WhatABlockedClientWasGivenCounts) {
  TestClient& replica = OnlineReplica();
  TestClient& popper = Connect();
  popper.Send({"BLPOP", "list", "0"});
  Run({"RPUSH", "list", "element"});
  EXPECT_THAT(popper.TakeBytes(), testing::HasSubstr("element"));
  EXPECT_EQ(Ask(popper, {"WAIT", "1", "0"}), "");
  Acknowledge(replica, end());
  EXPECT_EQ(popper.TakeBytes(), ":1\r\n");
}

// It counts as none of what the others had before it came.
TEST_F(ReplicaWaitsTest, ANewReplicaHasNothingUntilItSaysSo) {
  TestClient& first = OnlineReplica();
  TestClient& writer = Connect();
  writer.Run({"SET", "k", "v"});
  Acknowledge(first, end());
  TestClient& second = NewReplica("something-new");
  Sync(second);  // its image has a length, so that the stream follows at once
  EXPECT_EQ(Ask(writer, {"WAIT", "0", "0"}), ":1\r\n");
  EXPECT_EQ(Ask(writer, {"WAIT", "2", "0"}), "");
  Acknowledge(second, end());
  EXPECT_EQ(writer.TakeBytes(), ":2\r\n");
}

TEST_F(ReplicaWaitsTest, ReplicasSayWhatTheyHaveOnDisk) {
  TestClient& replica = OnlineReplica();
  TestClient& writer = Connect();
  writer.Run({"SET", "k", "v"});
  EXPECT_EQ(Ask(writer, {"WAITAOF", "0", "1", "0"}), "");
  EXPECT_THAT(Sent(replica), EndsWith(Request({"REPLCONF", "GETACK", "*"})));
  Acknowledge(replica, end());
  EXPECT_EQ(writer.TakeBytes(), "") << "it has it, and its disk has not";
  AcknowledgeDisk(replica, end(), end() - 100);
  EXPECT_EQ(writer.TakeBytes(), "");
  AcknowledgeDisk(replica, end(), end());
  EXPECT_EQ(writer.TakeBytes(), "*2\r\n:0\r\n:1\r\n");
  EXPECT_EQ(Ask(writer, {"WAITAOF", "0", "0", "0"}), "*2\r\n:0\r\n:1\r\n");
  writer.Run({"SET", "k", "w"});
  EXPECT_EQ(Ask(writer, {"WAITAOF", "0", "1", "50"}), "");
  AdvanceTime(60);
  EXPECT_EQ(writer.TakeBytes(), "*2\r\n:0\r\n:0\r\n");
  AcknowledgeDisk(replica, end(), end() + 1);
  EXPECT_TRUE(replica.closed()) << "what was never sent was never had";
}

TEST_F(ReplicaWaitsTest, WordsThatAreNoDiskOffsetAreNone) {
  TestClient& replica = OnlineReplica();
  TestClient& writer = Connect();
  writer.Run({"SET", "k", "v"});
  const std::string offset = std::to_string(end());
  replica.SendBytes(Request({"REPLCONF", "ACK", offset, "FACK", "x"}));
  replica.SendBytes(Request({"REPLCONF", "ACK", offset, "OTHER", offset}));
  server().Settle();
  EXPECT_FALSE(replica.closed());
  EXPECT_EQ(Ask(writer, {"WAIT", "1", "0"}), ":1\r\n");
  EXPECT_EQ(Ask(writer, {"WAITAOF", "0", "0", "0"}), "*2\r\n:0\r\n:0\r\n");
}

TEST_F(ReplicaWaitsTest, BothDisksAreWaitedFor) {
  Set("appendonly", "yes");
  server().Settle();
  TestClient& replica = OnlineReplica();
  TestClient& writer = Connect();
  writer.Run({"SET", "k", "v"});
  EXPECT_EQ(Ask(writer, {"WAITAOF", "1", "1", "0"}), "");
  AdvanceTime(2'000);
  EXPECT_EQ(writer.TakeBytes(), "");
  AcknowledgeDisk(replica, end(), end());
  EXPECT_EQ(writer.TakeBytes(), "*2\r\n:1\r\n:1\r\n");
}

// A lagging replica costs a bounded number of turns, and never counts as having one too early.
TEST_F(ReplicaWaitsTest, ALaggingReplicaIsNeverSaidToHaveTooMuch) {
  TestClient& replica = OnlineReplica();
  TestClient& writer = Connect();
  for (size_t i = 0; i < 3 * ReplicaTurns::kTurnsMax; ++i) writer.Run({"INCR", "n"});
  const int64_t before = end();
  writer.Run({"INCR", "n"});
  Acknowledge(replica, before);
  EXPECT_EQ(Ask(writer, {"WAIT", "1", "0"}), "");
  Acknowledge(replica, end());
  EXPECT_EQ(writer.TakeBytes(), ":1\r\n");
}

}  // namespace
}  // namespace sluice
