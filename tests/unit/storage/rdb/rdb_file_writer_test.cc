// Files that are written and read again: random keyspaces come back as they were, in pieces, with
// and without a checksum; a sink that fails ends it. And damage: a file is cut at every byte and
// changed at every byte, and what is read of it is never more than the truth before the fault.
#include "storage/rdb/rdb_file_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "protocol/text/number_text.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/rdb_world.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

using Generator = std::mt19937_64;

std::string RandomText(Generator& random) {
  constexpr size_t kLengths[] = {0, 1, 5, 20, 63, 64, 200, 5000};
  std::string text(kLengths[random() % std::size(kLengths)], 'x');
  if (random() % 2 == 0) return Int64Text(static_cast<int64_t>(random()) >> random() % 64);
  if (random() % 2 == 0) std::ranges::generate(text, [&] { return static_cast<char>(random()); });
  return text;
}

Deadline RandomDeadline(Generator& random, const Now& now) {
  const auto ms = static_cast<int64_t>(1 + random() % 1'000'000'000);
  if (random() % 2 == 0) return Deadline::None();
  return random() % 2 == 0 ? Deadline::Steady(now.ms() + ms) : Deadline::Unix(now.unix_ms() + ms);
}

std::unique_ptr<Value> RandomHash(Generator& random, const RdbContext& context) {
  auto hash = std::make_unique<Hash>();
  const bool is_timed = random() % 2 == 0;
  for (size_t left = 1 + random() % 200; left > 0; --left) {
    const std::string name = RandomText(random);
    // One that lost its only long value would be a table here, and packed when it is read.
    if (hash->Has(name, context.now)) continue;
    hash->Set(name, RandomText(random), context.hash, context.now);
    const Deadline deadline = RandomDeadline(random, context.now);
    if (is_timed && !deadline.none()) hash->SetDeadline(name, deadline, context.hash);
  }
  return hash;
}

std::unique_ptr<Value> RandomCollection(Generator& random, const RdbContext& context) {
  const size_t size = 1 + random() % 300;
  switch (random() % 4) {
    case 0: {
      auto list = std::make_unique<List>();
      for (size_t i = 0; i < size; ++i) {
        list->Push(ListEnd::kBack, RandomText(random), context.list);
      }
      return list;
    }
    case 1: {
      auto set = std::make_unique<Set>();
      for (size_t i = 0; i < size; ++i) set->Add(RandomText(random), context.set);
      return set;
    }
    case 2: {
      auto set = std::make_unique<SortedSet>();
      for (size_t i = 0; i < size; ++i) {
        set->Put(RandomText(random), static_cast<double>(random() % 1000) / 7, context.sorted_set);
      }
      return set;
    }
    default:
      return RandomHash(random, context);
  }
}

// Keys of all types, in several databases; streams and our own types come from the samples.
void Fill(RdbWorld& world, Generator& random, size_t keys) {
  const RdbContext context = world.Context();
  const Now now = world.now();
  for (size_t i = 0; i < keys; ++i) {
    Database& db = world.keyspace().db(static_cast<int>(random() % 3 * 7));
    const std::string name = Concat("key:", i, ':', RandomText(random));
    const Deadline deadline = RandomDeadline(random, now);
    if (random() % 2 == 0) {
      db.PutText(world.Key(name), RandomText(random), deadline, now);
    } else {
      db.PutValue(world.Key(name), RandomCollection(random, context), deadline, now);
    }
  }
  int db = 1;
  for (const RdbSample& sample : RdbSamples()) {
    RdbReader reader(sample.value);
    std::optional<RdbValue> value = ReadRdbValue(sample.type, reader, context);
    ASSERT_TRUE(value) << sample.name;
    PutRdbValue(world.keyspace().db(db), world.Key(sample.name), *std::move(value),
                Deadline::None(), now);
    db = db % 5 + 1;
  }
  world.aux["redis-ver"] = "7.0.15";
  world.functions = {"#!lua name=one\n", std::string(100'000, 'f')};
}

// The first key in which they differ, with what is there; empty when they are equal.
std::string Difference(const std::map<std::string, std::string>& actual,
                       const std::map<std::string, std::string>& expected) {
  for (const auto& [name, value] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return Concat("missing: ", absl::CHexEscape(name));
    if (found->second != value) {
      return Concat(absl::CHexEscape(name), ": ", absl::CHexEscape(found->second), " instead of ",
                    absl::CHexEscape(value));
    }
  }
  return actual.size() == expected.size() ? "" : "keys that should not be there";
}

TEST(RdbFileWriter, ComesBackAsItWas) {
  for (uint64_t round = 0; round < 10; ++round) {
    Generator random(TestSeed(round));
    RdbWorld world, again;
    world.clock.Advance(static_cast<int64_t>(random() % 50'000));
    Fill(world, random, random() % 60);
    const bool checksum = random() % 2 == 0;
    const std::string file = world.Save(checksum);
    StringSource source(file);
    source.piece_bytes = 1 + random() % 100'000;
    again.clock = world.clock;
    ASSERT_EQ(again.Load(source), "");
    EXPECT_EQ(again.has_checksum, checksum);
    EXPECT_EQ(again.offset, file.size());
    again.aux.erase(kRdbRelativeField);
    EXPECT_EQ(again.aux, world.aux);
    EXPECT_EQ(again.functions, world.functions);
    EXPECT_EQ(again.left_out, std::vector<std::string>());
    EXPECT_EQ(Difference(again.Content(), world.Content()), "") << "seed " << TestSeed(round);
    EXPECT_EQ(again.keyspace().Audit(again.now()), "");
  }
}

// What is relative is as far away after another boot; what is absolute stays where it was.
TEST(RdbFileWriter, KeepsTheKindsOfDeadlines) {
  RdbWorld world, other_boot;
  Database& db = world.keyspace().db(0);
  db.PutText(world.Key("relative"), "v", Deadline::Steady(5000), world.now());
  db.PutText(world.Key("absolute"), "v", Deadline::Unix(1'700'000'005'000), world.now());
  db.PutText(world.Key("far"), "v", Deadline::Unix(INT64_MAX), world.now());
  other_boot.clock.Advance(1'000'000);
  other_boot.clock.StepWall(-1'000'000);
  EXPECT_EQ(other_boot.Load(world.Save()), "");
  EXPECT_EQ(other_boot.Find(0, "relative")->deadline(), Deadline::Steady(1'005'000));
  EXPECT_EQ(other_boot.Find(0, "absolute")->deadline(), Deadline::Unix(1'700'000'005'000));
  EXPECT_EQ(other_boot.Find(0, "far")->deadline(), Deadline::Unix(INT64_MAX));
}

TEST(RdbFileWriter, KeepsTheKindsOfFieldsDeadlines) {
  RdbWorld world, other_boot;
  const RdbContext context = world.Context();
  auto hash = std::make_unique<Hash>();
  for (const char* const name : {"relative", "absolute", "none"}) {
    hash->Set(name, name, context.hash, context.now);
  }
  hash->SetDeadline("relative", Deadline::Steady(5000), context.hash);
  hash->SetDeadline("absolute", Deadline::Unix(1'700'000'005'000), context.hash);
  world.keyspace().db(0).PutValue(world.Key("hash"), std::move(hash), Deadline::None(),
                                  world.now());
  other_boot.clock.Advance(1'000'000);
  other_boot.clock.StepWall(-1'000'000);
  EXPECT_EQ(other_boot.Load(world.Save()), "");
  const auto& again = static_cast<const Hash&>(other_boot.Find(0, "hash")->value());
  const auto deadline = [&](std::string_view name) {
    FieldValue value;
    EXPECT_TRUE(again.Get(name, other_boot.now(), value));
    return value.deadline;
  };
  EXPECT_EQ(deadline("relative"), Deadline::Steady(1'005'000));
  EXPECT_EQ(deadline("absolute"), Deadline::Unix(1'700'000'005'000));
  EXPECT_TRUE(deadline("none").none());
}

// A file for Redis has no field of ours; a deadline of a field, which Redis 7.0 lacks, is left out.
TEST(RdbFileWriter, WritesForRedisWhatRedisWrites) {
  RdbWorld world, again;
  RdbContext context = world.Context();
  auto hash = std::make_unique<Hash>();
  for (const char* const name : {"over", "timed", "plain"}) {
    hash->Set(name, name, context.hash, context.now);
  }
  hash->SetDeadline("over", Deadline::Steady(5000), context.hash);
  hash->SetDeadline("timed", Deadline::Steady(15'000), context.hash);
  Database& db = world.keyspace().db(0);
  db.PutValue(world.Key("hash"), std::move(hash), Deadline::None(), world.now());
  db.PutText(world.Key("relative"), "v", Deadline::Steady(15'000), world.now());
  db.PutText(world.Key("absolute"), "v", Deadline::Unix(1'800'000'005'000), world.now());
  const int64_t relative_unix_ms = Deadline::Steady(15'000).UnixMs(world.now());
  world.clock.Advance(10'000);
  context.now = world.now();
  context.for_redis = true;
  StringSink sink;
  RdbFileWriter writer(sink, context);
  db.ForEach([&](const Entry& entry) { writer.Key(entry); });
  ASSERT_TRUE(writer.End());
  again.clock = world.clock;
  EXPECT_EQ(again.Load(sink.bytes), "");
  EXPECT_TRUE(again.aux.empty());
  EXPECT_EQ(again.Find(0, "relative")->deadline(), Deadline::Unix(relative_unix_ms));
  EXPECT_EQ(again.Find(0, "absolute")->deadline(), Deadline::Unix(1'800'000'005'000));
  const auto& fields = static_cast<const Hash&>(again.Find(0, "hash")->value());
  EXPECT_EQ(fields.size(), 2u);
  EXPECT_FALSE(fields.has_deadlines());
  EXPECT_TRUE(fields.Has("timed", again.now()));
}

TEST(RdbFileWriter, CanLeaveTextsUncompressed) {
  RdbWorld world;
  const std::string text(1000, 'x');
  Entry& entry =
      world.keyspace().db(0).PutText(world.Key("k"), text, Deadline::None(), world.now());
  for (const bool compress : {true, false}) {
    RdbContext context = world.Context();
    context.compress = compress;
    StringSink sink;
    RdbFileWriter writer(sink, context);
    writer.BeginDatabase(0, 1, 0);
    writer.Key(entry);
    EXPECT_TRUE(writer.End());
    EXPECT_EQ(sink.bytes.find(text) != std::string::npos, !compress);
    RdbWorld again;
    EXPECT_EQ(again.Load(sink.bytes), "");
    EXPECT_EQ(again.Content(), world.Content());
  }
}

TEST(RdbFileWriter, HandsOnPieces) {
  RdbWorld world;
  StringSink sink;
  const RdbContext context = world.Context();
  RdbFileWriter writer(sink, context);
  std::string text(1'000'000, '\0');
  Generator random(1);
  std::ranges::generate(text, [&] { return static_cast<char>(random()); });
  writer.BeginDatabase(0, 1, 0);
  writer.Key(world.keyspace().db(0).PutText(world.Key("k"), text, Deadline::None(), world.now()));
  EXPECT_TRUE(writer.End());
  EXPECT_EQ(writer.bytes(), sink.bytes.size());
  EXPECT_LE(sink.largest_write, RdbFileWriter::kPieceBytes);
}

// Wherever the sink fails: at the first byte, in the midst, at the last.
TEST(RdbFileWriter, EndsWithASinkThatFails) {
  RdbWorld world;
  Generator random(TestSeed(0));
  Fill(world, random, 20);
  const RdbContext context = world.Context();
  const auto write = [&](size_t room, std::string& bytes) {
    StringSink sink;
    sink.room = room;
    RdbFileWriter writer(sink, context);
    for (int db = 0; db < RdbWorld::kDatabases; ++db) {
      world.keyspace().db(db).ForEach([&](const Entry& entry) { writer.Key(entry); });
    }
    for (const std::string& code : world.functions) writer.Function(code);
    const bool is_whole = writer.End();
    EXPECT_EQ(writer.ok(), is_whole);
    bytes = sink.bytes;
    return is_whole;
  };
  std::string whole, part;
  ASSERT_TRUE(write(SIZE_MAX, whole));
  for (const size_t room : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_FALSE(write(room, part)) << room;
  }
}

// --- damage

// A file of 64 KiB with every type in it. Most of it is noise, which reads fast.
std::string DamageFile() {
  RdbWorld world;
  Generator random(7);
  Fill(world, random, 0);
  world.functions.resize(1);
  Database& db = world.keyspace().db(0);
  for (int i = 0; i < 16; ++i) {
    std::string noise(4000, '\0');
    std::ranges::generate(noise, [&] { return static_cast<char>(random()); });
    db.PutText(world.Key(Concat("noise:", i)), noise, RandomDeadline(random, world.now()),
               world.now());
  }
  return world.Save();
}

// Sees to it that what is read before a fault is the truth: so many of the file's keys, in order.
class KeyCounter final : public RdbFileVisitor {
 public:
  std::vector<std::string> keys;
  std::string Aux(std::string_view, std::string_view) override { return {}; }
  std::string Function(std::string_view) override { return {}; }
  std::string Key(RdbFileKey& key) override {
    keys.push_back(Concat(key.db, '/', key.name, '=', key.value.text));
    return {};
  }
  void LeftOut(const RdbLeftOut&) override {}
};

struct Outcome {
  std::string error;
  uint64_t fault_offset = 0;
  std::vector<std::string> keys;
};

Outcome ReadDamaged(RdbWorld& world, std::string_view file) {
  StringSource source(file);
  KeyCounter counter;
  const RdbContext context = world.Context();
  RdbFileReader reader(source, context, {}, counter);
  reader.ReadAll();
  return {reader.error(), reader.fault_offset(), counter.keys};
}

TEST(RdbFileDamage, CutAtEveryByteIsRefused) {
  const std::string file = DamageFile();
  RdbWorld world;
  const Outcome whole = ReadDamaged(world, file);
  ASSERT_EQ(whole.error, "");
  for (size_t cut = 0; cut < file.size(); cut += kSanitized ? 7 : 1) {
    const Outcome outcome = ReadDamaged(world, std::string_view(file).substr(0, cut));
    ASSERT_NE(outcome.error, "") << cut;
    ASSERT_LE(outcome.fault_offset, cut);
    ASSERT_LE(outcome.keys.size(), whole.keys.size());
    ASSERT_TRUE(
        std::ranges::equal(outcome.keys, std::span(whole.keys).subspan(0, outcome.keys.size())));
  }
}

TEST(RdbFileDamage, EveryFlippedByteIsRefused) {
  std::string file = DamageFile();
  EXPECT_GT(file.size(), 64u * 1024);
  RdbWorld world;
  for (size_t at = 0; at < file.size(); at += kSanitized ? 61 : 1) {
    const char before = file[at];
    file[at] = static_cast<char>(before ^ (1 << at % 8));
    const Outcome outcome = ReadDamaged(world, file);
    ASSERT_TRUE(outcome.error.starts_with("offset ")) << at << ' ' << outcome.error;
    ASSERT_LE(outcome.fault_offset, file.size()) << at;
    file[at] = before;
  }
}

}  // namespace
}  // namespace sluice
