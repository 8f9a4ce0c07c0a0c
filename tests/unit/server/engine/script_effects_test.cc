// What a script leaves in the log: the effects of its commands as one group, and only those that it
// wants told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Writes down what it is told, a word for where a group begins and ends.
class Listener final : public EffectSink {
 public:
  std::vector<std::string> lines;

  void Effect(int db, Args command, EffectTime) override {
    std::string line = std::to_string(db);
    for (const std::string_view word : command) line.append(" ").append(word);
    lines.push_back(line);
  }
  void GroupBegin() override { lines.emplace_back("{"); }
  void GroupEnd() override { lines.emplace_back("}"); }
};

class ScriptEffects : public EngineFixture {
 protected:
  ScriptEffects() { engine().part<Effects>().set_sink(kToLog, &listener_); }
  ~ScriptEffects() override { engine().part<Effects>().set_sink(kToLog, nullptr); }

  std::vector<std::string> Of(const std::vector<std::string>& command) {
    listener_.lines.clear();
    Run(command);
    return listener_.lines;
  }
  std::vector<std::string> OfScript(const std::string& text) { return Of({"EVAL", text, "0"}); }

  Listener listener_;
};

TEST_F(ScriptEffects, AreOneGroup) {
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 1) redis.call('INCRBY', 'a', 2)"),
              ElementsAre("{", "0 SET a 1", "0 INCRBY a 2", "}"));
}

TEST_F(ScriptEffects, NothingChangedNothingTold) {
  Run({"SET", "a", "1"});
  EXPECT_THAT(OfScript("redis.call('GET', 'a') redis.call('DEL', 'none') return 1"), IsEmpty());
}

TEST_F(ScriptEffects, SayWhenAndNotHowLong) {
  const std::string until = std::to_string(server().clock().Sample().unix_ms() + 5000);
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 1) redis.call('PEXPIRE', 'a', 5000)"),
              ElementsAre("{", "0 SET a 1", "0 PEXPIREAT a " + until, "}"));
}

TEST_F(ScriptEffects, NameTheDatabaseTheScriptSelected) {
  EXPECT_THAT(
      OfScript("redis.call('SET', 'a', 1) redis.call('SELECT', 3) redis.call('SET', 'b', 2)"),
      ElementsAre("{", "0 SET a 1", "3 SET b 2", "}"));
  EXPECT_THAT(Of({"SET", "c", "3"}), ElementsAre("0 SET c 3"));
}

TEST_F(ScriptEffects, StayWhenTheScriptFails) {
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 1) error('too late')"), ElementsAre("0 SET a 1"));
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 'x') redis.pcall('INCR', 'a') return 1"),
              ElementsAre("0 SET a x"));
}

TEST_F(ScriptEffects, AreNotToldWhileReplicationIsOff) {
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 1) redis.set_repl(redis.REPL_NONE) "
                       "redis.call('SET', 'b', 2) redis.set_repl(redis.REPL_ALL) "
                       "redis.call('SET', 'c', 3)"),
              ElementsAre("{", "0 SET a 1", "0 SET c 3", "}"));
  EXPECT_EQ(Run({"GET", "b"}).text, "2");
}

TEST_F(ScriptEffects, AreToldToTheTargetsThatTheScriptNames) {
  Listener stream;
  engine().part<Effects>().set_sink(kToStream, &stream);
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 1) redis.set_repl(redis.REPL_AOF) "
                       "redis.call('SET', 'b', 2) redis.call('PUBLISH', 'c', 'm') "
                       "redis.set_repl(redis.REPL_REPLICA) redis.call('SET', 'c', 3) "
                       "redis.set_repl(redis.REPL_NONE) redis.call('SET', 'd', 4)"),
              ElementsAre("{", "0 SET a 1", "0 SET b 2", "}"));
  EXPECT_THAT(stream.lines, ElementsAre("{", "0 SET a 1", "0 SET c 3", "}"));
  stream.lines.clear();
  EXPECT_THAT(OfScript("redis.set_repl(redis.REPL_SLAVE) redis.call('SET', 'a', 5)"), IsEmpty());
  EXPECT_THAT(stream.lines, ElementsAre("0 SET a 5"));
  engine().part<Effects>().set_sink(kToStream, nullptr);
}

TEST_F(ScriptEffects, AreToldAgainToTheNextScript) {
  EXPECT_THAT(OfScript("redis.set_repl(redis.REPL_NONE) redis.call('SET', 'a', 1)"), IsEmpty());
  EXPECT_THAT(OfScript("redis.set_repl(redis.REPL_NONE) error('x')"), IsEmpty());
  EXPECT_THAT(OfScript("redis.call('SET', 'a', 2)"), ElementsAre("0 SET a 2"));
}

TEST_F(ScriptEffects, OfATransactionAreOneGroupWithTheRest) {
  listener_.lines.clear();
  Run({"MULTI"});
  Run({"SET", "a", "1"});
  Run({"EVAL", "redis.call('SET', 'b', 2) redis.call('SET', 'c', 3)", "0"});
  Run({"SET", "d", "4"});
  Run({"EXEC"});
  EXPECT_THAT(listener_.lines,
              ElementsAre("{", "0 SET a 1", "0 SET b 2", "0 SET c 3", "0 SET d 4", "}"));
}

TEST_F(ScriptEffects, OfFunctionsAreTheSame) {
  const std::string code =
      "#!lua name=l\nredis.register_function('f', function(keys) redis.call('SET', keys[1], 1) "
      "redis.call('DEL', keys[1]) end)";
  EXPECT_THAT(Of({"FUNCTION", "LOAD", code}), ElementsAre("0 FUNCTION LOAD " + code));
  EXPECT_THAT(Of({"FCALL", "f", "1", "k"}), ElementsAre("{", "0 SET k 1", "0 DEL k", "}"));
  EXPECT_THAT(Of({"FUNCTION", "DELETE", "l"}), ElementsAre("0 FUNCTION DELETE l"));
}

TEST_F(ScriptEffects, CachedScriptsAreNone) {
  EXPECT_THAT(Of({"SCRIPT", "LOAD", "return 1"}), IsEmpty());
  EXPECT_THAT(Of({"SCRIPT", "FLUSH"}), IsEmpty());
}

// A watched key that a script writes has changed.
TEST_F(ScriptEffects, TouchWatchedKeys) {
  TestClient& other = Connect();
  Run({"WATCH", "a"});
  other.Run({"EVAL", "redis.call('SET', 'a', 1)", "0"});
  Run({"MULTI"});
  Run({"SET", "a", "2"});
  EXPECT_EQ(Run({"EXEC"}).ToText(), "(nil-array)");
}

}  // namespace
}  // namespace sluice
