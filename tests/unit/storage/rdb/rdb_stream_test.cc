// Streams as files have them: what a stream says of itself and its entries tell otherwise is
// mended, as Redis and Valkey load it; what cannot be read is refused, with the key's name.
#include "storage/rdb/rdb_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "tests/support/rdb_samples.h"
#include "tests/support/rdb_world.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

std::string RawStreamId(uint8_t ms, uint8_t seq) {
  std::string id(16, '\0');
  id[7] = static_cast<char>(ms);
  id[15] = static_cast<char>(seq);
  return id;
}

// Entries 1-1, 1-2 (deleted) and 1-3 with one field; one group, in which 1-1 and 1-3 are pending.
struct StreamImage {
  std::string live = "2", deleted = "1";
  uint64_t length = 2;
  uint64_t last_seq = 3;
  uint64_t deleted_seq = 2;
  uint64_t added = 3;
  std::string listpack;  // empty: that of the entries
  size_t empty_nodes = 0;
  bool has_owner_of_all = true;

  std::string Node() const {
    if (!listpack.empty()) return listpack;
    return rdb_samples::Listpack({live, deleted, "1", "f", "0", "2", "0", "0", "a", "4",
                                  "3",  "0",     "1", "b", "4", "2", "0", "2", "c", "4"});
  }
  std::string Value() const {
    std::string bytes;
    RdbWriter writer(bytes, false);
    writer.Length(1 + empty_nodes);
    writer.String(RawStreamId(1, 1));
    writer.String(Node());
    for (size_t i = 0; i < empty_nodes; ++i) {
      writer.String(RawStreamId(2, static_cast<uint8_t>(i)));
      writer.String(rdb_samples::Listpack({"0", "0", "1", "f", "0"}));
    }
    for (const uint64_t part : {length, uint64_t{1}, last_seq, uint64_t{1}, uint64_t{1},
                                uint64_t{1}, deleted_seq, added}) {
      writer.Length(part);
    }
    writer.Length(1);
    writer.String("g");
    for (const uint64_t part : {1, 3, 2}) writer.Length(part);
    writer.Length(2);
    for (const uint8_t seq : {1, 3}) {
      writer.Raw(RawStreamId(1, seq));
      writer.Int64(5);
      writer.Length(1);
    }
    writer.Length(1);
    writer.String("me");
    writer.Int64(5);
    writer.Length(has_owner_of_all ? 2 : 1);
    writer.Raw(RawStreamId(1, 1));
    if (has_owner_of_all) writer.Raw(RawStreamId(1, 3));
    return bytes;
  }
  std::string File() const { return RdbSample{"", RdbType::kStream2, Value()}.File(); }
};

const Stream& StreamIn(RdbWorld& world) {
  return static_cast<const Stream&>(world.Find(0, "key")->value());
}

TEST(RdbStreamTest, WhatIsSoundIsNotMended) {
  RdbWorld world;
  EXPECT_EQ(world.Load(StreamImage().File()), "");
  EXPECT_EQ(world.mended, std::vector<std::string>());
  const Stream& stream = StreamIn(world);
  EXPECT_EQ(stream.length(), 2u);
  EXPECT_EQ(stream.first_id(), (StreamId{1, 1}));
  EXPECT_EQ(stream.max_deleted_id(), (StreamId{1, 2}));
  EXPECT_EQ(stream.groups().begin()->second->pending().size(), 2u);
  // Its node is the same bytes again.
  EXPECT_EQ(stream.chunks().begin()->second->Listpack(), StreamImage().Node());
}

// After XADD s 1-9, XDEL s 1-9, XSETID s 1-3.
TEST(RdbStreamTest, MoreMayHaveBeenDeletedThanTheLastIdTells) {
  RdbWorld world;
  EXPECT_EQ(world.Load(StreamImage{.deleted_seq = 9}.File()), "");
  EXPECT_EQ(world.mended, std::vector<std::string>());
  EXPECT_EQ(StreamIn(world).last_id(), (StreamId{1, 3}));
  EXPECT_EQ(StreamIn(world).max_deleted_id(), (StreamId{1, 9}));
}

TEST(RdbStreamTest, WhatItsEntriesTellIsMended) {
  struct Row {
    StreamImage image;
    std::string_view what;
  };
  const Row rows[] = {
      {{.length = 9}, "length"},
      {{.length = 0}, "length"},
      {{.last_seq = 1}, "last id"},
      {{.last_seq = 2}, "last id"},
      {{.added = 1}, "count of entries added"},
      {{.live = "3"}, "counts of nodes"},
      {{.live = "1000000", .deleted = "0"}, "counts of nodes"},
      {{.deleted = "-7"}, "counts of nodes"},
      {{.empty_nodes = 2}, "nodes without entries"},
      {{.has_owner_of_all = false}, "pending entries without a consumer"},
      {{.deleted = "0", .length = 3, .last_seq = 2}, "counts of nodes, length, last id"},
  };
  for (const Row& row : rows) {
    RdbWorld world;
    EXPECT_EQ(world.Load(row.image.File()), "") << row.what;
    EXPECT_EQ(world.mended,
              std::vector<std::string>{Concat("key \"key\" in database 0: ", row.what)});
    const Stream& stream = StreamIn(world);
    EXPECT_EQ(stream.Audit(), "");
    EXPECT_EQ(stream.length(), 2u);
    EXPECT_GE(stream.last_id(), (StreamId{1, 3}));
    // Mended once: its own file is sound.
    RdbWorld again;
    EXPECT_EQ(again.Load(world.Save()), "");
    EXPECT_EQ(again.mended, std::vector<std::string>());
    EXPECT_EQ(again.Content(), world.Content());
  }
}

// The stream above as Redis 8.8 writes it: some of what is pending is nobody's, and XADD's IDMP has
// seen a producer.
std::string StreamOfRedis88(const std::vector<uint8_t>& owned,
                            const std::vector<uint8_t>& unowned) {
  std::string bytes;
  RdbWriter writer(bytes, false);
  const auto ids = [&writer](const std::vector<uint8_t>& sequences) {
    writer.Length(sequences.size());
    for (const uint8_t sequence : sequences) writer.Raw(RawStreamId(1, sequence));
  };
  const auto numbers = [&writer](std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) writer.Length(value);
  };
  writer.Length(1);
  writer.String(RawStreamId(1, 1));
  writer.String(StreamImage().Node());
  numbers({2, 1, 3, 1, 1, 1, 2, 3});  // length, last id, first id, deleted id, added
  writer.Length(1);
  writer.String("g");
  numbers({1, 3, 2, 2});  // last id, entries read, pending
  for (const uint8_t sequence : {1, 3}) {
    writer.Raw(RawStreamId(1, sequence));
    writer.Int64(std::ranges::count(unowned, sequence) > 0 ? 0 : 5);
    writer.Length(7);
  }
  writer.Length(1);
  writer.String("me");
  writer.Int64(5);
  writer.Int64(5);
  ids(owned);
  ids(unowned);
  numbers({100, 100, 1});  // for how long, how many, producers
  writer.String("producer");
  writer.Length(1);
  writer.String("an id");
  numbers({1, 3, 1, 0});  // its entry; how many came, and came again
  return bytes;
}

std::vector<StreamId> UnownedIn(const Stream& stream) {
  std::vector<StreamId> ids;
  for (const auto& [place, id] : stream.groups().begin()->second->unowned()) ids.push_back(id);
  return ids;
}

// Read, and kept over a file of our own, which has the form of Redis 7.0.
TEST(RdbStreamTest, UnownedEntriesKeepTheirOrder) {
  for (const std::vector<uint8_t>& unowned : {std::vector<uint8_t>{}, {3}, {1, 3}, {3, 1}}) {
    std::vector<uint8_t> owned;
    std::vector<StreamId> expected;
    for (const uint8_t sequence : {uint8_t{1}, uint8_t{3}})
      if (std::ranges::count(unowned, sequence) == 0) owned.push_back(sequence);
    for (const uint8_t sequence : unowned) expected.push_back({1, sequence});
    RdbWorld world;
    ASSERT_EQ(
        world.Load(
            RdbSample{"", RdbType::kStream5, StreamOfRedis88(owned, unowned), "REDIS0014"}.File()),
        "");
    EXPECT_EQ(world.mended, std::vector<std::string>());
    EXPECT_EQ(UnownedIn(StreamIn(world)), expected);
    EXPECT_EQ(StreamIn(world).Audit(), "");
    RdbWorld again;
    ASSERT_EQ(again.Load(world.Save()), "");
    EXPECT_EQ(again.mended, std::vector<std::string>());
    EXPECT_EQ(UnownedIn(StreamIn(again)), expected);
    const StreamGroup& group = *StreamIn(again).groups().begin()->second;
    EXPECT_EQ(group.consumers().size(), 1u) << "nobody is no consumer";
    for (const auto& [id, pending] : group.pending()) EXPECT_EQ(pending.deliveries, 7);
  }
}

// Beside a consumer that has no name.
TEST(RdbStreamTest, NobodyIsNotTheConsumerWithoutAName) {
  RdbWorld world;
  ASSERT_EQ(world.Load(StreamImage().File()), "");
  StreamGroup& group = *StreamIn(world).groups().begin()->second;
  group.Give({1, 1}, group.AddConsumer("", 5), 5, 1);
  group.Disown({1, 3}, 2);
  RdbWorld again;
  ASSERT_EQ(again.Load(world.Save()), "");
  const StreamGroup& read = *StreamIn(again).groups().begin()->second;
  EXPECT_EQ(UnownedIn(StreamIn(again)), (std::vector<StreamId>{{1, 3}}));
  ASSERT_NE(read.FindConsumer(""), nullptr);
  EXPECT_EQ(read.FindConsumer("")->pending, (absl::btree_set<StreamId>{{1, 1}}));
}

// One that has an owner, or is not pending, is not nobody's.
TEST(RdbStreamTest, UnownedEntriesThatAreNoneAreRefused) {
  const std::pair<std::vector<uint8_t>, std::vector<uint8_t>> rows[] = {
      {{1, 3}, {3}}, {{1}, {3, 3}}, {{1, 3}, {9}}};
  for (const auto& [owned, unowned] : rows) {
    RdbWorld world;
    EXPECT_NE(
        world.Load(
            RdbSample{"", RdbType::kStream5, StreamOfRedis88(owned, unowned), "REDIS0014"}.File()),
        "");
  }
}

TEST(RdbStreamTest, NodesThatCannotBeReadAreRefusedWithTheKey) {
  const std::initializer_list<std::string_view> nodes[] = {
      {"x", "0", "1", "f", "0", "2", "0", "0", "a", "4"},  // a count that is none
      {"1", "0", "2", "f", "0", "2", "0", "0", "a", "4"},  // fewer fields than it says
      {"1", "0", "1", "f", "1", "2", "0", "0", "a", "4"},  // no end of the fields
      {"1", "0", "1", "f", "0", "4", "0", "0", "a", "4"},  // flags of another server
      {"1", "0", "1", "f", "0", "2", "0", "0", "a", "5"},  // an entry of another length
      {"1", "0", "1", "f", "0", "2", "0", "0", "a"},       // one that is cut off
      {"1", "0", "1", "f", "0", "0", "0", "0", "0", "4"},  // one without fields
      {"2", "0", "1", "f", "0", "2", "0", "1", "a", "4", "2", "0", "1", "b", "4"},  // the same id
      {"1", "0", "1", "f", "0", "2", "-1", "0", "a", "4"},  // an id before the node's
      {"1", "0", "-1", "0", "2", "0", "0", "a", "4"},
  };
  for (const auto& node : nodes) {
    StreamImage image;
    image.listpack = rdb_samples::Listpack(node);
    RdbWorld world;
    const std::string fault = world.Load(image.File());
    EXPECT_NE(fault.find("key \"key\" in database 0 (stream, second form)"), fault.npos) << fault;
    EXPECT_EQ(world.Find(0, "key"), nullptr);
  }
}

}  // namespace
}  // namespace sluice
