// RecordRing against a deque of the blocks that should be in it.
#include "storage/requests/record_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace sluice {
namespace {

TEST(RecordRing, HoldsItsBlocksInOrder) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(TestSeed(seed));
    RecordRing ring;
    std::deque<std::string> model;
    const auto push = [&](size_t bytes, size_t back) {
      const std::string text(bytes, static_cast<char>('a' + random() % 26));
      std::memcpy(ring.Append(bytes + back), text.data(), bytes);
      ring.GiveBack(back);
      if (bytes > 0) model.push_back(text);
    };
    for (int step = 0; step < 2'000; ++step) {
      const size_t most = random() % 50 == 0 ? 3 * RecordRing::kChunkBytes : 300;
      if (random() % 100 < (seed % 2 == 0 ? 55 : 45)) {
        push(random() % 8 == 0 ? 0 : 1 + random() % most, 1 + random() % 40);
      } else if (!model.empty()) {
        ring.DropFirst(model.front().size());
        model.pop_front();
      }
      ASSERT_EQ(ring.empty(), model.empty());
      if (step % 20 != 0) continue;
      RecordRing::Cursor place = ring.first();
      for (const std::string& text : model) {
        ASSERT_NE(place.block(), nullptr);
        ASSERT_EQ(std::string(place.block(), text.size()), text);
        place = RecordRing::Behind(place, text.size());
      }
      ASSERT_EQ(place.block(), nullptr);
    }
  }
}

// A cursor behind the last block is at no block, whatever comes later.
TEST(RecordRing, ACursorAtTheEndStaysThere) {
  RecordRing ring;
  ring.Append(10);
  const RecordRing::Cursor end = RecordRing::Behind(ring.first(), 10);
  ring.Append(10);
  EXPECT_EQ(end.block(), nullptr);
}

}  // namespace
}  // namespace sluice
