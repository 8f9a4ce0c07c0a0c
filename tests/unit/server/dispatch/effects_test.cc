// Who is told of an effect: the log, the stream, or both; and that each has its own groups.
#include "server/dispatch/effects/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using EffectLines = std::vector<std::string>;

// Writes down what it is told, a word for where a group begins and ends.
class LineSink final : public EffectSink {
 public:
  void Effect(int db, Args command, EffectTime time) override {
    std::string line = std::to_string(db);
    for (const std::string_view word : command) line.append(" ").append(word);
    if (time == EffectTime::kRelative) line += " (relative)";
    lines_.push_back(line);
  }
  void GroupBegin() override { lines_.emplace_back("{"); }
  void GroupEnd() override { lines_.emplace_back("}"); }

  EffectLines Take() { return std::exchange(lines_, {}); }

 private:
  EffectLines lines_;
};

// --- by itself

class EffectsTest : public testing::Test {
 protected:
  EffectsTest() {
    effects_.set_sink(kToLog, &log_);
    effects_.set_sink(kToStream, &stream_);
  }

  void Say(const std::vector<std::string_view>& words, EffectTargets targets,
           EffectTime time = EffectTime::kAsItIs) {
    effects_.Add(1, words, time, targets);
  }

  LineSink log_;
  LineSink stream_;
  Effects effects_;
};

TEST_F(EffectsTest, OutsideOfCommandsEachStandsAlone) {
  Say({"DEL", "a"}, kToAll);
  Say({"DEL", "b"}, kToLog, EffectTime::kRelative);
  Say({"DEL", "c"}, kToStream);
  EXPECT_THAT(log_.Take(), ElementsAre("1 DEL a", "1 DEL b (relative)"));
  EXPECT_THAT(stream_.Take(), ElementsAre("1 DEL a", "1 DEL c"));
}

// Each target's first effect is held back until that target has a second one.
TEST_F(EffectsTest, GroupsAreOfWhatATargetIsTold) {
  effects_.Begin(1);
  Say({"A"}, kToStream);
  Say({"B"}, kToLog, EffectTime::kRelative);
  Say({"C"}, kToStream);
  EXPECT_THAT(log_.Take(), IsEmpty());
  EXPECT_THAT(stream_.Take(), ElementsAre("{", "1 A", "1 C"));
  effects_.Finish(1, /*changed=*/false, {});
  EXPECT_THAT(log_.Take(), ElementsAre("1 B (relative)"));
  EXPECT_THAT(stream_.Take(), ElementsAre("}"));
}

TEST_F(EffectsTest, TheRequestItselfFollowsWhatItsTargetsHeard) {
  const std::string_view inner[] = {"INNER"};
  const std::string_view outer[] = {"OUTER"};
  effects_.Begin(0);
  Say({"A"}, kToStream);
  effects_.Begin(0);
  effects_.Finish(0, /*changed=*/true, inner);
  effects_.Finish(0, /*changed=*/true, outer);  // it contains the other, which is told already
  EXPECT_THAT(log_.Take(), ElementsAre("0 INNER"));
  EXPECT_THAT(stream_.Take(), ElementsAre("{", "1 A", "0 INNER", "}"));
}

TEST_F(EffectsTest, TargetsAreTurnedOffInTheMidstOfACommand) {
  effects_.Begin(0);
  Say({"A"}, kToAll);
  Say({"B"}, kToAll);
  effects_.set_targets(kToStream);
  Say({"C"}, kToAll);
  Say({"D"}, kToLog);
  effects_.set_targets(kToAll);
  Say({"E"}, kToAll);
  effects_.Finish(0, /*changed=*/false, {});
  EXPECT_THAT(log_.Take(), ElementsAre("{", "1 A", "1 B", "1 E", "}"));
  EXPECT_THAT(stream_.Take(), ElementsAre("{", "1 A", "1 B", "1 C", "1 E", "}"));
}

TEST_F(EffectsTest, WhileMutedNothingIsToldWhateverTheTargetsAre) {
  effects_.set_muted(true);
  effects_.set_targets(kToAll);
  Say({"A"}, kToAll);
  effects_.set_muted(false);
  Say({"B"}, kToAll);
  EXPECT_THAT(log_.Take(), ElementsAre("1 B"));
  EXPECT_THAT(stream_.Take(), ElementsAre("1 B"));
}

TEST_F(EffectsTest, AreWantedByTargetsThatHaveASink) {
  EXPECT_TRUE(effects_.wanted());
  effects_.set_sink(kToStream, nullptr);
  EXPECT_TRUE(effects_.wanted());
  EXPECT_TRUE(effects_.wanted(kToLog));
  EXPECT_FALSE(effects_.wanted(kToStream));
  effects_.set_sink(kToLog, nullptr);
  EXPECT_FALSE(effects_.wanted());
}

// A sink that goes while a command runs is told no more, and its group is no other's.
TEST_F(EffectsTest, ASinkThatGoesLeavesNothingBehind) {
  effects_.Begin(0);
  Say({"A"}, kToAll);
  effects_.set_sink(kToStream, nullptr);
  effects_.set_sink(kToStream, &stream_);
  effects_.Finish(0, /*changed=*/false, {});
  EXPECT_THAT(log_.Take(), ElementsAre("1 A"));
  EXPECT_THAT(stream_.Take(), IsEmpty());
}

// --- of commands

class CommandEffects : public EngineFixture {
 protected:
  CommandEffects() {
    engine().part<Effects>().set_sink(kToLog, &log_);
    engine().part<Effects>().set_sink(kToStream, &stream_);
  }
  ~CommandEffects() override {
    engine().part<Effects>().set_sink(kToLog, nullptr);
    engine().part<Effects>().set_sink(kToStream, nullptr);
  }

  LineSink log_;
  LineSink stream_;
};

TEST_F(CommandEffects, ChangesAreForBoth) {
  Line("SET k v");
  Line("EXPIREAT k 1");
  EXPECT_THAT(log_.Take(), ElementsAre("0 SET k v", "0 DEL k"));
  EXPECT_THAT(stream_.Take(), ElementsAre("0 SET k v", "0 DEL k"));
}

// Whether or not anybody here has heard them; replicas have subscribers of their own.
TEST_F(CommandEffects, MessagesAreForTheStreamAlone) {
  EXPECT_EQ(Line("PUBLISH c hello").ToText(), ":0");
  Line("SELECT 2");
  EXPECT_EQ(Line("SPUBLISH s hello").ToText(), ":0");
  EXPECT_THAT(log_.Take(), IsEmpty());
  EXPECT_THAT(stream_.Take(), ElementsAre("0 PUBLISH c hello", "2 SPUBLISH s hello"));
}

TEST_F(CommandEffects, OfATransactionEachHearsItsOwn) {
  for (const char* const line : {"MULTI", "PUBLISH c m", "SET k v", "EXEC"}) Line(line);
  EXPECT_THAT(log_.Take(), ElementsAre("0 SET k v"));
  EXPECT_THAT(stream_.Take(), ElementsAre("{", "0 PUBLISH c m", "0 SET k v", "}"));
}

// Who stands behind one that goes gets the lock at once: that is told, and not who has sent him
// away.
TEST_F(CommandEffects, AClientThatIsSentAwayLetsOthersHaveTheLock) {
  for (const char* const way : {"CLIENT KILL ID ", "CLIENT UNBLOCK "}) {
    TestClient& writer = Connect();
    TestClient& reader = Connect();
    const std::string id = writer.Run({"CLIENT", "ID"}).ToText().substr(1);
    Line("LOCK.ACQUIRE job one LEASE 9000 SHARED");
    writer.Send({"LOCK.ACQUIRE", "job", "two", "LEASE", "9000", "WAIT", "9000"});
    reader.Send({"LOCK.ACQUIRE", "job", "three", "LEASE", "9000", "SHARED", "WAIT", "9000"});
    server().Settle();
    log_.Take();
    stream_.Take();
    EXPECT_EQ(Line(way + id).ToText(), ":1");
    server().Settle();
    EXPECT_TRUE(reader.has_received());
    EXPECT_THAT(log_.Take(), ElementsAre(HasSubstr("LOCK.RESTORE job"))) << way;
    EXPECT_THAT(stream_.Take(), ElementsAre(HasSubstr("LOCK.RESTORE job"))) << way;
    Line("LOCK.BREAK job");
  }
}

TEST_F(CommandEffects, AScriptsMessagesAreInItsGroup) {
  Line("EVAL \"redis.call('SET', 'k', 1) redis.call('PUBLISH', 'c', 'm')\" 0");
  EXPECT_THAT(log_.Take(), ElementsAre("0 SET k 1"));
  EXPECT_THAT(stream_.Take(), ElementsAre("{", "0 SET k 1", "0 PUBLISH c m", "}"));
}

TEST_F(CommandEffects, WithoutAStreamMessagesAreNoEffects) {
  engine().part<Effects>().set_sink(kToStream, nullptr);
  Line("PUBLISH c m");
  for (const char* const line : {"MULTI", "PUBLISH c m", "PUBLISH c n", "EXEC"}) Line(line);
  EXPECT_THAT(log_.Take(), IsEmpty());
}

// --- beside a log

// What the log has is what it has without a stream.
TEST(EffectsBesideALog, TheFileHasNothingOfTheStream) {
  MemoryDisk with_stream, without;
  LineSink stream;
  for (MemoryDisk* const disk : {&with_stream, &without}) {
    TestEngine server({.config = {{"appendonly", "yes"}}, .disk = disk});
    if (disk == &with_stream) server.engine().part<Effects>().set_sink(kToStream, &stream);
    TestClient& client = server.Connect();
    for (const char* const line :
         {"SET k v EX 100", "PUBLISH c m", "MULTI", "PUBLISH c n", "INCR n", "EXEC"})
      client.Line(line);
    server.engine().part<Effects>().set_sink(kToStream, nullptr);
  }
  ASSERT_FALSE(without.files[kFirstIncrement].empty());
  EXPECT_EQ(with_stream.files[kFirstIncrement], without.files[kFirstIncrement]);
  EXPECT_THAT(stream.Take(), ElementsAre(testing::StartsWith("0 SET k v PXAT "), "0 PUBLISH c m",
                                         "{", "0 PUBLISH c n", "0 INCR n", "}"));
}

}  // namespace
}  // namespace sluice
