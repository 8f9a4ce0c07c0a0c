// FollowedPair: a server and one that follows it, without sockets.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "server/replication/replicas.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/test_network.h"

namespace sluice {

// Two servers by name; `b` follows `a` once Follow was called.
class FollowedPair : public testing::Test {
 protected:
  FollowedPair() {
    network_.Add("a:1", a_);
    network_.Add("b:2", b_);
    TakeEntropy(b_, 1);
  }

  // The systems of two machines do not give the same bytes, so ids of streams differ.
  static void TakeEntropy(TestEngine& server, int times) {
    for (int i = 0; i < times; ++i) server.Connect().Line("ACL GENPASS");
  }

  static TestEngine::Options Options(uint64_t seed) {
    return {.seed = seed, .config = {{"repl-diskless-sync-delay", "0"}}};
  }
  void Follow() {
    EXPECT_EQ(b_client().Line("REPLICAOF a 1").ToText(), "+OK");
    Settle();
    for (int i = 0; i < 10 && b_.engine().loading(); ++i) Settle();
    EXPECT_FALSE(b_.engine().loading());
  }
  // Until nobody says more, and the next second.
  void Settle() {
    network_.Settle();
    a_.AdvanceTime(1000);
    b_.AdvanceTime(1000);
    network_.Settle();
  }
  TestClient& a_client() { return Of(a_, a_client_); }
  TestClient& b_client() { return Of(b_, b_client_); }
  static std::string RoleOf(TestClient& client) { return client.Line("ROLE").ToText(); }
  static uint64_t FullSyncsOf(TestEngine& server) {
    return server.engine().part<Replicas>().counts().full;
  }
  static int64_t OffsetOf(TestEngine& server) {
    return server.engine().part<Replicas>().stream().end();
  }
  TestLink& link() { return *network_.links().back(); }

  TestEngine a_{Options(1)};
  TestEngine b_{Options(2)};
  TestNetwork network_;

 private:
  static TestClient& Of(TestEngine& server, TestClient*& client) {
    if (!client) client = &server.Connect();
    return *client;
  }
  TestClient* a_client_ = nullptr;
  TestClient* b_client_ = nullptr;
};

}  // namespace sluice
