// Locks that a replica knows when it becomes the master: tokens go on above those of the one
// before, and names are held back where a grant may be missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/locks/lock_service.h"
#include "tests/unit/server/following/followed_pair.h"

namespace sluice {
namespace {

class PromotedLocks : public FollowedPair {
 protected:
  static int64_t TokenOf(TestClient& client, std::string_view name) {
    const Reply reply = client.Run({"LOCK.ACQUIRE", std::string(name), "me", "LEASE", "20000"});
    EXPECT_EQ(reply.elements.size(), 4u) << reply.ToText();
    return reply.elements.empty() ? 0 : reply.elements[0].integer;
  }
  void Promote() { EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK"); }
  std::string ReasonOf(TestEngine& server) {
    const std::string text = server.Connect().Line("INFO locks").text;
    const std::string_view field = "locks_restart_grace_reason:";
    const size_t at = text.find(field);
    if (at == text.npos) return "no such field";
    return text.substr(at + field.size(), text.find('\r', at) - at - field.size());
  }
  static bool IsHeldBack(const Reply& reply) {
    return reply.ToText().find("LOCKGRACE") != std::string::npos;
  }
};

TEST_F(PromotedLocks, TokensGoOnAboveAllThatTheMasterHasReserved) {
  Follow();
  const int64_t known = TokenOf(a_client(), "known");
  Settle();
  link().Carry(Way::kIn, 0);
  // Granted behind the cut: the replica knows the mark alone.
  a_.AdvanceTime(3'600'000);
  link().Cut();
  const int64_t lost = TokenOf(a_client(), "lost");
  EXPECT_GT(lost, known);
  Promote();
  b_client().Line("CONFIG SET lock-restart-grace no");
  b_.AdvanceTime(1000);
  EXPECT_GT(TokenOf(b_client(), "other"), lost);
}

TEST_F(PromotedLocks, ANameWithoutAKnownOwnerIsHeldBackUntilTheHorizon) {
  Follow();
  TokenOf(a_client(), "known");
  Settle();
  link().Cut();
  TokenOf(a_client(), "lost");
  Promote();
  EXPECT_EQ(ReasonOf(b_), "link-was-down");
  EXPECT_TRUE(IsHeldBack(b_client().Line("LOCK.ACQUIRE lost other LEASE 1000")));
  EXPECT_NE(b_client().Line("LOCK.RENEW known me LEASE 20000").kind, Reply::Kind::kError);
  const int64_t left_ms = b_.engine().part<LockService>().GraceLeftMs();
  EXPECT_GE(left_ms, 20'000 - 2000);
  EXPECT_LE(left_ms, 60'000);
  b_.AdvanceTime(left_ms);
  EXPECT_EQ(ReasonOf(b_), "none");
  EXPECT_FALSE(IsHeldBack(b_client().Line("LOCK.ACQUIRE lost other LEASE 1000")));
}

TEST_F(PromotedLocks, WhereNoLeaseWasGivenNoNameIsHeldBack) {
  Follow();
  Settle();
  link().Cut();
  Promote();
  EXPECT_EQ(ReasonOf(b_), "none");
}

// Or a master could not follow the one that takes its place without a full sync, for nothing but
// that a replica came again.
TEST_F(PromotedLocks, AReplicaThatComesIsToldAndTheStreamGetsNoLonger) {
  a_client().Line("CONFIG SET repl-ping-replica-period 3600");
  Follow();
  EXPECT_EQ(OffsetOf(a_), 0);
  const int64_t known = TokenOf(a_client(), "known");
  a_client().Line("LOCK.RELEASE known me");
  Settle();
  const int64_t end = OffsetOf(a_);
  link().Cut();
  Settle();
  Settle();
  EXPECT_EQ(OffsetOf(a_), end);
  EXPECT_EQ(FullSyncsOf(a_), 1u);
  link().Cut();
  Promote();
  b_client().Line("CONFIG SET lock-restart-grace no");
  EXPECT_GT(TokenOf(b_client(), "other"), known);
}

// Its first acknowledgement says that it has the answer to PSYNC, too.
TEST_F(PromotedLocks, AReplicaThatWasToldAsItCameCountsOnceGrantsWait) {
  Follow();
  EXPECT_EQ(a_client().Line("CONFIG SET lock-min-replicas 1").ToText(), "+OK");
  a_client().Send({"LOCK.ACQUIRE", "name", "me", "LEASE", "20000"});
  Settle();
  EXPECT_EQ(a_client().Next().value_or(Reply()).elements.size(), 4u);
}

TEST_F(PromotedLocks, WhoHasEveryGrantBeforeItIsAnsweredHoldsNoNameBack) {
  a_client().Line("CONFIG SET lock-min-replicas 1");
  Follow();
  Settle();
  Settle();
  a_client().Line("SET key value");
  Settle();
  Promote();
  EXPECT_EQ(ReasonOf(b_), "none");
}

TEST_F(PromotedLocks, AGrantThatDidNotWaitMayBeMissing) {
  Follow();
  TokenOf(a_client(), "lock");
  Settle();
  Promote();
  EXPECT_EQ(ReasonOf(b_), "grants-did-not-wait");
}

TEST_F(PromotedLocks, InTheMiddleOfAFullSyncASentinelPassesItOver) {
  Follow();
  EXPECT_NE(b_client().Line("INFO replication").text.find("slave_priority:100"), std::string::npos);
  b_client().Line("REPLICAOF nowhere 1");
  EXPECT_NE(b_client().Line("INFO replication").text.find("slave_priority:100"), std::string::npos);
  Promote();
  EXPECT_EQ(ReasonOf(b_), "none") << "its data became its own";
}

// It has had no data, and so knows of no grant.
TEST_F(PromotedLocks, AReplicaThatStartsWithoutDataIsNotToBePromoted) {
  auto c = TestEngine({.seed = 3, .config = {{"replicaof", "nowhere 1"}}});
  TestClient& client = c.Connect();
  EXPECT_NE(client.Line("INFO replication").text.find("slave_priority:0"), std::string::npos);
  EXPECT_EQ(client.Line("REPLICAOF NO ONE").ToText(), "+OK");
  EXPECT_EQ(ReasonOf(c), "data-not-whole");
  EXPECT_TRUE(IsHeldBack(client.Line("LOCK.ACQUIRE lock me LEASE 1000")));
  EXPECT_EQ(c.engine().part<LockService>().GraceLeftMs(), 600'000);
}

// A redis-server that follows keeps nothing of it.
TEST_F(PromotedLocks, TokensWaitForTheReplicasThatKeepTheMark) {
  a_client().Line("CONFIG SET lock-min-replicas 1");
  a_.AdvanceTime(1000);
  EXPECT_FALSE(a_.engine().part<LockService>().tokens().CanIssue(1));
  Follow();
  Settle();
  Settle();
  EXPECT_TRUE(a_.engine().part<LockService>().tokens().CanIssue(1));
}

}  // namespace
}  // namespace sluice
