// Streams against a plain model: every operation on a std::map of entries, and the node rules of
// Redis (which whole nodes ~ drops) on a list of node sizes.
#include "storage/types/streams/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "storage/listpack/listpack_size.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

using Pairs = std::vector<std::string>;

std::vector<std::string_view> Views(const Pairs& pairs) { return {pairs.begin(), pairs.end()}; }

Stream::Added Add(Stream& stream, StreamId id, const Pairs& pairs,
                  const StreamNodeLimits& limits = {}) {
  const std::vector<std::string_view> views = Views(pairs);
  return stream.Append(id, Args(views), limits);
}

std::vector<std::pair<StreamId, Pairs>> All(const Stream& stream, StreamId from = StreamId::Min(),
                                            StreamId to = StreamId::Max(), bool backwards = false) {
  std::vector<std::pair<StreamId, Pairs>> result;
  const auto take = [&](const StreamEntry& entry) {
    Pairs pairs;
    entry.ForEachPair([&pairs](std::string_view field, std::string_view value) {
      pairs.emplace_back(field);
      pairs.emplace_back(value);
    });
    result.emplace_back(entry.id(), pairs);
    return true;
  };
  backwards ? stream.ForEachBackwards(from, to, take) : stream.ForEach(from, to, take);
  return result;
}

TEST(StreamIdTest, NeighboursAndText) {
  constexpr uint64_t kMax = ~uint64_t{0};
  EXPECT_EQ((StreamId{5, 1}.Next()), (StreamId{5, 2}));
  EXPECT_EQ((StreamId{5, kMax}.Next()), (StreamId{6, 0}));
  EXPECT_EQ((StreamId{5, 0}.Previous()), (StreamId{4, kMax}));
  EXPECT_EQ(StreamId::Max().Next(), std::nullopt);
  EXPECT_EQ(StreamId::Min().Previous(), std::nullopt);
  EXPECT_EQ(StreamId::Max().Text(), "18446744073709551615-18446744073709551615");
}

TEST(StreamIdTest, Parsing) {
  struct Row {
    std::string_view text;
    StreamIdSyntax syntax;
    std::optional<StreamId> id;
  };
  const Row rows[] = {
      {"5-1", {}, StreamId{5, 1}},
      {"5", {}, StreamId{5, 0}},
      {"5", {.missing_sequence = 7}, StreamId{5, 7}},
      {"-", {}, std::nullopt},
      {"+", {}, std::nullopt},
      {"-", {.ends = true}, StreamId::Min()},
      {"+", {.ends = true}, StreamId::Max()},
      {"5-*", {}, std::nullopt},
      {"5-*", {.any_sequence = true}, StreamId{5, 0}},
      {"*", {.any_sequence = true}, std::nullopt},
      {"", {}, std::nullopt},
      {"5-", {}, std::nullopt},
      {"-5", {}, std::nullopt},
      {"a-1", {}, std::nullopt},
      {"1-1-1", {}, std::nullopt},
      {"18446744073709551615-18446744073709551615", {}, StreamId::Max()},
      {"18446744073709551616", {}, std::nullopt},
  };
  for (const Row& row : rows) {
    const auto parsed = ParseStreamId(row.text, row.syntax);
    EXPECT_EQ(parsed ? std::optional(parsed->id) : std::nullopt, row.id) << row.text;
  }
  EXPECT_FALSE(ParseStreamId(std::string(128, '1'), {}));
}

TEST(ListpackSizeTest, AsRedisEncodes) {
  EXPECT_EQ(ListpackIntegerBytes(0), 2u);
  EXPECT_EQ(ListpackIntegerBytes(127), 2u);
  EXPECT_EQ(ListpackIntegerBytes(128), 3u);
  EXPECT_EQ(ListpackIntegerBytes(-1), 3u);
  EXPECT_EQ(ListpackIntegerBytes(4095), 3u);
  EXPECT_EQ(ListpackIntegerBytes(4096), 4u);
  EXPECT_EQ(ListpackIntegerBytes(INT64_MAX), 10u);
  EXPECT_EQ(ListpackTextBytes(""), 2u);
  EXPECT_EQ(ListpackTextBytes("12"), 2u);
  EXPECT_EQ(ListpackTextBytes("012"), 5u);
  EXPECT_EQ(ListpackTextBytes(std::string(63, 'x')), 65u);
  EXPECT_EQ(ListpackTextBytes(std::string(64, 'x')), 67u);
  EXPECT_EQ(ListpackTextBytes(std::string(4096, 'x')), 4103u);
}

TEST(StreamTest, FieldNamesAreSharedAndKept) {
  Stream stream;
  Add(stream, {1, 0}, {"a", "1", "b", "2"});
  Add(stream, {2, 0}, {"a", "3", "b", ""});
  Add(stream, {3, 0}, {"a", "3", "c", "4"});
  Add(stream, {4, 0}, {"a", "3"});
  const auto all = All(stream);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].second, (Pairs{"a", "3", "b", ""}));
  EXPECT_EQ(all[2].second, (Pairs{"a", "3", "c", "4"}));
  EXPECT_EQ(all[3].second, (Pairs{"a", "3"}));
  EXPECT_EQ(stream.Audit(), "");
}

TEST(StreamTest, IdsOnlyGrow) {
  Stream stream;
  EXPECT_EQ(Add(stream, {0, 0}, {"a", "1"}), Stream::Added::kNotGreater);
  EXPECT_EQ(Add(stream, {5, 5}, {"a", "1"}), Stream::Added::kYes);
  EXPECT_EQ(Add(stream, {5, 5}, {"a", "1"}), Stream::Added::kNotGreater);
  EXPECT_EQ(Add(stream, {5, 4}, {"a", "1"}), Stream::Added::kNotGreater);
  EXPECT_TRUE(stream.Delete({5, 5}));
  EXPECT_EQ(Add(stream, {5, 5}, {"a", "1"}), Stream::Added::kNotGreater);
  EXPECT_EQ(Stream::NextId({5, 5}, 5), (StreamId{5, 6}));
  EXPECT_EQ(Stream::NextId({5, 5}, 6), (StreamId{6, 0}));
  EXPECT_EQ(Stream::NextId(StreamId::Max(), 6), std::nullopt);
}

TEST(StreamTest, ApproximateTrimsDropWholeNodes) {
  Stream stream;
  for (uint64_t i = 1; i <= 250; ++i) Add(stream, {i, 0}, {"f", "v"});
  EXPECT_EQ(stream.Trim({StreamTrim::By::kLength, true, 149, {}, 0}), 100u);
  EXPECT_EQ(stream.Trim({StreamTrim::By::kLength, true, 51, {}, 0}), 0u);
  EXPECT_EQ(stream.Trim({StreamTrim::By::kLength, true, 0, {}, 99}), 0u) << "the limit is a node";
  EXPECT_EQ(stream.Trim({StreamTrim::By::kId, true, 0, {200, 0}, 0}), 0u);
  EXPECT_EQ(stream.Trim({StreamTrim::By::kId, true, 0, {201, 0}, 0}), 100u);
  EXPECT_EQ(stream.Trim({StreamTrim::By::kId, false, 0, {211, 0}, 0}), 10u);
  EXPECT_EQ(stream.first_id(), (StreamId{211, 0}));
  EXPECT_EQ(stream.Trim({StreamTrim::By::kLength, false, 0, {}, 0}), 40u);
  EXPECT_EQ(stream.length(), 0u);
  EXPECT_EQ(stream.last_id(), (StreamId{250, 0}));
  EXPECT_EQ(stream.Audit(), "");
}

TEST(StreamTest, DeliveryCountsAndLag) {
  Stream stream;
  StreamGroup& group = *stream.AddGroup("g", {}, StreamGroup::kUnknown);
  EXPECT_EQ(stream.AddGroup("g", {}, 0), nullptr);
  EXPECT_EQ(stream.Lag(group), 0);
  for (uint64_t i = 1; i <= 5; ++i) Add(stream, {i, 0}, {"f", "v"});
  EXPECT_EQ(stream.Lag(group), 5);
  stream.Deliver(group, {1, 0});
  EXPECT_EQ(group.entries_read, 1);
  EXPECT_EQ(stream.Lag(group), 4);
  stream.Delete({3, 0});
  EXPECT_EQ(stream.Lag(group), std::nullopt) << "a hole ahead";
  stream.Deliver(group, {2, 0});
  EXPECT_EQ(group.entries_read, StreamGroup::kUnknown);
  stream.Deliver(group, {5, 0});
  EXPECT_EQ(stream.Lag(group), 0);
}

TEST(StreamTest, PendingEntriesHaveOneOwner) {
  Stream stream;
  StreamGroup& group = *stream.AddGroup("g", {}, 0);
  StreamConsumer& a = group.AddConsumer("a", 1);
  StreamConsumer& b = group.AddConsumer("b", 1);
  group.Give({1, 0}, a, 1, 1);
  group.Give({2, 0}, a, 1, 1);
  group.Give({1, 0}, b, 1, 1);
  EXPECT_EQ(a.pending.size(), 1u);
  EXPECT_EQ(b.pending.size(), 1u);
  EXPECT_EQ(stream.Audit(), "");
  EXPECT_TRUE(group.Release({1, 0}));
  EXPECT_FALSE(group.Release({1, 0}));
  group.RemoveConsumer(a);
  EXPECT_TRUE(group.pending().empty());
  EXPECT_EQ(stream.Audit(), "");
  EXPECT_TRUE(stream.RemoveGroup("g"));
  EXPECT_EQ(stream.Audit(), "");
}

// Against a list of entries, each with its owner, its time and its count, in the order in which
// they may be claimed.
TEST(StreamTest, OldestPendingEntriesAreGivenFirst) {
  struct Row {
    StreamId id;
    bool unowned;
    int64_t order;  // unowned: when it was given back; else its time
    int64_t deliveries;
  };
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(TestSeed(seed));
    Stream stream;
    StreamGroup* group = stream.AddGroup("g", {}, 0);
    std::vector<Row> rows;
    const auto drop = [&rows](StreamId id) {
      std::erase_if(rows, [id](const Row& row) { return row.id == id; });
    };
    for (int64_t step = 0; step < 300; ++step) {
      const StreamId id{1 + random() % 20, 0};
      const std::string name(1, static_cast<char>('a' + random() % 3));
      const auto deliveries = static_cast<int64_t>(random() % 5);
      const auto time = static_cast<int64_t>(random() % 50);
      StreamConsumer* consumer = group->FindConsumer(name);
      switch (random() % 8) {
        case 0:
          group->Release(id);
          drop(id);
          break;
        case 1:
        case 2:
          drop(id);
          group->Disown(id, deliveries);
          rows.push_back({id, true, step, deliveries});
          break;
        case 3:
          if (!consumer || random() % 4 != 0) break;
          for (const StreamId owned : consumer->pending) drop(owned);
          group->RemoveConsumer(*consumer);
          break;
        case 4: {
          const std::unique_ptr<Value> copy = stream.Clone();
          ASSERT_EQ(copy->Audit(), "");
          break;
        }
        default:
          if (!consumer) consumer = &group->AddConsumer(name, 0);
          drop(id);
          group->Give(id, *consumer, time, deliveries);
          rows.push_back({id, false, time, deliveries});
      }
      ASSERT_EQ(stream.Audit(), "");
      ASSERT_EQ(group->pending().size(), rows.size());
      if (step % 3 != 0 || step < static_cast<int64_t>(seed)) continue;
      group->Order();
      ASSERT_EQ(stream.Audit(), "");
      const auto most = static_cast<int64_t>(random() % 60);
      std::ranges::sort(rows, [](const Row& a, const Row& b) {
        return std::tuple(!a.unowned, a.order, a.id) < std::tuple(!b.unowned, b.order, b.id);
      });
      std::vector<StreamId> expected, visited;
      for (const Row& row : rows)
        if (row.unowned || row.order <= most) expected.push_back(row.id);
      group->VisitOldest(most, [&visited](StreamId seen) {
        visited.push_back(seen);
        return true;
      });
      ASSERT_EQ(visited, expected);
      const auto owned = std::ranges::find_if(rows, [](const Row& row) { return !row.unowned; });
      ASSERT_EQ(group->OldestDeliveredMs(),
                owned == rows.end() ? std::nullopt : std::optional(owned->order));
      for (const Row& row : rows) ASSERT_EQ(group->FindPending(row.id)->deliveries, row.deliveries);
    }
  }
}

TEST(StreamTest, ReferencesAreWhatIsPendingOrToCome) {
  Stream stream;
  for (uint64_t ms = 1; ms <= 4; ++ms) Add(stream, {ms, 0}, {"f", "v"});
  EXPECT_FALSE(stream.IsReferenced({1, 0})) << "there is no group";
  StreamGroup& group = *stream.AddGroup("g", {2, 0}, 2);
  group.Give({1, 0}, group.AddConsumer("c", 0), 1, 1);
  EXPECT_TRUE(stream.IsReferenced({1, 0}));
  EXPECT_FALSE(stream.IsReferenced({2, 0}));
  EXPECT_TRUE(stream.IsReferenced({3, 0}));
  stream.AddGroup("h", {1, 0}, 1);
  EXPECT_TRUE(stream.IsReferenced({2, 0})) << "h was not given it";
}

// Against the rule by itself: the oldest that nobody needs, until the stream is short enough.
// Chunks of one entry have no border to stop at.
TEST(StreamTest, UnreferencedAreTheOldestThatNobodyNeeds) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Stream stream;
    for (uint64_t ms = 1; ms <= 40; ++ms) Add(stream, {ms, 0}, {"f", "v"}, {1, 0});
    for (const char* name : {"g", "h"}) {
      StreamGroup& group = *stream.AddGroup(name, {random() % 45, 0}, StreamGroup::kUnknown);
      StreamConsumer& consumer = group.AddConsumer("c", 0);
      for (int i = 0; i < 8; ++i) group.Give({1 + random() % 40, 0}, consumer, 1, 1);
    }
    for (int i = 0; i < 5; ++i) stream.Delete({1 + random() % 40, 0});
    StreamTrim trim{.by = StreamTrim::By::kLength, .length_max = random() % 40};
    if (seed % 2 == 0) trim = {.by = StreamTrim::By::kId, .id_min = {random() % 45, 0}};
    std::vector<StreamId> expected;
    for (const auto& [id, pairs] : All(stream)) {
      if (trim.by == StreamTrim::By::kLength &&
          stream.length() - expected.size() <= trim.length_max)
        break;
      if (trim.by == StreamTrim::By::kId && id >= trim.id_min) break;
      if (!stream.IsReferenced(id)) expected.push_back(id);
    }
    EXPECT_EQ(stream.Unreferenced(trim), expected);
  }
}

TEST(StreamTest, ATrimTellsWhatHasGone) {
  Stream stream;
  for (uint64_t ms = 1; ms <= 7; ++ms) Add(stream, {ms, 0}, {"f", "v"}, {3, 0});
  stream.Delete({2, 0});
  std::vector<StreamId> gone;
  EXPECT_EQ(stream.Trim({.by = StreamTrim::By::kLength, .length_max = 3}, &gone), 3u);
  EXPECT_EQ(gone, (std::vector<StreamId>{{1, 0}, {3, 0}, {4, 0}}));
  EXPECT_EQ(stream.Audit(), "");
}

// --- random histories

struct StreamModel {
  std::map<StreamId, Pairs> entries;
  StreamId last;
};

void Compare(const Stream& stream, const StreamModel& model, std::mt19937_64& random) {
  ASSERT_EQ(stream.Audit(), "");
  ASSERT_EQ(stream.length(), model.entries.size());
  StreamId from{random() % 400, 0};
  StreamId to{random() % 400, random() % 3};
  std::vector<std::pair<StreamId, Pairs>> expected;
  for (const auto& [id, pairs] : model.entries) {
    if (from <= id && id <= to) expected.emplace_back(id, pairs);
  }
  ASSERT_EQ(All(stream, from, to), expected);
  ASSERT_EQ(stream.Count(from, to, 1000), expected.size());
  std::reverse(expected.begin(), expected.end());
  ASSERT_EQ(All(stream, from, to, true), expected);
  const auto last =
      model.entries.empty() ? std::nullopt : std::optional(model.entries.rbegin()->first);
  ASSERT_EQ(stream.LastLiveId(), last);
}

Pairs RandomPairs(std::mt19937_64& random) {
  static const std::string kFields[] = {"a", "b", "id", ""};
  Pairs pairs;
  const size_t count = random() % 8 == 0 ? 3 : 1 + random() % 2;
  for (size_t i = 0; i < count; ++i) {
    pairs.push_back(kFields[random() % 8 == 0 ? random() % 4 : i % 4]);
    pairs.push_back(random() % 3 == 0 ? std::to_string(random() % 100000)
                                      : std::string(random() % 90, 'v'));
  }
  return pairs;
}

void RandomTrim(Stream& stream, StreamModel& model, std::mt19937_64& random) {
  StreamTrim trim;
  trim.by = random() % 2 ? StreamTrim::By::kLength : StreamTrim::By::kId;
  trim.approximate = random() % 2;
  trim.length_max = random() % 60;
  trim.id_min = {random() % 400, 0};
  const bool would = stream.WouldTrim(trim);
  const auto before = model.entries;
  const uint64_t trimmed = stream.Trim(trim);
  ASSERT_EQ(would, trimmed > 0);
  for (uint64_t i = 0; i < trimmed; ++i) model.entries.erase(model.entries.begin());
  if (trim.approximate) return;
  const bool exact = trim.by == StreamTrim::By::kLength
                         ? model.entries.size() <= trim.length_max
                         : model.entries.empty() || model.entries.begin()->first >= trim.id_min;
  ASSERT_TRUE(exact);
  ASSERT_TRUE(before.size() == model.entries.size() || trim.by == StreamTrim::By::kId ||
              model.entries.size() == trim.length_max);
}

TEST(StreamTest, RandomHistories) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const StreamNodeLimits limits{seed % 3 == 0 ? 0 : 1 + random() % 12,
                                  seed % 4 == 0 ? 0 : 40 + random() % 400};
    auto stream = std::make_unique<Stream>();
    StreamModel model;
    for (int step = 0; step < 400; ++step) {
      const uint64_t dice = random() % 20;
      if (dice < 12) {
        const StreamId id{model.last.ms + random() % 3, random() % 3};
        const Pairs pairs = RandomPairs(random);
        const bool added = Add(*stream, id, pairs, limits) == Stream::Added::kYes;
        ASSERT_EQ(added, id > model.last);
        if (added) model.entries[id] = pairs;
        if (added) model.last = id;
      } else if (dice < 17) {
        const StreamId id{random() % (model.last.ms + 2), random() % 3};
        ASSERT_EQ(stream->Find(id).has_value(), model.entries.contains(id));
        ASSERT_EQ(stream->Delete(id), model.entries.erase(id) == 1);
      } else if (dice < 18) {
        RandomTrim(*stream, model, random);
      } else if (dice < 19) {
        std::unique_ptr<Value> copy = stream->Clone();
        stream.reset(static_cast<Stream*>(copy.release()));
      }
      Compare(*stream, model, random);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sluice
