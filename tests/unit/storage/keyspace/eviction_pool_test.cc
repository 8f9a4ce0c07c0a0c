// Which keys go when memory is full: against what a full sort would choose; and how uses are
// counted.
#include "storage/keyspace/eviction_pool.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/text/number_text.h"
#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

struct Nobody final : KeyspaceObserver {
  void KeyTouched(int, std::string_view) override {}
  void KeyExpired(int, const Entry&, int64_t) override {}
  void DatabaseReplaced(int, int) override {}
};

class EvictionPoolTest : public testing::Test {
 protected:
  using Found = EvictionPool::Found;

  Now now() { return clock_.Sample(); }
  static std::string Name(int number) { return "key:" + Int64Text(number); }
  void Put(int db, int number, Deadline deadline = Deadline::None()) {
    const std::string name = Name(number);
    keyspace_.db(db).PutText(keyspace_.Hash(name), "some text", deadline, now());
  }
  bool Has(int db, int number) {
    return keyspace_.db(db).FindEvenExpired(keyspace_.Hash(Name(number))) != nullptr;
  }
  // Evicts so many, or as many as may go; how many went.
  int Evict(EvictBy by, int count, bool volatile_only = false, size_t samples = 5) {
    const auto may_go = [](const Entry& entry) { return !entry.key().ends_with("7"); };
    const EvictionPool::Rule rule{
        .by = by, .volatile_only = volatile_only, .samples = samples, .may_go = may_go};
    int gone = 0;
    while (gone < count) {
      EvictionPool::Victim victim;
      const Found found = pool_.Next(keyspace_, rule, now(), victim);
      if (found == Found::kNone) break;
      if (found == Found::kNoneYet) continue;
      victim.db->DeleteFound(*victim.entry, victim.hash);
      ++gone;
    }
    EXPECT_EQ(keyspace_.Audit(now()), "");
    return gone;
  }

  ManualClock clock_;
  Nobody nobody_;
  TimerWheel wheel_{clock_.Sample().ms()};
  Keyspace keyspace_{4, SipKey{7}, wheel_, nobody_};
  EvictionPool pool_{1};
};

// 20,000 keys, one used each second: of the 2,000 that go nearly all are among the 3,000 oldest.
// How many are not hangs on which keys lie together: under thirty keys of the hash it was 29 to 73.
TEST_F(EvictionPoolTest, TheOldestGo) {
  for (int i = 0; i < 20'000; ++i) {
    Put(0, i);
    clock_.Advance(1000);
  }
  EXPECT_EQ(Evict(EvictBy::kIdle, 2000), 2000);
  int too_young = 0;
  for (int i = 3000; i < 20'000; ++i) too_young += Has(0, i) ? 0 : 1;
  EXPECT_LT(too_young, 100);
  EXPECT_TRUE(Has(0, 17));  // may not go
}

// Wherever it stands, what is oldest goes first.
TEST_F(EvictionPoolTest, DatabasesTakeTurns) {
  for (int i = 0; i < 20'000; ++i) Put(0, i);
  clock_.Advance(100'000);
  for (int i = 0; i < 20'000; ++i) Put(1, i);
  for (int i = 0; i < 500; ++i) Put(3, i);
  EXPECT_EQ(Evict(EvictBy::kIdle, 200), 200);
  EXPECT_GT(keyspace_.db(1).size() + keyspace_.db(3).size(), 20'480U);
  EXPECT_EQ(Evict(EvictBy::kRandom, 200), 200);
  EXPECT_LT(keyspace_.db(1).size(), 20'000U);
}

// Of keys that are used as often the longest unused goes.
TEST_F(EvictionPoolTest, TheRarestGoAndOfThoseTheOldest) {
  AccessCount count(1);
  count.Configure(/*log_factor=*/0, /*decay_minutes=*/0);
  keyspace_.set_access_count(&count);
  for (int i = 0; i < 4000; ++i) {
    Put(0, i);
    if (i % 2 == 0) keyspace_.db(0).FindAndTouch(keyspace_.Hash(Name(i)), now());
    if (i % 100 == 0) clock_.Advance(4000);
  }
  EXPECT_EQ(Evict(EvictBy::kFrequency, 400), 400);
  int old = 0, used = 0;
  for (int i = 0; i < 4000; ++i) {
    if (Has(0, i)) continue;
    used += i % 2 == 0;
    old += i < 1500;
  }
  EXPECT_EQ(used, 0);
  EXPECT_GT(old, 380);
}

TEST_F(EvictionPoolTest, AFewVolatileKeysAreFound) {
  for (int i = 0; i < 10'000; ++i) Put(0, i);
  for (int i = 0; i < 10'000; ++i) Put(1, i);
  for (int i = 0; i < 10; ++i) Put(1, 20'000 + i, Deadline::Steady(now().ms() + 100'000));
  EXPECT_EQ(Evict(EvictBy::kIdle, 10, /*volatile_only=*/true), 9);  // one ends with 7
  EXPECT_EQ(keyspace_.db(0).size(), 10'000U);
}

TEST_F(EvictionPoolTest, TheNextToEndGo) {
  for (int i = 0; i < 3000; ++i) Put(0, i, Deadline::Steady(now().ms() + 1000 * (i + 1)));
  for (int i = 3000; i < 6000; ++i) Put(0, i);
  EXPECT_EQ(Evict(EvictBy::kDeadline, 300, /*volatile_only=*/true), 300);
  int gone = 0;
  for (int i = 0; i < 600; ++i) gone += Has(0, i) ? 0 : 1;
  EXPECT_GT(gone, 270);
}

TEST_F(EvictionPoolTest, WhenNothingMayGoItSaysSo) {
  EXPECT_EQ(Evict(EvictBy::kIdle, 1), 0);
  for (int i = 0; i < 2000; ++i) Put(0, i);
  EXPECT_EQ(Evict(EvictBy::kIdle, 1, /*volatile_only=*/true), 0);
  EXPECT_EQ(Evict(EvictBy::kRandom, 2000), 1800);  // but those that end with 7
  EXPECT_EQ(Evict(EvictBy::kRandom, 1), 0);
  EXPECT_EQ(keyspace_.db(0).size(), 200U);
}

TEST_F(EvictionPoolTest, ACandidateThatHasGoneOrWasUsedIsPassedOver) {
  for (int i = 0; i < 100; ++i) Put(0, i);
  clock_.Advance(10'000);
  EXPECT_EQ(Evict(EvictBy::kIdle, 1), 1);  // some are candidates now
  for (int i = 0; i < 100; ++i) {
    if (i % 2 == 0) {
      keyspace_.db(0).Delete(keyspace_.Hash(Name(i)), now());
    } else {
      keyspace_.db(0).FindAndTouch(keyspace_.Hash(Name(i)), now());
    }
  }
  Put(0, 1000);
  EXPECT_EQ(Evict(EvictBy::kIdle, 10), 10);
}

TEST(AccessCount, GrowsAsALogarithmAndDecaysByTheMinute) {
  constexpr int64_t kMinute = 60;
  AccessCount count(1);
  uint32_t bits = AccessCount::Bits(AccessCount::kOfNewKey, 0);
  bits = count.Used(bits, 0);
  EXPECT_EQ(count.CounterAt(bits, 0), 6U);
  for (int i = 0; i < 1000; ++i) bits = count.Used(bits, 0);
  const uint32_t after = count.CounterAt(bits, 0);
  EXPECT_GT(after, 12U);
  EXPECT_LT(after, 28U);
  EXPECT_EQ(count.CounterAt(bits, kMinute - 1), after);
  EXPECT_EQ(count.CounterAt(bits, 3 * kMinute), after - 3);
  EXPECT_EQ(count.CounterAt(bits, 1000 * kMinute), 0U);
  count.Configure(/*log_factor=*/0, /*decay_minutes=*/0);
  for (int i = 0; i < 300; ++i) bits = count.Used(bits, 5000);
  EXPECT_EQ(count.CounterAt(bits, 9000), AccessCount::kMost);
}

TEST(AccessCount, MomentsRepeatAndAKeyThatIsMetStaysOld) {
  constexpr int64_t kRound = AccessCount::kMoments * AccessCount::kMomentSeconds;
  AccessCount count(1);
  const uint32_t bits = AccessCount::Bits(200, kRound - 60);
  EXPECT_EQ(count.CounterAt(bits, kRound + 60), 198U);
  EXPECT_EQ(AccessCount::Age(bits, kRound), 60 / AccessCount::kMomentSeconds);
  EXPECT_EQ(count.Settled(bits, kRound + 60), bits);
  const uint32_t settled = count.Settled(bits, kRound + kRound * 3 / 4);
  EXPECT_EQ(count.CounterAt(settled, 2 * kRound - 60), 0U);
  EXPECT_GT(AccessCount::Age(settled, 2 * kRound), AccessCount::kMoments / 4);
}

}  // namespace
}  // namespace sluice
