// The network of a world, by itself (network.h).
#include "tests/simulation/cluster/network.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace sluice::cluster {
namespace {

constexpr uint64_t kPipeSeeds = 300;
constexpr Site kHere = 1;
constexpr Site kThere = 2;
constexpr int64_t kLongEnough = 10 * kSecond;

class Listener final : public End {
 public:
  void Arrived(std::string_view bytes) override {
    pieces.emplace_back(bytes);
    all += bytes;
  }
  void Ended() override { has_ended = true; }

  std::vector<std::string> pieces;
  std::string all;
  bool has_ended = false;
};

// A connection between two sites, and what each of its ends hears.
struct Pipe {
  Pipe(Network& network, Site caller, Site called)
      : network(network), connection(network.Connect(caller, here, called, there)) {}
  void Say(std::string_view bytes) { network.Say(connection, Connection::Side::kCaller, bytes); }
  void Answer(std::string_view bytes) { network.Say(connection, Connection::Side::kCalled, bytes); }

  Network& network;
  Listener here, there;
  Network::Handle connection;
};

template <typename Play>
void OverSeeds(const Play& play) {
  for (uint64_t number = 0; number < kPipeSeeds; ++number) {
    Timeline time(TestSeed(number));
    Network network(time);
    play(time, network);
  }
}

TEST(ClusterNetwork, BytesComeInOrderAndAreCutAnywhere) {
  std::set<size_t> cuts;
  OverSeeds([&](Timeline& time, Network& network) {
    Pipe pipe(network, kHere, kThere);
    pipe.Say("abcde");
    time.RunUntil(time.Pick(0, kMs));
    pipe.Say("fgh");
    time.RunUntil(kLongEnough);
    EXPECT_EQ(pipe.there.all, "abcdefgh");
    cuts.insert(pipe.there.pieces.front().size());
  });
  EXPECT_EQ(cuts, (std::set<size_t>{1, 2, 3, 4, 5}));
}

TEST(ClusterNetwork, AWordTakesItsTime) {
  OverSeeds([&](Timeline& time, Network& network) {
    network.set_pace({.delay_min = 300, .delay_max = 500});
    Pipe pipe(network, kHere, kThere);
    pipe.Say("a");
    time.RunUntil(299);
    EXPECT_EQ(pipe.there.all, "");
    time.RunUntil(500);
    EXPECT_EQ(pipe.there.all, "a");
  });
}

TEST(ClusterNetwork, WhatIsSaidFirstOnOneLinkMayComeLast) {
  std::set<std::string> orders;
  OverSeeds([&](Timeline& time, Network& network) {
    Pipe one(network, kHere, kThere);
    Pipe other(network, kHere, kThere);
    one.Say("1");
    other.Say("2");
    std::string order;
    while (one.there.all.empty() && other.there.all.empty()) time.RunUntil(time.now() + 1);
    orders.insert(one.there.all + other.there.all);
  });
  EXPECT_TRUE(orders.contains("1"));
  EXPECT_TRUE(orders.contains("2"));
}

TEST(ClusterNetwork, ACutOneWayKeepsBytesUntilItHeals) {
  OverSeeds([&](Timeline& time, Network& network) {
    Pipe pipe(network, kHere, kThere);
    network.Cut(kHere, kThere);
    EXPECT_LT(network.DelayBetween(kHere, kThere), 0);
    EXPECT_GE(network.DelayBetween(kThere, kHere), 0);
    pipe.Say("there");
    pipe.Answer("here");
    time.RunUntil(kLongEnough);
    EXPECT_EQ(pipe.there.all, "");
    EXPECT_EQ(pipe.here.all, "here");
    network.Heal(kHere, kThere);
    time.RunUntil(2 * kLongEnough);
    EXPECT_EQ(pipe.there.all, "there");
  });
}

TEST(ClusterNetwork, AConnectionThatBreaksLosesWhatIsUnderWayAndNotAllHearOfIt) {
  std::set<std::pair<bool, bool>> heard;
  int heard_by_saying = 0;
  OverSeeds([&](Timeline& time, Network& network) {
    Pipe pipe(network, kHere, kThere);
    pipe.Say("lost");
    network.Break(pipe.connection);
    time.RunUntil(kLongEnough);
    EXPECT_EQ(pipe.there.all, "");
    heard.insert({pipe.here.has_ended, pipe.there.has_ended});
    if (pipe.here.has_ended) return;
    pipe.Say("is somebody there?");
    time.RunUntil(2 * kLongEnough);
    EXPECT_TRUE(pipe.here.has_ended);
    ++heard_by_saying;
  });
  EXPECT_EQ(heard.size(), 4u) << "by both, by one, by the other, by none";
  EXPECT_GT(heard_by_saying, 0);
}

TEST(ClusterNetwork, AnEndIsHeardBehindAllThatWasSaid) {
  OverSeeds([&](Timeline& time, Network& network) {
    Pipe pipe(network, kHere, kThere);
    pipe.Answer("never heard");
    pipe.Say("heard");
    network.Close(pipe.connection, Connection::Side::kCaller);
    while (!pipe.there.has_ended) {
      ASSERT_LT(time.now(), kLongEnough);
      time.RunUntil(time.now() + 1);
    }
    EXPECT_EQ(pipe.there.all, "heard");
    EXPECT_EQ(pipe.here.all, "");
  });
}

// Its machine has no power: the other end believes that the connection stands.
TEST(ClusterNetwork, AnEndThatGoesWithoutAWordIsHeardOfBySayingSomething) {
  int heard = 0;
  OverSeeds([&](Timeline& time, Network& network) {
    Pipe pipe(network, kHere, kThere);
    network.Detach(pipe.connection, Connection::Side::kCalled);
    time.RunUntil(kLongEnough);
    EXPECT_FALSE(pipe.here.has_ended);
    pipe.Say("is somebody there?");
    time.RunUntil(2 * kLongEnough);
    heard += pipe.here.has_ended ? 1 : 0;
  });
  EXPECT_GT(heard, 0);
  EXPECT_LT(heard, static_cast<int>(kPipeSeeds));
}

}  // namespace
}  // namespace sluice::cluster
