// DUMP and RESTORE of the types that Redis has: what is restored is what was dumped. Damaged dumps
// by the ten thousand are in tests/fuzz/dump_damage_test.cc.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_writer.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

// A key of each form of each type, by the commands that make it. `many` is a Lua loop's body.
const char* const kMakers[] = {
    "SET string hello",
    "SET int 12345",
    "SET wide 9223372036854775807",
    "EVAL \"redis.call('SET', 'long', string.rep('abcdefgh', 400))\" 0",
    "EVAL \"for i = 1, 300 do redis.call('XADD', 'stream', i .. '-1', 'f', i, 'g', 'v' .. i) end\" "
    "0",
    "XADD fields 1-1 a 1",
    "XADD fields 2-1 b 2 c 3",
    "XDEL stream 5-1 6-1 299-1",
    "XGROUP CREATE stream g 0",
    "XGROUP CREATE stream empty $",
    "XREADGROUP GROUP g me COUNT 20 STREAMS stream >",
    "XREADGROUP GROUP g you COUNT 3 STREAMS stream >",
    "XGROUP CREATE none g 0 MKSTREAM",
    "RPUSH list a b c 12 -7",
    "EVAL \"for i = 1, 900 do redis.call('RPUSH', 'longlist', string.rep('x', i % 90) .. i) end\" "
    "0",
    "SADD ints 1 2 -3 70000 5000000000",
    "SADD texts a b c 12",
    "EVAL \"for i = 1, 900 do redis.call('SADD', 'bigset', 'm' .. i) end\" 0",
    "HSET hash a 1 b two",
    "EVAL \"for i = 1, 900 do redis.call('HSET', 'bighash', 'f' .. i, i) end\" 0",
    "HSET timed a 1 b two c 3",
    "HPEXPIREAT timed 4102444800123 FIELDS 2 a b",
    "ZADD zset 1.5 a -inf b 3 c",
    "EVAL \"for i = 1, 900 do redis.call('ZADD', 'bigzset', i / 7, 'm' .. i) end\" 0",
};

class DumpTest : public EngineFixture {
 protected:
  // All keys that the makers of types served have made.
  std::vector<std::string> Make() {
    for (const char* line : kMakers) Line(line);
    std::vector<std::string> keys;
    for (const Reply& key : Run({"KEYS", "*"}).elements) keys.push_back(key.text);
    EXPECT_GE(keys.size(), 7u);
    return keys;
  }
  std::string Dump(const std::string& key) { return Run({"DUMP", key}).text; }
  std::string Digest(const std::string& key) {
    return Run({"DEBUG", "DIGEST-VALUE", key}).ToText() + Run({"TYPE", key}).text +
           Run({"OBJECT", "ENCODING", key}).text;
  }
};

// The dump with the checksum that it should have.
std::string Signed(std::string body) {
  body.resize(body.size() < 8 ? 0 : body.size() - 8);
  const uint64_t crc = Crc64(body);
  RdbWriter(body).Int64(static_cast<int64_t>(crc));
  return body;
}

TEST_F(DumpTest, RestoredIsWhatWasDumped) {
  for (const std::string& key : Make()) {
    SCOPED_TRACE(key);
    const std::string dump = Dump(key);
    ASSERT_EQ(Run({"RESTORE", "copy", "0", dump}).ToText(), "+OK");
    EXPECT_EQ(Digest("copy"), Digest(key));
    EXPECT_EQ(Dump("copy").size(), dump.size()) << "members may come in another order";
    Run({"DEL", "copy"});
  }
}

TEST_F(DumpTest, AHashWhoseFieldsHaveEndedIsNoKey) {
  Line("HSET h f v");
  Line("HPEXPIRE h 200 FIELDS 1 f");
  const std::string dump = Dump("h");
  Line("SET old v");
  server().AdvanceTime(200);
  EXPECT_EQ(Run({"RESTORE", "copy", "0", dump}).ToText(), "+OK");
  EXPECT_EQ(Run({"RESTORE", "old", "0", dump, "REPLACE"}).ToText(), "+OK");
  EXPECT_EQ(Run({"EXISTS", "copy", "old"}).integer, 0);
}

TEST_F(DumpTest, GroupsComeBackWhole) {
  Make();
  Run({"RESTORE", "copy", "0", Dump("stream")});
  for (const char* question : {"XINFO STREAM ", "XINFO GROUPS ", "XPENDING "}) {
    const std::string rest = std::string(question) == "XPENDING " ? " g - + 100" : "";
    EXPECT_EQ(Line(question + std::string("copy") + rest).ToText(),
              Line(question + std::string("stream") + rest).ToText());
  }
  EXPECT_EQ(Line("XINFO STREAM copy FULL COUNT 0").ToText(),
            Line("XINFO STREAM stream FULL COUNT 0").ToText());
}

TEST_F(DumpTest, CutsAndFlipsAreNoticed) {
  for (const std::string& key : Make()) {
    const std::string dump = Dump(key);
    const size_t step = 1 + dump.size() / 60;
    for (size_t at = 0; at < dump.size(); at += step) {
      EXPECT_EQ(Run({"RESTORE", "copy", "0", dump.substr(0, at)}).ToText(),
                "-ERR DUMP payload version or checksum are wrong");
      std::string flipped = dump;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
      EXPECT_EQ(Run({"RESTORE", "copy", "0", flipped}).ToText(),
                "-ERR DUMP payload version or checksum are wrong");
    }
    EXPECT_EQ(Run({"EXISTS", "copy"}).integer, 0);
  }
}

// Counts and times that a client or a dump sets as far as they go (UBSan sees what is beyond).
TEST_F(DumpTest, CountersOfStreamsAtTheirEnds) {
  constexpr const char* kMost = "9223372036854775807";
  for (const char* id : {"1-1", "2-1", "3-1", "4-1"}) Run({"XADD", "s", id, "f", "v"});
  Run({"XGROUP", "CREATE", "s", "g", "0", "ENTRIESREAD", kMost});
  Run({"XREADGROUP", "GROUP", "g", "me", "COUNT", "2", "STREAMS", "s", ">"});
  Run({"XCLAIM", "s", "g", "you", "0", "1-1", "RETRYCOUNT", kMost});
  Run({"XCLAIM", "s", "g", "me", "0", "1-1"});
  Run({"XREADGROUP", "GROUP", "g", "me", "STREAMS", "s", "0"});
  Run({"XAUTOCLAIM", "s", "g", "you", "0", "0"});
  EXPECT_EQ(Line("XPENDING s g 1-1 1-1 1").ToText(),
            R"([["1-1", "you", :0, :9223372036854775807]])");
  Run({"XSETID", "s", "4-1", "ENTRIESADDED", kMost});
  Run({"XADD", "s", "5-1", "f", "v"});
  Run({"XGROUP", "CREATE", "s", "other", "1-1"});
  Run({"XINFO", "STREAM", "s", "FULL"});
  Run({"XREADGROUP", "GROUP", "other", "me", "STREAMS", "s", ">"});
  Run({"XINFO", "GROUPS", "s"});
  const std::string dump = Dump("s");
  EXPECT_EQ(Run({"RESTORE", "copy", "0", dump}).ToText(), "+OK");
  EXPECT_EQ(Dump("copy"), dump);
  // The first time that is kept as it is: of a delivery.
  const auto with_time = [&](int64_t ms) {
    std::string bytes, changed = dump;
    RdbWriter(bytes).Int64(server().clock().Sample().unix_ms());
    const size_t at = dump.find(bytes);
    EXPECT_NE(at, std::string::npos);
    bytes.clear();
    RdbWriter(bytes).Int64(ms);
    return Signed(changed.replace(at, bytes.size(), bytes));
  };
  for (const int64_t ms : {INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(Run({"RESTORE", "copy", "0", with_time(ms), "REPLACE"}).ToText(),
              "-ERR Bad data format");
  }
  EXPECT_EQ(Run({"RESTORE", "copy", "0", with_time(1), "REPLACE"}).ToText(), "+OK");
}

TEST_F(DumpTest, NothingClaimsMemoryThatItsBytesCannotFill) {
  const std::string huge("\x81\x10\0\0\0\0\0\0\0", 9);
  for (int type = 0; type < 27; ++type) {
    const std::string body = std::string(1, static_cast<char>(type)) + huge + "x";
    const std::string dump = body + std::string("\x0a\0", 2) + std::string(8, '\0');
    EXPECT_EQ(Run({"RESTORE", "copy", "0", Signed(dump)}).ToText(), "-ERR Bad data format");
  }
}

}  // namespace
}  // namespace sluice
