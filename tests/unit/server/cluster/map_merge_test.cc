// Maps that are merged: which line wins, and that servers which hand their maps on in any order end
// up with the same one.
#include "server/cluster/map_merge.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/cluster/map_file.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

std::string Id(char digit) { return std::string(ClusterNode::kIdBytes, digit); }

SlotMap MapOfText(std::string_view text) {
  auto read = ReadMapFile(text, {});
  if (const Fault* const fault = std::get_if<Fault>(&read)) ADD_FAILURE() << fault->sentence();
  return std::get<MapFile>(std::move(read)).map;
}

// The map of the server with the id of that digit.
MergedMap Merge(const SlotMap& mine, char me, const SlotMap& theirs,
                const std::vector<std::string>& forgotten = {}) {
  auto merged = MergeMaps(mine, *mine.FindId(Id(me)), theirs, forgotten);
  if (const Fault* const fault = std::get_if<Fault>(&merged)) ADD_FAILURE() << fault->sentence();
  return std::get<MergedMap>(std::move(merged));
}

// Who has a slot, as the last digit of its id; '-': nobody.
char OwnerOf(const SlotMap& map, KeySlot slot) {
  const ClusterNode* const owner = map.OwnerOf(slot);
  return owner ? owner->id.back() : '-';
}

TEST(MergeMaps, ServersOfBothAreThere) {
  const SlotMap a = MapOfText(Concat("0-5 a:1 ", Id('a'), "\n"));
  const SlotMap b = MapOfText(Concat("6-9 b:1 ", Id('b'), "\nreplica-of b:1 c:1 ", Id('c'), "\n"));
  const MergedMap merged = Merge(a, 'a', b);
  EXPECT_EQ(merged.map.nodes().size(), 3u);
  EXPECT_EQ(OwnerOf(merged.map, 5), 'a');
  EXPECT_EQ(OwnerOf(merged.map, 9), 'b');
  EXPECT_EQ(merged.map.nodes()[merged.me].id, Id('a'));
  EXPECT_EQ(DigestOf(merged.map), DigestOf(Merge(b, 'b', a).map));
  EXPECT_FALSE(merged.heir);
}

TEST(MergeMaps, TheNewerLineHasTheSlot) {
  const SlotMap a = MapOfText(Concat("epoch 3\n0-9 a:1 ", Id('a'), "\n"));
  const SlotMap b = MapOfText(Concat("epoch 4\n5-7 b:1 ", Id('b'), "\n"));
  const MergedMap at_a = Merge(a, 'a', b);
  EXPECT_EQ(OwnerOf(at_a.map, 4), 'a');
  EXPECT_EQ(OwnerOf(at_a.map, 5), 'b');
  EXPECT_EQ(at_a.map.nodes()[at_a.me].epoch, 5u);  // it has lost some, and says so
  const MergedMap at_b = Merge(b, 'b', at_a.map);
  EXPECT_EQ(at_b.map.nodes()[at_b.me].epoch, 4u);
  EXPECT_EQ(DigestOf(at_b.map), DigestOf(at_a.map));
}

// SETSLOT ... NODE at the server that had it, before the one that gets it is told.
TEST(MergeMaps, ASlotThatIsHandedOverIsNotLost) {
  const SlotMap both =
      MapOfText(Concat("epoch 3\n0-9 a:1 ", Id('a'), "\n10-19 b:1 ", Id('b'), "\n"));
  SlotMapBuilder given(both);
  given.Take({5, 5});
  ASSERT_FALSE(given.Give({5, 5}, *both.FindId(Id('b'))));
  given.Renew(*both.FindId(Id('a')));
  const MergedMap at_b = Merge(both, 'b', given.map());
  EXPECT_EQ(OwnerOf(at_b.map, 5), 'b');
  const MergedMap at_a = Merge(given.map(), 'a', at_b.map);
  EXPECT_EQ(OwnerOf(at_a.map, 5), 'b');
  EXPECT_EQ(DigestOf(at_a.map), DigestOf(at_b.map));
  // One that it has given up since stays given up.
  SlotMapBuilder dropped(at_b.map);
  dropped.Take({5, 5});
  dropped.Renew(*at_b.map.FindId(Id('b')));
  EXPECT_EQ(OwnerOf(Merge(dropped.map(), 'b', at_a.map).map, 5), '-');
}

TEST(MergeMaps, WhoHasTheLastSlotsIsTheHeir) {
  const SlotMap old = MapOfText(Concat("epoch 3\n0-9 a:1 ", Id('a'), "\nreplica-of a:1 b:1 ",
                                       Id('b'), "\nreplica-of a:1 c:1 ", Id('c'), "\n"));
  SlotMapBuilder taken(old);
  const size_t b = *old.FindId(Id('b'));
  taken.Lead(b);
  taken.Take({0, 9});
  ASSERT_FALSE(taken.Give({0, 9}, b));
  taken.Renew(b);
  for (const char me : {'a', 'c'}) {
    const MergedMap merged = Merge(old, me, taken.map());
    ASSERT_TRUE(merged.heir);
    EXPECT_EQ(merged.map.nodes()[*merged.heir].id, Id('b'));
  }
}

TEST(MergeMaps, AReplicaOfOneThatFollowsGoesAlong) {
  const SlotMap old = MapOfText(Concat("epoch 3\nserver a:1 ", Id('a'), "\nserver b:1 ", Id('b'),
                                       "\nreplica-of a:1 c:1 ", Id('c'), "\n"));
  const SlotMap newer =
      MapOfText(Concat("epoch 4\nserver b:1 ", Id('b'), "\nreplica-of b:1 a:1 ", Id('a'), "\n"));
  const MergedMap merged = Merge(old, 'c', newer);
  EXPECT_EQ(merged.map.nodes()[*merged.map.nodes()[merged.me].master].id, Id('b'));
  EXPECT_EQ(merged.map.nodes()[merged.me].epoch, 5u);
}

TEST(MergeMaps, ItsOwnLineIsAsItSays) {
  const SlotMap own =
      MapOfText(Concat("epoch 2\n0-5 a:1 ", Id('a'), "\nserver b:1 ", Id('b'), " 1\n"));
  const SlotMap others = MapOfText(Concat("epoch 7\n0-3 a:1 ", Id('a'), "\n4 b:1 ", Id('b'), "\n"));
  const MergedMap merged = Merge(own, 'a', others);
  EXPECT_EQ(OwnerOf(merged.map, 3), 'a');
  EXPECT_EQ(OwnerOf(merged.map, 4), 'b');
  EXPECT_EQ(OwnerOf(merged.map, 5), 'a');
  EXPECT_EQ(merged.map.nodes()[merged.me].epoch, 8u);
}

TEST(MergeMaps, TheForgottenStayAway) {
  const SlotMap a = MapOfText(Concat("0-5 a:1 ", Id('a'), "\n"));
  const SlotMap b = MapOfText(Concat("6 b:1 ", Id('b'), "\n7 c:1 ", Id('c'), "\n"));
  const MergedMap merged = Merge(a, 'a', b, {Id('c')});
  EXPECT_EQ(merged.map.nodes().size(), 2u);
  EXPECT_EQ(OwnerOf(merged.map, 7), '-');
}

TEST(MergeMaps, OneServerHasAnAddress) {
  const SlotMap a = MapOfText(Concat("epoch 1\n0-5 a:1 ", Id('a'), "\n6 x:1 ", Id('b'), "\n"));
  const SlotMap c = MapOfText(Concat("epoch 2\n7 x:1 ", Id('c'), "\n8 a:1 ", Id('d'), "\n"));
  const MergedMap merged = Merge(a, 'a', c);
  EXPECT_FALSE(merged.map.FindId(Id('b')));
  EXPECT_FALSE(merged.map.FindId(Id('d')));  // where this server is itself
  EXPECT_EQ(OwnerOf(merged.map, 7), 'c');
  EXPECT_EQ(OwnerOf(merged.map, 5), 'a');
}

TEST(MergeMaps, TooManyServersAreRefused) {
  std::string many;
  for (size_t i = 0; i < SlotMap::kNodesMax; ++i) ConcatTo(many, "server b:", i + 1, "\n");
  const SlotMap a = MapOfText(Concat("0-5 a:1 ", Id('a'), "\n"));
  const auto merged = MergeMaps(a, 0, MapOfText(many), {});
  ASSERT_TRUE(std::holds_alternative<Fault>(merged));
  EXPECT_EQ(std::get<Fault>(merged), "more than 1000 servers");
}

// Servers of one cluster change their own lines at will, and hand their maps on at random. When
// each has been told by each, twice as often as there are servers, all say the same.
class MapsInAWorld {
 public:
  MapsInAWorld(uint64_t seed, size_t servers) : random_(seed) {
    for (size_t i = 0; i < servers; ++i) {
      const char digit = static_cast<char>('a' + i);
      maps_.push_back(MapOfText(Concat("server h:", i + 1, " ", Id(digit), " 0\n")));
    }
  }

  void Change(size_t server) {
    SlotMap& map = maps_[server];
    const size_t me = MeIn(server);
    SlotMapBuilder builder(map);
    if (map.nodes()[me].is_replica()) {
      if (random_() % 2 == 0) return;
      TakeOver(builder, map, me);
    } else if (random_() % 3 == 0 && map.RangesOf(me).empty()) {
      const size_t other = random_() % map.nodes().size();
      for (const size_t replica : map.ReplicasOf(me)) builder.Lead(replica);
      if (builder.Follow(me, other)) return;
    } else {
      const auto first = static_cast<KeySlot>(random_() % 50);
      const SlotRange range{first, static_cast<KeySlot>(first + random_() % 10)};
      builder.Take(range);
      if (random_() % 4 != 0 && builder.Give(range, me)) return;
    }
    builder.Renew(me);
    map = builder.Finish();
  }

  void Tell(size_t from, size_t to) {
    const char me = static_cast<char>('a' + to);
    maps_[to] = Merge(maps_[to], me, maps_[from]).map;
  }
  void TellAll() {
    for (size_t round = 0; round < 2 * maps_.size(); ++round) {
      for (size_t from = 0; from < maps_.size(); ++from) {
        for (size_t to = 0; to < maps_.size(); ++to) {
          if (from != to) Tell(from, to);
        }
      }
    }
  }
  size_t Any() { return random_() % maps_.size(); }
  const std::vector<SlotMap>& maps() const { return maps_; }

 private:
  size_t MeIn(size_t server) const {
    return *maps_[server].FindId(Id(static_cast<char>('a' + server)));
  }
  static void TakeOver(SlotMapBuilder& builder, const SlotMap& map, size_t me) {
    const size_t master = map.MasterOf(me);
    builder.Lead(me);
    for (const SlotRange& range : map.RangesOf(master)) {
      builder.Take(range);
      EXPECT_FALSE(builder.Give(range, me));
    }
  }

  std::mt19937_64 random_;
  std::vector<SlotMap> maps_;
};

TEST(MergeMaps, WhoeverTellsWhomAllEndWithOneMap) {
  const uint64_t seed = FirstSeed();
  for (uint64_t run = 0; run < (kSanitized ? 10 : 60); ++run) {
    SCOPED_TRACE(Concat("SLUICE_SEED_FROM=", seed + run));
    MapsInAWorld world(seed + run, 5);
    for (int step = 0; step < 60; ++step) {
      world.Change(world.Any());
      const size_t from = world.Any();
      const size_t to = world.Any();
      if (from != to) world.Tell(from, to);
    }
    world.TellAll();
    for (const SlotMap& map : world.maps()) {
      ASSERT_EQ(DigestOf(map), DigestOf(world.maps()[0]))
          << MapFileText({map, std::nullopt}) << MapFileText({world.maps()[0], std::nullopt});
    }
  }
}

}  // namespace
}  // namespace sluice
