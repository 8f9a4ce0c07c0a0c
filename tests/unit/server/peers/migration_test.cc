// MIGRATE between two servers without sockets: what waits, what is held back, and what a link that
// breaks at any place leaves behind.
#include "server/peers/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/engine_fixture.h"
#include "tests/support/test_network.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

class MigrationTest : public testing::Test {
 protected:
  MigrationTest() {
    network_.Add("a:1", a_);
    network_.Add("b:2", b_);
    client_.Line("SET k v PX 5000");
  }
  // Sends it: the link is being opened.
  void Begin(const std::string& words) {
    mover_.SendBytes("MIGRATE b 2 " + words + "\r\n");
    a_.Settle();
  }
  // Sends it, and lets the link open.
  void Migrate(const std::string& words) {
    Begin(words);
    while (network_.opening() > 0) network_.OpenNext();
  }
  std::string Answer() {
    const std::optional<Reply> reply = mover_.Next();
    return reply ? reply->ToText() : "none";
  }

  TestEngine a_;
  TestEngine b_;
  TestNetwork network_;
  TestClient& client_ = a_.Connect();
  TestClient& mover_ = a_.Connect();
  TestClient& there_ = b_.Connect();
};

TEST_F(MigrationTest, AKeyGoesWithItsTime) {
  Migrate("k 0 1000");
  EXPECT_EQ(Answer(), "none");
  network_.Settle();
  EXPECT_EQ(Answer(), "+OK");
  EXPECT_EQ(client_.Line("EXISTS k").ToText(), ":0");
  EXPECT_EQ(there_.Line("GET k").ToText(), "\"v\"");
  EXPECT_EQ(there_.Line("PTTL k").ToText(), ":5000");
}

// Reads go on; writes, and the ends of keys, wait.
TEST_F(MigrationTest, NothingChangesMeanwhile) {
  Migrate("k 0 60000");
  EXPECT_EQ(client_.Line("GET k").ToText(), "\"v\"");
  client_.Send({"APPEND", "k", "more"});
  EXPECT_FALSE(client_.Next());
  network_.Settle();
  EXPECT_EQ(Answer(), "+OK");
  EXPECT_EQ(client_.Next()->ToText(), ":4");  // a key that is new
  EXPECT_EQ(there_.Line("GET k").ToText(), "\"v\"");
}

TEST_F(MigrationTest, ALinkThatBreaksLeavesTheKey) {
  for (size_t bytes = 0; bytes < 60; bytes += 7) {
    Migrate("k 0 1000 REPLACE");
    network_.links().back()->Carry(Way::kOut, bytes);
    network_.links().back()->Cut();
    EXPECT_EQ(Answer(), "-IOERR error or timeout reading to target instance") << bytes;
    EXPECT_EQ(client_.Line("GET k").ToText(), "\"v\"");
    EXPECT_EQ(client_.Line("SET other 1").ToText(), "+OK");
  }
}

// The words that client libraries look for; the reason is in the log.
TEST_F(MigrationTest, AServerThatIsNotThere) {
  Begin("k 0 1000");
  network_.FailNext("Connection refused");
  EXPECT_EQ(Answer(), "-IOERR error or timeout writing to target instance");
  EXPECT_THAT(a_.log(), Contains(HasSubstr("MIGRATE to b:2 failed: Connection refused")));
  EXPECT_EQ(client_.Line("GET k").ToText(), "\"v\"");
}

// Redis, too, learns of a refusal when it writes, and of all else before.
TEST_F(MigrationTest, AServerThatCannotBeReached) {
  for (const char* const why : {"b: Name or service not known", "Connection timed out"}) {
    Begin("k 0 1000");
    network_.FailNext(why);
    EXPECT_EQ(Answer(), "-IOERR error or timeout connecting to the client") << why;
  }
}

TEST_F(MigrationTest, AServerThatSaysNothingIsGivenUp) {
  Migrate("k 0 1500");
  a_.AdvanceTime(3000);
  EXPECT_EQ(Answer(), "-IOERR error or timeout reading to target instance");
  EXPECT_THAT(a_.log(), Contains(HasSubstr("MIGRATE to b:2 failed: it does not answer")));
  EXPECT_EQ(client_.Line("SET other 1").ToText(), "+OK");
}

TEST_F(MigrationTest, AClientThatLeavesEndsIt) {
  Migrate("k 0 60000");
  mover_.Disconnect();
  a_.Settle();
  network_.Settle();
  EXPECT_EQ(client_.Line("GET k").ToText(), "\"v\"");
  EXPECT_EQ(client_.Line("SET other 1").ToText(), "+OK");
}

// The keys may be there, but not where they were to be.
TEST_F(MigrationTest, ARefusedHeadMovesNothing) {
  for (const char* const words : {"k 99 1000", "k 0 1000 AUTH none", "k 1 1000 AUTH2 none x"}) {
    Migrate(words);
    network_.Settle();
    EXPECT_THAT(Answer(), StartsWith("-ERR Target instance replied with error: ")) << words;
    EXPECT_EQ(client_.Line("GET k").ToText(), "\"v\"") << words;
    there_.Line("FLUSHALL");
  }
  EXPECT_EQ(client_.Line("MIGRATE b 0 k 0 1000").ToText(),
            "-IOERR error or timeout writing to target instance");
  EXPECT_EQ(client_.Line("MIGRATE b 0 none 0 1000").ToText(), "+NOKEY");
}

TEST_F(MigrationTest, LocksStay) {
  client_.Line("LOCK.ACQUIRE door me LEASE 60000");
  EXPECT_EQ(client_.Line("MIGRATE b 2 \"\" 0 1000 KEYS k door").ToText(),
            "-ERR locks are not migrated while they are held: door");
  EXPECT_EQ(network_.opening(), 0u);
}

TEST_F(MigrationTest, ATransactionHasNone) {
  client_.Line("MULTI");
  client_.Line("MIGRATE b 2 k 0 1000");
  EXPECT_THAT(client_.Line("EXEC").ToText(), HasSubstr("MIGRATE waits"));
  EXPECT_EQ(network_.opening(), 0u);
}

}  // namespace
}  // namespace sluice
