// Sessions that are no clients: replicas and links to a master. What Redis 7.0 does with each where
// it tells them from clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/dispatch/memory_limit.h"
#include "server/observe/statistics.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class SessionKindTest : public EngineFixture {
 protected:
  TestClient& ConnectAs(SessionKind kind) {
    TestClient& other = Connect();
    Become(other, kind);
    return other;
  }
  void Become(TestClient& other, SessionKind kind) {
    engine().part<Clients>().SetKind(*engine().Find(other.id()), kind);
  }
  // A replica that has subscribed before it became one.
  TestClient& ConnectSubscribedReplica() {
    TestClient& other = Connect();
    other.Run({"HELLO", "3"});
    other.Run({"SUBSCRIBE", "c"});
    Become(other, SessionKind::kReplica);
    return other;
  }
  std::string Ask(std::string_view line) { return Line(line).ToText(); }
  // The line of CLIENT LIST.
  std::string LineOf(const TestClient& other) {
    return Ask(Concat("client list id ", engine().Find(other.id())->client_id));
  }
  // So many bytes more wait for it: of a stream, or of answers.
  void LeaveUnread(TestClient& other, size_t bytes) {
    other.set_reading(false);
    Session& session = *engine().Find(other.id());
    session.output.Append(std::string(bytes, 'x'));
    engine().part<Clients>().QueueSend(session);
    server().Settle();
  }

  TestClient& replica_ = ConnectAs(SessionKind::kReplica);
  TestClient& master_ = ConnectAs(SessionKind::kMasterLink);
};

// --- what is told of them

TEST_F(SessionKindTest, ClientListHasALetterForEach) {
  EXPECT_THAT(LineOf(replica_), HasSubstr(" flags=S "));
  EXPECT_THAT(LineOf(master_), HasSubstr(" flags=M "));
  EXPECT_THAT(LineOf(master_), HasSubstr(" user=(superuser) "));
  EXPECT_THAT(LineOf(client()), HasSubstr(" flags=N "));
  EXPECT_THAT(LineOf(ConnectSubscribedReplica()), HasSubstr(" flags=SP "));
}

TEST_F(SessionKindTest, AreTypesForClientList) {
  const std::string replicas = Ask("client list type replica");
  EXPECT_THAT(replicas, HasSubstr(" flags=S "));
  EXPECT_THAT(replicas, Not(HasSubstr(" flags=M ")));
  EXPECT_EQ(Ask("client list type slave"), replicas);
  EXPECT_THAT(Ask("client list type master"), HasSubstr(" flags=M "));
  EXPECT_THAT(Ask("client list type normal"), Not(HasSubstr(" flags=S ")));
  ConnectSubscribedReplica();
  EXPECT_EQ(Ask("client list type pubsub"), "\"\"");
}

TEST_F(SessionKindTest, AreTypesForClientKill) {
  TestClient& second = ConnectAs(SessionKind::kReplica);
  EXPECT_EQ(Ask("client kill type replica"), ":2");
  EXPECT_TRUE(replica_.closed() && second.closed());
  EXPECT_FALSE(master_.closed());
  EXPECT_EQ(Ask("client kill type normal"), ":0");
  EXPECT_EQ(Ask("client kill type master"), ":1");
  EXPECT_TRUE(master_.closed());
}

// As Redis, which keeps the link to a master in its list of clients.
TEST_F(SessionKindTest, InfoCountsReplicasApart) {
  EXPECT_THAT(Ask("info clients"), HasSubstr("connected_clients:2\\r\\n"));
  EXPECT_THAT(Ask("info replication"), HasSubstr("connected_slaves:1\\r\\n"));
  EXPECT_THAT(Ask("info memory"), Not(HasSubstr("mem_clients_slaves:0\\r\\n")));
  EXPECT_EQ(engine().session_count(), 3u);
  replica_.Disconnect();
  EXPECT_THAT(Ask("info clients"), HasSubstr("connected_clients:2\\r\\n"));
  EXPECT_THAT(Ask("info replication"), HasSubstr("connected_slaves:0\\r\\n"));
  EXPECT_THAT(Ask("info memory"), HasSubstr("mem_clients_slaves:0\\r\\n"));
  master_.Disconnect();
  EXPECT_THAT(Ask("info clients"), HasSubstr("connected_clients:1\\r\\n"));
}

TEST_F(SessionKindTest, MemoryOfReplicasIsCountedApart) {
  const Clients& clients = engine().part<Clients>();
  const size_t normal = clients.MemoryBytes() - clients.ReplicaBytes();
  LeaveUnread(replica_, 100'000);
  EXPECT_GT(clients.ReplicaBytes(), 100'000u);
  EXPECT_LT(clients.MemoryBytes() - clients.ReplicaBytes(), normal + 10'000);
}

// --- output limits

TEST_F(SessionKindTest, AReplicaHasTheOutputLimitOfItsClass) {
  Ask("config set client-output-buffer-limit 'normal 1000 0 0 replica 5000 0 0 pubsub 1000 0 0'");
  Ask("config set repl-backlog-size 20000");  // a smaller limit becomes that, as in Redis
  LeaveUnread(replica_, 15'000);
  EXPECT_FALSE(replica_.closed());
  LeaveUnread(replica_, 15'000);
  EXPECT_TRUE(replica_.closed());
  EXPECT_EQ(engine().statistics().output_limit_closed, 1u);
}

TEST_F(SessionKindTest, AReplicaThatSubscribesIsAReplica) {
  Ask("config set client-output-buffer-limit 'normal 1000 0 0 replica 5000 0 0 pubsub 1000 0 0'");
  TestClient& subscribed = ConnectSubscribedReplica();
  LeaveUnread(subscribed, 3000);
  EXPECT_FALSE(subscribed.closed());
}

TEST_F(SessionKindTest, AReplicasSoftLimitIsItsClassesToo) {
  Ask("config set client-output-buffer-limit 'normal 0 0 0 replica 0 1000 5 pubsub 0 0 0'");
  LeaveUnread(replica_, 3000);
  server().AdvanceTime(4'000);
  EXPECT_FALSE(replica_.closed());
  server().AdvanceTime(3'000);
  EXPECT_TRUE(replica_.closed());
}

TEST_F(SessionKindTest, AMasterIsToldAsMuchAsAClient) {
  Ask("config set client-output-buffer-limit 'normal 20000 0 0 replica 50000 0 0 pubsub 50000 0 "
      "0'");
  LeaveUnread(master_, 30'000);
  EXPECT_TRUE(master_.closed());
}

// --- what closes and holds clients

TEST_F(SessionKindTest, SilenceIsNoReasonToCloseThem) {
  TestClient& idler = Connect();
  Ask("config set timeout 10");
  server().AdvanceTime(30'000);
  EXPECT_TRUE(idler.closed());
  EXPECT_FALSE(replica_.closed());
  EXPECT_FALSE(master_.closed());
}

// Nor do they count: the others need not go for what a replica has left unread.
TEST_F(SessionKindTest, MaxmemoryClientsLeavesThemAlone) {
  Ask("config set maxmemory-clients 1mb");
  LeaveUnread(replica_, 3'000'000);
  LeaveUnread(master_, 3'000'000);
  EXPECT_FALSE(replica_.closed());
  EXPECT_FALSE(master_.closed());
  EXPECT_EQ(Ask("ping"), "+PONG");
  EXPECT_EQ(engine().part<Clients>().evicted(), 0u);
  TestClient& greedy = Connect();
  LeaveUnread(greedy, 2'000'000);
  EXPECT_TRUE(greedy.closed());
  EXPECT_EQ(engine().part<Clients>().evicted(), 1u);
}

TEST_F(SessionKindTest, WhatAReplicaTookAsAClientCountsNoMore) {
  Ask("config set maxmemory-clients 1mb");
  TestClient& joining = Connect();
  LeaveUnread(joining, 700'000);
  engine().part<Clients>().SetKind(*engine().Find(joining.id()), SessionKind::kReplica);
  TestClient& other = Connect();
  LeaveUnread(other, 700'000);
  EXPECT_FALSE(joining.closed());
  EXPECT_FALSE(other.closed());
}

TEST_F(SessionKindTest, AMasterMaySendMoreThanAClient) {
  Ask("config set client-query-buffer-limit 1mb");
  const std::string request = "*2\r\n$4\r\nECHO\r\n$2000000\r\n" + std::string(1'500'000, 'x');
  for (TestClient* const other : {&replica_, &master_}) other->SendBytes(request);
  server().AdvanceTime(3'000);
  EXPECT_TRUE(replica_.closed());
  EXPECT_FALSE(master_.closed());
}

TEST_F(SessionKindTest, APauseHoldsNoReplica) {
  Ask("client pause 1000 all");
  replica_.Send({"PING"});
  EXPECT_TRUE(replica_.closed());  // it has run
}

// --- what may be said

// Redis 7.0 ends the link of a replica that says anything which is answered, and refuses before
// what would read or change a key.
TEST_F(SessionKindTest, AReplicaIsAnsweredNothing) {
  const std::vector<std::vector<std::string>> requests = {
      {"PING"}, {"GET", "k"}, {"MULTI"}, {"no-such-command"}, {"RESET"}, {"HELLO", "3"}};
  for (const std::vector<std::string>& request : requests) {
    TestClient& rogue = ConnectAs(SessionKind::kReplica);
    rogue.Send(request);
    EXPECT_TRUE(rogue.closed()) << request[0];
    EXPECT_FALSE(rogue.has_received()) << request[0];
  }
  EXPECT_THAT(server().log(), Contains(HasSubstr("Replica generated a reply to command 'ping', "
                                                 "disconnecting it: id=")));
  EXPECT_THAT(server().log(), Contains(HasSubstr("to command 'get', disconnecting it: id=")));
  EXPECT_THAT(server().log(),
              Contains(HasSubstr("== CRITICAL == This master is sending an error to its replica: "
                                 "'unknown command 'no-such-command'")));
}

TEST_F(SessionKindTest, AReplicaTouchesNoKeys) {
  replica_.SendBytes(EncodeRequest({"SET", "k", "v"}) + EncodeRequest({"SET", "k2", "v"}));
  EXPECT_TRUE(replica_.closed());
  EXPECT_EQ(Ask("dbsize"), ":0");
  EXPECT_THAT(Ask("info errorstats"), HasSubstr("errorstat_ERR:count=1"));
  TestClient& publisher = ConnectAs(SessionKind::kReplica);
  client().Run({"SUBSCRIBE", "c"});
  publisher.Send({"PUBLISH", "c", "words"});
  EXPECT_TRUE(publisher.closed());
  EXPECT_FALSE(client().Next());
}

TEST_F(SessionKindTest, AMessageEndsASubscribedReplica) {
  TestClient& subscribed = ConnectSubscribedReplica();
  EXPECT_EQ(Ask("publish c words"), ":1");
  EXPECT_TRUE(subscribed.closed());
  EXPECT_FALSE(subscribed.has_received());
}

// --- maxmemory

// The DELs of what is evicted wait there, too: more would go for them.
TEST_F(SessionKindTest, EvictionMakesUpForClientsNotForReplicas) {
  const auto evicted = [this] { return engine().part<MemoryLimit>().counts().keys; };
  for (int i = 0; i < 1000; ++i) client().Run({"SET", Concat("k", i), std::string(1000, 'x')});
  Ask("config set maxmemory-policy allkeys-random");
  Ask(Concat("config set maxmemory ", engine().UsedMemory() + 200'000));
  LeaveUnread(replica_, 3'000'000);
  EXPECT_EQ(Ask("set k v"), "+OK");
  EXPECT_EQ(evicted(), 0u);
  EXPECT_GE(engine().part<Clients>().uncounted_bytes(), 3'000'000u);
  EXPECT_THAT(Ask("info memory"), HasSubstr(Concat("mem_not_counted_for_evict:",
                                                   engine().part<Clients>().uncounted_bytes())));
  replica_.Disconnect();
  EXPECT_THAT(Ask("info memory"), HasSubstr("mem_not_counted_for_evict:0\\r"));
  LeaveUnread(master_, 500'000);
  Ask("set k v");
  EXPECT_GT(evicted(), 0u);
}

}  // namespace
}  // namespace sluice
