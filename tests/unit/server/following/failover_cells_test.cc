// What is left of locks, limits and writes when another server becomes the master, one thing after
// the other: the table of docs/locks-and-limits.md, "Over a failover". Of a pair `a` is the master
// before and `b` the promoted one; what is cut off is what `b` never hears of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "server/locks/lock_service.h"
#include "tests/unit/server/following/followed_pair.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class FailoverCells : public FollowedPair {
 protected:
  std::string A(const std::string& line) { return a_client().Line(line).ToText(); }
  std::string B(const std::string& line) { return b_client().Line(line).ToText(); }
  int64_t TokenFromA(const std::string& line) {
    const Reply reply = a_client().Line(line);
    EXPECT_EQ(reply.elements.size(), 4U) << reply.ToText();
    return reply.elements.empty() ? 0 : reply.elements[0].integer;
  }
  void Promote() { EXPECT_EQ(B("REPLICAOF NO ONE"), "+OK"); }
  // No word of `a` reaches `b` any more, and both go on.
  void Split() {
    link().Carry(Way::kIn, 0);
    link().Cut();
  }
  void FollowAndWait() {
    A("CONFIG SET lock-min-replicas 1");
    B("CONFIG SET lock-min-replicas 1");
    Follow();
    for (int i = 0; i < 2; ++i) Settle();  // the mark of tokens is had
  }
  // What `a` answers when `b` has heard of it.
  std::string Kept(const std::string& line) {
    TestClient& client = a_.Connect();
    client.SendBytes(line + "\r\n");
    a_.Settle();
    EXPECT_FALSE(client.has_received()) << line;
    network_.Settle();
    const std::optional<Reply> reply = client.Next();
    EXPECT_TRUE(reply) << line;
    return reply ? reply->ToText() : "";
  }
};

// --- lock-min-replicas 0

TEST_F(FailoverCells, WithoutReplicasASplitHasTwoOwners) {
  Follow();
  Split();
  Promote();
  B("CONFIG SET lock-restart-grace no");
  EXPECT_THAT(A("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :30000, :1, :0]"));
  EXPECT_THAT(B("LOCK.ACQUIRE job bob LEASE 30000"), HasSubstr(", :30000, :1, :0]"));
}

TEST_F(FailoverCells, WithoutReplicasTheMasterBeforeAcceptsOldTokens) {
  Follow();
  const int64_t old = TokenFromA("LOCK.ACQUIRE job alice LEASE 60000");
  Settle();
  Split();
  Promote();
  B("CONFIG SET lock-restart-grace no");
  b_.AdvanceTime(1000);
  EXPECT_THAT(B("LOCK.BREAK job"), Not(StartsWith("-")));
  EXPECT_THAT(B("LOCK.ACQUIRE job bob LEASE 30000"), HasSubstr(", :30000, :1, :0]"));
  const std::string write = "FENCED job " + std::to_string(old) + " SET k late";
  EXPECT_EQ(A(write), "+OK");
  EXPECT_THAT(B(write), StartsWith("-STALE"));
  EXPECT_EQ(B("GET k"), "(nil)");
}

TEST_F(FailoverCells, WithoutReplicasARenewalMayBeLostAndTheLeaseEndsSooner) {
  Follow();
  A("LOCK.ACQUIRE job alice LEASE 5000");
  Settle();
  Split();
  EXPECT_THAT(A("LOCK.RENEW job alice LEASE 60000"), Not(StartsWith("-")));
  Promote();
  B("CONFIG SET lock-restart-grace no");
  b_.AdvanceTime(5000);
  EXPECT_EQ(B("LOCK.INFO job"), "[]");
}

TEST_F(FailoverCells, WithoutReplicasALimitMayAdmitAgain) {
  Follow();
  Split();
  EXPECT_THAT(A("LIMIT.TAKE l WINDOW 1 60000"), StartsWith("[:1, "));
  EXPECT_THAT(A("LIMIT.TAKE l WINDOW 1 60000"), StartsWith("[:0, "));
  Promote();
  EXPECT_THAT(B("LIMIT.TAKE l WINDOW 1 60000"), StartsWith("[:1, "));
}

TEST_F(FailoverCells, ALostReleaseLeavesTheLockHeldUntilItsLeaseEnds) {
  Follow();
  A("LOCK.ACQUIRE job alice LEASE 5000");
  Settle();
  Split();
  EXPECT_EQ(A("LOCK.RELEASE job alice"), ":0");
  Promote();
  B("CONFIG SET lock-restart-grace no");
  EXPECT_THAT(B("LOCK.INFO job"), HasSubstr("alice"));
  b_.AdvanceTime(5000);
  EXPECT_EQ(B("LOCK.INFO job"), "[]");
}

TEST_F(FailoverCells, WithoutReplicasAReplicaThatIsDownChangesNothing) {
  Follow();
  Split();
  EXPECT_THAT(A("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :30000, :1, :0]"));
}

TEST_F(FailoverCells, APlainKeyMayBeLostAndBeTakenAgain) {
  Follow();
  Split();
  EXPECT_EQ(A("SET plain alice NX PX 30000"), "+OK");
  Promote();
  EXPECT_EQ(B("SET plain bob NX PX 30000"), "+OK");
}

// --- lock-min-replicas k, where k are all that may be promoted

TEST_F(FailoverCells, WithAllReplicasTheMasterInASplitAnswersNoGrant) {
  FollowAndWait();
  Split();
  Promote();
  TestClient& client = a_.Connect();
  client.SendBytes("LOCK.ACQUIRE job alice LEASE 30000\r\n");
  a_.AdvanceTime(2000);
  EXPECT_THAT(client.TakeBytes(), StartsWith("-NOREPLICAS"));
  EXPECT_THAT(A("LIMIT.TAKE l WINDOW 1 60000"), StartsWith("-NOREPLICAS"));
  EXPECT_EQ(A("GET k"), "(nil)") << "reads go on, and may be old";
}

TEST_F(FailoverCells, WithAllReplicasWhatWasAnsweredIsThere) {
  FollowAndWait();
  EXPECT_THAT(Kept("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :30000, :1, :0]"));
  const int64_t token = a_.engine().part<LockService>().tokens().last();
  EXPECT_EQ(Kept("FENCED job " + std::to_string(token) + " SET k v"), "+OK");
  EXPECT_THAT(Kept("LOCK.RENEW job alice LEASE 60000"), Not(StartsWith("-")));
  EXPECT_THAT(Kept("LIMIT.TAKE l WINDOW 1 60000"), StartsWith("[:1, "));
  Split();
  Promote();
  EXPECT_THAT(B("LOCK.INFO job"), HasSubstr("alice"));
  EXPECT_EQ(B("GET k"), "\"v\"");
  EXPECT_THAT(B("LIMIT.PEEK l WINDOW 1 60000"), StartsWith("[:0, "));
  b_.AdvanceTime(40'000);
  EXPECT_THAT(B("LOCK.INFO job"), HasSubstr("alice")) << "the renewal is there";
}

TEST_F(FailoverCells, WithAllReplicasNothingIsGrantedUntilTheOtherFollowsOrKIsLower) {
  FollowAndWait();
  Split();
  Promote();
  const std::string refused = "-NOREPLICAS lock-min-replicas is 1, and 0 Sluices follow";
  EXPECT_EQ(B("LOCK.ACQUIRE job bob LEASE 1000"), refused);
  EXPECT_EQ(A("REPLICAOF b 2"), "+OK");
  for (int i = 0; i < 5; ++i) Settle();
  TestClient& client = b_.Connect();
  client.SendBytes("LOCK.ACQUIRE job bob LEASE 1000\r\n");
  b_.Settle();
  network_.Settle();
  EXPECT_THAT(client.TakeBytes(), StartsWith("*4"));
  link().Cut();
  EXPECT_EQ(B("LOCK.ACQUIRE other bob LEASE 1000"), refused);
  B("CONFIG SET lock-min-replicas 0");
  EXPECT_THAT(B("LOCK.ACQUIRE other bob LEASE 1000"), HasSubstr(", :1000, :1, :0]"));
}

// The release and the grant behind it are of one turn: a replica has both or none.
TEST_F(FailoverCells, APromotionInTheMiddleOfAHandOver) {
  FollowAndWait();
  EXPECT_THAT(Kept("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :1, :0]"));
  TestClient& bob = a_.Connect();
  bob.SendBytes("LOCK.ACQUIRE job bob LEASE 30000 WAIT 60000\r\n");
  a_.Settle();
  TestClient& alice = a_.Connect();
  alice.SendBytes("LOCK.RELEASE job alice\r\n");
  a_.Settle();
  EXPECT_FALSE(alice.has_received());
  EXPECT_FALSE(bob.has_received());
  link().Carry(Way::kIn);  // it has it, and its acknowledgement is lost
  b_.Settle();
  link().Cut();
  Promote();
  EXPECT_THAT(B("LOCK.INFO job"), HasSubstr("bob"));
  EXPECT_EQ(A("REPLICAOF b 2"), "+OK");
  a_.Settle();
  EXPECT_THAT(bob.TakeBytes(), StartsWith("-UNBLOCKED"));
}

}  // namespace
}  // namespace sluice
