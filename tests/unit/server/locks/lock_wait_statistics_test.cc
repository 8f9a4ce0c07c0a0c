// How waits are counted by prefix, and under which reason every end of a wait is counted.
#include "server/locks/lock_wait_statistics.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "server/locks/lock_service.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

LockNames Names(std::initializer_list<std::string_view> keys) {
  LockNames names;
  for (const std::string_view key : keys) names.emplace_back(LockNameView{0, key});
  return names;
}

void Set(LockWaitStatistics& statistics, std::vector<std::string> prefixes) {
  statistics.SetPrefixes(prefixes);
}

// "a:1 ab:0": the prefixes with how many have waited and had their lock.
std::string Counts(const LockWaitStatistics& statistics) {
  std::string text;
  for (const auto& [prefix, waits] : statistics.by_prefix()) {
    if (!text.empty()) text += ' ';
    text += prefix + '=' + std::to_string(waits.granted_ms.count());
  }
  return text;
}

TEST(LockWaitStatistics, ANameCountsForItsLongestPrefix) {
  LockWaitStatistics statistics;
  Set(statistics, {"a", "abc", "ab"});
  for (const std::string_view name : {"a", "ax", "ab", "abx", "abc", "abcd", "b", "", "xa"})
    statistics.CountGranted(Names({name}), 1);
  EXPECT_EQ(Counts(statistics), "a=2 abc=2 ab=2");
  EXPECT_EQ(statistics.all().granted_ms.count(), 9u);
}

TEST(LockWaitStatistics, ARequestForSeveralCountsOnceForAPrefix) {
  LockWaitStatistics statistics;
  Set(statistics, {"a", "b", "c"});
  statistics.CountGranted(Names({"a1", "a2", "b1", "x"}), 7);
  EXPECT_EQ(Counts(statistics), "a=1 b=1 c=0");
  EXPECT_EQ(statistics.all().granted_ms.count(), 1u);
  EXPECT_EQ(statistics.all().granted_ms.sum(), 7u);
}

TEST(LockWaitStatistics, APrefixThatStaysKeepsItsCounts) {
  LockWaitStatistics statistics;
  Set(statistics, {"a", "b"});
  statistics.CountGranted(Names({"a1"}), 1);
  statistics.CountGranted(Names({"b1"}), 1);
  Set(statistics, {"c", "b"});
  EXPECT_EQ(Counts(statistics), "c=0 b=1");
  Set(statistics, {"a"});
  EXPECT_EQ(Counts(statistics), "a=0");
  statistics.CountInVain(Names({"a1"}), LockWaitInVain::kClosed);
  statistics.Reset();
  EXPECT_EQ(Counts(statistics), "a=0");
  EXPECT_EQ(statistics.by_prefix()[0].waits.in_vain, LockWaitStatistics::Waits().in_vain);
  EXPECT_EQ(statistics.all().granted_ms.count(), 0u);
}

// Every way in which a wait ends.
class LockWaitEnds : public testing::Test {
 protected:
  LockWaitEnds() { a_.Run({"lock.acquire", "k", "a", "lease", "60000"}); }
  void BWaits(const char* ms = "50000") {
    b_.Send({"lock.acquire", "k", "b", "lease", "1000", "wait", ms});
  }
  LockWaitStatistics& statistics() {
    return server_.engine().part<LockService>().wait_statistics();
  }
  // "granted timeout turned_away closed deadlock"
  std::string Counted() {
    std::string text = std::to_string(statistics().all().granted_ms.count());
    for (const uint64_t count : statistics().all().in_vain) text += ' ' + std::to_string(count);
    return text;
  }

  TestEngine server_;
  TestClient& a_ = server_.Connect();
  TestClient& b_ = server_.Connect();
};

TEST_F(LockWaitEnds, ARequestThatNeedNotOrMayNotWaitIsNotCounted) {
  a_.Run({"lock.acquire", "free", "a", "lease", "1000", "wait", "1000"});
  b_.Run({"lock.acquire", "k", "b", "lease", "1000"});
  a_.Run({"lock.acquire", "k", "a", "lease", "60000", "wait", "1000"});
  BWaits();
  EXPECT_EQ(Counted(), "0 0 0 0 0") << "it waits still";
}

TEST_F(LockWaitEnds, Granted) {
  BWaits();
  server_.AdvanceTime(1234);
  a_.Run({"lock.release", "k", "a"});
  EXPECT_EQ(Counted(), "1 0 0 0 0");
  EXPECT_EQ(statistics().all().granted_ms.sum(), 1234u);
}

TEST_F(LockWaitEnds, GrantedWhenALeaseEnds) {
  BWaits("59999999");
  server_.AdvanceTime(60'000);
  EXPECT_EQ(Counted(), "1 0 0 0 0");
  EXPECT_EQ(statistics().all().granted_ms.sum(), 60'000u);
}

TEST_F(LockWaitEnds, Timeout) {
  BWaits("100");
  server_.AdvanceTime(100);
  EXPECT_EQ(Counted(), "0 1 0 0 0");
  a_.Run({"lock.release", "k", "a"});
  EXPECT_EQ(Counted(), "0 1 0 0 0");
}

TEST_F(LockWaitEnds, UnblockedByAnother) {
  const std::string id = std::to_string(b_.Run({"client", "id"}).integer);
  for (const char* const how : {"timeout", "error"}) {
    BWaits();
    EXPECT_EQ(a_.Run({"client", "unblock", id, how}).ToText(), ":1");
  }
  EXPECT_EQ(Counted(), "0 0 2 0 0");
}

TEST_F(LockWaitEnds, ReplacedByALaterRequestOfItsOwner) {
  BWaits();
  server_.Connect().Send({"lock.acquire", "k", "b", "lease", "1000", "wait", "50000"});
  EXPECT_EQ(Counted(), "0 0 1 0 0");
  a_.Run({"lock.release", "k", "a"});
  EXPECT_EQ(Counted(), "1 0 1 0 0");
}

TEST_F(LockWaitEnds, TheKeyIsOfAnotherType) {
  BWaits();
  a_.Run({"set", "k", "v"});
  EXPECT_EQ(b_.Next()->ToText().substr(0, 10), "-WRONGTYPE");
  EXPECT_EQ(Counted(), "0 0 1 0 0");
}

TEST_F(LockWaitEnds, ItsUserMayNoLongerWaitSo) {
  a_.Run({"acl", "setuser", "eve", "on", "nopass", "~*", "+@all"});
  b_.Run({"auth", "eve", "x"});
  BWaits();
  a_.Run({"acl", "setuser", "eve", "-lock.acquire"});
  EXPECT_EQ(Counted(), "0 0 1 0 0");
}

TEST_F(LockWaitEnds, TheClientHasGone) {
  BWaits();
  b_.Disconnect();
  EXPECT_EQ(Counted(), "0 0 0 1 0");
}

TEST_F(LockWaitEnds, Deadlock) {
  b_.Run({"lock.acquire", "other", "b", "lease", "60000"});
  BWaits();
  statistics().SetPrefixes(std::vector<std::string>{"oth"});
  const Reply refused = a_.Run({"lock.acquire", "other", "a", "lease", "1000", "wait", "1000"});
  EXPECT_EQ(refused.ToText().substr(0, 9), "-DEADLOCK");
  EXPECT_EQ(Counted(), "0 0 0 0 1");
  EXPECT_EQ(statistics().by_prefix()[0].waits.in_vain.back(), 1u);
}

TEST_F(LockWaitEnds, ResetByConfigResetStat) {
  BWaits("100");
  server_.AdvanceTime(100);
  a_.Run({"config", "resetstat"});
  EXPECT_EQ(Counted(), "0 0 0 0 0");
}

}  // namespace
}  // namespace sluice
