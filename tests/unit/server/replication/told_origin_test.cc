// A replica of this server reads the stream as it was told to (REPLCONF sluice-stream): where that
// is no longer so, it is sent none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/replication/replicas_fixture.h"

namespace sluice {
namespace {

using testing::StartsWith;

class ToldOriginTest : public ReplicasFixture {
 protected:
  // A Sluice that follows, and what it is told.
  std::string Asks(TestClient& replica) {
    return replica.Run({"REPLCONF", "sluice-stream", std::string(40, 'a')}).text;
  }
  void Follow(const std::string& host, const std::string& port) {
    ASSERT_EQ(Run({"REPLICAOF", host, port}).ToText(), "+OK");
  }
};

TEST_F(ToldOriginTest, OneThatWasToldOfNoStreamAsksAgainWhenThereIsOne) {
  Follow("nowhere", "1");
  TestClient& early = NewReplica("sluice");
  EXPECT_THAT(Asks(early), StartsWith("none 0 "));
  EXPECT_THAT(Sync(early), StartsWith("-NOMASTERLINK Can't SYNC while not connected"));
  Follow("NO", "ONE");
  EXPECT_THAT(Sync(early), StartsWith("-NOMASTERLINK Can't SYNC: the role has changed"));
  EXPECT_THAT(Asks(early), StartsWith("sluice "));
  EXPECT_THAT(Sync(early), StartsWith("+FULLRESYNC "));
}

TEST_F(ToldOriginTest, TheSameWordsMeanTheSame) {
  TestClient& replica = NewReplica("sluice");
  EXPECT_THAT(Asks(replica), StartsWith("sluice "));
  Run({"SET", "k", "v"});
  EXPECT_THAT(Sync(replica), StartsWith("+FULLRESYNC "));
}

TEST_F(ToldOriginTest, OneThatDoesNotAskIsSentTheStream) {
  TestClient& replica = NewReplica();
  Follow("nowhere", "1");
  Follow("NO", "ONE");
  EXPECT_THAT(Sync(replica), StartsWith("+FULLRESYNC "));
}

}  // namespace
}  // namespace sluice
