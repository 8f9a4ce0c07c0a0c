// Locks after a start in which grants that were answered are missing: none of them is granted to
// another owner while the first may still hold it, and an owner that can show its token gets its
// lock back.
#include "server/locks/restart_grace.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/engine_fixture.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

using Config = std::vector<std::pair<std::string, std::string>>;

constexpr char kBootFile[] = "/proc/sys/kernel/random/boot_id";

// A machine whose server is started again and again.
class Machine {
 public:
  explicit Machine(Config config) : config_(std::move(config)) { Reboot(); }

  MemoryDisk& disk() { return disk_; }
  void Reboot() { disk_.files[kBootFile] = "boot-" + std::to_string(++boots_) + "\n"; }
  // The power is cut at a moment when all written after the last Remember is not on disk.
  void Remember() { log_ = disk_.files[kFirstIncrement]; }
  void CutPower() {
    LetGo();
    Reboot();
  }
  // What a failed sync has left unwritten leaves the system's cache.
  void LetGo() { disk_.files[kFirstIncrement] = log_; }
  TestEngine::Options Options(int64_t later_ms = 0) {
    TestEngine::Options options;
    options.disk = &disk_;
    options.config = config_;
    options.unix_ms += later_ms;
    return options;
  }

 private:
  MemoryDisk disk_;
  Config config_;
  std::string log_;
  int boots_ = 0;
};

Config Logged(const std::string& fsync = "everysec") {
  return {{"appendonly", "yes"}, {"appendfsync", fsync}};
}

std::string Acquire(TestClient& client, const std::string& key, const std::string& owner,
                    const std::string& lease_ms = "30000") {
  return client.Run({"LOCK.ACQUIRE", key, owner, "LEASE", lease_ms}).ToText();
}

std::string TokenOf(TestClient& client, const std::string& key) {
  return std::to_string(client.Run({"LOCK.INFO", key}).elements.at(2).integer);
}

bool IsHeldBack(const std::string& answer) { return answer.starts_with("-LOCKGRACE "); }
bool IsGrant(const std::string& answer) { return answer.starts_with("[:1"); }

// A server that has granted `kept`, which is on disk, and `lost`, which is not.
std::string LoseAGrant(Machine& machine, const std::string& lease_ms = "30000") {
  TestEngine server(machine.Options());
  TestClient& client = server.Connect();
  EXPECT_TRUE(IsGrant(Acquire(client, "kept", "a", "20000")));
  server.AdvanceTime(1500);
  machine.Remember();
  EXPECT_TRUE(IsGrant(Acquire(client, "lost", "a", lease_ms)));
  const std::string token = TokenOf(client, "lost");
  machine.CutPower();
  return token;
}

// A machine that has lost a grant, and its server, started again 3 s later.
class AfterALoss : public testing::Test {
 protected:
  Machine machine_{Logged()};
  const std::string token_ = LoseAGrant(machine_);  // of the grant that is lost
  TestEngine again_{machine_.Options(3000)};
  TestClient& client_ = again_.Connect();
};

TEST_F(AfterALoss, HoldsUnknownNamesBackUntilAllLeasesAreOver) {
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "lost", "b")));
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "never taken", "b")));
  EXPECT_EQ(Acquire(client_, "kept", "b"), "(nil-array)") << "it is held, and known to be";
  EXPECT_NE(client_.Run({"INFO", "locks"}).ToText().find("locks_restart_grace:1"),
            std::string::npos);
  TestClient& waiting = again_.Connect();
  waiting.Send({"LOCK.ACQUIRE", "lost", "c", "LEASE", "1000", "WAIT", "100000"});
  again_.AdvanceTime(28'000);
  EXPECT_FALSE(waiting.has_received()) << "the lease of the lost grant may run on";
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "kept", "b"))) << "its lease may have been renewed";
  again_.AdvanceTime(40'000);
  EXPECT_TRUE(waiting.has_received());
  EXPECT_TRUE(IsGrant(Acquire(client_, "never taken", "b")));
  EXPECT_NE(client_.Run({"INFO", "locks"}).ToText().find("locks_restart_grace:0"),
            std::string::npos);
}

TEST_F(AfterALoss, AWaiterDoesNotTakeOverALockThatMayHaveBeenRenewed) {
  TestClient& waiting = again_.Connect();
  waiting.Send({"LOCK.ACQUIRE", "kept", "c", "LEASE", "1000", "WAIT", "100000"});
  again_.AdvanceTime(25'000);
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "kept", "b"))) << "its known lease is over";
  EXPECT_FALSE(waiting.has_received());
  again_.AdvanceTime(40'000);
  EXPECT_TRUE(waiting.has_received());
}

TEST_F(AfterALoss, TheTokenOfALostGrantGetsTheLockBack) {
  const auto renew = [&](const std::string& owner, const std::string& shown) {
    return client_.Run({"LOCK.RENEW", "lost", owner, "LEASE", "5000", "TOKEN", shown}).ToText();
  };
  EXPECT_TRUE(renew("a", std::to_string(std::stoll(token_) + 20'000'000)).starts_with("-NOTHELD"))
      << "no such token was ever given";
  EXPECT_EQ(renew("a", token_), ":5000");
  EXPECT_EQ(TokenOf(client_, "lost"), token_);
  EXPECT_EQ(client_.Run({"FENCED", "lost", token_, "SET", "k", "v"}).ToText(), "+OK");
  EXPECT_EQ(Acquire(client_, "lost", "b"), "(nil-array)");
  EXPECT_EQ(client_.Run({"LOCK.RELEASE", "lost", "a"}).ToText(), ":0");
  EXPECT_TRUE(IsGrant(Acquire(client_, "lost", "b"))) << "its holder has given it back";
  EXPECT_TRUE(renew("a", token_).starts_with("-NOTHELD"));
}

TEST_F(AfterALoss, AHolderThatRenewsMakesItsNameKnown) {
  TestClient& waiting = again_.Connect();
  waiting.Send({"LOCK.ACQUIRE", "kept", "c", "LEASE", "1000", "WAIT", "100000"});
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "kept", "a"))) << "it may have been given back";
  EXPECT_EQ(client_.Run({"LOCK.RENEW", "kept", "a", "LEASE", "5000"}).ToText(), ":5000");
  EXPECT_TRUE(IsGrant(Acquire(client_, "kept", "a")));
  EXPECT_EQ(client_.Run({"LOCK.RELEASE", "kept", "a", "ALL"}).ToText(), ":0");
  EXPECT_TRUE(waiting.has_received()) << "handed over at once";
  again_.AdvanceTime(1100);
  EXPECT_TRUE(IsGrant(Acquire(client_, "kept", "d"))) << "known ones are over when they are over";
}

TEST_F(AfterALoss, NoTokenOfAnUnknownNamePasses) {
  const auto fenced = [&](const std::string& shown) {
    return client_.Run({"FENCED", "lost", shown, "SET", "k", "v"}).ToText();
  };
  EXPECT_TRUE(IsHeldBack(fenced("1"))) << "it may be held under it";
  EXPECT_TRUE(IsHeldBack(fenced(token_)));
  EXPECT_TRUE(fenced("9007199254740991").starts_with("-STALE")) << "no such token was ever given";
  again_.AdvanceTime(70'000);
  EXPECT_TRUE(fenced(token_).starts_with("-STALE"));
}

TEST_F(AfterALoss, AnOwnerThatIsNotKnownIsNotToldThatItHasLostTheLock) {
  EXPECT_TRUE(IsHeldBack(client_.Run({"LOCK.RENEW", "lost", "a", "LEASE", "9"}).ToText()));
  EXPECT_TRUE(IsHeldBack(client_.Run({"LOCK.RELEASE", "lost", "a"}).ToText()));
  EXPECT_TRUE(IsHeldBack(client_.Run({"LOCK.RELEASE", "lost", "a", "TOKEN", token_}).ToText()));
  again_.AdvanceTime(70'000);
  EXPECT_EQ(client_.Run({"LOCK.RELEASE", "lost", "a"}).ToText(),
            "-NOTHELD this owner does not hold the lock");
}

// What a database has lost by a flush, and a name by DEL or BREAK, is over whoever had it.
TEST_F(AfterALoss, AFlushEndsWhatIsNotKnownToo) {
  const auto renew = [&] {
    return client_.Run({"LOCK.RENEW", "lost", "a", "LEASE", "5000", "TOKEN", token_}).ToText();
  };
  const std::string not_held = "-NOTHELD this owner does not hold the lock";
  client_.Run({"DEL", "lost"});
  EXPECT_EQ(renew(), not_held);
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "lost", "b"))) << "its holder does not know it yet";
  EXPECT_EQ(client_.Run({"LOCK.RENEW", "kept", "a", "LEASE", "5000"}).ToText(), ":5000");
  client_.Run({"FLUSHALL"});
  EXPECT_EQ(client_.Run({"LOCK.RENEW", "kept", "a", "LEASE", "5000"}).ToText(), not_held);
}

TEST_F(AfterALoss, WhatIsGivenBackTwiceStaysInDoubt) {
  EXPECT_EQ(client_.Run({"LOCK.RELEASE", "kept", "a"}).ToText(), ":0");
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "kept", "b")));
}

TEST_F(AfterALoss, AnAdministratorEndsTheDoubt) {
  TestClient& waiting = again_.Connect();
  waiting.Send({"LOCK.ACQUIRE", "lost", "c", "LEASE", "1000", "WAIT", "100000"});
  EXPECT_NE(client_.Run({"LOCK.INFO", "lost"}).ToText().find("free"), std::string::npos);
  EXPECT_EQ(client_.Run({"LOCK.BREAK", "lost"}).ToText(), ":0");
  EXPECT_TRUE(waiting.has_received());
}

TEST_F(AfterALoss, ALowerBoundEndsItSooner) {
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "lost", "b")));
  EXPECT_EQ(client_.Line("CONFIG SET lock-restart-grace-max 5000").ToText(), "+OK");
  again_.AdvanceTime(4900);
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "lost", "b")));
  again_.AdvanceTime(101);
  EXPECT_TRUE(IsGrant(Acquire(client_, "lost", "b")));
}

TEST_F(AfterALoss, TurnedOffItIsOver) {
  EXPECT_TRUE(IsHeldBack(Acquire(client_, "lost", "b")));
  EXPECT_EQ(client_.Line("CONFIG SET lock-restart-grace no").ToText(), "+OK");
  EXPECT_TRUE(IsGrant(Acquire(client_, "lost", "b")));
}

// Locks of the sessions of before: for so long from the start on as the option says now.
TEST(RestartGrace, OfSessionsFollowsItsOption) {
  Machine machine(Logged("always"));
  {
    TestEngine server(machine.Options());
    EXPECT_TRUE(IsGrant(server.Connect().Line("LOCK.ACQUIRE k a SESSION").ToText()));
  }
  TestEngine again(machine.Options(1000));
  TestClient& client = again.Connect();
  again.AdvanceTime(1000);
  EXPECT_EQ(client.Line("CONFIG SET session-grace-ms 3000").ToText(), "+OK");
  again.AdvanceTime(1900);
  EXPECT_FALSE(IsGrant(Acquire(client, "k", "b")));
  again.AdvanceTime(101);
  EXPECT_TRUE(IsGrant(Acquire(client, "k", "b")));
}

// --- the log's tail is lost, and with it that the lock has passed on

// A machine whose log ends with what `kept` does; what `lost` does is answered and not on disk.
class AfterACut {
 public:
  template <typename Kept, typename Lost>
  AfterACut(Kept kept, Lost lost, int64_t later_ms = 3000) : machine_(Logged()) {
    TestEngine server(machine_.Options());
    TestClient& client = server.Connect();
    kept(server, client);
    server.AdvanceTime(1500);
    machine_.Remember();
    lost(server, client);
    machine_.CutPower();
    Start(later_ms);
  }

  void Start(int64_t later_ms) {
    again_.reset();
    again_ = std::make_unique<TestEngine>(machine_.Options(later_ms));
    again_->Settle();
    client_ = &again_->Connect();
  }
  Machine& machine() { return machine_; }
  TestEngine& server() { return *again_; }
  std::string Run(const std::vector<std::string>& words) { return client_->Run(words).ToText(); }
  std::string Fenced(const std::string& token) {
    return Run({"FENCED", "k", token, "SET", "by", token});
  }
  std::string Renew(const std::string& owner, const std::string& token,
                    std::vector<std::string> mode = {}) {
    std::vector<std::string> words = {"LOCK.RENEW", "k", owner, "LEASE", "5000"};
    if (!token.empty()) words.insert(words.end(), {"TOKEN", token});
    words.insert(words.end(), mode.begin(), mode.end());
    return Run(words);
  }
  std::string Take(const std::string& owner, std::vector<std::string> mode = {}) {
    std::vector<std::string> words = {"LOCK.ACQUIRE", "k", owner, "LEASE", "5000"};
    words.insert(words.end(), mode.begin(), mode.end());
    return Run(words);
  }

 private:
  Machine machine_;
  std::unique_ptr<TestEngine> again_;
  TestClient* client_ = nullptr;
};

constexpr char kNotHeldText[] = "-NOTHELD this owner does not hold the lock";
bool IsStale(const std::string& answer) { return answer.starts_with("-STALE"); }

// Takes "k"; its token.
std::string TakeK(TestClient& client, const std::string& owner,
                  const std::vector<std::string>& mode = {}) {
  std::vector<std::string> words = {"LOCK.ACQUIRE", "k", owner, "LEASE", "30000"};
  words.insert(words.end(), mode.begin(), mode.end());
  return std::to_string(client.Run(words).elements.at(0).integer);
}

// a's RELEASE and b's ACQUIRE are lost.
class AfterAHandOver : public testing::Test {
 protected:
  std::string a_, b_;  // tokens
  AfterACut cut_{[this](TestEngine&, TestClient& client) { a_ = TakeK(client, "a"); },
                 [this](TestEngine&, TestClient& client) {
                   client.Run({"LOCK.RELEASE", "k", "a"});
                   b_ = TakeK(client, "b");
                 }};
};

TEST_F(AfterAHandOver, TheNewerTokenWins) {
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(a_))) << "its owner has not proved itself";
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(b_)));
  EXPECT_EQ(cut_.Renew("b", b_), ":5000");
  EXPECT_EQ(cut_.Fenced(b_), "+OK");
  EXPECT_TRUE(IsStale(cut_.Fenced(a_)));
  EXPECT_EQ(cut_.Renew("a", a_), kNotHeldText);
  EXPECT_EQ(cut_.Take("c"), "(nil-array)");
}

TEST_F(AfterAHandOver, TheNewerTokenWinsOverAnOlderOneThatWasProved) {
  EXPECT_EQ(cut_.Renew("a", a_), ":5000");  // it has forgotten that it gave the lock back
  EXPECT_EQ(cut_.Fenced(a_), "+OK");
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(b_))) << "a newer one is shown";
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(a_))) << "so the older does not pass";
  TestClient& waiting = cut_.server().Connect();
  waiting.Send({"LOCK.ACQUIRE", "k", "w", "LEASE", "1000", "WAIT", "9000"});
  EXPECT_EQ(cut_.Renew("b", b_), ":5000");
  EXPECT_FALSE(waiting.has_received()) << "the lock is not handed over between the two";
  EXPECT_EQ(cut_.Fenced(b_), "+OK");
  EXPECT_TRUE(IsStale(cut_.Fenced(a_)));
}

TEST_F(AfterAHandOver, TheSameHoldsOverASecondCut) {
  EXPECT_EQ(cut_.Renew("b", b_), ":5000");
  cut_.machine().CutPower();  // the renewal is not on disk
  cut_.Start(6000);
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(a_)));
  EXPECT_EQ(cut_.Renew("b", b_), ":5000");
  EXPECT_TRUE(IsStale(cut_.Fenced(a_)));
  cut_.Start(9000);  // the process alone was killed
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(b_)));
  EXPECT_EQ(cut_.Renew("b", b_), ":5000");
  EXPECT_EQ(cut_.Fenced(b_), "+OK");
}

TEST_F(AfterAHandOver, WhatIsGivenBackOrRunsOutInDoubtLeavesNoTokenThatPasses) {
  EXPECT_EQ(cut_.Run({"LOCK.RELEASE", "k", "a"}), ":0");
  EXPECT_TRUE(IsStale(cut_.Fenced(a_)));
  EXPECT_TRUE(IsHeldBack(cut_.Fenced(b_)));
  cut_.server().AdvanceTime(90'000);
  EXPECT_TRUE(IsStale(cut_.Fenced(a_)));
  EXPECT_TRUE(IsStale(cut_.Fenced(b_)));
  cut_.Start(120'000);
  EXPECT_TRUE(IsStale(cut_.Fenced(a_))) << "another start knows it, too";
}

TEST_F(AfterAHandOver, BreakEndsTheDoubtForAllTokens) {
  EXPECT_EQ(cut_.Run({"LOCK.BREAK", "k"}), ":1");
  EXPECT_EQ(cut_.Renew("b", b_), kNotHeldText);
  EXPECT_EQ(cut_.Renew("a", a_), kNotHeldText);
  EXPECT_TRUE(IsStale(cut_.Fenced(b_)));
  EXPECT_TRUE(IsGrant(cut_.Take("c")));
}

TEST_F(AfterAHandOver, AnOwnerThatTookItAgainIsKnownByItsNewerToken) {
  std::string first, second;
  AfterACut cut([&](TestEngine&, TestClient& client) { first = TakeK(client, "a"); },
                [&](TestEngine&, TestClient& client) {
                  client.Run({"LOCK.RELEASE", "k", "a"});
                  second = TakeK(client, "a");
                });
  EXPECT_EQ(cut.Renew("a", ""), ":5000");
  EXPECT_TRUE(IsHeldBack(cut.Fenced(second)));
  EXPECT_EQ(cut.Renew("a", second), ":5000");
  EXPECT_EQ(cut.Fenced(second), "+OK");
  EXPECT_TRUE(IsStale(cut.Fenced(first)));
}

// The log knows a lease of 30 s; that it was renewed is lost, and the server is away for longer.
TEST(RestartGrace, ALeaseThatRanOutMayHaveBeenRenewed) {
  std::string token;
  AfterACut cut([&](TestEngine&, TestClient& client) { token = TakeK(client, "a"); },
                [&](TestEngine& server, TestClient& client) {
                  server.AdvanceTime(25'000);
                  client.Run({"LOCK.RENEW", "k", "a", "LEASE", "30000"});
                },
                40'000);
  EXPECT_TRUE(IsHeldBack(cut.Fenced(token)));
  EXPECT_TRUE(IsHeldBack(cut.Renew("a", "")));
  EXPECT_TRUE(IsHeldBack(cut.Take("b")));
  EXPECT_EQ(cut.Renew("a", token), ":5000");
  EXPECT_EQ(cut.Fenced(token), "+OK");
}

TEST(RestartGrace, ReadersComeBackBesideEachOther) {
  std::string a, b, c;
  AfterACut cut([&](TestEngine&, TestClient& client) { a = TakeK(client, "a", {"SHARED"}); },
                [&](TestEngine&, TestClient& client) {
                  b = TakeK(client, "b", {"SHARED"});
                  c = TakeK(client, "c", {"SHARED"});
                });
  EXPECT_TRUE(IsHeldBack(cut.Take("new", {"SHARED"}))) << "a writer may be there by now";
  EXPECT_EQ(cut.Renew("a", a), ":5000");
  EXPECT_TRUE(IsGrant(cut.Take("new", {"SHARED"}))) << "where one reader is proved, no writer is";
  EXPECT_EQ(cut.Renew("c", c, {"SHARED"}), ":5000");
  EXPECT_TRUE(IsHeldBack(cut.Fenced(b)));
  EXPECT_EQ(cut.Renew("b", b, {"SHARED"}), ":5000") << "although a newer one came first";
  for (const std::string& token : {a, b, c}) EXPECT_EQ(cut.Fenced(token), "+OK");
  EXPECT_EQ(cut.Renew("b", b, {"PERMITS", "1", "OF", "2"}),
            "-LOCKMODE this owner holds the lock in another mode");
  for (const char* const owner : {"a", "b", "c", "new"})
    EXPECT_EQ(cut.Run({"LOCK.RELEASE", "k", owner}), ":0");
  EXPECT_TRUE(IsHeldBack(cut.Take("writer"))) << "another reader may be there, unknown";
}

TEST(RestartGrace, AWriterTakesTheLockFromReadersOfBefore) {
  std::string a, w;
  AfterACut cut([&](TestEngine&, TestClient& client) { a = TakeK(client, "a", {"SHARED"}); },
                [&](TestEngine&, TestClient& client) {
                  client.Run({"LOCK.RELEASE", "k", "a"});
                  w = TakeK(client, "w");
                });
  EXPECT_EQ(cut.Renew("w", w), ":5000");
  EXPECT_TRUE(IsStale(cut.Fenced(a)));
  EXPECT_EQ(cut.Renew("a", a, {"SHARED"}), kNotHeldText);
}

TEST(RestartGrace, PermitsComeBackAndNoneIsGivenTwice) {
  const std::vector<std::string> two = {"PERMITS", "2", "OF", "3"};
  const std::vector<std::string> one = {"PERMITS", "1", "OF", "3"};
  std::string a, b, c;
  AfterACut cut([&](TestEngine&, TestClient& client) { a = TakeK(client, "a", two); },
                [&](TestEngine&, TestClient& client) {
                  b = TakeK(client, "b", one);
                  client.Run({"LOCK.RELEASE", "k", "a"});
                  c = TakeK(client, "c", two);
                });
  EXPECT_TRUE(IsHeldBack(cut.Take("d", one))) << "it may be b's";
  EXPECT_EQ(cut.Renew("b", b, one), ":5000");
  EXPECT_TRUE(IsHeldBack(cut.Take("d", one)));
  EXPECT_TRUE(IsHeldBack(cut.Renew("c", c, two))) << "a, or c: it cannot be told";
  EXPECT_TRUE(IsHeldBack(cut.Fenced(c)));
  EXPECT_EQ(cut.Run({"LOCK.BREAK", "k", "TOKEN", a}), ":1");
  EXPECT_EQ(cut.Renew("c", c, two), ":5000");
  EXPECT_EQ(cut.Renew("a", a, two), kNotHeldText);
  EXPECT_EQ(cut.Fenced(b), "+OK");
  EXPECT_EQ(cut.Fenced(c), "+OK");
  EXPECT_TRUE(IsStale(cut.Fenced(a)));
}

TEST(RestartGrace, IsNotNeededWhereNothingCanBeMissing) {
  const auto answer_after = [](const std::string& fsync, auto end) {
    Machine machine(Logged(fsync));
    {
      TestEngine server(machine.Options());
      EXPECT_TRUE(IsGrant(Acquire(server.Connect(), "held", "a")));
      end(machine, server);
    }
    TestEngine again(machine.Options(3000));
    again.Settle();
    TestClient& client = again.Connect();
    EXPECT_EQ(Acquire(client, "held", "b"), "(nil-array)");
    return Acquire(client, "free", "b");
  };
  EXPECT_TRUE(IsGrant(answer_after("everysec", [](Machine&, TestEngine&) {})))
      << "a process that is killed leaves what it has written";
  EXPECT_TRUE(IsGrant(answer_after("everysec", [](Machine& machine, TestEngine& server) {
    EXPECT_TRUE(server.engine().FinishLog());
    machine.Reboot();
  }))) << "after a clean stop all is on disk";
  EXPECT_TRUE(IsGrant(answer_after("always", [](Machine& machine, TestEngine&) {
    std::mt19937_64 random(1);
    machine.disk().PowerCut(random);
    machine.Reboot();
  })));
}

TEST(RestartGrace, TheTokenOfALockThatWasGivenBackIsInDoubtOnlyWhereGrantsMayBeMissing) {
  const auto answer_after = [](const std::string& fsync, bool stops_cleanly) {
    Machine machine(Logged(fsync));
    std::string token;
    {
      TestEngine server(machine.Options());
      TestClient& client = server.Connect();
      token = TakeK(client, "a");
      client.Run({"LOCK.RELEASE", "k", "a"});
      server.AdvanceTime(100'000);  // no lease is left
      if (stops_cleanly) {
        EXPECT_TRUE(server.engine().FinishLog());
      }
    }
    std::mt19937_64 random(1);
    machine.disk().PowerCut(random);
    machine.Reboot();
    TestEngine again(machine.Options(200'000));
    again.Settle();
    return again.Connect().Run({"FENCED", "k", token, "SET", "x", "1"}).ToText();
  };
  EXPECT_EQ(answer_after("always", false), "+OK");
  EXPECT_EQ(answer_after("everysec", true), "+OK");
  EXPECT_TRUE(IsStale(answer_after("everysec", false)));
}

TEST(RestartGrace, GoesOnOverAnotherStart) {
  Machine machine(Logged());
  LoseAGrant(machine);
  {
    TestEngine again(machine.Options(3000));
    again.Settle();
    EXPECT_TRUE(IsHeldBack(Acquire(again.Connect(), "lost", "b")));
  }
  TestEngine third(machine.Options(4000));  // of the same boot
  third.Settle();
  EXPECT_TRUE(IsHeldBack(Acquire(third.Connect(), "lost", "b")));
}

// A server whose log cannot be synced any more. It has granted `lost` before it knew.
class UnsyncedServer {
 public:
  explicit UnsyncedServer(Machine& machine) : machine_(machine), server_(machine.Options()) {
    TestClient& client = server_.Connect();
    EXPECT_TRUE(IsGrant(Acquire(client, "kept", "a")));
    server_.AdvanceTime(1500);
    machine.Remember();
    EXPECT_TRUE(IsGrant(Acquire(client, "lost", "a")));
    machine.disk().sync_fault = EIO;
  }
  ~UnsyncedServer() { machine_.disk().sync_fault = 0; }
  TestEngine& operator*() { return server_; }

 private:
  Machine& machine_;
  TestEngine server_;
};

std::string AnswerOfAStart(Machine& machine, const std::string& key, int64_t later_ms = 3000) {
  TestEngine again(machine.Options(later_ms));
  again.Settle();
  return Acquire(again.Connect(), key, "b");
}

TEST(RestartGrace, AFailedSyncMayLoseGrantsOfTheSameBoot) {
  Machine machine(Logged());
  {
    UnsyncedServer server(machine);
    (*server).AdvanceTime(1500);
  }
  machine.LetGo();
  EXPECT_TRUE(IsHeldBack(AnswerOfAStart(machine, "lost")));
  EXPECT_TRUE(IsHeldBack(AnswerOfAStart(machine, "lost", 4000)));
  EXPECT_TRUE(IsGrant(AnswerOfAStart(machine, "lost", 90'000)));
}

TEST(RestartGrace, ASyncThatFailsAtTheEndMayToo) {
  Machine machine(Logged());
  {
    UnsyncedServer server(machine);
    EXPECT_FALSE((*server).engine().FinishLog());
  }
  machine.LetGo();
  EXPECT_TRUE(IsHeldBack(AnswerOfAStart(machine, "lost")));
}

TEST(RestartGrace, ASyncThatFailsAtTheStartMayToo) {
  Machine machine(Logged());
  { UnsyncedServer server(machine); }
  {
    machine.disk().sync_fault = EIO;
    TestEngine refuses(machine.Options(2000));
    refuses.Settle();
    EXPECT_EQ(refuses.shutdown_code(), 1);
    refuses.engine().FinishLog();
    machine.disk().sync_fault = 0;
  }
  machine.LetGo();
  EXPECT_TRUE(IsHeldBack(AnswerOfAStart(machine, "lost")));
}

// What the cache still has is not on disk, however often it is synced again.
TEST(RestartGrace, ALogThatWasNotSyncedIsWrittenAnew) {
  Machine machine(Logged());
  {
    UnsyncedServer server(machine);
    (*server).AdvanceTime(1500);
  }
  ASSERT_TRUE(machine.disk().files.contains(kFirstIncrement));
  {
    TestEngine again(machine.Options(3000));
    again.Settle();
    again.AdvanceTime(10);
    EXPECT_FALSE(machine.disk().files.contains(kFirstIncrement));
    EXPECT_EQ(Acquire(again.Connect(), "lost", "b"), "(nil-array)") << "it was not lost";
  }
  const std::string mark = machine.disk().files["/fence.mark"];
  EXPECT_EQ(mark.find("unsure"), mark.npos) << mark;
}

TEST(RestartGrace, AStartThatCannotSyncTellsTheNextOne) {
  Machine machine(Logged());
  {
    TestEngine first(machine.Options());
    EXPECT_TRUE(IsGrant(Acquire(first.Connect(), "lock", "a")));
  }
  machine.disk().sync_fault = EIO;
  {
    TestEngine second(machine.Options(1000));
    second.Settle();
  }
  EXPECT_NE(machine.disk().files["/fence.mark"].find(" unsure "), std::string::npos);
  machine.disk().sync_fault = 0;
  TestEngine third(machine.Options(2000));
  third.Settle();
  third.AdvanceTime(10);
  EXPECT_FALSE(machine.disk().files.contains(kFirstIncrement)) << "it is written anew";
}

TEST(RestartGrace, IsNotNeededOnceTheLogIsWhole) {
  Machine machine(Logged());
  {
    UnsyncedServer server(machine);
    (*server).AdvanceTime(1500);
    const std::string mark = machine.disk().files["/fence.mark"];
    EXPECT_NE(mark.find(" unsure "), mark.npos) << mark;
    machine.disk().sync_fault = 0;
    (*server).AdvanceTime(1500);
  }
  EXPECT_EQ(AnswerOfAStart(machine, "lost"), "(nil-array)");
  EXPECT_TRUE(IsGrant(AnswerOfAStart(machine, "free", 4000)));
}

TEST(RestartGrace, IsOverWhenTheLeasesAreBeforeTheStart) {
  Machine machine(Logged());
  LoseAGrant(machine, "1000");
  TestEngine again(machine.Options(120'000));
  again.Settle();
  EXPECT_TRUE(IsGrant(Acquire(again.Connect(), "lost", "b")));
}

TEST(RestartGrace, CanBeTurnedOff) {
  Config config = Logged();
  config.emplace_back("lock-restart-grace", "no");
  Machine machine(config);
  LoseAGrant(machine);
  TestEngine again(machine.Options(3000));
  again.Settle();
  EXPECT_TRUE(IsGrant(Acquire(again.Connect(), "lost", "b")));
}

// The first grant lies beyond the horizon, and one that is too long to be held back always does.
TEST(RestartGrace, AGrantBeyondTheHorizonIsAnsweredOnceItIsOnDisk) {
  Machine machine(Logged());
  TestEngine server(machine.Options());
  server.Connect().Run({"SET", "k", "v"});
  server.AdvanceTime(2500);
  server.set_aside_waits(true);
  TestClient& client = server.Connect();
  client.Send({"LOCK.ACQUIRE", "first", "a", "LEASE", "30000"});
  EXPECT_FALSE(client.has_received());
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_TRUE(IsGrant(client.Next()->ToText()));
  EXPECT_TRUE(IsGrant(Acquire(client, "second", "a"))) << "the horizon has been moved on";
  client.Send({"LOCK.ACQUIRE", "long", "a", "LEASE", "600001"});
  EXPECT_FALSE(client.has_received());
  client.Send({"PING"});
  while (server.RunBackgroundNow()) server.Settle();
  EXPECT_TRUE(IsGrant(client.Next()->ToText()));
}

TEST(RestartGrace, WorksWithoutALog) {
  Machine machine(Config{{"lock-restart-grace", "yes"}});
  std::string token;
  {
    TestEngine server(machine.Options());
    TestClient& client = server.Connect();
    EXPECT_TRUE(IsGrant(Acquire(client, "l", "a")));
    token = TokenOf(client, "l");
    EXPECT_TRUE(Acquire(client, "long", "a", "600001").starts_with("-ERR the lease is above"));
  }
  TestEngine again(machine.Options(1000));
  again.Settle();
  TestClient& client = again.Connect();
  EXPECT_TRUE(IsHeldBack(Acquire(client, "l", "b")));
  EXPECT_EQ(client.Run({"LOCK.RENEW", "l", "a", "LEASE", "5000", "TOKEN", token}).ToText(),
            ":5000");
  again.AdvanceTime(70'000);
  EXPECT_TRUE(IsGrant(Acquire(client, "l", "b")));
}

}  // namespace
}  // namespace sluice
