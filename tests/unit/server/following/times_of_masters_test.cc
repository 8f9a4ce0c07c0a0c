// What a master says is of its own time: a server that follows it after another one, or after it
// was started anew, takes none of it for the present.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/memory_disk.h"
#include "tests/unit/server/following/followed_pair.h"

namespace sluice {
namespace {

class TimesOfMasters : public FollowedPair {
 protected:
  // Of a server with a log, whose wall clock is an hour ahead of those of the pair.
  static TestEngine::Options AnHourAhead(MemoryDisk& disk) {
    TestEngine::Options options = Options(3);
    options.unix_ms += 3'600'000;
    options.config.push_back({"appendonly", "yes"});
    disk.files["/proc/sys/kernel/random/boot_id"] = "1\n";
    options.disk = &disk;
    return options;
  }
};

// What it has said before it is followed is of a time that is over here.
TEST_F(TimesOfMasters, WhatWasSaidBeforeItIsFollowedIsOfThen) {
  a_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  a_client().Line("SET before 1");
  Settle();
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  network_.Settle();
  b_client().Line("CONFIG SET lock-restart-grace no");
  b_client().Line("SET key value PX 500");
  EXPECT_EQ(b_client().Line("PERSIST key").ToText(), ":1");
  b_client().Line("LOCK.ACQUIRE lock first LEASE 500");
  b_client().Line("LOCK.RELEASE lock first");
  b_client().Line("LOCK.ACQUIRE lock second LEASE 500");
  b_client().Line("LOCK.RENEW lock second LEASE 100000");
  a_.AdvanceTime(10'000);
  b_.AdvanceTime(10'000);
  EXPECT_EQ(a_client().Line("REPLICAOF b 2").ToText(), "+OK");
  Settle();
  EXPECT_EQ(FullSyncsOf(b_), 0u);
  MemoryDisk disk = a_.disk();
  TestEngine again({.config = {{"appendonly", "yes"}, {"replicaof", "b 2"}}, .disk = &disk});
  again.Settle();
  ASSERT_FALSE(again.shutdown_code()) << again.log().back();
  for (TestClient* const client : {&a_client(), &again.Connect()}) {
    EXPECT_EQ(client->Line("GET key").ToText(), "\"value\"");
    EXPECT_NE(client->Line("LOCK.INFO lock").ToText().find("second"), std::string::npos);
  }
}

// Its engine time has not gone on as far as it had told: a lease that it grants would be over here.
TEST_F(TimesOfMasters, AMasterThatWasRebootedBehindAClockThatIsWrongTellsItsTime) {
  a_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  a_client().Line("SET before 1");
  Settle();
  link().Cut();
  a_.AdvanceTime(60'000);
  b_.AdvanceTime(60'000);
  const int64_t told_ms = b_.now().ms();
  MemoryDisk disk = a_.disk();
  network_.Crash(a_);
  TestEngine again({.seed = 5,
                    .config = {{"appendonly", "yes"}, {"lock-restart-grace", "no"}},
                    .disk = &disk,
                    .unix_ms = 1'699'999'000'000,
                    .entropy = 77});
  network_.Add("a:1", again);
  again.Settle();
  ASSERT_LT(again.now().ms(), told_ms - 50'000);
  again.Connect().Line("LOCK.ACQUIRE lock me LEASE 5000");
  for (int second = 0; second < 3; ++second) {  // of b, which tries again
    network_.Settle();
    b_.AdvanceTime(1000);
  }
  network_.Settle();
  EXPECT_EQ(FullSyncsOf(again), 0u);
  EXPECT_LE(b_.now().ms(), again.now().ms() + 3000);
  EXPECT_NE(b_client().Line("LOCK.INFO lock").ToText().find("me"), std::string::npos);
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  b_.AdvanceTime(1000);
  EXPECT_NE(b_client().Line("LOCK.INFO lock").ToText().find("me"), std::string::npos);
}

// A process that was handed the data over goes on under the same id, by the time of its log: that
// is behind where the machine was booted meanwhile and its clock is wrong.
TEST_F(TimesOfMasters, AProcessThatGoesOnUnderTheSameIdTellsItsTime) {
  a_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  a_client().Line("SET before 1");
  Settle();
  a_.engine().FinishLog();
  a_.engine().part<Replicas>().HandOver();
  MemoryDisk disk = a_.disk();
  const int64_t unix_ms = a_.now().unix_ms();
  network_.Crash(a_);
  for (int second = 0; second < 5; ++second) b_.AdvanceTime(1000);
  TestEngine again({.seed = 5,
                    .config = {{"appendonly", "yes"}},
                    .disk = &disk,
                    .unix_ms = unix_ms,
                    .entropy = 77});
  network_.Add("a:1", again);
  again.Settle();
  ASSERT_LT(again.now().ms(), b_.now().ms() - 3000);
  EXPECT_EQ(again.engine().part<Replicas>().ids().id(), b_.engine().part<Replicas>().ids().id());
  for (int second = 0; second < 3; ++second) {
    network_.Settle();
    b_.AdvanceTime(1000);
  }
  network_.Settle();
  EXPECT_EQ(FullSyncsOf(again), 0u);
  EXPECT_LE(b_.now().ms(), again.now().ms() + 3000);
}

// Nor has it said a word by its own clock. The key is not over there, and by the clock here it is.
TEST_F(TimesOfMasters, TheClockOfAMasterIsKnownBeforeItsFirstEffect) {
  MemoryDisk disk;
  TestEngine::Options ahead = AnHourAhead(disk);
  TestEngine c{ahead};
  network_.Add("c:3", c);
  TakeEntropy(c, 2);
  Follow();
  a_client().Run({"SET", "key", "value", "PXAT", std::to_string(a_.now().unix_ms() + 600'000)});
  Settle();
  const auto follow = [&](const char* whom) {
    EXPECT_EQ(c.Connect().Line(whom).ToText(), "+OK");
    for (int second = 0; second < 3; ++second) {
      Settle();
      c.AdvanceTime(1000);
    }
    return c.Connect().Line("GET key").ToText();
  };
  EXPECT_EQ(follow("REPLICAOF a 1"), "\"value\"");
  c.Connect().Line("BGREWRITEAOF");
  c.AdvanceTime(5000);
  MemoryDisk kept = disk;
  ahead.disk = &kept;
  ahead.uptime_ms = c.clock().Sample().steady_us / 1000 - c.clock().shift_ms();
  ahead.config.push_back({"replicaof", "nowhere 1"});
  TestEngine again{ahead};
  again.Settle();
  EXPECT_EQ(again.Connect().Line("GET key").ToText(), "\"value\"") << "its files know it";
  b_.clock().StepWall(-1'800'000);
  EXPECT_EQ(b_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
  EXPECT_EQ(follow("REPLICAOF b 2"), "\"value\"");
  EXPECT_EQ(FullSyncsOf(b_), 0u);
  EXPECT_NEAR(static_cast<double>(c.now().unix_ms()), static_cast<double>(b_.now().unix_ms()),
              5000);
}

// Nor by the moment that its stream has told: behind a pause fields end later than that.
TEST_F(TimesOfMasters, AFieldGoesWhoseEndIsToldLate) {
  Follow();
  a_client().Line("HSET h over v left v");
  a_client().Line("HPEXPIRE h 100 FIELDS 1 over");
  a_client().Line("CLIENT PAUSE 2000 WRITE");
  Settle();
  EXPECT_EQ(a_client().Line("DEBUG REPLICATE SET key value").ToText(), "+OK");
  network_.Settle();
  const auto timed = [&] {
    return b_client().Line("INFO keyspace").ToText().find("subexpiry=1") != std::string::npos;
  };
  EXPECT_TRUE(timed());
  for (int second = 0; second < 3; ++second) Settle();
  EXPECT_FALSE(timed());
}

// Its own clock is another one than its master's was, which its log says though nothing was written
// since.
TEST_F(TimesOfMasters, AServerThatWasPromotedGoesOnWhenItIsStartedAnew) {
  MemoryDisk disk;
  TestEngine::Options ahead = AnHourAhead(disk);
  TestEngine c{ahead};
  network_.Add("c:3", c);
  EXPECT_EQ(c.Connect().Line("REPLICAOF a 1").ToText(), "+OK");
  const auto settle = [&] {
    for (int second = 0; second < 5; ++second) {
      Settle();
      c.AdvanceTime(1000);
    }
  };
  settle();
  a_client().Line("SET key value PX 600000");
  settle();
  EXPECT_EQ(c.Connect().Line("REPLICAOF NO ONE").ToText(), "+OK");
  c.AdvanceTime(5000);
  c.engine().FinishLog();
  MemoryDisk kept = disk;
  ahead.disk = &kept;
  ahead.uptime_ms = c.clock().Sample().steady_us / 1000 - c.clock().shift_ms();
  ahead.unix_ms += 15'000;
  TestEngine again{ahead};
  again.Settle();
  EXPECT_NEAR(static_cast<double>(again.now().ms()), static_cast<double>(c.now().ms()), 2000);
  EXPECT_EQ(again.Connect().Line("GET key").ToText(), "\"value\"");
}

// That hour has not passed when its machine is booted: leases would end early on who is promoted.
TEST_F(TimesOfMasters, AServerBehindAClockThatIsWrongGoesOnWhenItIsBooted) {
  for (const bool writes_anew : {false, true}) {
    SCOPED_TRACE(writes_anew);
    MemoryDisk disk;
    TestEngine::Options ahead = AnHourAhead(disk);
    TestEngine c{ahead};
    network_.Add("c:3", c);
    TakeEntropy(c, 2);
    TestClient& client = c.Connect();
    EXPECT_EQ(client.Line("REPLICAOF a 1").ToText(), "+OK");
    a_client().Line("SET key value PX 600000");
    a_client().Line("LOCK.ACQUIRE lock me LEASE 600000");
    const auto settle = [&] {
      for (int second = 0; second < 5; ++second) {
        Settle();
        c.AdvanceTime(1000);
      }
    };
    settle();
    if (writes_anew) client.Line("BGREWRITEAOF");
    settle();
    ASSERT_EQ(client.Line("GET key").ToText(), "\"value\"");
    MemoryDisk kept = disk;
    kept.files["/proc/sys/kernel/random/boot_id"] = "2\n";
    ahead.disk = &kept;
    ahead.uptime_ms = 0;
    ahead.unix_ms = c.now().unix_ms() + c.engine().part<TurnClock>().clock().skew_ms() + 5000;
    ahead.config.push_back({"replicaof", "nowhere 1"});
    TestEngine again{ahead};
    again.Settle();
    TestClient& after = again.Connect();
    EXPECT_NEAR(static_cast<double>(again.now().ms()), static_cast<double>(c.now().ms() + 5000),
                2000);
    EXPECT_NEAR(static_cast<double>(again.now().unix_ms()),
                static_cast<double>(c.now().unix_ms() + 5000), 2000);
    EXPECT_EQ(after.Line("GET key").ToText(), "\"value\"");
    EXPECT_EQ(after.Line("REPLICAOF NO ONE").ToText(), "+OK");
    again.AdvanceTime(1000);
    EXPECT_NE(after.Line("LOCK.INFO lock").ToText().find("me"), std::string::npos);
    network_.Crash(c);
    a_client().Line("DEL lock");
  }
}

// It is a master since some moment of the handshake, at whose begin it had no stream to tell of. No
// redis-server makes one there now: locks stay, and so does its time.
TEST_F(TimesOfMasters, AServerThatIsPromotedAmidAHandshakeIsASluice) {
  Follow();
  a_client().Line("LOCK.ACQUIRE lock me LEASE 1000000");
  Settle();
  for (int answers = 0; answers < 6; ++answers) {
    SCOPED_TRACE(answers);
    EXPECT_EQ(a_client().Line("REPLICAOF nowhere 1").ToText(), "+OK");
    network_.Settle();
    link().Cut();
    b_.Settle();
    if (network_.opening() == 0) b_.AdvanceTime(1000);
    ASSERT_EQ(network_.opening(), 1u);
    network_.OpenNext();
    for (int i = 0; i < answers; ++i) {
      link().Carry(Way::kOut);
      a_.Settle();
      link().Carry(Way::kIn);
      b_.Settle();
    }
    EXPECT_EQ(a_client().Line("REPLICAOF NO ONE").ToText(), "+OK");
    for (int second = 0; second < 3; ++second) Settle();
    a_.AdvanceTime(5000);
    b_.AdvanceTime(3000);
    for (int i = 0; i < 2; ++i) {
      a_client().Line("SET ticks 1");  // time is told beside bytes, and taken over once a second
      Settle();
    }
    EXPECT_NE(b_client().Line("LOCK.INFO lock").ToText().find("me"), std::string::npos);
    EXPECT_NEAR(static_cast<double>(b_.now().ms()), static_cast<double>(a_.now().ms()), 2);
  }
  EXPECT_EQ(FullSyncsOf(a_), 1u);
}

// A replica ends no lease: what its master did not say ended is there still, in its log too.
TEST_F(TimesOfMasters, AMasterThatTellsOfLeasesThatAreOverSpoilsNoLog) {
  b_client().Line("CONFIG SET appendonly yes");
  Settle();
  Follow();
  for (const char* const holder : {"first", "second"}) {
    for (const char* const until : {"1", "1700000000500"}) {
      EXPECT_EQ(a_client()
                    .Run({"DEBUG", "REPLICATE", "LOCK.RESTORE", std::string("lock:") + until,
                          holder == std::string_view("first") ? "7" : "8", holder, "exclusive", "1",
                          "1", "1", until, "-1", "0", "", "1", "500"})
                    .ToText(),
                "+OK");
    }
  }
  Settle();
  Settle();
  MemoryDisk disk = b_.disk();
  TestEngine again({.config = {{"appendonly", "yes"}, {"replicaof", "a 1"}}, .disk = &disk});
  again.Settle();
  ASSERT_FALSE(again.shutdown_code()) << again.log().back();
  for (TestClient* const client : {&b_client(), &again.Connect()}) {
    for (const char* const lock : {"LOCK.INFO lock:1", "LOCK.INFO lock:1700000000500"})
      EXPECT_NE(client->Line(lock).ToText().find("first"), std::string::npos) << lock;
  }
}

}  // namespace
}  // namespace sluice
