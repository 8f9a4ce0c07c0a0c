// What is remembered of requests: against a plain model over random histories, and its bounds.
#include "storage/requests/request_memory.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

using Answer = RequestMemory::Answer;

TableKey Keyed() { return TableKey(SipKey{7}); }

void ExpectSame(const Answer& a, const Answer& b) {
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.at_ms, b.at_ms);
  EXPECT_EQ(a.for_ms, b.for_ms);
  EXPECT_EQ(a.values, b.values);
}

TEST(RequestMemory, KeepsAnswersForTheirTime) {
  ManualClock clock;
  RequestMemory memory(Keyed());
  EXPECT_FALSE(memory.Find("a", clock.Sample()));
  memory.set_bytes_max(1 << 20);
  const int64_t at_ms = clock.Sample().ms();
  const Answer answer{99, at_ms, 1000, {1, 3, 2, -1, INT64_MAX, INT64_MIN, 0, 5, 6}};
  memory.Remember("a", answer, clock.Sample());
  ExpectSame(*memory.Find("a", clock.Sample()), answer);
  EXPECT_FALSE(memory.Find("b", clock.Sample()));
  clock.Advance(999);
  EXPECT_TRUE(memory.Find("a", clock.Sample()));
  clock.Advance(1);
  EXPECT_FALSE(memory.Find("a", clock.Sample()));
}

TEST(RequestMemory, HashesLongIds) {
  EXPECT_EQ(RequestId(std::string(64, 'x')).view(), std::string(64, 'x'));
  const std::string hashed(RequestId(std::string(65, 'x')).view());
  EXPECT_EQ(hashed.size(), kRequestIdBytesMax);
  EXPECT_TRUE(hashed.starts_with("sha256:"));
  EXPECT_NE(hashed, RequestId(std::string(66, 'x')).view());
  EXPECT_NE(RequestId(hashed).view(), hashed) << "no id looks like the hash of another";
}

// Of a bound that nothing fits into, too.
TEST(RequestMemory, GivesBackWhatALowerBoundLeavesOver) {
  ManualClock clock;
  RequestMemory memory(Keyed());
  memory.set_bytes_max(1 << 20);
  const auto remember = [&](int first, int count) {
    for (int i = first; i < first + count; ++i) {
      const Answer answer{1, clock.Sample().ms(), 1000, {1}};
      memory.Remember(std::to_string(i), answer, clock.Sample());
    }
  };
  remember(0, 1000);
  ASSERT_EQ(memory.size(), 1000u);
  memory.set_bytes_max(0);
  remember(1000, 100);
  EXPECT_EQ(memory.size(), 0u);
}

// A million steps against a list: the oldest go first, those that are over never answer.
TEST(RequestMemory, AgreesWithAListOverLongHistories) {
  ManualClock clock;
  RequestMemory memory(Keyed());
  constexpr size_t kBytesMax = 20'000;
  memory.set_bytes_max(kBytesMax);
  std::mt19937_64 random(11);
  struct Kept {
    Answer answer;
    uint64_t number;
  };
  std::map<std::string, Kept> model;
  std::deque<std::pair<std::string, uint64_t>> order;
  uint64_t number = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    const std::string id = "id" + std::to_string(random() % 700);
    const Now now = clock.Sample();
    if (random() % 3 != 0) {
      const auto kept = model.find(id);
      const auto found = memory.Find(id, now);
      const bool is_there =
          kept != model.end() && now.ms() < kept->second.answer.at_ms + kept->second.answer.for_ms;
      ASSERT_EQ(found.has_value(), is_there) << step;
      if (found) ExpectSame(*found, kept->second.answer);
    } else {
      const Answer answer{random(),
                          now.ms(),
                          1 + static_cast<int64_t>(random() % 3000),
                          {static_cast<int64_t>(random()), static_cast<int64_t>(random() % 100)}};
      const uint64_t evicted = memory.evicted();
      memory.Remember(id, answer, now);
      model[id] = {answer, ++number};
      order.emplace_back(id, number);
      // As many that were still good as it says have gone, from the oldest on.
      for (uint64_t left = memory.evicted() - evicted; left > 0; order.pop_front()) {
        const auto oldest = model.find(order.front().first);
        if (oldest == model.end() || oldest->second.number != order.front().second) continue;
        left -= now.ms() < oldest->second.answer.at_ms + oldest->second.answer.for_ms;
        model.erase(oldest);
      }
      ASSERT_LE(memory.bytes(), kBytesMax);
    }
    if (random() % 4 == 0) clock.Advance(static_cast<int64_t>(random() % 20));
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(memory.evicted(), 1000u);
}

TEST(RequestMemory, ARecordOfAVerdictIsSmall) {
  ManualClock clock;
  RequestMemory memory(Keyed());
  memory.set_bytes_max(1 << 30);
  constexpr size_t kIds = 10'000;
  size_t id_bytes = 0;
  for (size_t i = 0; i < kIds; ++i) {
    const std::string id = "123e4567-e89b-12d3-a456-" + std::to_string(426614174000 + i);
    id_bytes += id.size();
    memory.Remember(id, {i, clock.Sample().ms(), 3'600'000, {1, 100, 99, 0, 60'000}},
                    clock.Sample());
  }
  EXPECT_LE(memory.bytes() - id_bytes, 64 * kIds);
}

TEST(RequestMemory, WithoutRoomItRemembersNothing) {
  ManualClock clock;
  RequestMemory memory(Keyed());
  memory.Remember("a", {1, clock.Sample().ms(), 1000, {}}, clock.Sample());
  EXPECT_EQ(memory.size(), 0u);
  memory.set_bytes_max(10'000);
  for (int i = 0; i < 1000; ++i)
    memory.Remember(std::to_string(i), {1, clock.Sample().ms(), 1000, {}}, clock.Sample());
  EXPECT_LE(memory.bytes(), 10'000u);
  EXPECT_FALSE(memory.Find("0", clock.Sample()));
  EXPECT_TRUE(memory.Find("999", clock.Sample()));
}

// Those of its beginning, less what goes meanwhile; nothing that comes meanwhile.
TEST(RequestMemory, AnImageIsOfItsBeginning) {
  ManualClock clock;
  RequestMemory memory(Keyed());
  memory.set_bytes_max(10'000);
  const auto remember = [&](int i) {
    memory.Remember(std::to_string(i), {1, clock.Sample().ms(), 1000, {i}}, clock.Sample());
  };
  for (int i = 0; i < 50; ++i) remember(i);
  memory.BeginImage();
  std::vector<int64_t> seen;
  const auto visit = [&](std::string_view, const Answer& answer) {
    seen.push_back(answer.values[0]);
  };
  EXPECT_TRUE(memory.ImageSlice(10, clock.Sample(), visit));
  remember(50);
  remember(30);  // anew: its former answer is none any more
  EXPECT_FALSE(memory.ImageSlice(100, clock.Sample(), visit));
  std::vector<int64_t> expected;
  for (int i = 0; i < 50; ++i)
    if (i != 30) expected.push_back(i);
  EXPECT_EQ(seen, expected);
  // One whose next record goes, and its last.
  memory.BeginImage();
  for (int i = 100; i < 1000; ++i) remember(i);
  seen.clear();
  EXPECT_FALSE(memory.ImageSlice(1000, clock.Sample(), visit));
  EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace sluice
