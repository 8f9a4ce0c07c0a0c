// Big values are freed in slices, whichever way they go, and count as used memory until then.
#include "storage/keyspace/reclaimer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>

#include "storage/keyspace/keyspace.h"
#include "storage/types/split_map.h"
#include "tests/support/null_observer.h"

namespace sluice {
namespace {

class Members final : public Value {
 public:
  explicit Members(size_t count) : map_(hash_keys_) {
    for (size_t i = 0; i < count; ++i) map_.Put(std::to_string(i), {});
  }
  ValueType type() const override { return ValueType::kSet; }
  std::string_view Encoding() const override { return "hashtable"; }
  size_t MemoryBytes() const override { return sizeof(*this) + map_.heap_bytes(); }
  std::unique_ptr<Value> Clone() const override { return std::make_unique<Members>(map_.size()); }
  size_t Elements() const override { return map_.size(); }
  size_t FreeSome(size_t budget) override { return map_.FreeSome(budget); }

 private:
  HashKeys hash_keys_{SipKey{1}};
  SplitMap map_;
};

struct ReclaimerWorld {
  void PutBig() {
    keyspace.db(0).PutValue(key, std::make_unique<Members>(10'000), Deadline::Steady(100), now);
  }
  void PutLong(std::string_view text) {
    keyspace.db(0).PutTextAsIs(key, text, Deadline::Steady(100), now);
  }
  Now now;
  NullObserver observer;
  TimerWheel wheel{0};
  Keyspace keyspace{2, SipKey{4}, wheel, observer};
  HashedKey key = keyspace.Hash("big");
};

const std::function<void(ReclaimerWorld&)> kWays[] = {
    [](ReclaimerWorld& world) { world.keyspace.db(0).Delete(world.key, world.now); },
    [](ReclaimerWorld& world) {
      world.keyspace.db(0).PutInteger(world.key, 1, Deadline::None(), world.now);
    },
    [](ReclaimerWorld& world) {
      world.now.steady_us = 200'000;
      world.wheel.Advance(
          200, 100, [&world](TimerNode& node) { world.keyspace.TimerFired(node, world.now); });
    },
    [](ReclaimerWorld& world) { world.keyspace.Flush(0, true); },
    [](ReclaimerWorld& world) { world.keyspace.Flush(0, false); },
    [](ReclaimerWorld& world) {
      const HashedKey other = world.keyspace.Hash("other");
      world.keyspace.db(0).PutInteger(other, 1, Deadline::None(), world.now);
      world.keyspace.Rename(world.keyspace.db(0), other, world.keyspace.db(0), world.key,
                            world.now);
    },
};

TEST(Reclaimer, FreesInSlicesWhateverTookTheValueAway) {
  for (const auto& way : kWays) {
    ReclaimerWorld world;
    world.PutBig();
    const size_t full = world.keyspace.memory_bytes();
    way(world);
    EXPECT_GE(world.keyspace.memory_bytes() + 1000, full);
    size_t before = world.keyspace.memory_bytes();
    int slices = 1;
    for (; world.keyspace.FreeSlice(256); ++slices) {
      ASSERT_EQ(world.keyspace.Audit(world.now), "");
      EXPECT_LT(before - world.keyspace.memory_bytes(), 256u * 200);
      before = world.keyspace.memory_bytes();
    }
    EXPECT_GE(slices, 10'000 / 256);
    EXPECT_EQ(world.keyspace.Audit(world.now), "");
    EXPECT_LT(world.keyspace.memory_bytes(), 2000u);
  }
}

// A text has no members: its pages go back to the system a slice at a time, and no others do.
TEST(Reclaimer, FreesLongTextsInSlices) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPagesASlice = 256;
  constexpr size_t kSlices = 20;
  for (const auto& way : kWays) {
    ReclaimerWorld world;
    // Not a whole number of pages, with a neighbour on either side.
    const std::string before(kSlices * kPagesASlice * page_bytes / 2, 'b');
    world.PutLong(std::string(kSlices * kPagesASlice * page_bytes + 77, 'x'));
    const std::string behind(kSlices * kPagesASlice * page_bytes / 2, 'a');
    const size_t full = world.keyspace.memory_bytes();
    way(world);
    size_t left = world.keyspace.memory_bytes();
    EXPECT_GE(left + 1000, full) << "what waits is used memory";
    size_t slices = 0;
    for (; world.keyspace.FreeSlice(kPagesASlice); ++slices) {
      ASSERT_EQ(world.keyspace.Audit(world.now), "");
      EXPECT_LE(left - world.keyspace.memory_bytes(), (kPagesASlice + 2) * page_bytes);
      left = world.keyspace.memory_bytes();
    }
    EXPECT_GE(slices, kSlices - 1);
    EXPECT_LT(world.keyspace.memory_bytes(), 2000u);
    EXPECT_EQ(before.find_first_not_of('b'), std::string::npos);
    EXPECT_EQ(behind.find_first_not_of('a'), std::string::npos);
  }
}

TEST(Reclaimer, FreesSmallValuesAtOnce) {
  size_t memory = 5000;
  Reclaimer reclaimer(memory);
  reclaimer.Take(std::make_unique<Members>(Reclaimer::kAtOnceMax), 1000);
  EXPECT_TRUE(reclaimer.empty());
  EXPECT_EQ(memory, 4000u);
}

TEST(Reclaimer, FreesAllAtTheEnd) {
  ReclaimerWorld world;
  world.PutBig();
  world.keyspace.db(0).Delete(world.key, world.now);  // ASan sees what is left
}

}  // namespace
}  // namespace sluice
