// One lock with a crowd of holders, as commands meet it: what ends all of them ends them at once
// for every later command, at the cost of one; the memory and the news of it follow a slice a turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/engine/engine.h"
#include "server/locks/lock_service.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class HolderCrowd : public testing::Test {
 protected:
  static constexpr int kHolders = 1000;
  static constexpr int64_t kTickNanos = 50'000;  // a slice is over after some looks at the clock
  static constexpr int kTurnsMin = 3;            // that it takes to free them
  static constexpr int kToldMax = 300;           // in one turn

  void TakeAll(const std::string& terms) {
    std::string requests;
    for (int i = 0; i < kHolders; ++i)
      requests += Concat("LOCK.ACQUIRE k h", i, " SHARED ", terms, "\r\n");
    a_.SendBytes(requests);
    const std::string answers = a_.TakeBytes();
    newest_ = service().tokens().last();
    ASSERT_EQ(std::ranges::count(answers, '*'), kHolders);
  }
  LockService& service() { return server_.engine().part<LockService>(); }
  size_t Garbage() { return server_.engine().keyspace().waiting_to_be_freed(); }
  // One turn, in which time passes.
  void RunOneTurn(const std::string& request) {
    server_.set_tick_step(kTickNanos);
    const std::string bytes = request + "\r\n";
    server_.engine().Receive(a_.id(), bytes);
    server_.Turn();
  }
  // All that is left. How many turns it took.
  int RunAll() {
    int turns = 0;
    for (; Garbage() > 0 || service().has_left_over(); ++turns) server_.Turn();
    server_.set_tick_step(0);
    return turns;
  }
  static int CountIn(const std::string& text, std::string_view word) {
    int found = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
    return found;
  }

  TestEngine server_{{.audits = false}};
  TestClient& a_ = server_.Connect();
  TestClient& b_ = server_.Connect();
  int64_t newest_ = 0;
};

TEST_F(HolderCrowd, IsGoneAtOnceWhateverEndsIt) {
  const size_t empty = server_.engine().keyspace().memory_bytes();
  for (const std::string request : {"LOCK.BREAK k", "DEL k", "UNLINK k", "RENAME k l", "MOVE k 1",
                                    "SET k x", "FLUSHALL", "FLUSHDB ASYNC", "SWAPDB 0 1"}) {
    SCOPED_TRACE(request);
    TakeAll("LEASE 100000");
    RunOneTurn(request);
    EXPECT_GT(Garbage(), 0u);
    EXPECT_EQ(service().held(), 0u);
    EXPECT_EQ(server_.Audit(), "");
    if (request == "SET k x") a_.SendBytes("DEL k\r\n");
    a_.TakeBytes();
    // Every later command sees the end of it, while it is still to be freed.
    EXPECT_EQ(b_.Run({"lock.info", "k"}).ToText(), "[]");
    EXPECT_EQ(b_.Run({"lock.info", "l"}).ToText(), "[]");
    EXPECT_EQ(b_.Run({"lock.list", "0"}).ToText(), "[\"0\", []]");
    EXPECT_EQ(b_.Run({"fenced", "k", std::to_string(newest_), "ping"}).text.substr(0, 5), "STALE");
    EXPECT_EQ(b_.Run({"lock.release", "k", "h1"}).text.substr(0, 7), "NOTHELD");
    EXPECT_EQ(b_.Run({"lock.acquire", "k", "h1", "lease", "100"}).elements.size(), 4u);
    EXPECT_EQ(b_.Run({"lock.release", "k", "h1"}).ToText(), ":0");
    RunAll();
    b_.Run({"flushall"});
    RunAll();
    EXPECT_EQ(Garbage(), 0u);
    EXPECT_EQ(server_.engine().keyspace().memory_bytes(), empty);
    EXPECT_EQ(server_.Audit(), "");
  }
}

TEST_F(HolderCrowd, IsFreedInSlices) {
  TakeAll("LEASE 100000");
  const size_t full = server_.engine().keyspace().memory_bytes();
  RunOneTurn("DEL k");
  EXPECT_GT(server_.engine().keyspace().memory_bytes(), full / 2);  // it counts as used until then
  EXPECT_GE(RunAll(), kTurnsMin);
  EXPECT_LT(server_.engine().keyspace().memory_bytes(), full / 2);
}

TEST_F(HolderCrowd, LosesItsLeasesAtOnceForWhoAsks) {
  TakeAll("LEASE 100");
  server_.clock().Advance(101);
  RunOneTurn("LOCK.RENEW k h1 LEASE 10 TOKEN 1");  // what was sent in time is read first
  EXPECT_EQ(service().held(), 0u);
  EXPECT_GT(Garbage(), 0u);
  a_.TakeBytes();
  RunOneTurn("LOCK.ACQUIRE k b LEASE 1000");
  EXPECT_EQ(a_.Next().value_or(Reply()).elements.size(), 4u);
  EXPECT_EQ(service().counts().expired, static_cast<uint64_t>(kHolders));
  EXPECT_GE(RunAll(), kTurnsMin);
  EXPECT_EQ(server_.Audit(), "");
}

// An event for each, and for holders with NOTIFY a push with the reason; not all in one turn.
TEST_F(HolderCrowd, IsToldWhyInSlices) {
  a_.Run({"config", "set", "notify-keyspace-events", "KL"});
  b_.Run({"subscribe", "__keyspace@0__:k"});
  TestClient& c = server_.Connect();
  c.Run({"hello", "3"});
  const std::vector<std::pair<std::string, std::string>> losses = {
      {"LOCK.BREAK k", "broken"},   {"DEL k", "deleted"},    {"SET k x", "overwritten"},
      {"RENAME k l", "renamed"},    {"FLUSHALL", "flushed"}, {"SWAPDB 0 1", "swapped"},
      {"RENAME l k", "overwritten"}};
  for (const auto& [request, reason] : losses) {
    SCOPED_TRACE(request);
    if (request == "RENAME l k") a_.Run({"set", "l", "x"});
    std::string requests;
    for (int i = 0; i < kHolders; ++i)
      requests += Concat("LOCK.ACQUIRE k h", i, " SHARED LEASE 100000 NOTIFY\r\n");
    c.SendBytes(requests);
    c.TakeBytes(), b_.TakeBytes();
    RunOneTurn(request);
    std::string pushes = c.TakeBytes(), events = b_.TakeBytes();
    EXPECT_LT(CountIn(pushes, "lock-lost"), kToldMax);
    EXPECT_LT(CountIn(events, "lock-broken"), kToldMax);
    RunAll();
    pushes += c.TakeBytes(), events += b_.TakeBytes();
    EXPECT_EQ(CountIn(pushes, "lock-lost"), kHolders);
    EXPECT_EQ(CountIn(pushes, reason), kHolders);
    EXPECT_EQ(CountIn(events, "lock-broken"), reason == "broken" ? kHolders : 0);
    a_.TakeBytes();
    a_.Run({"flushall"});
    RunAll();
    a_.TakeBytes();
  }
}

// A lease that was over before had ended by itself, whether or not its turn had come.
TEST_F(HolderCrowd, IsToldWhichLeasesWereOverBeforeItWasBroken) {
  a_.Run({"config", "set", "notify-keyspace-events", "KL"});
  b_.Run({"subscribe", "__keyspace@0__:k"});
  TestClient& c = server_.Connect();
  c.Run({"hello", "3"});
  std::string requests;
  for (int i = 0; i < kHolders; ++i)
    requests += Concat("LOCK.ACQUIRE k h", i, " SHARED LEASE ", i < 10 ? 5000 : 100, " NOTIFY\r\n");
  c.SendBytes(requests);
  c.TakeBytes(), b_.TakeBytes();
  server_.clock().Advance(101);
  RunOneTurn("DEBUG SLEEP 0");  // a slice of the leases, and not all
  EXPECT_GT(service().counts().expired, 0u);
  EXPECT_LT(service().counts().expired, static_cast<uint64_t>(kHolders - 10));
  a_.TakeBytes();
  RunOneTurn("LOCK.BREAK k");
  EXPECT_EQ(a_.TakeBytes(), ":10\r\n");
  RunAll();
  const std::string pushes = c.TakeBytes(), events = b_.TakeBytes();
  EXPECT_EQ(CountIn(pushes, "broken"), 10);
  EXPECT_EQ(CountIn(pushes, "expired"), kHolders - 10);
  EXPECT_EQ(CountIn(events, "lock-broken"), 10);
  EXPECT_EQ(CountIn(events, "lock-expired"), kHolders - 10);
}

TEST_F(HolderCrowd, IsTakenApartWhileItsConnectionsClose) {
  std::vector<TestClient*> clients;
  for (int i = 0; i < kHolders; ++i) {
    clients.push_back(&server_.Connect());
    clients.back()->Run({"lock.acquire", "k", Concat("h", i), "shared", "session"});
  }
  RunOneTurn("DEL k");
  EXPECT_GT(Garbage(), 0u);
  EXPECT_EQ(b_.Run({"lock.acquire", "k", "b", "session"}).elements.size(), 4u);
  for (TestClient* client : clients) client->Disconnect();
  RunAll();
  EXPECT_EQ(service().held(), 1u);
  EXPECT_EQ(service().counts().released, 0u);
  EXPECT_EQ(server_.Audit(), "");
}

// One effect says of all that they hold it no more, and how their tokens stand then.
TEST_F(HolderCrowd, EndsForWhoPlaysTheLog) {
  a_.PlayLog();
  for (const std::string end : {"LOCK.RESTORE k 0", "LOCK.BREAK k"}) {
    TakeAll("LEASE 100000");
    a_.SendBytes(end + "\r\n");
    a_.TakeBytes();
    const bool broken = end == "LOCK.BREAK k";
    EXPECT_EQ(b_.Run({"lock.info", "k"}).ToText(), "[]");
    const Reply reply = b_.Run({"fenced", "k", std::to_string(newest_), "ping"});
    EXPECT_EQ(reply.text.substr(0, 5), broken ? "STALE" : "PONG");
    EXPECT_EQ(service().counts().granted, (broken ? 2u : 1u) * kHolders);
  }
}

TEST_F(HolderCrowd, OfWaitersCountsAsUsedMemory) {
  const size_t before = server_.engine().UsedMemory();
  a_.Run({"lock.acquire", "k", "a", "lease", "100000"});
  for (int i = 0; i < 100; ++i) {
    TestClient& client = server_.Connect();
    client.Send(
        {"lock.acquire", "k", std::string(1000, 'o') + Concat(i), "lease", "1", "wait", "99"});
  }
  EXPECT_GT(service().queue().MemoryBytes(), 0u);  // of lines and owners; waits are their clients'
  EXPECT_GT(server_.engine().UsedMemory(), before + 100u * 2000);
  server_.AdvanceTime(100);
  EXPECT_LT(service().queue().MemoryBytes(), 100u * 300);  // free slots of tables
}

}  // namespace
}  // namespace sluice
