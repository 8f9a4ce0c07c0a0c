// The limiter commands against the limiters themselves, which have exact models of their own: over
// seeded histories every reply is the one that is due, the key is there exactly as long as it says,
// and what happens to keys from outside (COPY, RENAME, EXPIRE, DEL) does what it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/limits/limit_waiters.h"
#include "storage/limits/limiter.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

class LimitCommands : public EngineFixture {
 protected:
  Now now() { return server().clock().Sample(); }
  std::string Take(const std::string& rest) { return Line("LIMIT.TAKE " + rest).ToText(); }
};

std::string Text(const LimitVerdict& verdict) {
  std::string text = "[";
  for (const int64_t value : {int64_t{verdict.allowed}, verdict.limit, verdict.remaining,
                              verdict.retry_ms, verdict.reset_ms, verdict.reset_at_ms})
    text += (text.size() > 1 ? ", :" : ":") + std::to_string(value);
  return text + "]";
}

constexpr LimitAlgorithm kAll[] = {LimitAlgorithm::kWindow,  LimitAlgorithm::kRolling,
                                   LimitAlgorithm::kSliding, LimitAlgorithm::kLog,
                                   LimitAlgorithm::kGcra,    LimitAlgorithm::kLeaky};

// What a key should be.
struct Held {
  std::unique_ptr<Limiter> limiter;
  int64_t end_ms = 0;           // of the limiter, as of its last change
  int64_t cut_ms = kEndsNever;  // an earlier end that EXPIRE has set
};

class History {
 public:
  // Limits of up to `max` units, and pauses of up to so many ms.
  History(TestEngine& server, TestClient& client, uint64_t seed, int64_t max = 12,
          int64_t pause_ms = 200)
      : server_(server), client_(client), random_(seed), max_(max), pause_ms_(pause_ms) {}

  void Step() {
    Expire();
    const std::string key = Key();
    switch (In(0, 11)) {
      case 0:
        return Refund(key);
      case 1:
        return Move("COPY", key, Key());
      case 2:
        return Move("RENAME", key, Key());
      case 3:
        return Cut(key);
      case 4:
        if (In(0, 3) == 0) Delete(key);
        return;
      case 5:
        server_.clock().AdvanceMicros(In(0, 999));
        return server_.AdvanceTime(In(0, pause_ms_));
      default:
        return Take(key);
    }
  }

  void Check() {
    Expire();
    for (const auto& [key, held] : held_) {
      ASSERT_EQ(client_.Run({"PTTL", key}).integer, EndMs(held) - now().ms()) << key;
      ASSERT_EQ(client_.Run({"TYPE", key}).text, "limiter");
    }
    ASSERT_EQ(client_.Run({"DBSIZE"}).integer, static_cast<int64_t>(held_.size()));
  }

 private:
  Now now() { return server_.clock().Sample(); }
  int64_t In(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  std::string Key() { return "key:" + std::to_string(In(0, 5)); }
  static int64_t EndMs(const Held& held) { return std::min(held.cut_ms, held.end_ms); }
  // A limiter that is whole stays until the end of its last millisecond, unless it changes.
  void Changed(Held& held, bool surely) {
    const int64_t end_ms = held.limiter->EndsAtMs(now());
    if (surely || end_ms > now().ms()) held.end_ms = end_ms;
    if (held.cut_ms >= held.end_ms) held.cut_ms = kEndsNever;  // no earlier: it is none
  }
  void Expire() {
    std::erase_if(held_, [&](const auto& each) { return EndMs(each.second) <= now().ms(); });
  }

  LimitConfig AnyConfig(const std::string& key) {
    const auto found = held_.find(key);
    const LimitAlgorithm algorithm =
        found == held_.end() ? kAll[In(0, 5)] : found->second.limiter->algorithm();
    if (found != held_.end() && In(0, 4) > 0) return found->second.limiter->config();
    LimitConfig config;
    const int64_t burst = HasBurst(algorithm) && In(0, 1) == 1 ? In(1, 9) : kNotGiven;
    const int64_t max = In(0, 20) == 0 ? int64_t{1} << 40 : In(1, max_);
    EXPECT_EQ(MakeLimitConfig(algorithm, max, In(1, 400), burst, &config), LimitFault::kNone);
    return config;
  }

  void Take(const std::string& key) {
    LimitRequest request{AnyConfig(key), In(1, 4)};
    const LimitConfig& config = request.config;
    std::vector<std::string> words = {"LIMIT.TAKE",
                                      key,
                                      std::string(LimitAlgorithmName(config.algorithm)),
                                      std::to_string(config.max),
                                      std::to_string(config.period_ms),
                                      "cost",
                                      std::to_string(request.cost)};
    if (HasBurst(config.algorithm))
      words.insert(words.end(), {"BURST", std::to_string(config.burst)});
    const int64_t kind = In(0, 9);
    if (kind == 0) {
      request.ban_ms = In(1, 300);
      words.insert(words.end(), {"BAN", std::to_string(request.ban_ms)});
    } else if (kind == 1) {
      words.push_back("shadow");  // nothing but events and statistics differs
    } else if (kind == 2) {
      words.push_back("Peek");
    }
    const auto found = held_.find(key);
    Held fresh{std::make_unique<Limiter>(config)};
    Held& held = found == held_.end() ? fresh : found->second;
    const LimitConfig before = held.limiter->config();
    const bool banned = held.limiter->state().Banned(now());
    LimitVerdict verdict = kind == 2 ? held.limiter->Peek(config, request.cost, now())
                                     : held.limiter->Take(request, now());
    const bool changed = verdict.allowed || (request.ban_ms > 0 && !banned);
    if (kind != 2 && (changed || found == held_.end())) Changed(held, true);
    if (found != held_.end()) EndEarlier(verdict, EndMs(held) - now().ms());
    ASSERT_EQ(client_.Run(words).ToText(), Text(verdict));
    ASSERT_EQ(held.limiter->config(), kind != 2 && verdict.allowed ? config : before);
    if (kind != 2 && found == held_.end()) held_.emplace(key, std::move(fresh));
    Expire();
  }

  // A limiter that EXPIRE ends sooner is whole sooner.
  void EndEarlier(LimitVerdict& verdict, int64_t left_ms) {
    if (verdict.reset_ms <= left_ms) return;
    verdict.reset_ms = left_ms;
    verdict.reset_at_ms = now().unix_ms() + left_ms;
    verdict.retry_ms = std::min(verdict.retry_ms, left_ms);
  }

  void Refund(const std::string& key) {
    const int64_t units = In(1, 5);
    const Reply reply = client_.Run({"LIMIT.REFUND", key, std::to_string(units)});
    const auto found = held_.find(key);
    if (found == held_.end()) {
      ASSERT_EQ(reply.ToText(), "(nil-array)");
      return;
    }
    ASSERT_EQ(reply.integer, found->second.limiter->Refund(units, now()));
    Changed(found->second, true);
  }

  void Move(const char* command, const std::string& from, const std::string& to) {
    if (from == to) return;
    const bool copies = command == std::string("COPY");
    std::vector<std::string> words = {command, from, to};
    if (copies) words.push_back("REPLACE");
    const Reply reply = client_.Run(words);
    const auto found = held_.find(from);
    if (found == held_.end()) return;
    ASSERT_EQ(reply.ToText(), copies ? ":1" : "+OK");
    Held moved{std::make_unique<Limiter>(found->second.limiter->config()), found->second.end_ms,
               found->second.cut_ms};
    std::unique_ptr<Value> clone = found->second.limiter->Clone();
    moved.limiter.reset(static_cast<Limiter*>(clone.release()));
    held_[to] = std::move(moved);
    if (!copies) held_.erase(from);
  }

  void Cut(const std::string& key) {
    const int64_t ms = In(1, 300);
    const auto found = held_.find(key);
    const Reply reply = client_.Run({"PEXPIRE", key, std::to_string(ms)});
    ASSERT_EQ(reply.integer, found == held_.end() ? 0 : 1);
    if (found == held_.end()) return;
    // One that is whole already does not stay until the end of its last millisecond.
    found->second.end_ms = found->second.limiter->EndsAtMs(now());
    const int64_t at_ms = now().ms() + ms;
    found->second.cut_ms = at_ms < found->second.end_ms ? at_ms : kEndsNever;
  }

  void Delete(const std::string& key) {
    ASSERT_EQ(client_.Run({"DEL", key}).integer, static_cast<int64_t>(held_.erase(key)));
  }

  TestEngine& server_;
  TestClient& client_;
  std::mt19937_64 random_;
  int64_t max_;
  int64_t pause_ms_;
  std::map<std::string, Held> held_;
};

// It is whole again within a tick and its key would go with the next: what is taken in between
// stays.
TEST_F(LimitCommands, KeepALimiterTakenFromInItsLastTick) {
  for (const int64_t micros : {0, 1, 500, 999}) {
    Run({"DEL", "shaped"});
    server().clock().AdvanceMicros(micros);
    ASSERT_TRUE(Take("shaped GCRA 50 1000").starts_with("[:1,"));
    AdvanceTime(20);
    ASSERT_TRUE(Take("shaped GCRA 50 1000").starts_with("[:1,")) << micros;
    AdvanceTime(1);
    EXPECT_TRUE(Take("shaped GCRA 50 1000").starts_with("[:0,")) << micros;
  }
}

TEST_F(LimitCommands, AgreeWithTheLimitersOverLongHistories) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Run({"FLUSHALL"});
    History history(server(), client(), seed);
    for (int step = 0; step < 1'000; ++step) {
      history.Step();
      if (step % 10 == 0) history.Check();
      ASSERT_FALSE(HasFatalFailure()) << "step " << step;
    }
  }
}

// Logs that outgrow their entries and come back.
TEST_F(LimitCommands, AgreeWithTheLimitersAlsoWhenTheyAreLarge) {
  size_t packed = 0;
  size_t beside = 0;
  for (uint64_t number = 0; number < 8; ++number) {
    Run({"FLUSHALL"});
    History history(server(), client(), TestSeed(number), 1'000, 4);
    for (int step = 0; step < 2'000; ++step) {
      history.Step();
      if (step % 20 == 0) history.Check();
      ASSERT_FALSE(HasFatalFailure()) << "step " << step;
      engine().keyspace().db(0).ForEach([&](const Entry& entry) {
        if (entry.Encoding() != "log" && entry.Encoding() != "leaky") return;
        ++(entry.is_packed() ? packed : beside);
      });
    }
  }
  EXPECT_GT(packed, 1'000u);
  EXPECT_GT(beside, 1'000u);
}

// Effects of a request: what it did, with the moment at which it did it.
class Recorder final : public EffectSink {
 public:
  void Effect(int, Args command, EffectTime) override {
    for (const std::string_view word : command) text += std::string(word) + " ";
    text += "| ";
  }
  void GroupBegin() override { text += "{ "; }
  void GroupEnd() override { text += "} "; }
  std::string Said() { return std::exchange(text, {}); }
  std::string text;
};

TEST_F(LimitCommands, AreLoggedWithTheirMoment) {
  Recorder recorder;
  engine().part<Effects>().set_sink(kToLog, &recorder);
  AdvanceTime(5);
  Take("k WINDOW 2 1000");
  EXPECT_EQ(recorder.Said(), "LIMIT.TAKE k WINDOW 2 1000 AT 1700000000005000 | ");
  Take("k WINDOW 2 1000 COST 3");
  Take("k WINDOW 2 1000 PEEK");
  EXPECT_EQ(recorder.Said(), "");
  Take("k WINDOW 2 1000 COST 2 BAN 50");
  EXPECT_EQ(recorder.Said(), "LIMIT.TAKE k WINDOW 2 1000 COST 2 BAN 50 AT 1700000000005000 | ");
  Line("LIMIT.POLICY SET p GCRA 10 1000 BURST 4");
  EXPECT_EQ(recorder.Said(), "LIMIT.POLICY SET p GCRA 10 1000 BURST 4 | ");
  Line("LIMIT.ALL 2 a b POLICY p 2 ROLLING 5 1000 0 1");
  EXPECT_EQ(recorder.Said(),
            "{ LIMIT.TAKE a GCRA 10 1000 BURST 4 COST 2 AT 1700000000005000 | "
            "LIMIT.TAKE b ROLLING 5 1000 BURST 5 AT 1700000000005000 | } ");
  Line("LIMIT.ALL 2 a b POLICY p 5 ROLLING 5 1000 0 1");
  EXPECT_EQ(recorder.Said(), "");
  Line("LIMIT.REFUND a 1");
  EXPECT_EQ(recorder.Said(), "LIMIT.REFUND a 1 AT 1700000000005000 | ");
  Line("LBUCKET.COUNT bucket 3");
  EXPECT_EQ(recorder.Said(), "LBUCKET.COUNTAT bucket 1700000003005 1 | ");
  Line("CL.THROTTLE cell 1 1 1");
  EXPECT_EQ(recorder.Said(), "SET cell 1700000001005000000 PXAT 1700000001005 | ");
  Line("CL.THROTTLE cell 1 1 1 -1");
  EXPECT_EQ(recorder.Said(), "DEL cell | ");
  engine().part<Effects>().set_sink(kToLog, nullptr);
}

// It is 22:13:20 in UTC, and 6,400 s until midnight. Other limits do not feel the clock being set.
TEST_F(LimitCommands, OfACalendarFollowTheWallClock) {
  Take("day CALENDAR 3 DAY");
  Take("window WINDOW 3 6400000");
  server().clock().StepWall(5'400'000);
  server().Settle();
  EXPECT_EQ(Run({"PTTL", "day"}).integer, 1'000'000);
  EXPECT_EQ(Run({"PTTL", "window"}).integer, 6'400'000);
  EXPECT_EQ(Take("day CALENDAR 3 DAY"), "[:1, :3, :1, :0, :1000000, :1700006400000]");
  server().clock().StepWall(-5'400'000);
  server().Settle();
  EXPECT_EQ(Run({"PTTL", "day"}).integer, 6'400'000);
  EXPECT_EQ(Take("day CALENDAR 3 DAY"), "[:1, :3, :0, :0, :6400000, :1700006400000]");
  // Set beyond its end the window is over, and the next one opens.
  server().clock().StepWall(6'500'000);
  server().Settle();
  EXPECT_EQ(Run({"EXISTS", "day"}).integer, 0);
  EXPECT_EQ(Take("day CALENDAR 3 DAY"), "[:1, :3, :2, :0, :86300000, :1700092800000]");
}

// The log tells the end of the window, and is followed whatever the zones of its reader say.
TEST_F(LimitCommands, OfACalendarAreLoggedWithTheEndOfTheirWindow) {
  Recorder recorder;
  engine().part<Effects>().set_sink(kToLog, &recorder);
  Take("k CALENDAR 3 DAY ZONE Asia/Kathmandu");
  EXPECT_EQ(recorder.Said(),
            "LIMIT.TAKE k CALENDAR 3 DAY ENDS 1700072100000 AT 1700000000000000 | ");
  Take("k CALENDAR 3 DAY ZONE Asia/Kathmandu COST 4");
  EXPECT_EQ(recorder.Said(), "");
  engine().part<Effects>().set_sink(kToLog, nullptr);
  client().PlayLog();
  Line("LIMIT.TAKE other CALENDAR 3 DAY ENDS 1700000001234 AT 1700000000000000");
  EXPECT_EQ(Run({"PTTL", "other"}).integer, 1234);
}

TEST_F(LimitCommands, TakeNamesOfAMegabyte) {
  const std::string key(1 << 20, 'k');
  EXPECT_EQ(Run({"LIMIT.TAKE", key, "WINDOW", "1", "1000"}).elements[0].integer, 1);
  EXPECT_EQ(Run({"LIMIT.TAKE", key, "WINDOW", "1", "1000"}).elements[0].integer, 0);
  EXPECT_EQ(Run({"LBUCKET.COUNT", key + "b", "1"}).text, "OK");
  EXPECT_EQ(Run({"LBUCKET.GET", key + "b"}).text, "1");
  AdvanceTime(1000);
  EXPECT_EQ(Run({"DBSIZE"}).integer, 0);
  const std::string word(1 << 20, 'W');
  EXPECT_LT(Run({"LIMIT.TAKE", "k", word, "1", "1000"}).text.size(), 250u);
}

// Engine time of two thousand years, periods as long as they may be.
TEST_F(LimitCommands, WorkAtTheEndOfTime) {
  server().clock().Advance(int64_t{1} << 42);  // 139 years; ticks in ns end after 292
  const std::string period = std::to_string(kPeriodMsMax);
  for (const LimitAlgorithm algorithm : kAll) {
    const std::string name(LimitAlgorithmName(algorithm));
    const Reply first = Run({"LIMIT.TAKE", name, name, "1", period});
    ASSERT_EQ(first.elements.size(), 6u) << first.ToText();
    EXPECT_EQ(first.elements[0].integer, 1) << name;
    EXPECT_GE(first.elements[4].integer, kPeriodMsMax) << name;
    EXPECT_EQ(Run({"LIMIT.TAKE", name, name, "1", period}).elements[0].integer, 0) << name;
    EXPECT_EQ(Run({"PTTL", name}).integer, first.elements[4].integer);
  }
  EXPECT_EQ(Line("LBUCKET.COUNT bucket 9223372036854775807").text, "OK");
  EXPECT_EQ(Line("LBUCKET.GET bucket").text, "1");
}

// --- waiting

TEST_F(LimitCommands, ServeWaitersInOrderAndEachAsSoonAsItFits) {
  Take("k ROLLING 10 1000 COST 10");
  std::vector<TestClient*> waiters;
  for (int i = 0; i < 5; ++i) {
    waiters.push_back(&Connect());
    waiters[i]->Send({"LIMIT.TAKE", "k", "ROLLING", "10", "1000", "WAIT", "10000"});
  }
  for (int i = 0; i < 5; ++i) {
    AdvanceTime(99);
    EXPECT_FALSE(waiters[i]->Next());
    AdvanceTime(1);
    const auto reply = waiters[i]->Next();
    ASSERT_TRUE(reply) << i;
    EXPECT_EQ(reply->elements[0].integer, 1);
  }
  EXPECT_TRUE(!engine().part<LimitWaiters>().listens());
}

TEST_F(LimitCommands, ForgetWaitersThatAreGone) {
  Take("k GCRA 1 1000");
  TestClient& first = Connect();
  TestClient& second = Connect();
  TestClient& third = Connect();
  for (TestClient* client : {&first, &second, &third})
    client->Send({"LIMIT.TAKE", "k", "GCRA", "1", "1000", "WAIT", "60000"});
  first.Disconnect();
  Line("CLIENT UNBLOCK " + std::to_string(engine().Find(second.id())->client_id) + " ERROR");
  EXPECT_EQ(second.Next()->ToText(), "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
  AdvanceTime(1000);
  ASSERT_TRUE(third.Next());
  EXPECT_TRUE(!engine().part<LimitWaiters>().listens());
}

TEST_F(LimitCommands, LetTheNextInWhenTheFirstGivesUp) {
  Take("k ROLLING 10 10000 COST 5");
  TestClient& greedy = Connect();
  TestClient& modest = Connect();
  greedy.Send({"LIMIT.TAKE", "k", "ROLLING", "10", "10000", "COST", "9", "WAIT", "100"});
  modest.Send({"LIMIT.TAKE", "k", "ROLLING", "10", "10000", "WAIT", "60000"});
  EXPECT_FALSE(modest.Next());
  AdvanceTime(100);
  EXPECT_EQ(greedy.Next()->elements[0].integer, 0);
  EXPECT_EQ(modest.Next()->elements[0].integer, 1);
  EXPECT_TRUE(!engine().part<LimitWaiters>().listens());
}

TEST_F(LimitCommands, LogWhatAWaiterTook) {
  Recorder recorder;
  Take("k GCRA 1 1000");
  engine().part<Effects>().set_sink(kToLog, &recorder);
  TestClient& waiter = Connect();
  waiter.Send({"LIMIT.TAKE", "k", "GCRA", "1", "1000", "WAIT", "60000"});
  AdvanceTime(1000);
  EXPECT_EQ(recorder.Said(), "DEL k | LIMIT.TAKE k GCRA 1 1000 BURST 0 AT 1700000001000000 | ");
  ASSERT_TRUE(waiter.Next());
  engine().part<Effects>().set_sink(kToLog, nullptr);
}

// The moment that redis-cell stores is one of the wall clock; when the limit is whole is not.
TEST_F(LimitCommands, ThrottleSurvivesAClockThatIsSetBack) {
  for (const char* taken : {"2", "1", "0"}) {
    EXPECT_EQ(Line("CL.THROTTLE k 2 3 60").elements.at(2).ToText(), std::string(":") + taken);
  }
  server().clock().StepWall(-3'600'000);
  const Reply refused = Line("CL.THROTTLE k 2 3 60");
  EXPECT_EQ(refused.elements.at(0).integer, 1);
  EXPECT_EQ(refused.elements.at(3).integer, 20);
  EXPECT_EQ(refused.elements.at(4).integer, 60);
  AdvanceTime(20'010);
  EXPECT_EQ(Line("CL.THROTTLE k 2 3 60").elements.at(0).integer, 0);
}

// Crowds are dealt with in slices, be they of one key or of many.
TEST(LimitCrowd, IsServedInSlices) {
  constexpr int kClients = 1500;
  TestEngine server({.audits = false});
  TestClient& asker = server.Connect();
  std::vector<TestClient*> clients;
  const auto answered = [&] {
    return std::ranges::count_if(clients, [](TestClient* each) { return each->has_received(); });
  };
  for (const int keys : {1, 3, kClients}) {
    for (TestClient* client : clients) client->TakeBytes();
    for (int i = 0; i < keys; ++i)
      asker.Run({"limit.take", std::to_string(i), "window", "2000", "5000", "cost", "2000"});
    for (int i = 0; i < kClients; ++i) {
      if (clients.size() < kClients) clients.push_back(&server.Connect());
      clients[i]->Send(
          {"limit.take", std::to_string(i % keys), "window", "2000", "5000", "wait", "100000"});
    }
    // A batch of commands has one budget.
    server.engine().Receive(asker.id(), "FLUSHALL\r\nPING\r\nPING\r\nPING\r\nPING\r\n");
    server.Turn();
    EXPECT_GT(answered(), 0);
    EXPECT_LE(answered(), 256);
    server.Settle();
    EXPECT_EQ(answered(), kClients);
    for (TestClient* client : clients) client->TakeBytes();
    asker.TakeBytes();
    // And all timers of a turn.
    asker.Run({"flushall"});
    for (int i = 0; i < keys; ++i)
      asker.Run({"limit.take", std::to_string(i), "window", "2000", "5000", "cost", "2000"});
    for (int i = 0; i < kClients; ++i)
      clients[i]->Send(
          {"limit.take", std::to_string(i % keys), "window", "2000", "5000", "wait", "100000"});
    server.clock().Advance(5000);
    for (int turn = 1; turn <= 3; ++turn) {
      server.Turn();
      EXPECT_LE(answered(), 256 * turn);
    }
    server.Settle();
    EXPECT_EQ(answered(), kClients);
    EXPECT_EQ(server.Audit(), "");
    asker.Run({"flushall"});
  }
}

TEST_F(LimitCommands, ServeAThousandWaitersWhenAWindowOpens) {
  Take("k WINDOW 1000 1000 COST 1000");
  std::vector<TestClient*> waiters;
  for (int i = 0; i < 1000; ++i) {
    waiters.push_back(&Connect());
    engine().Receive(waiters.back()->id(), "LIMIT.TAKE k WINDOW 1000 1000 WAIT 60000\r\n");
  }
  server().Settle();
  AdvanceTime(1000);
  for (TestClient* waiter : waiters) ASSERT_TRUE(waiter->Next());
  EXPECT_TRUE(!engine().part<LimitWaiters>().listens());
}

}  // namespace
}  // namespace sluice
