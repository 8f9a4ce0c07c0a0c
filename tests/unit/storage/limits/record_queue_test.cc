// RecordQueue beside a std::deque, and what one step of it costs: chunks, never the whole queue.
#include "storage/limits/record_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

struct Record {
  int64_t tick;
  int64_t units;
  bool operator==(const Record&) const = default;
};
using Queue = RecordQueue<Record>;

std::vector<Record> Contents(Queue& queue) {
  std::vector<Record> records;
  queue.ForEachRun([&](std::span<Record> run) {
    EXPECT_LE(run.size(), Queue::kChunk);
    records.insert(records.end(), run.begin(), run.end());
  });
  return records;
}

void ExpectSame(Queue& queue, const std::deque<Record>& model) {
  ASSERT_EQ(queue.size(), model.size());
  ASSERT_EQ(Contents(queue), std::vector<Record>(model.begin(), model.end()));
  for (size_t i = 0; i < model.size(); i += 1 + model.size() / 50) ASSERT_EQ(queue[i], model[i]);
  if (model.empty()) return;
  ASSERT_EQ(queue.back(), model.back());
}

constexpr size_t kFreedAStep = 3;  // chunks

// Comes and goes as requests do, `most` at a time.
void Play(uint64_t seed, int64_t most, int steps) {
  Dice dice(seed);
  Queue queue;
  std::deque<Record> model;
  for (int step = 0; step < steps; ++step) {
    const int64_t count = dice.In(0, most);
    const size_t chunks = queue.chunks();
    switch (dice.In(0, 5)) {
      case 0: {
        const size_t leave = std::min(model.size(), static_cast<size_t>(count));
        queue.DropFront(leave);
        model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(leave));
        ASSERT_LE(chunks, queue.chunks() + kFreedAStep);
        break;
      }
      case 1: {
        const size_t keep = model.size() - std::min(model.size(), static_cast<size_t>(count));
        queue.Truncate(keep);
        model.resize(keep);
        ASSERT_LE(chunks, queue.chunks() + kFreedAStep);
        break;
      }
      case 2: {
        std::vector<Record> records(std::min(model.size(), static_cast<size_t>(count)));
        for (Record& record : records) record = {step, -1};
        const size_t at =
            static_cast<size_t>(dice.In(0, static_cast<int64_t>(model.size() - records.size())));
        queue.Overwrite(at, records);
        std::copy(records.begin(), records.end(), model.begin() + static_cast<ptrdiff_t>(at));
        break;
      }
      default:
        for (int64_t i = 0; i < count; ++i) {
          queue.PushBack({step, i});
          model.push_back({step, i});
        }
    }
    ExpectSame(queue, model);
    if (dice.OneIn(8) && queue.HasUnused()) {
      Queue unused;
      queue.TakeUnusedTo(unused);
      ASSERT_TRUE(unused.empty());
      ASSERT_GT(unused.chunks(), 0u);
      ASSERT_FALSE(queue.HasUnused());
      ExpectSame(queue, model);
    }
    if (dice.OneIn(16)) {
      Queue copy(queue);
      ExpectSame(copy, model);
    }
  }
}

TEST(RecordQueue, AgreesWithADeque) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Play(seed, 10, 2'000);
    Play(seed, 3 * static_cast<int64_t>(Queue::kChunk), 100);
  }
}

TEST(RecordQueue, OfAFewTakesLittleRoom) {
  Queue queue;
  for (int i = 0; i < 3; ++i) queue.PushBack({i, 1});
  EXPECT_LE(queue.heap_bytes(), 4 * sizeof(Record));
  // Sliding along it stays as small.
  for (int i = 3; i < 100'000; ++i) {
    queue.PushBack({i, 1});
    queue.PopFront();
    ASSERT_LE(queue.heap_bytes(), 16 * sizeof(Record));
  }
}

TEST(RecordQueue, GivesBackAMillionInSlices) {
  Queue queue;
  for (int i = 0; i < 1'000'000; ++i) queue.PushBack({i, 1});
  const size_t chunks = queue.chunks();
  EXPECT_EQ(chunks, (1'000'000 + Queue::kChunk - 1) / Queue::kChunk);
  queue.DropFront(999'999);
  EXPECT_GE(queue.chunks(), chunks - 1);
  ASSERT_TRUE(queue.HasUnused());
  Queue unused;
  queue.TakeUnusedTo(unused);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.back(), (Record{999'999, 1}));
  EXPECT_LE(queue.heap_bytes(), 16 * sizeof(Record));
  const size_t bytes = unused.heap_bytes();
  EXPECT_EQ(unused.FreeSome(32), 32u);
  EXPECT_EQ(unused.heap_bytes(), bytes - 32 * Queue::kChunk * sizeof(Record));
  const size_t left = unused.chunks();
  EXPECT_EQ(unused.FreeSome(SIZE_MAX), left);
  EXPECT_EQ(unused.heap_bytes(), 0u);
  EXPECT_EQ(unused.FreeSome(1), 0u);
}

TEST(RecordQueue, FreesWhatIsUnusedWhenNobodyTakesIt) {
  Queue queue;
  for (int i = 0; i < 100'000; ++i) queue.PushBack({i, 1});
  queue.Truncate(50'000);
  while (queue.HasUnused()) {
    const size_t chunks = queue.chunks();
    queue.PopFront();
    ASSERT_LT(queue.chunks(), chunks);
  }
  EXPECT_EQ(queue.back(), (Record{49'999, 1}));
}

}  // namespace
}  // namespace sluice
