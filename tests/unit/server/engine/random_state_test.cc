// The state of an engine's generators is a value: what it was, an engine can be again, and another
// one can go on from there.
#include "server/engine/random_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

// Everything that is drawn, and the order of a table that is made. What the commands leave behind
// they take away again.
std::string Drawn(TestEngine& server) {
  TestClient& client = server.Connect();
  std::vector<std::string> add = {"SADD", "set"};
  for (int i = 0; i < 600; ++i) add.push_back("member:" + std::to_string(i));
  client.Run(add);
  std::string all;
  for (const char* const line : {"SMEMBERS set", "SRANDMEMBER set 20", "SPOP set 5",
                                 "EVAL 'return math.random(1000000)' 0", "LOLWUT", "DEL set"}) {
    all += client.Line(line).ToText();
  }
  client.Disconnect();
  return all;
}

TEST(RandomState, WhatWasIsAgain) {
  TestEngine server({.seed = 7});
  Drawn(server);
  const RandomState state = server.engine().SaveRandom();
  const std::string first = Drawn(server);
  EXPECT_FALSE(server.engine().SaveRandom() == state);
  EXPECT_NE(Drawn(server), first);
  server.engine().RestoreRandom(state);
  EXPECT_TRUE(server.engine().SaveRandom() == state);
  EXPECT_EQ(Drawn(server), first);
}

TEST(RandomState, AnotherGoesOnFromThere) {
  TestEngine one({.seed = 7}), other({.seed = 8});
  Drawn(one);
  EXPECT_NE(Drawn(one), Drawn(other));
  other.engine().RestoreRandom(one.engine().SaveRandom());
  EXPECT_EQ(Drawn(one), Drawn(other));
}

// A server inside the server has one of its own.
TEST(RandomState, IsSmall) { EXPECT_LE(sizeof(RandomState), 128u); }

}  // namespace
}  // namespace sluice
