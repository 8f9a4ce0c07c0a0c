// What transcripts cannot show of the sorted-set commands: events, effects, hostile sizes.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "server/dispatch/effects/effects.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class SortedSetsTest : public EngineFixture {
 protected:
  // Runs the line and gives the events that it has sent, "event key" each.
  std::vector<std::string> Events(std::string_view line) {
    if (!listener_) {
      Line("CONFIG SET notify-keyspace-events KEA");
      listener_ = &Connect();
      listener_->Line("PSUBSCRIBE __keyevent@0__:*");
    }
    Line(line);
    std::vector<std::string> events;
    while (const std::optional<Reply> push = listener_->Next()) {
      events.push_back(push->elements[2].text.substr(15) + " " + push->elements[3].text);
    }
    return events;
  }

 private:
  TestClient* listener_ = nullptr;
};

using Strings = std::vector<std::string>;

TEST_F(SortedSetsTest, EventsAreThoseOfRedis) {
  EXPECT_EQ(Events("ZADD k 1 a 2 b"), (Strings{"zadd k"}));
  EXPECT_EQ(Events("ZADD k 1 a"), (Strings{}));
  EXPECT_EQ(Events("ZADD k XX 1 new"), (Strings{}));
  EXPECT_EQ(Events("ZADD k INCR 1 a"), (Strings{"zincr k"}));
  EXPECT_EQ(Events("ZINCRBY k 0 a"), (Strings{}));
  EXPECT_EQ(Events("ZREM k nobody"), (Strings{}));
  EXPECT_EQ(Events("ZREM k a"), (Strings{"zrem k"}));
  EXPECT_EQ(Events("ZREM k b"), (Strings{"zrem k", "del k"}));
  Line("ZADD k 1 a 2 b 3 c 4 d 5 e");
  Events("PING");
  EXPECT_EQ(Events("ZREMRANGEBYRANK k 0 0"), (Strings{"zremrangebyrank k"}));
  EXPECT_EQ(Events("ZREMRANGEBYSCORE k 2 2"), (Strings{"zremrangebyscore k"}));
  EXPECT_EQ(Events("ZREMRANGEBYLEX k [c [c"), (Strings{"zremrangebylex k"}));
  EXPECT_EQ(Events("ZRANGESTORE other k 0 0"), (Strings{"zrangestore other"}));
  EXPECT_EQ(Events("ZUNIONSTORE other 1 k"), (Strings{"zunionstore other"}));
  EXPECT_EQ(Events("ZINTERSTORE other 1 k"), (Strings{"zinterstore other"}));
  EXPECT_EQ(Events("ZDIFFSTORE other 1 k"), (Strings{"zdiffstore other"}));
  EXPECT_EQ(Events("ZDIFFSTORE other 2 k k"), (Strings{"del other"}));
  EXPECT_EQ(Events("ZPOPMIN k"), (Strings{"zpopmin k"}));
  EXPECT_EQ(Events("ZPOPMAX k"), (Strings{"zpopmax k", "del k"}));
  EXPECT_EQ(Events("GEOADD map 1 2 a"), (Strings{"zadd map"}));
  EXPECT_EQ(Events("GEOSEARCHSTORE near map FROMLONLAT 1 2 BYRADIUS 1 km"),
            (Strings{"geosearchstore near"}));
  EXPECT_EQ(Events("GEORADIUS map 1 2 1 km STORE near"), (Strings{"georadiusstore near"}));
}

class Recorder final : public EffectSink {
 public:
  void Effect(int, Args command, EffectTime) override {
    std::string line;
    for (const std::string_view word : command) {
      if (!line.empty()) line += ' ';
      line += word;
    }
    lines.push_back(line);
  }
  void GroupBegin() override {}
  void GroupEnd() override {}
  Strings lines;
};

TEST_F(SortedSetsTest, PopsOfSeveralKeysAreWrittenDownAsPopsOfOne) {
  Line("ZADD k 1 a 2 b 3 c 4 d");
  Recorder recorder;
  engine().part<Effects>().set_sink(kToLog, &recorder);
  Line("ZMPOP 2 nothing k MIN COUNT 2");
  Line("BZPOPMAX nothing k 0");
  Line("BZMPOP 0 2 nothing k MAX");
  Line("ZADD k XX 1 nobody");
  TestClient& waiter = Connect();
  waiter.Send({"BZPOPMIN", "k", "0"});
  Line("ZADD k 1 x 2 y");
  EXPECT_TRUE(waiter.Next().has_value());
  engine().part<Effects>().set_sink(kToLog, nullptr);
  EXPECT_EQ(recorder.lines,
            (Strings{"ZPOPMIN k 2", "ZPOPMAX k", "ZPOPMAX k 1", "ZADD k 1 x 2 y", "ZPOPMIN k"}));
}

TEST_F(SortedSetsTest, HugeCountsTakeWhatThereIs) {
  Line("ZADD k 1 a");
  EXPECT_EQ(Line("ZRANDMEMBER k -9223372036854775807").ToText(), "-ERR value is out of range");
  EXPECT_EQ(Line("ZRANDMEMBER k 9223372036854775807").ToText(), R"(["a"])");
  EXPECT_EQ(Line("ZRANGE k -9223372036854775808 9223372036854775807").ToText(), R"(["a"])");
  EXPECT_EQ(
      Line("ZRANGE k -inf inf BYSCORE LIMIT 9223372036854775807 9223372036854775807").ToText(),
      "[]");
  EXPECT_EQ(Line("ZMPOP 9223372036854775807 k MIN").ToText(), "-ERR syntax error");
  EXPECT_EQ(Line("ZPOPMIN k 9223372036854775807").ToText(), R"(["a", "1"])");
}

// A member of a million is found by its rank, and the set goes away in slices.
TEST_F(SortedSetsTest, ManyMembersAreUnlinkedAtOnce) {
  std::vector<std::string> add = {"ZADD", "k"};
  for (int i = 0; i < 20000; ++i) {
    add.push_back(std::to_string(i % 1000));
    add.push_back("member:" + std::to_string(i));
  }
  EXPECT_EQ(Run(add).ToText(), ":20000");
  EXPECT_EQ(Line("ZRANK k member:19999").ToText(), ":19990");  // by name among equal scores
  EXPECT_EQ(Line("ZCOUNT k 10 19").ToText(), ":200");
  EXPECT_EQ(Line("UNLINK k").ToText(), ":1");
  EXPECT_EQ(Line("EXISTS k").ToText(), ":0");
}

TEST_F(SortedSetsTest, ScanningALargeSetGivesEveryMemberOnce) {
  Line("CONFIG SET zset-max-listpack-entries 0");
  std::vector<std::string> add = {"ZADD", "k"};
  for (int i = 0; i < 3000; ++i) {
    add.push_back(std::to_string(i));
    add.push_back("m" + std::to_string(i));
  }
  Run(add);
  std::set<std::string> seen;
  std::string cursor = "0";
  do {
    const Reply reply = Run({"ZSCAN", "k", cursor, "COUNT", "100"});
    cursor = reply.elements[0].text;
    const auto& elements = reply.elements[1].elements;
    for (size_t i = 0; i < elements.size(); i += 2) {
      EXPECT_TRUE(seen.insert(elements[i].text).second);
      EXPECT_EQ("m" + elements[i + 1].text, elements[i].text);
    }
  } while (cursor != "0");
  EXPECT_EQ(seen.size(), 3000u);
}

}  // namespace
}  // namespace sluice
