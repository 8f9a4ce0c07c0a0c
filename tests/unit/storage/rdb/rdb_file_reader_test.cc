// RDB files, made by hand: every part of the frame, every type in every form that a server has ever
// written, and what is refused, with its sentence.
#include "storage/rdb/rdb_file_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_types.h"
#include "storage/rdb/rdb_writer.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/rdb_world.h"

namespace sluice {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

// A file of `parts` with its end and checksum.
std::string File(std::string_view parts, std::string_view header = "REDIS0010") {
  return SealedRdb(std::string(header) + std::string(parts));
}

std::string Fault(std::string_view file, const RdbFileOptions& options = {}) {
  RdbWorld world;
  return world.Load(file, options);
}

constexpr auto kOneKey = "\xfe\0\0\1k\1v"sv;

TEST(RdbFileReader, ReadsTheFrame) {
  RdbWorld world;
  const std::string file = File(
      "\xfa\x09redis-ver\x06"
      "7.0.15"
      "\xfa\x0aredis-bits\xc0\x40"
      "\xf5\x03lib"
      "\xfe\x03\xfb\x02\x01\xf4\x01\x02\x03"
      "\0\1k\1v"
      "\xfc\x01\0\0\0\0\0\0\0\0\1t\1w"sv);
  EXPECT_EQ(world.Load(file), "");
  EXPECT_EQ(world.aux["redis-ver"], "7.0.15");
  EXPECT_EQ(world.aux["redis-bits"], "64");
  EXPECT_EQ(world.functions, std::vector<std::string>{"lib"});
  EXPECT_EQ(world.hints, std::vector<std::string>{"3 2 1"});
  ASSERT_NE(world.Find(3, "k"), nullptr);
  EXPECT_TRUE(world.Find(3, "k")->deadline().none());
  EXPECT_EQ(world.Find(3, "t")->deadline(), Deadline::Unix(1));
  EXPECT_EQ(world.offset, file.size());
  EXPECT_TRUE(world.has_checksum);
}

TEST(RdbFileReader, RoomThatWasLargeIsNotKept) {
  RdbFileKey key;
  key.name.assign(100, 'n');
  key.value.text.assign(1 << 20, 't');
  key.Clear();
  EXPECT_TRUE(key.name.empty() && key.value.text.empty());
  EXPECT_GE(key.name.capacity(), 100U);
  EXPECT_LE(key.value.text.capacity(), 1024U);
}

TEST(RdbFileReader, TellsWhereTheFileEnds) {
  RdbWorld world;
  const std::string file = File(kOneKey);
  EXPECT_EQ(world.Load(file + "*1\r\n$4\r\nPING\r\n"), "");
  EXPECT_EQ(world.offset, file.size());
}

TEST(RdbFileReader, KnowsItsVersions) {
  for (const std::string_view header :
       {"REDIS0005", "REDIS0009", "REDIS0012", "REDIS0015", "VALKEY080"}) {
    EXPECT_EQ(Fault(File(kOneKey, header)), "") << header;
  }
  // Before version 5 there is no checksum.
  for (const std::string_view header : {"REDIS0001", "REDIS0004"}) {
    EXPECT_EQ(Fault(std::string(header) + std::string(kOneKey) + "\xff"), "") << header;
  }
  for (const std::string_view header : {"REDIS0000", "REDIS0016", "REDIS0080", "REDIS-001",
                                        "VALKEY081", "VALKEY011", "VALKEY079"}) {
    EXPECT_EQ(Fault(File(kOneKey, header)),
              "offset 0: RDB version \"" + std::string(header) +
                  "\" is not known: REDIS0001 to REDIS0015 and VALKEY080 are");
  }
}

TEST(RdbFileReader, RefusesWhatIsNoRdbFile) {
  EXPECT_EQ(Fault(""), "offset 0: the file is empty");
  EXPECT_EQ(Fault("REDIS001"), "offset 0: this is no RDB file: it is too short to be one");
  EXPECT_EQ(
      Fault("SET a 1\nSET b 2\n"),
      "offset 0: this is no RDB file: it begins with \"SET a 1\\nS\", not with REDIS or VALKEY");
  EXPECT_EQ(Fault(std::string(100'000, '\0')).substr(0, 41),
            "offset 0: this is no RDB file: it begins ");
}

TEST(RdbFileReader, ChecksTheChecksum) {
  std::string file = File(kOneKey);
  const size_t end = file.size() - 9;
  file[file.size() - 1] ^= 1;
  EXPECT_EQ(Fault(file),
            Concat("offset ", end, ": the checksum is wrong: somewhere the file is damaged"));
  file.replace(end + 1, 8, 8, '\0');
  RdbWorld world;
  EXPECT_EQ(world.Load(file), "");
  EXPECT_FALSE(world.has_checksum);
}

TEST(RdbFileReader, ReadsDeadlines) {
  RdbWorld world;
  EXPECT_EQ(world.Load(File("\xfe\0"
                            "\xfd\x02\0\0\0\0\1s\1v"
                            "\xfc\xff\xff\xff\xff\xff\xff\xff\x7f\0\1m\1v"
                            "\xf8\x40\x64\xf9\x07\0\1i\1v"
                            "\xfd\0\0\0\0\xfc\0\x3c\xbd\xc6\x9b\x01\0\0\0\1r\1v"sv)),
            "");
  EXPECT_EQ(world.Find(0, "s")->deadline(), Deadline::Unix(2000));
  EXPECT_EQ(world.Find(0, "m")->deadline(), Deadline::Unix(INT64_MAX));
  EXPECT_TRUE(world.Find(0, "i")->deadline().none());
  const int64_t unix_ms = 0x19bc6bd3c00;
  EXPECT_EQ(world.Find(0, "r")->deadline(), Deadline::Steady(unix_ms - world.now().unix_offset_ms));
}

TEST(RdbFileReader, MarksTurnRoundWhenTheFileSaysSo) {
  RdbWorld world;
  EXPECT_EQ(world.Load(File("\xfa\x0fsluice-relative\1"
                            "1\xfe\0"
                            "\xfc\0\x3c\xbd\xc6\x9b\1\0\0\0\1r\1v"
                            "\xfd\0\0\0\0\xfc\1\0\0\0\0\0\0\0\0\1a\1v"sv)),
            "");
  EXPECT_EQ(world.Find(0, "r")->deadline(),
            Deadline::Steady(0x19bc6bd3c00 - world.now().unix_offset_ms));
  EXPECT_EQ(world.Find(0, "a")->deadline(), Deadline::Unix(1));
}

TEST(RdbFileReader, RefusesDeadlinesBeyondAllTime) {
  constexpr auto kSentence =
      "offset 11: key \"k\" in database 0 has a deadline that is beyond all time"sv;
  EXPECT_EQ(Fault(File("\xfe\0\xfc\xff\xff\xff\xff\xff\xff\xff\xff\0\1k\1v"sv)), kSentence);
  EXPECT_EQ(Fault(File("\xfe\0\xfd\xff\xff\xff\xff\0\1k\1v"sv)), kSentence);
  EXPECT_EQ(Fault(File("\xfe\0\xfd\1\0\0\0\xfc\1\0\0\0\0\0\0\0\0\1k\1v"sv)), kSentence);
  EXPECT_EQ(Fault(File("\xfe\0\xfd\0\0\0\0\xfc\xff\xff\xff\xff\xff\xff\xff\x7f\0\1k\1v"sv)),
            kSentence);
}

TEST(RdbFileReader, RefusesWrongOrder) {
  const std::string sentence =
      " is neither a type nor an opcode that is known, so what follows cannot be read: a newer "
      "server may have written it";
  EXPECT_EQ(Fault(File("\xfe\0\xfc\1\0\0\0\0\0\0\0\xfe\1\0\1k\1v"sv)), "offset 20: 254" + sentence);
  EXPECT_EQ(Fault(File("\xfe\0\xf9\1"sv)), "offset 13: 255" + sentence);
  EXPECT_EQ(Fault(File("\xfe\0\6\1k\1v"sv)), "offset 11: 6" + sentence);
}

TEST(RdbFileReader, RefusesByName) {
  EXPECT_EQ(Fault(File("\xf6\1x"sv)).substr(0, 84),
            "offset 9: functions in the form of Redis 7.0's release candidates (FUNCTION, 246): l");
  EXPECT_EQ(Fault(File("\xfe\x10"sv)),
            "offset 9: database 16 is beyond the 16 that there are (databases)");
  EXPECT_EQ(Fault(File(std::string(kOneKey) + "\4\1h\1\1f\1v\0\1k\1v"s)),
            "offset 24: key \"k\" in database 0: it is there twice");
}

TEST(RdbFileReader, RefusesUnknownModulesOrLeavesThemOut) {
  EXPECT_EQ(Fault(FileOfAModule()),
            "offset 9: data of module type \"MBbloom--\" in version 4, which is not known here; "
            "rdb-skip-unknown yes leaves out what it has");
  RdbWorld world;
  EXPECT_EQ(world.Load(FileOfAModule(), {.skip_unknown = true}), "");
  EXPECT_EQ(world.left_out, (std::vector<std::string>{"MBbloom--/(no key)", "MBbloom--/bloom"}));
  EXPECT_NE(world.Find(0, "k"), nullptr);

  std::string parts = "\xfe\7\7\5bloom";
  parts.insert(1, 1, '\0');
  std::string own;
  RdbWriter(own).Length(RdbModuleType{"sluicelck", 5}.id());
  EXPECT_EQ(
      Fault(File("\xfe\0\7\4lock"s + own + std::string(1, '\0'))),
      "offset 11: key \"lock\" in database 0 is of module type \"sluicelck\" in version 5, which "
      "is not known here; rdb-skip-unknown yes leaves out what it has");
}

TEST(RdbFileReader, LeavesOutWhatIsEmpty) {
  RdbWorld world;
  EXPECT_EQ(world.Load(File("\xfe\0\4\4hash\0\2\3set\0\1\4list\0\5\4zset\0\0\1k\1v"sv)), "");
  EXPECT_EQ(world.left_out, (std::vector<std::string>{"/hash", "/set", "/list", "/zset"}));
  EXPECT_NE(world.Find(0, "k"), nullptr);
}

TEST(RdbFileReader, ReadsEveryFormOfEveryType) {
  const std::vector<RdbSample> samples = RdbSamples();
  for (const RdbTypeName& type : kRdbTypeNames) {
    size_t found = 0;
    for (const RdbSample& sample : samples) {
      if (sample.type != type.type) continue;
      ++found;
      RdbWorld world;
      EXPECT_EQ(world.Load(sample.File()), "") << sample.name;
      ASSERT_EQ(world.types, std::vector<RdbType>{sample.type}) << sample.name;
      const Entry* const entry = world.Find(0, "key");
      if (type.type != RdbType::kModule) {
        ASSERT_NE(entry, nullptr) << sample.name;
        EXPECT_EQ(TypeName(entry->type()), type.name) << sample.name;
      }
    }
    EXPECT_GT(found, 0u) << "no sample of " << type.name << ", " << type.form;
  }
}

// --- lengths that lie

TEST(RdbFileReader, RefusesLengthsBeyondTheFile) {
  constexpr auto kTerabytes = "\x81\0\0\x10\0\0\0\0\0"sv;
  EXPECT_EQ(Fault(File("\xfe\0\0\1k"s + std::string(kTerabytes))),
            "offset 23: key \"k\" in database 0 (string, text) claims more bytes than the file has "
            "left: it is cut off or damaged");
  EXPECT_EQ(Fault(File("\xfe\0\0"s + std::string(kTerabytes))),
            "offset 21: a key's name claims more bytes than the file has left: it is cut off or "
            "damaged");
  // Compressed texts: too many packed, and more than so few can become.
  EXPECT_EQ(Fault(File("\xfe\0\0\1k\xc3"s + std::string(kTerabytes) + "\x0a")).substr(0, 9),
            "offset 25");
  EXPECT_EQ(Fault(File("\xfe\0\0\1k\xc3\4"s + std::string(kTerabytes) + "abcd")).substr(0, 9),
            "offset 25");
  // A count of elements.
  EXPECT_EQ(Fault(File("\xfe\0\2\1k"s + std::string(kTerabytes) + "\1a\1b")).substr(0, 9),
            "offset 28");
}

TEST(RdbFileReader, RefusesTextsThatAreTooLong) {
  const std::string file = File("\xfe\0\0\1k\x40\xc8"s + std::string(200, 'x'));
  EXPECT_EQ(Fault(file, {.string_bytes_max = 199}),
            "offset 16: key \"k\" in database 0 (string, text) has a text of more than 199 bytes");
  EXPECT_EQ(Fault(file, {.string_bytes_max = 200}), "");
}

TEST(RdbFileReader, ReadsInPiecesOfBoundedSize) {
  const std::string text(3'000'000, 'x');
  std::string parts = "\xfe";
  parts += std::string("\0\0\1k", 4);
  RdbWriter writer(parts, false);
  writer.String(text);
  const std::string file = File(parts);
  for (const bool is_endless : {false, true}) {
    for (const size_t piece : {size_t{1000}, size_t{65'537}}) {
      StringSource source(file);
      source.piece_bytes = piece;
      source.is_endless = is_endless;
      RdbWorld world;
      EXPECT_EQ(world.Load(source), "");
      EXPECT_LE(source.largest_read, RdbInput::kPieceBytes);
      char scratch[Entry::kTextScratch];
      EXPECT_EQ(world.Find(0, "k")->Text(scratch), text);
    }
  }
}

TEST(RdbFileReader, TellsThatTheFileCannotBeRead) {
  const std::string file = File(kOneKey);
  for (size_t fails_after = 0; fails_after < file.size(); ++fails_after) {
    StringSource source(file);
    source.fails_after = fails_after;
    RdbWorld world;
    const std::string fault = world.Load(source);
    EXPECT_TRUE(fault.ends_with(": the file cannot be read on")) << fault;
  }
}

// A file that another process cuts off meanwhile: its size promises more than comes.
TEST(RdbFileReader, SurvivesAFileThatShrinks) {
  StringSource source("REDIS0010\xfe\0\0\1k\x81\0\0\0\0\x20\0\0\0abc"sv);
  source.claimed_more = uint64_t{1} << 40;
  RdbWorld world;
  EXPECT_EQ(world.Load(source),
            "offset 26: key \"k\" in database 0 (string, text) claims more bytes than the file has "
            "left: it is cut off or damaged");
}

}  // namespace
}  // namespace sluice
