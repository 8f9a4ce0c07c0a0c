// What clients, replicas and operators may do to grants that wait for replicas: ask for what there
// is not, come and go, change their minds, be too many or too slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/commit/grant_promise.h"
#include "server/locks/lock_service.h"
#include "tests/support/sanitized.h"
#include "tests/unit/server/locks/grants_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kBytesOfWaiterMax = 2000;

using GrantsBadInputTest = GrantsFixture;

TEST_F(GrantsBadInputTest, ReplicasIsAnErrorInsideMultiAndFenced) {
  Sluice();
  EXPECT_THAT(Text("LOCK.ACQUIRE job alice LEASE 30000"), HasSubstr(", :1, :0]"));
  const std::string fenced = "FENCED job " + std::to_string(last_token()) + " ";
  const std::string refused = "-ERR REPLICAS cannot wait inside MULTI, a script or FENCED";
  EXPECT_EQ(Text("MULTI"), "+OK");
  EXPECT_EQ(Text("LOCK.ACQUIRE j a LEASE 9 REPLICAS 1 9"), "+QUEUED");
  EXPECT_EQ(Text("LOCK.MACQUIRE 2 j k a LEASE 9 REPLICAS 1 9"), "+QUEUED");
  EXPECT_EQ(Text("EXEC"), "[" + refused + ", " + refused + "]");
  EXPECT_EQ(Text(fenced + "LOCK.ACQUIRE j a LEASE 9 REPLICAS 1 9"), refused);
  EXPECT_EQ(Text("EXISTS j k"), ":0");
}

TEST_F(GrantsBadInputTest, NumbersOfReplicasHaveBounds) {
  Sluice();
  for (const std::string_view words : {"0 100", "-1 100", "x 100", "1 0", "1 -1", "1 x", "1",
                                       "99999999999999999999 100", "1 99999999999999999999"}) {
    const std::string line = "LOCK.ACQUIRE job a LEASE 1000 REPLICAS " + std::string(words);
    EXPECT_THAT(Text(line), StartsWith("-ERR ")) << words;
  }
  EXPECT_EQ(Text("LOCK.INFO job"), "[]");
}

TEST_F(GrantsBadInputTest, AFlushallBehindAGrantThatWaits) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  EXPECT_EQ(Ask(bob_, "FLUSHALL"), "") << "its answer would tell that the grant is over";
  AcknowledgeAll(replica);
  EXPECT_EQ(Answer(alice_), "-NOREPLICAS the lock was lost before enough replicas had the grant");
  EXPECT_EQ(Answer(bob_), "+OK");
  const std::string late = std::to_string(last_token());
  EXPECT_THAT(Text("FENCED job " + late + " GET k"), StartsWith("-STALE"));
  EXPECT_EQ(locks().held(), 0U);
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
}

// Whoever waited for the lock has it, and is not told: the new master may not know.
TEST_F(GrantsBadInputTest, AnotherMasterInTheMiddleOfAHandOver) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LOCK.ACQUIRE job alice LEASE 30000"), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
  EXPECT_EQ(Ask(bob_, "LOCK.ACQUIRE job bob LEASE 30000 WAIT 60000"), "");
  EXPECT_EQ(Ask(alice_, "LOCK.RELEASE job alice"), "");
  EXPECT_EQ(locks().replica_waits().size(), 1U);
  TestClient& operator_of_all = Connect();
  operator_of_all.Run({"REPLICAOF", "127.0.0.1", "1"});
  server().Settle();
  EXPECT_THAT(bob_.TakeBytes(), StartsWith("-UNBLOCKED"));
  EXPECT_EQ(locks().replica_waits().size(), 0U);
}

TEST_F(GrantsBadInputTest, WhileTheReplicasAreBehindReadsAreAnswered) {
  Sluice();
  Set("lock-min-replicas", "1");
  EXPECT_EQ(Ask(alice_, "LIMIT.TAKE l WINDOW 9 1000000"), "");
  AdvanceTime(1000);
  EXPECT_TRUE(alice_.closed());
  for (const std::string_view all : {"grants", "all"}) {
    Set("replicas-required", std::string(all));
    EXPECT_THAT(Text("LIMIT.TAKE l WINDOW 9 1000000 PEEK"), StartsWith("[:1, :9, ")) << all;
    EXPECT_THAT(Text("LIMIT.PEEK l WINDOW 9 1000000"), StartsWith("[:1, :9, ")) << all;
    EXPECT_EQ(Text("BITFIELD k GET u8 0"), "[:0]") << all;
    EXPECT_THAT(
        Run({"EVAL", "return redis.call('LIMIT.TAKE','l','WINDOW','9','1000000','PEEK')", "1", "l"})
            .ToText(),
        StartsWith("[:1, :9, "))
        << all;
    EXPECT_THAT(Text("LIMIT.TAKE l WINDOW 9 1000000"), StartsWith("-NOREPLICAS")) << all;
    EXPECT_THAT(Text("LIMIT.TAKE l WINDOW 9 1000000 PEEK COST"), StartsWith("-ERR ")) << all;
  }
  EXPECT_THAT(Text("BITFIELD k SET u8 0 1"), StartsWith("-NOREPLICAS"));
}

// --- scripts that take long: turns run inside of them

class SlowGrantsTest : public GrantsFixture {
 protected:
  static constexpr int64_t kSecondNanos = 1'000'000'000;
  // `before` is of the same turn, and has ended. `inside` is what happens while the script runs.
  void RunSlowly(TestClient& client, const std::string& before, std::function<void()> inside) {
    server().set_tick_step(kSecondNanos);
    server().OnPoll([this, inside = std::move(inside)] {
      ++polls_;
      inside();
    });
    if (!before.empty()) engine().Receive(writer_.id(), before);
    client.SendBytes(Request({"EVAL", script_, "1", "job"}));
    server().set_tick_step(0);
    server().OnPoll({});
    EXPECT_GT(polls_, 0);
  }

  TestClient& writer_ = Connect();
  std::string script_ =
      "local grant = redis.call('LOCK.ACQUIRE', KEYS[1], 'me', 'LEASE', '30000')"
      " for i = 1, 3e6 do end return grant";
  int polls_ = 0;
};

TEST_F(SlowGrantsTest, ItsGrantWaitsForTheReplica) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  RunSlowly(alice_, "", [&] { replica.SendBytes(Request({"REPLCONF", "ACK", "1"})); });
  EXPECT_EQ(Answer(alice_), "");
  EXPECT_EQ(Ask(bob_, "LOCK.INFO job"), "") << "it shows what may be lost";
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :30000, :1, :0]"));
  EXPECT_THAT(Answer(bob_), HasSubstr("\"me\""));
}

// The turn inside numbers what was done before: the script's grant is of a later number.
TEST_F(SlowGrantsTest, ItsGrantWaitsThoughATurnInsideNumbersWhatWasBefore) {
  TestClient& replica = Sluice();
  Set("lock-min-replicas", "1");
  int64_t end_before = 0;
  RunSlowly(alice_, "SET k v\r\n", [&] {
    bob_.SendBytes("PING\r\n");
    end_before = end();
  });
  EXPECT_LT(end_before, end());
  Acknowledge(replica, end_before);
  EXPECT_EQ(Answer(alice_), "");
  AcknowledgeAll(replica);
  EXPECT_THAT(Answer(alice_), HasSubstr(", :1, :0]"));
}

TEST_F(SlowGrantsTest, WithAllItsChangeWaitsToo) {
  Sluice();
  Set("replicas-required", "all");
  Set("lock-min-replicas", "1");
  script_ = "redis.call('SET', KEYS[1], 'v') for i = 1, 3e6 do end return 'done'";
  RunSlowly(alice_, "", [&] { bob_.SendBytes("PING\r\n"); });
  EXPECT_EQ(Answer(alice_), "");
  AdvanceTime(1000);
  EXPECT_TRUE(alice_.closed());
  EXPECT_EQ(alice_.TakeBytes(), "") << "nobody knows whether it is kept";
}

TEST_F(SlowGrantsTest, ItsClientIsClosedWhereNoReplicaHasItInTime) {
  Sluice();
  Set("lock-min-replicas", "1");
  RunSlowly(alice_, "SET k v\r\n", [&] { bob_.SendBytes("PING\r\n"); });
  AdvanceTime(1000);
  EXPECT_TRUE(alice_.closed());
  EXPECT_EQ(alice_.TakeBytes(), "");
  EXPECT_TRUE(engine().part<GrantPromise>().is_behind());
}

TEST(GrantsCrowdTest, HundredThousandWaitForOneSlowReplica) {
  TestEngine server({.audits = false});
  TestClient& replica = server.Connect();
  replica.Run({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
  replica.Run({"REPLCONF", "capa", "eof", "capa", "sluice"});
  replica.SendBytes(Request({"PSYNC", "?", "-1"}));
  server.Settle();
  const auto end = [&] { return server.engine().part<Replicas>().stream().end(); };
  replica.SendBytes(Request({"REPLCONF", "ACK", std::to_string(end())}));
  server.Settle();
  TestClient& admin = server.Connect();
  admin.Run({"CONFIG", "SET", "maxclients", "200000"});
  constexpr int kClients = kSanitized ? 10'000 : 100'000;
  std::vector<TestClient*> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(&server.Connect());
  const size_t bytes_before = server.engine().UsedMemory();
  std::deque<std::string> requests;
  for (int i = 0; i < kClients; ++i) {
    const std::string key = "job:" + std::to_string(i);
    requests.push_back(
        Request({"LOCK.ACQUIRE", key, "me", "LEASE", "30000", "REPLICAS", "1", "500"}));
    clients[static_cast<size_t>(i)]->Arrive(requests.back());
    if (i % 1000 != 0) continue;
    server.Settle();
    requests.clear();
  }
  server.Settle();
  const ReplicaWaits& waits = server.engine().part<LockService>().replica_waits();
  EXPECT_EQ(waits.size(), size_t{kClients});
  // The lock's key and its holder are of this, and what the replica is to be sent.
  EXPECT_LT(server.engine().UsedMemory() - bytes_before, size_t{kClients} * kBytesOfWaiterMax);
  const uint64_t turns = server.engine().statistics().turns;
  server.AdvanceTime(500);
  server.Settle();
  EXPECT_EQ(waits.size(), 0U);
  EXPECT_LT(server.engine().statistics().turns - turns, uint64_t{kClients} / 50)
      << "a turn ends hundreds";
  EXPECT_EQ(server.engine().part<LockService>().held(), 0U);
  EXPECT_THAT(clients.back()->TakeBytes(), StartsWith("-NOREPLICAS"));
  EXPECT_EQ(server.Audit(), "");
}

}  // namespace
}  // namespace sluice
