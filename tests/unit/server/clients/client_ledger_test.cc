// The ledger of a client: whatever it makes the server keep counts in its memory, is gone from it
// when it is given up, and has it closed by maxmemory-clients. That the sum is what the allocator
// has handed out is tests/smoke/memory_sums.py's to show.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/clients/session.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using LedgerWords = std::vector<std::string>;

// Too long to lie in a std::string.
std::string NameOf(int i) { return Concat("a name of some length:", 1'000'000 + i); }

// What a client can pile up, one by one.
struct Crowd {
  const char* what;
  LedgerWords before;  // said once
  void (*add)(TestClient& client, int i);
  LedgerWords undo;  // empty: nothing but the end of the client does
  size_t least;      // bytes that one takes: its name and two links
};

void RunWith(TestClient& client, const char* word, int i) { client.Send({word, NameOf(i)}); }

const Crowd kCrowds[] = {
    {"watched keys",
     {},
     [](TestClient& client, int i) { RunWith(client, "WATCH", i); },
     {"UNWATCH"},
     80},
    {"channels",
     {},
     [](TestClient& client, int i) { RunWith(client, "SUBSCRIBE", i); },
     {"UNSUBSCRIBE"},
     150},
    {"patterns",
     {},
     [](TestClient& client, int i) { RunWith(client, "PSUBSCRIBE", i); },
     {"PUNSUBSCRIBE"},
     200},
    {"shard channels",
     {},
     [](TestClient& client, int i) { RunWith(client, "SSUBSCRIBE", i); },
     {"SUNSUBSCRIBE"},
     150},
    {"tracked prefixes",
     {},
     [](TestClient& client, int i) {
       client.Send({"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", NameOf(i)});
     },
     {"CLIENT", "TRACKING", "OFF"},
     150},
    {"tracked keys",
     {"CLIENT", "TRACKING", "ON"},
     [](TestClient& client, int i) { RunWith(client, "GET", i); },
     {"FLUSHALL"},
     100},
    {"queued commands",
     {"MULTI"},
     [](TestClient& client, int i) { RunWith(client, "GET", i); },
     {"DISCARD"},
     80},
    {"arguments of a request without an end",
     {},
     [](TestClient& client, int i) {
       client.SendBytes(i == 0 ? "*1000000\r\n$1\r\na\r\n" : "$1\r\na\r\n");
     },
     {},
     20},
    {"bytes of an argument without an end",
     {},
     [](TestClient& client, int i) {
       client.SendBytes(i == 0 ? "*1\r\n$10000000\r\n" : std::string(50, 'x'));
     },
     {},
     50},
};

class ClientLedger : public EngineFixture {
 protected:
  // Without the room for replies, which these clients' host does not give back.
  size_t MemoryOf(const TestClient& client) {
    const Session* const session = engine().Find(client.id());
    return session ? session->MemoryBytes() - session->output.memory() : 0;
  }
  TestClient& Begin(const Crowd& crowd) {
    TestClient& client = Connect();
    if (!crowd.before.empty()) client.Run(crowd.before);
    return client;
  }
  // What stands in CLIENT LIST.
  std::string FieldOf(const TestClient& client, std::string_view field) {
    const Session* const session = engine().Find(client.id());
    const std::string line = Run({"CLIENT", "LIST", "ID", Concat(session->client_id)}).text;
    const size_t at = line.find(Concat(" ", field, "=")) + field.size() + 2;
    return line.substr(at, line.find_first_of(" \n", at) - at);
  }
};

TEST_F(ClientLedger, CountsWhatTheServerKeepsAndForgetsIt) {
  constexpr int kMany = 500;
  for (const Crowd& crowd : kCrowds) {
    TestClient& client = Begin(crowd);
    client.Run({"PING"});
    const size_t before = MemoryOf(client);
    const size_t used = engine().UsedMemory();
    for (int i = 0; i < kMany; ++i) crowd.add(client, i);
    EXPECT_GE(MemoryOf(client), before + kMany * crowd.least) << crowd.what;
    EXPECT_LE(MemoryOf(client), before + kMany * 1000) << crowd.what;
    // It is counted nowhere else, but for room in tables.
    const size_t grown = MemoryOf(client) - before;
    EXPECT_GE(engine().UsedMemory() - used, grown) << crowd.what;
    EXPECT_LE(engine().UsedMemory() - used, grown + kMany * 200) << crowd.what;
    if (!crowd.undo.empty()) {
      client.TakeBytes();
      client.Run(crowd.undo);
      client.TakeBytes();
      EXPECT_LE(MemoryOf(client), before + 512) << crowd.what;
    }
    client.Disconnect();
    EXPECT_EQ(server().Audit(), "");
  }
}

TEST_F(ClientLedger, EvictsWhoPilesUp) {
  for (const Crowd& crowd : kCrowds) {
    TestClient& other = Connect();
    TestClient& client = Begin(crowd);
    Run({"CONFIG", "SET", "maxmemory-clients", "200000"});
    int added = 0;
    for (; added < 10'000 && !client.closed(); ++added) crowd.add(client, added);
    EXPECT_TRUE(client.closed()) << crowd.what;
    EXPECT_GT(added, 100) << crowd.what;
    EXPECT_FALSE(other.closed()) << crowd.what;
    EXPECT_EQ(other.Run({"PING"}).ToText(), "+PONG");
    Run({"CONFIG", "SET", "maxmemory-clients", "0"});
    other.Disconnect();
  }
}

// A crowd of waiters: each keeps one wait, of many keys.
TEST_F(ClientLedger, CountsWaits) {
  constexpr size_t kKeys = 200;
  Run({"LOCK.ACQUIRE", "lock", "holder", "LEASE", "60000"});
  Run({"LIMIT.TAKE", "limit", "WINDOW", "1", "60000"});
  LedgerWords pop = {"BLPOP"};
  for (size_t i = 0; i < kKeys; ++i) pop.push_back(NameOf(static_cast<int>(i)));
  pop.push_back("0");
  const std::string owner(1000, 'o');
  struct {
    LedgerWords request;
    size_t least;
  } const kWaits[] = {
      {pop, kKeys * 200},
      {{"LOCK.ACQUIRE", "lock", owner, "LEASE", "60000", "WAIT", "60000"}, 3 * owner.size()},
      {{"LIMIT.TAKE", "limit", "WINDOW", "1", "60000", "WAIT", "60000"}, 300},
      {{"WAIT", "1", "60000"}, 400},
  };
  for (const auto& wait : kWaits) {
    TestClient& client = Connect();
    const size_t before = MemoryOf(client);
    client.Send(wait.request);
    ASSERT_TRUE(engine().Find(client.id())->blocked) << wait.request[0];
    EXPECT_GE(MemoryOf(client), before + wait.least) << wait.request[0];
    // CLIENT LIST does not count the request that waits twice.
    EXPECT_EQ(FieldOf(client, "tot-mem"), Concat(engine().Find(client.id())->MemoryBytes()))
        << wait.request[0];
    const uint64_t id = engine().Find(client.id())->client_id;
    EXPECT_EQ(Run({"CLIENT", "UNBLOCK", Concat(id)}).ToText(), ":1");
    EXPECT_LE(MemoryOf(client), before + 1024) << wait.request[0];
    client.Disconnect();
  }
}

TEST_F(ClientLedger, CountsNames) {
  TestClient& client = Connect();
  const size_t before = MemoryOf(client);
  client.Run({"CLIENT", "SETNAME", std::string(10'000, 'n')});
  EXPECT_GE(MemoryOf(client), before + 10'000);
  client.Run({"CLIENT", "SETINFO", "LIB-NAME", std::string(10'000, 'n')});
  EXPECT_GE(MemoryOf(client), before + 20'000);
}

// --- what several clients share is one's to pay for, and the next one's when it goes

struct Shared {
  const char* what;
  LedgerWords begin;
  LedgerWords share;
  LedgerWords leave;
};

const std::string kLongName(4000, 'n');
const Shared kShared[] = {
    {"a watched key", {}, {"WATCH", kLongName}, {"UNWATCH"}},
    {"a channel", {}, {"SUBSCRIBE", kLongName}, {"UNSUBSCRIBE", kLongName}},
    {"a pattern", {}, {"PSUBSCRIBE", kLongName}, {"PUNSUBSCRIBE", kLongName}},
    {"a prefix",
     {},
     {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", kLongName},
     {"CLIENT", "TRACKING", "OFF"}},
};

TEST_F(ClientLedger, WhatIsSharedIsPaidForOnce) {
  for (const Shared& shared : kShared) {
    TestClient& first = Connect();
    TestClient& second = Connect();
    const size_t empty = MemoryOf(first);
    first.Run(shared.share);
    const size_t of_first = MemoryOf(first) - empty;
    second.Run(shared.share);
    const size_t of_second = MemoryOf(second) - empty;
    EXPECT_GE(of_first, of_second + kLongName.size()) << shared.what;
    EXPECT_NEAR(static_cast<double>(MemoryOf(first) - empty), static_cast<double>(of_first), 64);
    first.Run(shared.leave);
    EXPECT_LE(MemoryOf(first), empty + 512) << shared.what;
    EXPECT_NEAR(static_cast<double>(MemoryOf(second) - empty), static_cast<double>(of_first), 64)
        << shared.what;
    first.Disconnect();
    second.Disconnect();
    EXPECT_EQ(server().Audit(), "");
  }
}

TEST_F(ClientLedger, AKeyThatTwoHaveReadIsTheOldersUntilItChanges) {
  TestClient& older = Connect();
  TestClient& younger = Connect();
  for (TestClient* client : {&older, &younger}) client->Run({"CLIENT", "TRACKING", "ON"});
  const size_t before = MemoryOf(younger);
  younger.Run({"GET", kLongName});
  EXPECT_GE(MemoryOf(younger), before + kLongName.size());
  older.Run({"GET", kLongName});
  EXPECT_GE(MemoryOf(older), before + kLongName.size());
  EXPECT_LE(MemoryOf(younger), before + 64);
  Run({"SET", kLongName, "v"});
  EXPECT_LE(MemoryOf(older), before + 64);
  EXPECT_EQ(MemoryOf(younger), before);
  younger.Run({"GET", kLongName});
  younger.Disconnect();
  EXPECT_EQ(server().Audit(), "");
}

TEST_F(ClientLedger, TheFirstOfALineOfWaitersPaysForIt) {
  TestClient& first = Connect();
  TestClient& second = Connect();
  const size_t empty = MemoryOf(first);
  first.Send({"BLPOP", kLongName, "0"});
  second.Send({"BLPOP", kLongName, "0"});
  const size_t of_first = MemoryOf(first) - empty;
  EXPECT_GE(of_first, MemoryOf(second) - empty + kLongName.size());
  Run({"RPUSH", kLongName, "element"});
  EXPECT_FALSE(engine().Find(first.id())->blocked);
  EXPECT_EQ(MemoryOf(second) - empty, of_first);
  second.Disconnect();
}

// --- what CLIENT LIST shows

// As Redis: an argument that is complete is one, and no unread bytes.
TEST_F(ClientLedger, ShowsHowFarARequestHasCome) {
  TestClient& client = Connect();
  client.SendBytes("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n" + std::string(50'000, 'x'));
  EXPECT_EQ(FieldOf(client, "qbuf"), "50000");
  EXPECT_EQ(FieldOf(client, "argv-mem"), "4");
  client.SendBytes(std::string(50'000, 'x') + "\r\n");
  EXPECT_EQ(client.Next()->ToText(), "+OK");
  EXPECT_EQ(FieldOf(client, "qbuf"), "0");
  EXPECT_EQ(FieldOf(client, "tot-net-in"), "100031");
  EXPECT_EQ(FieldOf(client, "tot-net-out"), "5");
}

// A long request that comes in pieces has half more room than what has come,
// in the allocator's sizes.
TEST_F(ClientLedger, AnUnfinishedRequestCountsAboutOnce) {
  for (const size_t argument : {size_t{16}, size_t{20'000}, size_t{4'000'000}}) {
    TestClient& client = Connect();
    const size_t empty = MemoryOf(client);
    const std::string piece =
        argument == 4'000'000 ? std::string(16 * 1024, 'x')
                              : Concat("$", argument, "\r\n", std::string(argument, 'x'), "\r\n");
    client.SendBytes(argument == 4'000'000 ? "*2\r\n$3\r\nGET\r\n$4000000\r\n" : "*1000000\r\n");
    size_t sent = 0;
    while (sent < 900'000) {
      client.SendBytes(piece);
      sent += piece.size();
      const size_t slots = argument == 16 ? sent / piece.size() * 32 : 0;
      EXPECT_LE(MemoryOf(client), empty + sent + sent * 7 / 8 + slots + 64 * 1024) << argument;
    }
    client.Disconnect();
  }
}

}  // namespace
}  // namespace sluice
