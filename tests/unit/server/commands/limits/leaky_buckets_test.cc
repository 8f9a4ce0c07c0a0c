// LBUCKET through the engine, against a plain multiset of drains.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

class LeakyBuckets : public EngineFixture {
 protected:
  int64_t NowMs() { return server().clock().Sample().ms(); }
};

TEST_F(LeakyBuckets, DrainEachCountByItself) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Run({"FLUSHALL"});
    std::mt19937_64 random(seed);
    const auto in = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    std::map<std::string, std::multiset<int64_t>> model;
    // Mostly all stay equally long, sometimes anything.
    const int64_t usual_s = in(1, 4);
    for (int step = 0; step < 600; ++step) {
      const std::string key = "bucket:" + std::to_string(in(0, 3));
      const std::string other = "bucket:" + std::to_string(in(0, 3));
      const int64_t roll = in(0, 99);
      if (roll < 60) {
        const int64_t seconds = in(0, 9) == 0 ? in(0, 6) : usual_s;
        ASSERT_EQ(Run({"LBUCKET.COUNT", key, std::to_string(seconds)}).text, "OK");
        model[key].insert(NowMs() + std::max<int64_t>(1, seconds * 1000));
      } else if (roll < 64) {
        Run({"COPY", key, other, "REPLACE"});
        if (key != other && model.contains(key)) model[other] = model[key];
      } else if (roll < 67) {
        Run({"RENAME", key, other});
        if (key != other && model.contains(key)) {
          model[other] = model[key];
          model.erase(key);
        }
      } else if (roll < 68) {
        Run({"DEL", key});
        model.erase(key);
      } else if (roll < 98) {
        AdvanceTime(in(0, 60));
      } else {
        AdvanceTime(in(0, 3'000));
      }
      for (auto& [name, drains] : model) drains.erase(drains.begin(), drains.upper_bound(NowMs()));
      std::erase_if(model, [](const auto& each) { return each.second.empty(); });
      const Reply level = Run({"LBUCKET.GET", key});
      if (!model.contains(key)) {
        ASSERT_EQ(level.ToText(), "-key lbucket:captcha:1:" + key + " not found");
      } else {
        ASSERT_EQ(level.text, std::to_string(model[key].size()));
        ASSERT_EQ(Run({"PTTL", key}).integer, *model[key].rbegin() - NowMs());
      }
      ASSERT_EQ(Run({"DBSIZE"}).integer, static_cast<int64_t>(model.size()));
    }
  }
}

// A few drains lie in the key's entry, more beside it; a bucket that empties comes back.
TEST_F(LeakyBuckets, LieInTheirEntriesWhileTheyAreSmall) {
  const std::string key = "bucket:of:12345678:x";  // of 20 bytes
  const auto entry = [&] {
    return engine().keyspace().db(0).FindEvenExpired(engine().keyspace().Hash(key));
  };
  std::multiset<int64_t> model;
  const auto count = [&] {
    Run({"LBUCKET.COUNT", key, "600"});
    model.insert(NowMs() + 600'000);
    model.erase(model.begin(), model.upper_bound(NowMs()));
    ASSERT_EQ(Run({"LBUCKET.GET", key}).text, std::to_string(model.size()));
    ASSERT_EQ(Run({"PTTL", key}).integer, 600'000);
    ASSERT_EQ(Run({"OBJECT", "ENCODING", key}).text, "drains");
  };
  for (int drains = 1; drains <= 16; ++drains) {
    count();
    EXPECT_LE(Run({"MEMORY", "USAGE", key}).integer, 120);
    AdvanceTime(4'000);
  }
  for (int drains = 17; drains <= 60; ++drains) {
    count();
    EXPECT_TRUE(entry()->is_packed() || drains > 40) << drains;
    AdvanceTime(4'000);
  }
  EXPECT_FALSE(entry()->is_packed());
  AdvanceTime(310'000);
  count();
  EXPECT_FALSE(entry()->is_packed());
  AdvanceTime(280'000);
  count();
  EXPECT_TRUE(entry()->is_packed());
  EXPECT_LE(Run({"MEMORY", "USAGE", key}).integer, 120);
  EXPECT_EQ(Run({"LBUCKET.GET", key}).text, "4");
}

// At the point at which one moves out it stays: coming back takes far fewer.
TEST_F(LeakyBuckets, DoNotGoInAndOut) {
  const auto is_packed = [&] {
    return engine()
        .keyspace()
        .db(0)
        .FindEvenExpired(engine().keyspace().Hash("bucket"))
        ->is_packed();
  };
  bool was_packed = true;
  int moves = 0;
  for (int step = 0; step < 1'000; ++step) {
    Run({"LBUCKET.COUNT", "bucket", "44"});
    AdvanceTime(900 + 200 * (step / 10 % 2));  // 40 to 48 drains
    moves += is_packed() != was_packed ? 1 : 0;
    was_packed = is_packed();
  }
  EXPECT_LE(moves, 1);
}

// Counts for any time in any order, as a map of drains has them.
TEST_F(LeakyBuckets, TakeDrainsInAnyOrder) {
  for (uint64_t number = 0; number < 8; ++number) {
    std::mt19937_64 random(TestSeed(number));
    Run({"DEL", "bucket"});
    std::multiset<int64_t> drains;
    for (int step = 0; step < 500; ++step) {
      const int64_t seconds = static_cast<int64_t>(random() % 60);
      Run({"LBUCKET.COUNT", "bucket", std::to_string(seconds)});
      drains.insert(NowMs() + std::max<int64_t>(1, seconds * 1000));
      AdvanceTime(static_cast<int64_t>(random() % (step % 100 < 50 ? 200 : 4'000)));
      drains.erase(drains.begin(), drains.upper_bound(NowMs()));
      if (drains.empty()) continue;
      ASSERT_EQ(Run({"LBUCKET.GET", "bucket"}).text, std::to_string(drains.size()));
      ASSERT_EQ(Run({"PTTL", "bucket"}).integer, *drains.rbegin() - NowMs());
    }
  }
}

// What waits costs nothing: a million drains in one bucket are one timer and eight bytes each.
TEST_F(LeakyBuckets, KeepManyDrainsInLittle) {
  TestClient& client = Connect();
  std::string pipeline;
  for (int i = 0; i < 1'000; ++i) pipeline += "LBUCKET.COUNT hot 45\r\n";
  for (int ms = 0; ms < 100; ++ms) {
    engine().Receive(client.id(), pipeline);
    server().Settle();
    server().clock().Advance(1);
    client.TakeBytes();
  }
  EXPECT_EQ(Run({"LBUCKET.GET", "hot"}).text, "100000");
  EXPECT_LT(engine().keyspace().memory_bytes(), 10'000u);
  EXPECT_EQ(engine().wheel().CountLinked(TimerKind::kEntry), 1u);
  AdvanceTime(45'000);
  EXPECT_EQ(Run({"DBSIZE"}).integer, 0);
}

}  // namespace
}  // namespace sluice
