// Values of our own types in pieces: what is read back is what was there at the instant, wherever
// the pieces begin, and whoever looks at the value between two of them.
#include "storage/rdb/large/large_value_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "protocol/text/concat.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "tests/support/rdb_world.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

class LargeValues : public testing::Test {
 protected:
  LargeValues() { world_.clock.Advance(1'000'000); }

  int64_t Number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  Database& db() { return world_.keyspace().db(0); }
  Entry& Put(std::unique_ptr<Value> value) {
    return db().PutValue(world_.Key("key"), std::move(value), Deadline::None(), world_.now());
  }
  // A value of at least some hundred elements, in pieces of a few bytes.
  template <typename Between>
  std::string InPieces(const Entry& entry, const RdbContext& context, Between between) {
    const auto writer = LargeValueWriter::Of(entry, context, 1);
    if (!writer) return "it has no writer";
    std::string bytes;
    int pieces = 0;
    for (; writer->has_more(); ++pieces) {
      bytes += writer->Next(static_cast<size_t>(Number(1, 500)));
      between();
    }
    EXPECT_GT(pieces, 2);
    return bytes;
  }
  std::string Dump(const Entry& entry, const RdbContext& context) {
    std::string bytes;
    WriteRdbValue(entry, context, bytes);
    return bytes;
  }
  void ExpectReadBack(const std::string& bytes, const RdbContext& context,
                      const std::string& expected) {
    RdbReader reader(bytes);
    std::optional<RdbValue> value =
        ReadRdbValue(static_cast<RdbType>(reader.Byte()), reader, context);
    ASSERT_TRUE(value.has_value());
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(value->value->Audit(), "");
    const Entry& copy =
        db().PutValue(world_.Key("copy"), std::move(value->value), Deadline::None(), world_.now());
    EXPECT_TRUE(Dump(copy, context) == expected) << "another value";
    db().Delete(world_.Key("copy"), world_.now());
  }

  // The newest token that is known of it, and its holders as another lock has them.
  std::pair<int64_t, std::string> LockIn(std::string_view bytes, RdbContext context) {
    std::pair<int64_t, std::string> found{-1, "damaged"};
    context.make_lock = [&found](const LockImage& image) {
      found.first = image.newest_token;
      return MakePlainLock(image);
    };
    RdbReader reader(bytes.substr(1));
    std::optional<RdbValue> value = ReadRdbValue(RdbType::kModule, reader, context);
    if (!value || !reader.at_end()) return found;
    db().Delete(world_.Key("copy"), world_.now());
    found.second = Dump(
        db().PutValue(world_.Key("copy"), std::move(value->value), Deadline::None(), world_.now()),
        context);
    return found;
  }

  RdbWorld world_;
  std::mt19937_64 random_{TestSeed(0)};
};

TEST_F(LargeValues, ABucketComesBack) {
  for (int round = 0; round < 60; ++round) {
    auto bucket = std::make_unique<LeakyBucket>();
    const bool scatters = round % 3 > 0;
    for (int64_t left = Number(800, 3000); left > 0; --left) {
      const Now now = world_.now();
      const int64_t span_ms = scatters ? Number(1, 5000) : 3000;
      bucket->Count(now, now.ms() + span_ms, static_cast<uint64_t>(Number(1, 3)) << 31);
      world_.clock.Advance(Number(0, 2));
    }
    Entry& entry = Put(std::move(bucket));
    auto& there = static_cast<LeakyBucket&>(entry.value());
    const RdbContext context = world_.Context();
    const std::string expected = Dump(entry, context);
    if (round % 2 > 0) {
      // A look before the first piece, as of a later time.
      world_.clock.Advance(1000);
      there.Level(world_.now());
    }
    const std::string bytes = InPieces(entry, context, [&] {
      world_.clock.Advance(Number(0, 300));
      there.Level(world_.now());
      ASSERT_EQ(there.Audit(), "");
    });
    ExpectReadBack(bytes, context, expected);
    EXPECT_TRUE(Dump(entry, context) == expected) << "a look changed it";
    there.Count(world_.now(), world_.now().ms() + 10);
    EXPECT_EQ(there.Audit(), "");
    db().ValueChanged(entry);
    EXPECT_EQ(world_.keyspace().Audit(world_.now()), "");
  }
}

TEST_F(LargeValues, ALogOfRequestsComesBack) {
  for (int round = 0; round < 40; ++round) {
    LimitConfig config{LimitAlgorithm::kLog, 1, 1, 1};
    const LimitAlgorithm algorithm = round % 2 ? LimitAlgorithm::kLog : LimitAlgorithm::kLeaky;
    ASSERT_EQ(MakeLimitConfig(algorithm, 100'000, 2000, kNotGiven, &config), LimitFault::kNone);
    auto limiter = std::make_unique<Limiter>(config);
    for (int64_t left = Number(1500, 4000); left > 0; --left) {
      limiter->Take({config, Number(1, 9)}, world_.now());
      world_.clock.Advance(Number(0, 2));
    }
    LimitConfig other = config;
    other.max = Number(50'000, 200'000);
    if (round % 4 > 1) limiter->Take({other, 1}, world_.now());
    Entry& entry = Put(std::move(limiter));
    const RdbContext context = world_.Context();
    const std::string expected = Dump(entry, context);
    const std::string bytes = InPieces(entry, context, [&] {
      world_.clock.Advance(Number(0, 100));
      static_cast<Limiter&>(entry.value()).Peek(config, 1, world_.now());
    });
    EXPECT_TRUE(bytes == expected) << "it has one form";
    ExpectReadBack(bytes, context, expected);
  }
}

TEST_F(LargeValues, ALockComesBack) {
  for (int round = 0; round < 40; ++round) {
    auto lock = std::make_unique<Lock>();
    const LockShape shape = {.mode = LockMode::kShared};
    int64_t token = 0;
    for (int64_t left = Number(300, 2000); left > 0; --left) {
      LockTerms terms{.shape = shape, .lease_ms = Number(0, 1) * Number(1, 500)};
      if (terms.lease_ms == 0) terms.session = static_cast<uint64_t>(Number(1, 50));
      if (Number(0, 5) == 0) terms.minhold_ms = Number(1, 900);
      if (Number(0, 5) == 0) terms.label = "a label";
      const std::string owner = Concat("owner:", left);
      token += Number(1, 3);
      lock->Grant(owner, terms, token, world_.now());
      if (Number(0, 7) == 0) lock->Reenter(owner, terms, world_.now());
      if (Number(0, 9) == 0) lock->Release(owner, false, 0, world_.now(), [](const LockHolder&) {});
      world_.clock.Advance(Number(0, 1));
    }
    // In one round all of its leases are over.
    if (round == 7) world_.clock.Advance(2000);
    Entry& entry = Put(std::move(lock));
    const RdbContext context = world_.Context();
    const std::string bytes =
        InPieces(entry, context, [&] { world_.clock.Advance(Number(0, 100)); });
    EXPECT_EQ(LockIn(bytes, context), LockIn(Dump(entry, context), context));
  }
}

}  // namespace
}  // namespace sluice
