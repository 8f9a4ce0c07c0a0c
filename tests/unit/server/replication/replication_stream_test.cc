// The stream: what commands and the server itself say in it, word for word.
#include "server/replication/replication_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/dispatch/command_table.h"
#include "server/replication/envelope.h"
#include "storage/rdb/crc64.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Lines = std::vector<std::string>;

std::string LineOf(Args words) {
  std::string line;
  for (const std::string_view word : words) line += Concat(line.empty() ? "" : " ", word);
  return line;
}

// Envelopes in brackets: the letter and what it says.
struct EnvelopeLine {
  std::string operator()(const NoEnvelope&) { return "PING with words"; }
  std::string operator()(const UnknownEnvelope& it) { return Concat("<", it.letter, "?>"); }
  std::string operator()(const EffectEnvelope& it) {
    return Concat("<E ", LineOf(Args(it.words.data(), it.words.size())), ">");
  }
  std::string operator()(const ClockEnvelope& it) {
    return Concat("<C ", it.clock.unix_offset_ms, " ", it.clock.shift_ms, ">");
  }
  std::string operator()(const AbsoluteEnvelope&) { return "<A>"; }
  std::string operator()(const TimeEnvelope& it) { return Concat("<H ", it.engine_ms, ">"); }
  std::string operator()(const ReservedEnvelope& it) {
    return Concat("<M ", it.token_mark, " ", it.horizon_ms, ">");
  }
};

// A line a command.
Lines LinesOf(std::string_view bytes) {
  Lines lines;
  ReplyReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(reader.consumed())) {
    const std::optional<Reply> command = reader.Read(bytes);
    if (!command) {
      ADD_FAILURE() << "a piece of a command: " << bytes;
      break;
    }
    std::vector<std::string_view> words;
    for (const Reply& word : command->elements) words.push_back(word.text);
    if (words.size() == 2 && words[0] == "PING") {
      Fault fault;
      const std::optional<Envelope> envelope = ReadEnvelope(words[1], fault);
      lines.push_back(envelope ? std::visit(EnvelopeLine(), *envelope) : fault.sentence());
    } else {
      lines.push_back(LineOf(words));
    }
  }
  return lines;
}

class StreamTest : public EngineFixture {
 protected:
  StreamTest()
      : stream_(engine().part<Effects>(), engine().part<TurnClock>(),
                engine().part<CommandTable>()) {
    Open();
  }
  ~StreamTest() override { reader_.reset(); }

  void Open() {
    stream_.Open(1 << 20);
    reader_ = std::make_unique<BacklogReader>(*stream_.backlog(), stream_.end() + 1);
  }
  // What has come since.
  std::string TakeBytes() {
    stream_.EndTurn();
    std::string bytes;
    for (std::string_view part; !(part = reader_->Take(100)).empty();) bytes += part;
    return bytes;
  }
  Lines Take() { return LinesOf(TakeBytes()); }
  // What follows from a request.
  Lines Of(const std::string& line) {
    Take();
    Line(line);
    return Take();
  }
  std::string UnixMsIn(int64_t ms) { return std::to_string(server().now().unix_ms() + ms); }
  std::string ClockLine() {
    return Concat("<C ", server().now().unix_offset_ms, " ",
                  engine().part<TurnClock>().clock().shift_ms(), ">");
  }

  ReplicationStream stream_;
  std::unique_ptr<BacklogReader> reader_;
};

// --- what effects become

TEST_F(StreamTest, BeginsWithClockAndDatabase) {
  Line("SET k v");
  Line("SET k w");
  EXPECT_THAT(Take(), ElementsAre(ClockLine(), "SELECT 0", "SET k v", "SET k w"));
  Line("SELECT 2");
  EXPECT_THAT(Of("DEL nothing"), IsEmpty());
  EXPECT_THAT(Of("SET k v"), ElementsAre("SELECT 2", "SET k v"));
}

TEST_F(StreamTest, EachFullSyncBeginsWithClockAndDatabase) {
  Of("SET k v");
  stream_.BeginFullSync();
  EXPECT_THAT(Of("SET k w"), ElementsAre(ClockLine(), "SELECT 0", "SET k w"));
}

TEST_F(StreamTest, DeadlinesAreRelativeUnlessTheyAreMarked) {
  Of("SET k v");
  EXPECT_THAT(Of("SET k v PX 5000"), ElementsAre("SET k v PXAT " + UnixMsIn(5000)));
  EXPECT_THAT(Of("SET k v EXAT 4102444800"), ElementsAre("<A>", "SET k v PXAT 4102444800000"));
  EXPECT_THAT(Of("PEXPIREAT k 4102444800001"), ElementsAre("<A>", "PEXPIREAT k 4102444800001"));
  EXPECT_THAT(Of("PEXPIRE k 7000"), ElementsAre("PEXPIREAT k " + UnixMsIn(7000)));
  EXPECT_THAT(Of("PERSIST k"), ElementsAre("PERSIST k"));
}

TEST_F(StreamTest, AStepOfTheWallClockIsTold) {
  Of("SET k v");
  server().clock().StepWall(1234);
  AdvanceTime(1);
  EXPECT_THAT(Of("SET k v PX 5000"), ElementsAre(ClockLine(), "SET k v PXAT " + UnixMsIn(5000)));
}

TEST_F(StreamTest, GroupsAreTransactions) {
  Of("SET k v");
  EXPECT_THAT(Of("EVAL \"redis.call('SET', 'k', 1) redis.call('INCR', 'k')\" 0"),
              ElementsAre("MULTI", "SET k 1", "INCR k", "EXEC"));
  EXPECT_THAT(Of("EVAL \"redis.call('SET', 'k', 1)\" 0"), ElementsAre("SET k 1"));
}

TEST_F(StreamTest, MessagesAreInIt) {
  Of("SET k v");
  EXPECT_THAT(Of("PUBLISH c m"), ElementsAre("PUBLISH c m"));
  EXPECT_THAT(Of("SPUBLISH c m"), ElementsAre("SPUBLISH c m"));
}

TEST_F(StreamTest, WhatRedisDoesNotKnowIsInAnEnvelope) {
  Of("HSET h f 1 g 2");
  EXPECT_THAT(Of("HPEXPIRE h 5000 FIELDS 1 f"),
              ElementsAre("<E HPEXPIREAT h " + UnixMsIn(5000) + " FIELDS 1 f>"));
  EXPECT_THAT(Of("HPEXPIREAT h 4102444800000 FIELDS 1 f"),
              ElementsAre("<A>", "<E HPEXPIREAT h 4102444800000 FIELDS 1 f>"));
  EXPECT_THAT(Of("HINCRBY h f 1"),
              ElementsAre("MULTI", "HSET h f 2", "<A>", "<E HPEXPIREAT h 4102444800000 FIELDS 1 f>",
                          "EXEC"));
  EXPECT_THAT(Of("LIMIT.POLICY SET p WINDOW 5 1000"),
              ElementsAre("<E LIMIT.POLICY SET p WINDOW 5 1000>"));
}

TEST_F(StreamTest, MsetexIsSets) {
  Of("SET k v");
  EXPECT_THAT(Of("MSETEX 2 a 1 b 2 PX 5000"),
              ElementsAre("MULTI", "SET a 1 PXAT " + UnixMsIn(5000),
                          "SET b 2 PXAT " + UnixMsIn(5000), "EXEC"));
}

TEST_F(StreamTest, WhatRedisHasGoesWhereAValueOfOursComes) {
  Of("LIMIT.TAKE user WINDOW 5 100000");
  Of("SET text 1");
  EXPECT_THAT(Of("COPY user text REPLACE"),
              ElementsAre("MULTI", "DEL text", "<E COPY user text REPLACE>", "EXEC"));
  EXPECT_THAT(Of("COPY user text REPLACE"), ElementsAre("<E COPY user text REPLACE>"));
  EXPECT_THAT(Of("COPY user other"), ElementsAre("<E COPY user other>"));
  Of("HSET h f v");
  EXPECT_THAT(Of("RENAME user h"), ElementsAre("MULTI", "DEL h", "<E RENAME user h>", "EXEC"));
  EXPECT_THAT(Of("MOVE h 1"), ElementsAre("<E MOVE h 1>"));
  Of("SET h 1");
  EXPECT_THAT(Of("RENAME h text"), ElementsAre("RENAME h text"));  // Redis has no text, but h
  Of("SELECT 1");
  EXPECT_THAT(Of("COPY h text DB 0 REPLACE"),
              ElementsAre("MULTI", "DEL text", "SELECT 1", "<E COPY h text DB 0 REPLACE>", "EXEC"));
}

// The log has no use for what is a redis-server's alone.
TEST_F(StreamTest, TheLogHasOneCommandForIt) {
  struct Names final : EffectSink {
    Lines names;
    void Effect(int, Args command, EffectTime) override { names.emplace_back(command[0]); }
    void GroupBegin() override { names.emplace_back("{"); }
    void GroupEnd() override { names.emplace_back("}"); }
  } log;
  Line("LIMIT.TAKE user WINDOW 5 100000");
  Line("SET text 1");
  engine().part<Effects>().set_sink(kToLog, &log);
  Line("RENAME user text");
  engine().part<Effects>().set_sink(kToLog, nullptr);
  EXPECT_THAT(log.names, ElementsAre("RENAME"));
}

// A dump of a hash whose fields end is none of Redis 7.0's.
TEST_F(StreamTest, AHashWithEndsIsRestoredTwice) {
  Line("HSET h f 1");
  Line("HPEXPIRE h 5000 FIELDS 1 f");
  const std::string dump = Run({"DUMP", "h"}).text;
  Take();
  Run({"RESTORE", "copy", "0", dump});
  const Lines lines = Take();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[1], testing::StartsWith("RESTORE copy 0 "));
  EXPECT_THAT(lines[2], testing::StartsWith("<E RESTORE copy 0 "));
  EXPECT_THAT(lines[2], testing::HasSubstr(dump));
  EXPECT_THAT(lines[2], testing::EndsWith(" REPLACE ABSTTL>"));
}

// Redis 7.0 refuses dumps of servers after it.
TEST_F(StreamTest, ADumpOfANewerServerIsToldAnew) {
  Line("RPUSH list a b");
  const std::string dump = Run({"DUMP", "list"}).text;
  constexpr size_t kFooter = 2 + sizeof(uint64_t);
  std::string newer = dump.substr(0, dump.size() - kFooter) + std::string("\x0b\0", 2);
  const uint64_t crc = Crc64(newer);
  for (size_t i = 0; i < sizeof(crc); ++i) newer += static_cast<char>(crc >> (8 * i) & 255);
  Take();
  ASSERT_EQ(Run({"RESTORE", "copy", "0", newer}).ToText(), "+OK");
  EXPECT_THAT(Take(), ElementsAre(Concat("RESTORE copy 0 ", dump, " REPLACE ABSTTL")));
}

// --- what the server says

TEST_F(StreamTest, TheServerSpeaksBehindTheTurnsEffects) {
  Of("SET k v");
  Line("SET k w");
  stream_.AskForAcks();
  stream_.TellTime();
  stream_.TellReserved({17, 30'000});
  EXPECT_THAT(Take(), ElementsAre("SET k w", "REPLCONF GETACK *",
                                  Concat("<H ", server().now().ms(), ">"), "<M 17 30000>"));
  stream_.Ping();
  EXPECT_EQ(TakeBytes(), "*1\r\n$4\r\nping\r\n");
}

// A script that takes long lets others be served, and the server speaks: before its group.
TEST_F(StreamTest, NothingStandsInsideAGroup) {
  Effects& effects = engine().part<Effects>();
  const std::string_view set[] = {"SET", "k", "v"};
  Of("SET k v");
  effects.Begin(0);
  effects.Add(0, set);
  effects.Add(0, set);
  stream_.Ping();
  EXPECT_THAT(Take(), ElementsAre("ping"));
  effects.Add(0, set);
  effects.Finish(0, /*changed=*/false, {});
  EXPECT_THAT(Take(), ElementsAre("MULTI", "SET k v", "SET k v", "SET k v", "EXEC"));
}

TEST_F(StreamTest, OffsetsCountEveryByte) {
  EXPECT_EQ(stream_.end(), 0);
  Line("SET k v");
  EXPECT_EQ(stream_.end(), 0);  // the turn has not ended
  const std::string bytes = TakeBytes();
  EXPECT_EQ(stream_.end(), static_cast<int64_t>(bytes.size()));
}

TEST_F(StreamTest, WhatWasLargeIsNotKept) {
  Of("SET k v");
  const size_t before = stream_.memory();
  Run({"SET", "k", std::string(8 << 20, 'v')});
  EXPECT_GT(TakeBytes().size(), 8U << 20);
  for (int turn = 0; turn < 20; ++turn) Of("SET k v");  // the backlog goes down to 1 MB
  EXPECT_LT(stream_.memory(), before + (2U << 20));
}

TEST_F(StreamTest, ClosedItCostsNothingAndKeepsItsEnd) {
  Line("SET k v");
  Take();
  const int64_t end = stream_.end();
  reader_.reset();
  stream_.Close();
  EXPECT_FALSE(engine().part<Effects>().wanted());
  EXPECT_EQ(stream_.backlog(), nullptr);
  Line("SET k w");
  EXPECT_EQ(stream_.end(), end);
  Open();
  EXPECT_EQ(stream_.backlog()->begin(), end + 1);
  EXPECT_THAT(Of("SET k x"), ElementsAre(ClockLine(), "SELECT 0", "SET k x"));
}

TEST_F(StreamTest, GoesOnWhereAnotherOneWas) {
  reader_.reset();
  stream_.Close();
  stream_.set_end(1000);
  EXPECT_EQ(stream_.end(), 1000);
  Open();
  EXPECT_EQ(stream_.backlog()->begin(), 1001);
}

// --- names

// Replicas know the commands by their own names alone.
TEST(StreamNames, ARenamedCommandGoesUnderItsOwn) {
  CommandTable commands(AllFamilies());
  ASSERT_EQ(commands.Rename("SET", "store"), "");
  ManualClock manual;
  TurnClock clock(manual);
  StreamSink sink(clock, commands);
  const std::string_view words[] = {"Store", "k", "v"};
  sink.Effect(0, words, EffectTime::kAsItIs);
  sink.Take(
      [](std::string_view bytes) { EXPECT_THAT(LinesOf(bytes), testing::Contains("SET k v")); });
}

}  // namespace
}  // namespace sluice
