// Wrong passwords by HTTP: how many are judged in a delay, of one machine and of all.
#include "server/http/guesses.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

constexpr int64_t kDelay = 1000;

// How many passwords are judged, and wrong, until `end`, when each asks again and again.
size_t Judged(Guesses& guesses, int64_t end, size_t machines) {
  size_t judged = 0;
  for (int64_t now = 0; now < end; ++now) {
    for (size_t i = 0; i < machines; ++i) {
      const std::string address = "10.0.0." + std::to_string(i) + ":" + std::to_string(1000 + now);
      if (!guesses.MayJudge(address, now)) continue;
      guesses.Wrong(address, now + kDelay);
      ++judged;
    }
  }
  return judged;
}

TEST(Guesses, OneMachineHasSoManyInADelayHoweverManyItsConnections) {
  Guesses guesses;
  EXPECT_EQ(Judged(guesses, 10 * kDelay, 1), 10 * Guesses::kOfOneMax);
}

TEST(Guesses, AllMachinesTogetherHaveMore) {
  Guesses guesses;
  EXPECT_EQ(Judged(guesses, 10 * kDelay, 100), 10 * Guesses::kMax);
}

TEST(Guesses, OneMachineDoesNotKeepAnotherWaiting) {
  Guesses guesses;
  Judged(guesses, kDelay, 1);
  EXPECT_FALSE(guesses.MayJudge("10.0.0.0:1", kDelay - 1));
  EXPECT_TRUE(guesses.MayJudge("10.0.0.1:1", kDelay - 1));
  EXPECT_EQ(guesses.next_ns(), kDelay);
  guesses.Expire(10 * kDelay);
  EXPECT_EQ(guesses.next_ns(), Guesses::kNever);
}

TEST(Guesses, AddressesOfIpv6AndUnixSocketsAreMachines) {
  Guesses guesses;
  for (size_t i = 0; i < Guesses::kOfOneMax; ++i) guesses.Wrong("[::1]:" + std::to_string(i), 10);
  EXPECT_FALSE(guesses.MayJudge("[::1]:99", 1));
  EXPECT_TRUE(guesses.MayJudge("[::2]:99", 1));
  EXPECT_TRUE(guesses.MayJudge("", 1));
}

}  // namespace
}  // namespace sluice
