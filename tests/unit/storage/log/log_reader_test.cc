// The log's files: what a TurnWriter writes and what Redis writes is read turn by turn; cut at
// every byte, with every byte changed and with any line left out, what is read is a prefix of what
// was written, and whether the rest may be cut off is decided by what was on disk.
#include "storage/log/log_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "storage/log/stream_position.h"
#include "storage/log/turn_writer.h"
#include "tests/support/memory_disk.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

using Step = LogReader::Step;

constexpr std::string_view kStreamId = "0123456789abcdef0123456789ABCDEF01234567";

struct Outcome {
  std::vector<std::string> turns;  // "0 SET k v; 1 DEL k"
  Step last = Step::kEnd;
  uint64_t whole = 0;
  std::string fault;
  bool torn = false;
};

Outcome Read(const std::string& bytes, bool is_ours = false) {
  MemoryDisk disk;
  disk.files["/log"] = bytes;
  std::unique_ptr<DiskFile> file;
  EXPECT_EQ(disk.Open("log", Disk::Mode::kRead, file), 0);
  LogReader reader(*file, bytes.size());
  Outcome outcome;
  while ((outcome.last = reader.Next()) == Step::kTurn) {
    std::string turn;
    for (size_t i = 0; i < reader.commands(); ++i) {
      turn += Concat(i == 0 ? "" : "; ", reader.db(i));
      for (const std::string_view word : reader.Words(i)) turn += Concat(" ", word);
    }
    outcome.turns.push_back(turn);
  }
  outcome.whole = reader.whole();
  outcome.fault = reader.fault();
  outcome.torn = outcome.last == Step::kFault && reader.IsTorn(is_ours);
  return outcome;
}

std::string Command(std::initializer_list<std::string_view> words) {
  std::string bytes;
  AppendRequest(bytes, Args(words.begin(), words.size()));
  return bytes;
}

// Writes turns into a file as a server does; each says that those before it are on disk.
struct Written {
  std::string bytes = LogHeaderLine("boot");
  std::vector<size_t> ends;  // of the header and of each turn
  TurnWriter writer;
  bool syncs = true;
  std::optional<StreamPosition> stream;

  Written() { ends.push_back(bytes.size()); }
  void Effect(int db, std::initializer_list<std::string_view> words) {
    writer.Effect(db, Args(words.begin(), words.size()));
  }
  void EndTurn() {
    bytes +=
        writer.Take(1'700'000'000'000, syncs ? bytes.size() : kSyncUnknown, bytes.size(), stream);
    ends.push_back(bytes.size());
  }
};

Written Sample(bool syncs = true) {
  Written log;
  log.syncs = syncs;
  log.Effect(0, {"SET", "k", "v"});
  log.EndTurn();
  log.writer.GroupBegin();
  log.Effect(3, {"SET", "a", std::string_view("\r\n#M:\0", 6)});
  log.Effect(0, {"DEL", "k"});
  log.writer.GroupEnd();
  log.Effect(0, {"SET", "", "x"});
  log.EndTurn();
  log.Effect(0, {"SET", "n", "1"});
  log.EndTurn();
  log.stream = StreamPosition{.id = *ReplicationId::Of(kStreamId), .offset = 77};
  log.Effect(1, {"SET", "n", "2"});
  log.EndTurn();
  return log;
}

TEST(LogReader, GivesTheTurnsThatWereWritten) {
  const Outcome outcome = Read(Sample().bytes);
  const std::vector<std::string> wanted = {
      "0 SET k v", Concat("3 SET a ", std::string_view("\r\n#M:\0", 6), "; 0 DEL k; 0 SET  x"),
      "0 SET n 1", "1 SET n 2"};
  EXPECT_EQ(outcome.last, Step::kEnd);
  EXPECT_EQ(outcome.turns, wanted);
  EXPECT_EQ(outcome.whole, Sample().bytes.size());
}

TEST(LogReader, ReadsWhatRedisWrites) {
  const std::string bytes = "#TS:1700000000\r\n" + Command({"SELECT", "2"}) +
                            Command({"SET", "k", "v"}) + Command({"MULTI"}) +
                            Command({"INCR", "a"}) + "#TS:1700000001\r\n" + Command({"INCR", "b"}) +
                            Command({"EXEC"});
  const Outcome outcome = Read(bytes);
  const std::vector<std::string> wanted = {"2 SET k v", "2 INCR a; 2 INCR b"};
  EXPECT_EQ(outcome.last, Step::kEnd) << outcome.fault;
  EXPECT_EQ(outcome.turns, wanted);
  const size_t group = bytes.find(Command({"MULTI"}));
  for (size_t cut = group + 1; cut < bytes.size(); ++cut) {
    const Outcome partly = Read(bytes.substr(0, cut));
    EXPECT_TRUE(partly.torn) << cut;
    EXPECT_EQ(partly.whole, group) << cut;
    EXPECT_EQ(partly.turns.size(), 1U) << cut;
  }
}

TEST(LogReader, GoesOnWhereAnotherWriterStopped) {
  const std::string theirs = Command({"SELECT", "2"}) + Command({"SET", "k", "v"});
  std::string bytes = theirs + LogHeaderLine("boot");
  TurnWriter writer;
  const std::string_view words[] = {"SET", "k", "w"};
  writer.Effect(0, words);
  bytes += writer.Take(1, bytes.size(), bytes.size());
  const Outcome outcome = Read(bytes);
  EXPECT_EQ(outcome.last, Step::kEnd) << outcome.fault;
  const std::vector<std::string> wanted = {"2 SET k v", "0 SET k w"};
  EXPECT_EQ(outcome.turns, wanted);
}

bool IsPrefix(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
}

TEST(LogReader, ACutAnywhereLeavesTheTurnsBeforeIt) {
  const Written log = Sample();
  for (size_t cut = 0; cut < log.bytes.size(); ++cut) {
    const Outcome outcome = Read(log.bytes.substr(0, cut));
    // A file that is not even a header long is one of another writer, cut short.
    size_t turns = 0;
    while (turns + 1 < log.ends.size() && log.ends[turns + 1] <= cut) ++turns;
    EXPECT_EQ(outcome.turns.size(), turns) << cut;
    const bool is_end = cut == 0 || std::ranges::count(log.ends, cut) == 1;
    EXPECT_EQ(outcome.last, is_end ? Step::kEnd : Step::kFault) << cut;
    EXPECT_EQ(outcome.torn, !is_end) << cut;
    EXPECT_EQ(outcome.whole, cut < log.ends[0] ? 0 : log.ends[turns]) << cut;
  }
}

// Damage in what was on disk when a later turn was written is none that a crash leaves.
TEST(LogReader, AChangedByteIsFound) {
  for (const bool syncs : {true, false}) {
    const Written log = Sample(syncs);
    const std::vector<std::string> all = Read(log.bytes).turns;
    const size_t last = log.ends[log.ends.size() - 2];
    for (size_t at = 0; at < log.bytes.size(); ++at) {
      for (const char flip : {'\x01', '\x20', '\x80'}) {
        std::string bytes = log.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);
        const Outcome outcome = Read(bytes);
        EXPECT_EQ(outcome.last, Step::kFault) << at;
        EXPECT_TRUE(IsPrefix(outcome.turns, all)) << at;
        // Without its header it is another writer's file, until the first mark.
        if (at >= log.ends[0]) {
          EXPECT_LE(outcome.whole, at);
        }
        if (at >= last) {
          EXPECT_EQ(outcome.whole, last) << at;
        } else {
          EXPECT_FALSE(outcome.torn) << at;
        }
      }
    }
  }
}

TEST(LogReader, AMissingLineIsFound) {
  const Written log = Sample();
  const std::vector<std::string> all = Read(log.bytes).turns;
  for (size_t i = 1; i + 1 < log.ends.size(); ++i) {
    std::string bytes = log.bytes;
    const size_t mark = bytes.rfind("#M:", log.ends[i]);
    bytes.erase(mark, log.ends[i] - mark);
    const Outcome outcome = Read(bytes);
    EXPECT_EQ(outcome.last, Step::kFault);
    EXPECT_FALSE(outcome.torn);
    EXPECT_EQ(outcome.turns.size(), i - 1);
    bytes = log.bytes;
    bytes.erase(log.ends[i - 1], log.ends[i] - log.ends[i - 1]);  // the whole turn
    EXPECT_EQ(Read(bytes).last, Step::kFault) << i;
  }
  std::string headless = log.bytes.substr(log.ends[0]);
  EXPECT_EQ(Read(headless).last, Step::kFault);
}

// --- several turns at once

struct RunOutcome {
  std::vector<std::string> commands;  // "<boot> <db> SET k v"
  std::string fault;
  uint64_t whole = 0;
  bool torn = false;
  bool operator==(const RunOutcome&) const = default;
};

RunOutcome ReadInRuns(const std::string& bytes, size_t most, size_t piece_bytes, size_t& steps) {
  MemoryDisk disk;
  disk.files["/log"] = bytes;
  std::unique_ptr<DiskFile> file;
  EXPECT_EQ(disk.Open("log", Disk::Mode::kRead, file), 0);
  LogReader reader(*file, bytes.size(), 0, piece_bytes);
  RunOutcome outcome;
  Step step;
  for (steps = 0; (step = reader.NextTurns(most)) == Step::kTurn; ++steps) {
    for (size_t i = 0; i < reader.commands(); ++i) {
      std::string command = Concat(reader.boot(), " ", reader.db(i));
      for (size_t word = 0; word < reader.words(i); ++word)
        command += Concat(" ", reader.Word(i, word));
      outcome.commands.push_back(command);
    }
  }
  outcome.whole = reader.whole();
  outcome.fault = reader.fault();
  outcome.torn = step == Step::kFault && reader.IsTorn();
  return outcome;
}

// Two writers of two boots, each with some small turns.
Written TwoWriters() {
  Written log;
  for (int i = 0; i < 5; ++i) {
    log.Effect(i / 3, {"SET", "k", std::to_string(i)});
    log.EndTurn();
  }
  log.bytes += LogHeaderLine("later");
  log.writer.Restart();
  for (int i = 0; i < 4; ++i) {
    log.Effect(0, {"SET", "k", std::to_string(i)});
    log.Effect(1, {"DEL", "k"});
    log.EndTurn();
  }
  return log;
}

TEST(LogReader, RunsOfTurnsHaveAsManyCommandsAsAreAskedFor) {
  const std::string bytes = TwoWriters().bytes;
  constexpr size_t kPiece = LogReader::kPieceBytes;
  size_t steps = 0;
  const RunOutcome single = ReadInRuns(bytes, 1, kPiece, steps);
  EXPECT_EQ(steps, 9U);
  EXPECT_EQ(single.commands.size(), 13U);
  EXPECT_EQ(single.commands[4], "boot 1 SET k 4");
  EXPECT_EQ(single.commands[5], "later 0 SET k 0");
  EXPECT_EQ(ReadInRuns(bytes, 4, kPiece, steps), single);
  EXPECT_EQ(steps, 4U) << "4 turns and 1; the other boot's 2 and 2";
  EXPECT_EQ(ReadInRuns(bytes, 100, kPiece, steps), single);
  EXPECT_EQ(steps, 2U) << "a run has one boot";
}

// Whatever is wrong with it, the turns before the fault are given, and the fault is the same.
TEST(LogReader, RunsTellTheSameOfADamagedFile) {
  const std::string bytes = TwoWriters().bytes;
  size_t steps = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    for (const std::string& log : {bytes.substr(0, at), damaged}) {
      const RunOutcome single = ReadInRuns(log, 1, LogReader::kPieceBytes, steps);
      ASSERT_EQ(ReadInRuns(log, 3, LogReader::kPieceBytes, steps), single) << at;
      ASSERT_EQ(ReadInRuns(log, 32, 1 + at % 90, steps), single) << at;
    }
  }
}

// The same at the size of a log that was in use, one bit a byte.
TEST(LogReader, NoByteOfALongLogMayChange) {
  constexpr size_t kBytes = 64 * 1024;
  constexpr size_t kStep = kSanitized ? 61 : 1;
  std::mt19937_64 random(TestSeed(0));
  Written log;
  while (log.bytes.size() < kBytes) {
    for (uint64_t commands = 1 + random() % 3; commands > 0; --commands) {
      const std::string value(random() % 300, static_cast<char>(random()));
      log.Effect(static_cast<int>(random() % 3), {"SET", std::to_string(random() % 9), value});
    }
    log.EndTurn();
  }
  const std::vector<std::string> all = Read(log.bytes).turns;
  ASSERT_EQ(all.size() + 1, log.ends.size());
  size_t turn = 0;  // that `at` stands in
  for (size_t at = log.ends[0]; at < log.bytes.size(); at += kStep) {
    while (log.ends[turn + 1] <= at) ++turn;
    const Outcome cut = Read(log.bytes.substr(0, at));
    ASSERT_EQ(cut.turns.size(), turn) << at;
    ASSERT_EQ(cut.torn, at != log.ends[turn]) << at;
    std::string bytes = log.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    const Outcome flipped = Read(bytes);
    ASSERT_EQ(flipped.last, Step::kFault) << at;
    ASSERT_EQ(flipped.whole, log.ends[turn]) << at;
    ASSERT_TRUE(IsPrefix(flipped.turns, all)) << at;
    ASSERT_EQ(flipped.torn, turn + 1 == all.size()) << at;
  }
}

// After a power cut under everysec several turns may be full of holes.
TEST(LogReader, HolesInWhatWasNotOnDiskAreTorn) {
  Written log;
  log.Effect(0, {"SET", "k", "v"});
  log.EndTurn();
  const uint64_t synced = log.bytes.size();
  for (int i = 0; i < 3; ++i) {
    log.Effect(0, {"SET", "k", "w"});
    log.bytes += log.writer.Take(1, synced, log.bytes.size());
  }
  log.bytes.replace(synced + 3, 10, 10, '\0');
  const Outcome outcome = Read(log.bytes);
  EXPECT_TRUE(outcome.torn);
  EXPECT_EQ(outcome.whole, synced);
  EXPECT_EQ(outcome.turns.size(), 1U);
}

// A header whose bytes never came to the disk, in a new file or behind what Redis has written.
TEST(LogReader, ZerosAtTheEndAreTorn) {
  const std::vector<std::string> begins = {"", Command({"SET", "k", "v"})};
  for (const std::string& begin : begins) {
    std::string bytes = begin;
    bytes.append(40, '\0');
    const Outcome outcome = Read(bytes);
    EXPECT_TRUE(outcome.torn);
    EXPECT_EQ(outcome.whole, begin.size());
    bytes += "*";
    EXPECT_FALSE(Read(bytes).torn);
  }
}

// The header never came to the disk, what follows did. Only the files before it show that there was
// one; and where a mark says that it was on disk it is damage.
TEST(LogReader, AFileThatBeginsWithZerosHasLostItsHeaderWhereOthersHaveOne) {
  Written log;
  const size_t header = log.bytes.size();
  log.Effect(0, {"SET", "k", "v"});
  log.bytes += log.writer.Take(1, /*synced=*/0, log.bytes.size());
  log.bytes.replace(0, header, header, '\0');
  EXPECT_TRUE(Read(log.bytes, /*is_ours=*/true).torn);
  EXPECT_EQ(Read(log.bytes, /*is_ours=*/true).whole, 0U);
  EXPECT_FALSE(Read(log.bytes).torn);
  const uint64_t synced = log.bytes.size();
  log.Effect(0, {"SET", "k", "w"});
  log.bytes += log.writer.Take(1, synced, log.bytes.size());
  EXPECT_FALSE(Read(log.bytes, /*is_ours=*/true).torn);
}

TEST(LogReader, RefusesWhatIsNoLog) {
  const std::pair<std::string, std::string> kCases[] = {
      {std::string(1000, '\0') + "x", "a command begins with neither '*' nor '#'"},
      {"*0\r\n", "a command has no words"},
      {"*-1\r\n", "a length is no length"},
      {"*99999999999\r\n", "a length is no length"},
      {"*1\r\n$-1\r\n", "a length is no length"},
      {"*1\r\n+OK\r\n", "there is no '$' where one has to be"},
      {"*1\r\n$1\r\nabc", "a word is longer than its length"},
      {Command({"EXEC"}), "there is an EXEC without its MULTI"},
      {Command({"MULTI"}) + Command({"MULTI"}), "a MULTI stands in another one"},
      {Command({"SELECT", "-1"}), "it selects no database"},
      {Command({"SELECT", "256"}), "it selects no database"},
      {"#SLUICE:2 boot 0\r\n", "it is of a newer format: read it with the Sluice that wrote it"},
      {"#SLUICE:1 boot 0\r\n", "a header is damaged"},
      {"#M:1 0 0 0\r\n", "a turn ends with a mark, but no header says so"},
      {"#" + std::string(200, 'x') + "\r\n", "a line is too long"},
  };
  for (const auto& [bytes, fault] : kCases) {
    const Outcome outcome = Read(bytes);
    EXPECT_EQ(outcome.fault, fault);
    EXPECT_FALSE(outcome.torn) << fault;
  }
}

TEST(LogReader, WordsMayBeLongerThanAPiece) {
  const std::string large(3 * LogReader::kPieceBytes + 17, 'x');
  Written log;
  log.Effect(0, {"SET", "k", large});
  log.EndTurn();
  log.Effect(0, {"SET", "l", "1"});
  log.EndTurn();
  const Outcome outcome = Read(log.bytes);
  ASSERT_EQ(outcome.turns.size(), 2U) << outcome.fault;
  EXPECT_EQ(outcome.turns[0], "0 SET k " + large);
}

TEST(TurnWriter, HoldsAnOpenGroupBack) {
  Written log;
  log.Effect(0, {"SET", "a", "1"});
  log.writer.GroupBegin();
  log.Effect(0, {"SET", "b", "1"});
  log.EndTurn();  // inside a script
  EXPECT_EQ(log.writer.ready(), 0U);
  log.Effect(0, {"SET", "c", "1"});
  log.writer.GroupEnd();
  log.EndTurn();
  const Outcome outcome = Read(log.bytes);
  const std::vector<std::string> wanted = {"0 SET a 1", "0 SET b 1; 0 SET c 1"};
  EXPECT_EQ(outcome.turns, wanted) << outcome.fault;
}

// The clocks of the commands, and which of them are relative: "1 -2", "1 -2 R"; "1 -2 +3 R" of a
// machine whose own Unix time is 3 ms later.
std::vector<std::string> ClocksOf(const std::string& bytes) {
  MemoryDisk disk;
  disk.files["/log"] = bytes;
  std::unique_ptr<DiskFile> file;
  EXPECT_EQ(disk.Open("log", Disk::Mode::kRead, file), 0);
  LogReader reader(*file, bytes.size());
  std::vector<std::string> clocks;
  while (reader.Next() == Step::kTurn) {
    for (size_t i = 0; i < reader.commands(); ++i) {
      const std::optional<LogClock>& clock = reader.clock(i);
      clocks.push_back(clock ? Concat(clock->unix_offset_ms, " ", clock->shift_ms) : "none");
      if (clock && clock->skew_ms != 0) clocks.back() += Concat(" +", clock->skew_ms);
      if (reader.is_relative(i)) clocks.back() += " R";
    }
  }
  EXPECT_EQ(reader.fault(), "");
  return clocks;
}

TEST(TurnWriter, NotesItsClockWhenThatIsAnotherAndWhatIsRelative) {
  Written log;
  const std::string_view words[] = {"SET", "k", "v"};
  log.writer.set_clock({1'700'000'000'000, 0});
  log.writer.Effect(0, words);
  log.writer.GroupBegin();
  log.writer.Effect(3, words, true);
  log.writer.set_clock({-5, 77});
  log.writer.Effect(3, words);
  log.writer.GroupEnd();
  log.EndTurn();
  log.writer.Effect(0, words, true);
  log.EndTurn();
  const std::vector<std::string> wanted = {"1700000000000 0", "1700000000000 0 R", "-5 77",
                                           "-5 77 R"};
  EXPECT_EQ(ClocksOf(log.bytes), wanted);
  EXPECT_EQ(log.bytes.find("#CLOCK:"), log.ends[0]);
  // Another writer goes on; a file without marks has no clock, whatever its comments say.
  const std::string next = LogHeaderLine("boot");
  log.bytes += next;
  log.writer = TurnWriter();
  log.writer.Effect(0, words);
  log.EndTurn();
  EXPECT_EQ(ClocksOf(log.bytes).back(), "0 0");
  EXPECT_EQ(ClocksOf("#CLOCK:1 2\r\n#R\r\n" + Command({"DEL", "k"})),
            std::vector<std::string>{"none"});
}

TEST(TurnWriter, NotesByHowMuchTheMachinesUnixTimeIsLater) {
  Written log;
  const std::string_view words[] = {"SET", "k", "v"};
  for (const LogClock& clock : {LogClock{5, 0, 300}, {5, 0, -2}, {5, 0, 0}, {6, 0, 0}}) {
    log.writer.set_clock(clock);
    log.writer.Effect(0, words);
    log.EndTurn();
  }
  const std::vector<std::string> wanted = {"5 0 +300", "5 0 +-2", "5 0", "6 0"};
  EXPECT_EQ(ClocksOf(log.bytes), wanted);
}

TEST(LogReader, RefusesAClockThatIsNone) {
  for (const std::string line :
       {"#CLOCK:\r\n", "#CLOCK:1\r\n", "#CLOCK:1 x\r\n", "#CLOCK:1 2 3\r\n", "#CLOCK:1 2\n",
        "#CLOCK:9223372036854775807 0\r\n", "#CLOCK:0 -9223372036854775808\r\n", "#SKEW:1\r\n",
        "#CLOCK:1 2\r\n#SKEW:x\r\n", "#CLOCK:1 2\r\n#SKEW:1\n",
        "#CLOCK:1 2\r\n#SKEW:9223372036854775807\r\n"}) {
    const std::string header = LogHeaderLine("boot");
    std::string turn = line + Command({"DEL", "k"});
    AppendLogMark(turn, 1, kSyncUnknown, header.size());
    EXPECT_EQ(Read(header + turn).fault, "what it says of its clock is damaged") << line;
  }
}

// "77" or "none", for each turn.
std::vector<std::string> StreamsOf(const std::string& bytes) {
  MemoryDisk disk;
  disk.files["/log"] = bytes;
  std::unique_ptr<DiskFile> file;
  EXPECT_EQ(disk.Open("log", Disk::Mode::kRead, file), 0);
  LogReader reader(*file, bytes.size());
  std::vector<std::string> streams;
  while (reader.Next() == Step::kTurn) {
    streams.push_back(reader.stream() ? std::to_string(reader.stream()->offset) : "none");
    if (reader.stream()) {
      EXPECT_EQ(reader.stream()->id.text(), kStreamId);
    }
  }
  EXPECT_EQ(reader.fault(), "");
  return streams;
}

TEST(TurnWriter, NotesWhereTheStreamStandsAtTheEndOfATurn) {
  Written log = Sample();
  const std::string line = Concat("#REPL:", kStreamId, " 77\r\n#M:");
  EXPECT_EQ(log.bytes.find(line), log.bytes.rfind("#M:") - line.size() + 3);
  log.stream->offset = 99;
  log.EndTurn();  // without a command
  log.stream.reset();
  log.Effect(0, {"SET", "n", "3"});
  log.EndTurn();
  const std::vector<std::string> wanted = {"none", "none", "none", "77", "99", "none"};
  EXPECT_EQ(StreamsOf(log.bytes), wanted) << "it is true of the turn that says it alone";
  EXPECT_EQ(StreamsOf(Concat("#REPL:", kStreamId, " 1\r\n", Command({"DEL", "k"}))),
            std::vector<std::string>{"none"})
      << "no mark proves it";
}

TEST(LogReader, RefusesAStreamThatIsNone) {
  const std::string id(kStreamId);
  for (const std::string& line :
       {std::string("#REPL:\r\n"), "#REPL:" + id + "\r\n", "#REPL:" + id + " \r\n",
        "#REPL:" + id + " -1\r\n", "#REPL:" + id + " 9223372036854775808\r\n",
        "#REPL:" + id + " 1 2\r\n", "#REPL:" + id + " 1\n", "#REPL:" + id + "0 1\r\n",
        "#REPL:g" + id.substr(1) + " 1\r\n"}) {
    const std::string header = LogHeaderLine("boot");
    std::string turn = line + Command({"DEL", "k"});
    AppendLogMark(turn, 1, kSyncUnknown, header.size());
    EXPECT_EQ(Read(header + turn).fault, "what it says of the stream to replicas is damaged")
        << line;
  }
}

TEST(TurnWriter, NotesEachNewSecond) {
  TurnWriter writer;
  writer.set_timestamps(true);
  const std::string_view words[] = {"SET", "k", "v"};
  for (const int64_t second : {7, 7, 8}) {
    writer.set_now_s(second);
    writer.Effect(0, words);
  }
  const std::string bytes = writer.Take(1, 0, 0);
  EXPECT_EQ(bytes.find("#TS:7\r\n"), 0U);
  EXPECT_NE(bytes.find("#TS:8\r\n"), bytes.npos);
  EXPECT_EQ(bytes.find("#TS:7\r\n", 1), bytes.npos);
}

}  // namespace
}  // namespace sluice
