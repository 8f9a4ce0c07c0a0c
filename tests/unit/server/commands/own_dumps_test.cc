// DUMP and RESTORE of the types that Redis does not have: what is restored, here or on a server
// with another engine time, now or later, says and does the same as the original from then on. But
// for locks, which have no holder then.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "storage/locks/fence.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using Random = std::mt19937_64;

int64_t Between(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

// Two servers that agree on the Unix time and on nothing else.
class OwnDumpsTest : public testing::Test {
 protected:
  static constexpr int64_t kLongerMs = 12'345'678;

  OwnDumpsTest() {
    there_.clock().Advance(kLongerMs);
    there_.clock().StepWall(-kLongerMs);
    there_.Settle();
  }
  void Pass(int64_t micros) {
    for (TestEngine* server : {&here_, &there_}) {
      server->clock().AdvanceMicros(micros);
      server->Settle();
    }
  }
  std::string Here(const std::vector<std::string>& words) { return one_.Run(words).ToText(); }
  std::string There(const std::vector<std::string>& words) { return other_.Run(words).ToText(); }
  std::string Dump(const std::string& key) { return one_.Run({"DUMP", key}).text; }
  // The same request about the three: the original, what was restored beside it, and elsewhere.
  void ExpectSame(const std::vector<std::string>& command, const std::string& what) {
    std::vector<std::string> about = command;
    const std::string original = Here(about);
    about[1] = "beside";
    EXPECT_EQ(Here(about), original) << what;
    EXPECT_EQ(There(about), original) << what << ", elsewhere";
  }
  void Restore(const std::string& ttl_ms = "0") {
    const std::string dump = Dump("k");
    ASSERT_EQ(Here({"RESTORE", "beside", ttl_ms, dump, "REPLACE"}), "+OK");
    ASSERT_EQ(There({"RESTORE", "beside", ttl_ms, dump, "REPLACE"}), "+OK");
    EXPECT_EQ(Dump("beside"), one_.Run({"EXISTS", "beside"}).integer ? dump : "");
  }

  TestEngine here_, there_;
  TestClient& one_ = here_.Connect();
  TestClient& other_ = there_.Connect();
};

// --- limiters

constexpr const char* kAlgorithms[] = {"WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY"};

std::vector<std::string> RandomTake(Random& random, const std::string& algorithm) {
  // Round and odd, small and huge.
  const auto number = [&random](std::initializer_list<int64_t> some) {
    return std::to_string(some.begin()[random() % some.size()]);
  };
  std::vector<std::string> take = {"LIMIT.TAKE", "k", algorithm};
  const bool huge = random() % 8 == 0;
  take.push_back(huge ? number({1'000'000'000, int64_t{1} << 40}) : number({1, 3, 7, 10, 50}));
  take.push_back(huge ? number({1000, 86'400'000}) : number({1, 9, 100, 1000, 7777}));
  if ((algorithm == "ROLLING" || algorithm == "GCRA") && random() % 3 == 0) {
    take.insert(take.end(), {"BURST", number({1, 5, 60})});
  }
  if (random() % 2 == 0) take.insert(take.end(), {"COST", number({1, 2, 5, 40})});
  if (random() % 9 == 0) {
    take.insert(take.end(), {"BAN", number({1, 50, 3000})});
  } else if (random() % 9 == 0) {
    take.emplace_back("SHADOW");
  }
  return take;
}

std::vector<std::string> RandomStep(Random& random, const std::string& algorithm) {
  switch (random() % 8) {
    case 0:
      return {"LIMIT.REFUND", "k", std::to_string(Between(random, 1, 5))};
    case 1:
      return {"LIMIT.INFO", "k"};
    case 2:
      return {"PTTL", "k"};
    case 3:
      return {"LIMIT.TAKE", "k", algorithm, "10", "1000", "PEEK"};
    default:
      return RandomTake(random, algorithm);
  }
}

TEST_F(OwnDumpsTest, LimitersGoOnAsTheOriginal) {
  int restored = 0;
  for (const std::string algorithm : kAlgorithms) {
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE(algorithm + ", seed " + std::to_string(seed));
      Random random(seed);
      Here({"DEL", "k", "beside"});
      There({"DEL", "beside"});
      for (int64_t left = Between(random, 1, 12); left > 0; --left) {
        Here(RandomTake(random, algorithm));
        Pass(Between(random, 0, 1) * Between(random, 0, 60'000));
      }
      if (one_.Run({"EXISTS", "k"}).integer == 0) continue;
      Restore();
      // One that is whole again is no key, if only in the last part of its last tick.
      if (one_.Run({"EXISTS", "beside"}).integer == 0) continue;
      ++restored;
      for (int step = 0; step < 25; ++step) {
        const std::vector<std::string> command = RandomStep(random, algorithm);
        ExpectSame(command, command[0] + " as step " + std::to_string(step));
        if (HasFailure()) return;
        Pass(Between(random, 0, 2) * Between(random, 0, 40'000));
      }
      ExpectSame({"PEXPIRETIME", "k"}, "the end");
    }
  }
  EXPECT_GT(restored, 100);
}

TEST_F(OwnDumpsTest, LimitersKeepTheirKind) {
  for (const std::string algorithm : kAlgorithms) {
    Here({"DEL", "k", "beside"});
    Here({"LIMIT.TAKE", "k", algorithm, "5", "1000"});
    Restore();
    ExpectSame({"TYPE", "k"}, algorithm);
    EXPECT_EQ(Here({"OBJECT", "ENCODING", "beside"}), Here({"OBJECT", "ENCODING", "k"}));
    EXPECT_EQ(Here({"DEBUG", "DIGEST-VALUE", "beside"}), Here({"DEBUG", "DIGEST-VALUE", "k"}));
    EXPECT_EQ(There({"DEBUG", "DIGEST-VALUE", "beside"}), Here({"DEBUG", "DIGEST-VALUE", "k"}));
    EXPECT_EQ(Here({"COPY", "k", "copy", "REPLACE"}), ":1");
    EXPECT_EQ(Dump("copy"), Dump("k"));
    EXPECT_EQ(Here({"PEXPIRETIME", "copy"}), Here({"PEXPIRETIME", "beside"}));
  }
}

// A log that is played may name moments far from now; even those are within the form's bounds.
TEST_F(OwnDumpsTest, LimitersOfDistantMoments) {
  one_.PlayLog();
  other_.PlayLog();
  const std::string far = std::to_string(int64_t{1} << 60);
  const std::string longest = std::to_string(int64_t{1} << 46);
  for (const std::string algorithm : kAlgorithms) {
    SCOPED_TRACE(algorithm);
    Here({"DEL", "k"});
    There({"DEL", "beside"});
    Here({"LIMIT.TAKE", "k", algorithm, "2", longest, "COST", "2", "AT", far});
    Here({"LIMIT.TAKE", "k", algorithm, "2", longest, "BAN", longest, "AT", far});
    Restore();
    ExpectSame({"LIMIT.INFO", "k"}, "far");
    Here({"DEL", "k"});
    Here({"LIMIT.TAKE", "k", algorithm, std::to_string(int64_t{1} << 62), "1000"});
    Restore();
    ExpectSame({"LIMIT.INFO", "k"}, "large");
  }
}

// A client's dump is its own word: what no request could have made is none. The clocks of two
// servers may differ, but not by two thousand years.
TEST_F(OwnDumpsTest, ClientsRestoreNoLimiterOfADistantMoment) {
  TestClient& log = here_.Connect();
  log.PlayLog();
  const std::string far = std::to_string(int64_t{1} << 58);  // 9,000 years
  for (const std::string algorithm : kAlgorithms) {
    SCOPED_TRACE(algorithm);
    Here({"DEL", "k", "beside"});
    There({"DEL", "beside"});
    log.Run({"LIMIT.TAKE", "k", algorithm, "2", "1000", "AT", far});
    ASSERT_EQ(Here({"EXISTS", "k"}), ":1");
    const std::string dump = Dump("k");
    EXPECT_EQ(Here({"RESTORE", "beside", "0", dump}), "-ERR Bad data format");
    EXPECT_EQ(There({"RESTORE", "beside", "0", dump}), "-ERR Bad data format");
    EXPECT_EQ(log.Run({"RESTORE", "beside", "0", dump, "REPLACE"}).ToText(), "+OK");
    Here({"DEL", "k", "beside"});
    Here({"LIMIT.TAKE", "k", algorithm, "2", "1000"});
    here_.clock().StepWall(-3'600'000);
    Restore();
    here_.clock().StepWall(3'600'000);
  }
}

TEST_F(OwnDumpsTest, WhatIsOverIsNoKey) {
  Here({"LIMIT.TAKE", "k", "WINDOW", "5", "1000"});
  const std::string dump = Dump("k");
  Pass(1'000'000);
  EXPECT_EQ(Here({"RESTORE", "beside", "0", dump}), "+OK");
  EXPECT_EQ(Here({"EXISTS", "beside"}), ":0");
  Here({"SET", "beside", "x"});
  EXPECT_EQ(Here({"RESTORE", "beside", "0", dump, "REPLACE"}), "+OK");
  EXPECT_EQ(Here({"EXISTS", "beside"}), ":0");
}

// --- when the key ends

TEST_F(OwnDumpsTest, NoKeyOutlivesItsLimiter) {
  Here({"LIMIT.TAKE", "k", "WINDOW", "5", "1000"});
  Pass(300'000);
  for (const std::string ttl_ms : {"0", "700", "5000"}) {
    Restore(ttl_ms);
    EXPECT_EQ(Here({"PTTL", "beside"}), ":700");
  }
  Restore("200");
  EXPECT_EQ(Here({"PTTL", "beside"}), ":200");
  Here({"LIMIT.TAKE", "beside", "WINDOW", "5", "1000"});
  EXPECT_EQ(Here({"PTTL", "beside"}), ":200") << "the earlier end stays";
}

// --- leaky buckets

TEST_F(OwnDumpsTest, BucketsGoOnAsTheOriginal) {
  one_.PlayLog();
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Here({"DEL", "k", "beside"});
    There({"DEL", "beside"});
    for (int64_t left = Between(random, 1, 40); left > 0; --left) {
      if (random() % 4 == 0) {
        const int64_t due_ms = here_.clock().Sample().unix_ms() + Between(random, 1, 9000);
        Here({"LBUCKET.COUNTAT", "k", std::to_string(due_ms),
              std::to_string(random() % 2 == 0 ? 3 : 5'000'000'000)});
      } else {
        Here({"LBUCKET.COUNT", "k", std::to_string(Between(random, 0, 8))});
      }
      Pass(Between(random, 0, 300) * 1000);
    }
    if (one_.Run({"EXISTS", "k"}).integer == 0) continue;
    Restore();
    EXPECT_EQ(There({"DEBUG", "DIGEST-VALUE", "beside"}), Here({"DEBUG", "DIGEST-VALUE", "k"}));
    EXPECT_EQ(Here({"COPY", "k", "copy", "REPLACE"}), ":1");
    EXPECT_EQ(Dump("copy"), Dump("k"));
    for (int step = 0; step < 30; ++step) {
      if (random() % 5 == 0) ExpectSame({"LBUCKET.COUNT", "k", "2"}, "a count");
      // An error for an empty one names the key.
      if (one_.Run({"EXISTS", "k"}).integer == 1) ExpectSame({"LBUCKET.GET", "k"}, "the level");
      ExpectSame({"PTTL", "k"}, "the end");
      if (HasFailure()) return;
      Pass(Between(random, 0, 600) * 1000);
    }
  }
}

TEST_F(OwnDumpsTest, BucketsThatNeverDrain) {
  one_.PlayLog();
  Here({"LBUCKET.COUNT", "k", "9223372036854775807"});
  Here({"LBUCKET.COUNTAT", "k", "9223372036854775807", "9223372036854775807"});
  Restore();
  ExpectSame({"LBUCKET.GET", "k"}, "the level");
}

// --- locks

TEST_F(OwnDumpsTest, NobodyHoldsARestoredLock) {
  Here({"LOCK.ACQUIRE", "k", "ann", "LEASE", "1000", "SHARED", "LABEL", "mine"});
  Here({"LOCK.ACQUIRE", "k", "bob", "SESSION", "SHARED"});
  const std::string dump = Dump("k");
  for (TestClient* client : {&one_, &other_}) {
    ASSERT_EQ(client->Run({"RESTORE", "beside", "0", dump}).ToText(), "+OK");
    EXPECT_EQ(client->Run({"TYPE", "beside"}).text, "none");
    EXPECT_EQ(client->Run({"LOCK.ACQUIRE", "beside", "cyd", "LEASE", "10"}).elements.size(), 4u);
  }
  EXPECT_EQ(Here({"COPY", "k", "copy"}), ":0");
}

// Whatever token a dump names, the next one given is the server's own.
TEST_F(OwnDumpsTest, NoDumpLiftsTokens) {
  TestClient& log = here_.Connect();
  log.PlayLog();
  const std::string last = std::to_string(int64_t{1} << 52);
  ASSERT_EQ(log.Run({"LOCK.RESTORE", "k", last, "ann", "exclusive", "1", "1", "1", "4102444800000",
                     "-1", "0", ""})
                .ToText(),
            "+OK");
  ASSERT_EQ(There({"RESTORE", "k", "0", Dump("k")}), "+OK");
  EXPECT_EQ(There({"FENCED", "k", last, "SET", "x", "1"}).substr(0, 6), "-STALE");
  const Reply grant = other_.Run({"LOCK.ACQUIRE", "k", "bob", "LEASE", "10"});
  EXPECT_EQ(grant.elements[0].integer, there_.clock().Sample().unix_ms() + kTokenStartAhead);
}

TEST_F(OwnDumpsTest, RestoringOverALockMakesItsTokensStale) {
  const std::string token = one_.Run({"LOCK.ACQUIRE", "k", "ann", "SESSION"}).elements[0].ToText();
  const std::string number = token.substr(1);
  EXPECT_EQ(Here({"FENCED", "k", number, "SET", "x", "1"}), "+OK");
  TestClient& waiting = here_.Connect();
  waiting.Send({"LOCK.ACQUIRE", "k", "bob", "LEASE", "50", "WAIT", "10000"});
  EXPECT_FALSE(waiting.Next());
  EXPECT_EQ(Here({"RESTORE", "k", "0", Dump("k")}), "-BUSYKEY Target key name already exists.");
  EXPECT_EQ(Here({"RESTORE", "k", "0", Dump("k"), "REPLACE"}), "+OK");
  EXPECT_EQ(Here({"FENCED", "k", number, "SET", "x", "2"}).substr(0, 6), "-STALE");
  EXPECT_EQ(Here({"LOCK.RELEASE", "k", "ann"}).substr(0, 8), "-NOTHELD");
  EXPECT_TRUE(waiting.Next()) << "the lock is free for who waited";
}

TEST_F(OwnDumpsTest, ALockHasNoTimeToLive) {
  Here({"LOCK.ACQUIRE", "k", "ann", "LEASE", "1000"});
  for (const std::string ttl_ms : {"1", "1000"}) {
    EXPECT_EQ(Here({"RESTORE", "beside", ttl_ms, Dump("k")}),
              "-ERR the lease of a lock is set by LOCK.RENEW alone");
  }
  EXPECT_EQ(Here({"EXISTS", "beside"}), ":0");
}

// What a digest covers: who holds it, under which token, until when; not what only this server has.
TEST_F(OwnDumpsTest, DigestsOfLocks) {
  const auto digest = [this] { return Here({"DEBUG", "DIGEST-VALUE", "k"}); };
  Here({"LOCK.ACQUIRE", "k", "ann", "LEASE", "1000", "SHARED"});
  const std::string held = digest();
  Here({"LOCK.RENEW", "k", "ann", "LEASE", "2000"});
  const std::string renewed = digest();
  EXPECT_NE(renewed, held);
  Here({"LOCK.ACQUIRE", "k", "bob", "LEASE", "500", "SHARED", "MINHOLD", "800"});
  const std::string both = digest();
  EXPECT_NE(both, renewed);
  Pass(500'000);
  EXPECT_NE(digest(), both) << "bob's place lingers";
  Pass(300'000);
  Here({"LOCK.RENEW", "k", "ann", "LEASE", "1200"});
  EXPECT_NE(digest(), renewed) << "the newest token was bob's";
}

// One unit more, or the same some time later, is another value, whatever the algorithm.
TEST_F(OwnDumpsTest, DigestsOfLimitersAndBuckets) {
  std::vector<std::vector<std::string>> counts = {{"LBUCKET.COUNT", "k", "100"}};
  for (const std::string algorithm : kAlgorithms) {
    counts.push_back({"LIMIT.TAKE", "k", algorithm, "500", "60000"});
  }
  for (const std::vector<std::string>& count : counts) {
    SCOPED_TRACE(count.size() > 3 ? count[2] : count[0]);
    std::set<std::string> values, keyspaces;
    const auto look = [&] {
      values.insert(Here({"DEBUG", "DIGEST-VALUE", "k"}));
      keyspaces.insert(Here({"DEBUG", "DIGEST"}));
    };
    Here({"DEL", "k"});
    Here(count);
    look();
    Pass(500'000);
    Here(count);
    look();
    Here({"DEL", "k"});
    Pass(1'700'000);
    Here(count);
    look();
    EXPECT_EQ(values.size(), 3u);
    EXPECT_EQ(keyspaces.size(), 3u);
  }
}

}  // namespace
}  // namespace sluice
