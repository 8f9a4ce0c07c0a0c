// Fields that end by themselves, seen from outside: what is written down, what subscribers hear,
// who is woken, and that neither pauses nor moves of the key lose an end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/observe/statistics.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class HashExpiry : public EngineFixture, private EffectSink {
 protected:
  HashExpiry() { engine().part<Effects>().set_sink(kToLog, this); }
  ~HashExpiry() override { engine().part<Effects>().set_sink(kToLog, nullptr); }

  std::vector<std::string> TakeEffects() { return std::exchange(effects_, {}); }
  std::string Text(std::string_view line) { return Line(line).ToText(); }
  int64_t UnixMs() { return engine().now().unix_ms(); }

 private:
  void Effect(int, Args command, EffectTime) override {
    std::string line;
    for (const std::string_view word : command) {
      line += line.empty() ? "" : " ";
      line += word;
    }
    effects_.push_back(line);
  }
  void GroupBegin() override {}
  void GroupEnd() override {}

  std::vector<std::string> effects_;
};

TEST_F(HashExpiry, EndsAreWrittenDownAsRemovals) {
  Text("HSET h a 1 b 2 c 3");
  Text("HPEXPIRE h 50 FIELDS 2 a b");
  const std::string at = std::to_string(UnixMs() + 50);
  TakeEffects();
  AdvanceTime(49);
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{});
  AdvanceTime(1);
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HDEL h a b"});
  EXPECT_EQ(Text("HGETALL h"), "[\"c\", \"3\"]");
}

TEST_F(HashExpiry, EffectsAreAbsoluteAndSayWhatHappened) {
  Text("HSET h a 1 b 2 c 3");
  TakeEffects();
  const std::string at = std::to_string(UnixMs() + 50'000);
  Text("HEXPIRE h 50 FIELDS 3 a nothing b");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HPEXPIREAT h " + at + " FIELDS 2 a b"});
  Text("HEXPIRE h 50 NX FIELDS 2 a b");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{});
  Text("HEXPIREAT h 1 FIELDS 1 a");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HDEL h a"});
  Text("HINCRBYFLOAT h b 0.5");
  EXPECT_EQ(TakeEffects(),
            (std::vector<std::string>{"HSET h b 2.5", "HPEXPIREAT h " + at + " FIELDS 1 b"}));
  Text("HPERSIST h FIELDS 2 b c");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HPERSIST h FIELDS 1 b"});
  Text("HINCRBYFLOAT h b 0.5");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HSET h b 3"});
  Text("HGETEX h EX 50 FIELDS 1 b");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HPEXPIREAT h " + at + " FIELDS 1 b"});
  Text("HGETDEL h FIELDS 2 b nothing");
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HDEL h b"});
  Text("HSETEX h FNX EX 50 FIELDS 1 d 4");
  EXPECT_EQ(TakeEffects(),
            (std::vector<std::string>{"HSET h d 4", "HPEXPIREAT h " + at + " FIELDS 1 d"}));
}

TEST_F(HashExpiry, SubscribersHearOfIt) {
  Text("CONFIG SET notify-keyspace-events KEgh");
  TestClient& listener = Connect();
  listener.Line("PSUBSCRIBE __keyevent@0__:*");
  Text("HSET h a 1 b 2");
  Text("HPEXPIRE h 10 FIELDS 1 a");
  AdvanceTime(10);
  Text("HPEXPIRE h 20 FIELDS 1 b");
  AdvanceTime(20);
  for (const char* event : {"hset", "hexpire", "hexpired", "hexpire", "hexpired", "del"}) {
    const auto heard = listener.Next();
    ASSERT_TRUE(heard.has_value()) << event;
    EXPECT_NE(heard->ToText().find(std::string("__:") + event + "\", \"h\""), std::string::npos)
        << heard->ToText();
  }
  EXPECT_FALSE(listener.Next().has_value());
}

TEST_F(HashExpiry, WatchersAreTold) {
  Text("HSET h a 1 b 2");
  Text("HPEXPIRE h 10 FIELDS 1 a");
  Text("WATCH h");
  AdvanceTime(10);
  Text("MULTI");
  Text("HLEN h");
  EXPECT_EQ(Text("EXEC"), "(nil-array)");
}

TEST_F(HashExpiry, EndsFollowTheKey) {
  for (const char* move : {"RENAME h k", "COPY h k", "MOVE h 1", "SWAPDB 0 1", "EXPIRE h 1000"}) {
    Text("FLUSHALL");
    Text("SELECT 0");
    Text("HSET h a 1 b 2");
    Text("HPEXPIRE h 50 FIELDS 1 a");
    Text(move);
    AdvanceTime(50);
    size_t fields = 0;
    for (const int db : {0, 1}) {
      Text("SELECT " + std::to_string(db));
      for (const char* key : {"h", "k"}) fields += Line(std::string("HLEN ") + key).integer;
    }
    EXPECT_EQ(fields, std::string(move).starts_with("COPY") ? 2u : 1u) << move;
  }
}

TEST_F(HashExpiry, UnixTimesFollowTheWallClock) {
  Text("HSET h a 1 b 2 c 3");
  Text("HPEXPIREAT h " + std::to_string(UnixMs() + 10'000) + " FIELDS 1 a");
  Text("HPEXPIRE h 10000 FIELDS 1 b");
  server().clock().StepWall(9'000);
  AdvanceTime(1'000);
  EXPECT_EQ(Text("HMGET h a b c"), "[(nil), \"2\", \"3\"]");
  AdvanceTime(9'000);
  EXPECT_EQ(Text("HMGET h a b c"), "[(nil), (nil), \"3\"]");
}

TEST_F(HashExpiry, WhileNothingMayExpireFieldsAreHidden) {
  Text("HSET h a 1 b 2");
  Text("HPEXPIRE h 10 FIELDS 1 a");
  Text("DEBUG SET-ACTIVE-EXPIRE 0");
  AdvanceTime(1000);
  EXPECT_EQ(Text("HGETALL h"), "[\"b\", \"2\"]");
  EXPECT_EQ(Text("HLEN h"), ":1");
  EXPECT_EQ(Text("HINCRBY h a 5"), ":5");
  EXPECT_EQ(Text("HPTTL h FIELDS 1 a"), "[:-1]");
  Text("HPEXPIRE h 10 FIELDS 1 b");
  AdvanceTime(1000);
  TakeEffects();
  Text("DEBUG SET-ACTIVE-EXPIRE 1");
  AdvanceTime(200);
  EXPECT_EQ(TakeEffects(), std::vector<std::string>{"HDEL h b"});
}

TEST_F(HashExpiry, ManyAtOnceGoInSlices) {
  std::vector<std::string> set = {"HSET", "h", "stays", "1"};
  std::vector<std::string> expire = {"HPEXPIRE", "h", "10", "FIELDS", "5000"};
  for (int i = 0; i < 5000; ++i) {
    set.insert(set.end(), {"field:" + std::to_string(i), "v"});
    expire.push_back("field:" + std::to_string(i));
  }
  Run(set);
  Run(expire);
  AdvanceTime(10);
  EXPECT_EQ(Text("HLEN h"), ":1");  // what is left of them is hidden already
  EXPECT_LT(engine().statistics().expired_fields, 5000u);
  for (int i = 0; i < 100; ++i) AdvanceTime(1);
  EXPECT_EQ(engine().statistics().expired_fields, 5000u);
}

}  // namespace
}  // namespace sluice
