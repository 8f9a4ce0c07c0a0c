// RDB files between Sluice's reader and writer and Redis's own programs. What redis-server saves,
// with thresholds that make it choose every form it has, reads as what DUMP says of each key. What
// the writer makes, redis-check-rdb finds sound, and redis-server loads it when none of our types
// is in it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/command_line.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/rdb_world.h"
#include "tests/support/redis_process.h"
#include "tests/support/temporary_folder.h"

namespace sluice {
namespace {

// EVAL lines make what takes many commands; each type is made small and large.
constexpr std::string_view kMakers[] = {
    "SET int 12345",
    "SET wide 9223372036854775807",
    "SET timed text PX 100000000",
    "SET text some",
    "EVAL \"redis.call('SET', 'long', string.rep('abcdefgh', 40000))\" 0",
    "PFADD hll a b c d",
    "RPUSH list a b c 12 -7 300 70000 5000000000",
    "EVAL \"for i = 1, 900 do redis.call('RPUSH', 'nodes', string.rep('item' .. i, 5)) end\" 0",
    "EVAL \"redis.call('RPUSH', 'plain', string.rep('x', 20000), 'y')\" 0",
    "SADD int16s 1 2 -3 300",
    "SADD int32s 1 -70000",
    "SADD int64s 1 5000000000 -9",
    "SADD texts a b 12",
    "EVAL \"for i = 1, 700 do redis.call('SADD', 'ints', i * 7919) end\" 0",
    "HSET hash a 1 b two c -300",
    "EVAL \"for i = 1, 700 do redis.call('HSET', 'bighash', 'f' .. i, i * 7919) end\" 0",
    "ZADD zset 1.5 a -inf b 3 c 1e300 d -7 e",
    "EVAL \"for i = 1, 300 do redis.call('ZADD', 'bigzset', i / 7, 'm' .. i) end\" 0",
    "XADD stream 1-1 f v g 2",
    "XADD stream 1-2 f 300 g w",
    "XADD stream 7-0 h x",
    "XDEL stream 1-2",
    "XGROUP CREATE stream g 0",
    "XREADGROUP GROUP g me COUNT 1 STREAMS stream >",
    "XGROUP CREATE none g 0 MKSTREAM",
    "EVAL \"for i = 1, 500 do redis.call('XADD', 'chunks', i .. '-1', 'f', i) end\" 0",
    "SELECT 9",
    "SET other text PXAT 4102444800123",
    "SELECT 0",
    "FUNCTION LOAD \"#!lua name=one\\nredis.register_function('f', function() return 1 end)\"",
};

// What a server has, by DUMP of each key, in a world of its own.
void Copy(RedisClient& client, RdbWorld& world) {
  const RdbContext context = world.Context();
  for (const int db : {0, 1, 9}) {
    ASSERT_EQ(client.Run({"SELECT", std::to_string(db)})->ToText(), "+OK");
    const Reply names = *client.Run({"KEYS", "*"});
    for (const Reply& name : names.elements) {
      const std::string dump = client.Run({"DUMP", name.text})->text;
      ASSERT_TRUE(IsDump(dump)) << name.text;
      bool all_ended;
      std::optional<RdbValue> value = ReadDump(dump, context, all_ended);
      ASSERT_TRUE(value) << name.text;
      const int64_t ms = client.Run({"PEXPIRETIME", name.text})->integer;
      PutRdbValue(world.keyspace().db(db), world.Key(name.text), *std::move(value),
                  ms < 0 ? Deadline::None() : Deadline::Unix(ms), world.now());
    }
  }
}

std::vector<std::string> Names(const std::map<std::string, std::string>& content) {
  std::vector<std::string> names;
  for (const auto& [name, value] : content) names.push_back(name);
  return names;
}

void ExpectSame(RdbWorld& world, RdbWorld& other) {
  const auto content = world.Content(), others = other.Content();
  ASSERT_EQ(Names(content), Names(others));
  for (const auto& [name, value] : content) EXPECT_TRUE(value == others.at(name)) << name;
}

using Options = std::vector<std::string>;
const Options kThresholds[] = {
    {},
    {"--rdbcompression", "no", "--rdbchecksum", "no"},
    {"--list-max-listpack-size", "2", "--hash-max-listpack-entries", "1",
     "--zset-max-listpack-entries", "1", "--set-max-intset-entries", "1",
     "--stream-node-max-entries", "3"},
    {"--list-max-listpack-size", "-5", "--hash-max-listpack-entries", "100000",
     "--zset-max-listpack-entries", "100000", "--set-max-intset-entries", "100000",
     "--stream-node-max-entries", "0", "--list-compress-depth", "1"},
    {"--maxmemory-policy", "allkeys-lru", "--maxmemory", "1gb"},
    {"--maxmemory-policy", "allkeys-lfu", "--maxmemory", "1gb"},
};

TEST(RdbFiles, OfRedisReadAsItsDumps) {
  std::set<RdbType> seen;
  for (const Options& options : kThresholds) {
    const RedisProcess redis(options);
    ASSERT_TRUE(redis.running());
    const auto client = redis.Connect();
    for (const std::string_view line : kMakers) {
      const std::string reply = client->Run(*SplitCommandLine(line))->ToText();
      EXPECT_NE(reply.substr(0, 1), "-") << line << ' ' << reply;
    }
    ASSERT_EQ(client->Run({"SAVE"})->ToText(), "+OK");
    const std::string folder = client->Run({"CONFIG", "GET", "dir"})->elements[1].text;
    RdbWorld world, copy;
    ASSERT_EQ(world.Load(FileText(folder + "/dump.rdb")), "");
    EXPECT_EQ(world.functions.size(), 1u);
    EXPECT_EQ(world.aux["redis-ver"].substr(0, 2), "7.");
    EXPECT_EQ(world.has_checksum, options.empty() || options[0] != "--rdbcompression");
    Copy(*client, copy);
    ExpectSame(world, copy);
    seen.insert(world.types.begin(), world.types.end());
  }
  for (const RdbType type : {RdbType::kString, RdbType::kSet, RdbType::kHash, RdbType::kSortedSet,
                             RdbType::kSetIntset, RdbType::kHashListpack,
                             RdbType::kSortedSetListpack, RdbType::kQuicklist, RdbType::kStream2}) {
    EXPECT_TRUE(seen.contains(type)) << static_cast<int>(type);
  }
}

// The samples in database 1: with our own types, or without.
void Fill(RdbWorld& world, bool with_ours) {
  const RdbContext context = world.Context();
  for (const RdbSample& sample : RdbSamples()) {
    RdbReader reader(sample.value);
    std::optional<RdbValue> value = ReadRdbValue(sample.type, reader, context);
    ASSERT_TRUE(value) << sample.name;
    const bool is_ours = sample.type == RdbType::kModule ||
                         sample.name.find("timed") != std::string::npos ||
                         sample.type == RdbType::kValkeyHash;
    if (is_ours && !with_ours) continue;
    PutRdbValue(world.keyspace().db(1), world.Key(sample.name), *std::move(value),
                is_ours ? Deadline::None() : Deadline::Unix(4'102'444'800'123), world.now());
  }
  Database& db = world.keyspace().db(9);
  db.PutText(world.Key("relative"), "v", Deadline::Steady(3'000'000'000'000), world.now());
  db.PutText(world.Key("long"), std::string(300'000, 'x'), Deadline::None(), world.now());
  world.aux = {{"redis-ver", "7.0.15"},
               {"redis-bits", "64"},
               {"ctime", "1700000000"},
               {"used-mem", "1000"},
               {"aof-base", "0"}};
  world.functions = {"#!lua name=one\nredis.register_function('f', function() return 1 end)"};
}

TEST(RdbFiles, OfOursAreSoundToRedisCheckRdb) {
  for (const bool checksum : {true, false}) {
    RdbWorld world;
    Fill(world, true);
    const TemporaryFolder folder;
    const std::string path = folder.Write("dump.rdb", world.Save(checksum));
    const std::string said = folder.path() + "/said";
    const int status = std::system(("redis-check-rdb " + path + " > " + said).c_str());
    EXPECT_EQ(status, 0) << FileText(said);
    EXPECT_NE(FileText(said).find("RDB looks OK!"), std::string::npos) << FileText(said);
  }
}

TEST(RdbFiles, OfOursAreLoadedByRedis) {
  RdbWorld world, copy, unmarked;
  Fill(world, false);
  const TemporaryFolder folder;
  folder.Write("dump.rdb", world.Save());
  const RedisProcess redis({"--dir", folder.path()});
  ASSERT_TRUE(redis.running());
  const auto client = redis.Connect();
  Copy(*client, copy);
  // Redis knows absolute deadlines alone.
  const Entry* const relative = world.Find(9, "relative");
  world.keyspace().db(9).PutText(world.Key("relative"), "v",
                                 Deadline::Unix(relative->deadline().UnixMs(world.now())),
                                 world.now());
  ExpectSame(world, copy);
  EXPECT_EQ(client->Run({"FCALL", "f", "0"})->integer, 1);
}

}  // namespace
}  // namespace sluice
