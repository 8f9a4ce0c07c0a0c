// An image of one instant is what a clone of that instant would be, whatever happens to the
// keyspace between two slices, and however often images follow each other or are abandoned.
#include "storage/keyspace/keyspace_image.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "protocol/text/concat.h"
#include "storage/types/hash.h"
#include "tests/support/rdb_world.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

using Generator = std::mt19937_64;
using Content = std::map<std::string, std::string>;

class ImageRecorder final : public EntrySaver {
 public:
  explicit ImageRecorder(RdbWorld& world) : context_(world.Context()) { context_.compress = false; }
  void Save(int db, const Entry& entry) override {
    const bool is_new =
        content.emplace(Concat(db, '/', entry.key()), RdbWorld::ContentOf(entry, context_)).second;
    EXPECT_TRUE(is_new) << entry.key() << " is given twice";
  }
  Content content;

 private:
  RdbContext context_;
};

// A keyspace to which random things happen.
class ChangingWorld {
 public:
  explicit ChangingWorld(uint64_t seed) : random_(seed) {}
  RdbWorld world;

  void Change() {
    Database& db = world.keyspace().db(Index());
    const std::string name = Concat("key:", random_() % 40);
    const HashedKey key = world.Key(name);
    const Now now = world.now();
    switch (random_() % 16) {
      case 0:
        return FlushSome();
      case 1:
        return world.keyspace().Swap(Index(), Index());
      case 2:
        db.Delete(key, now);
        return;
      case 3:
        return MoveOrRename(db, key);
      case 4:
        return PassTime();
      case 5:
        if (Entry* entry = db.Modify(key, now)) db.SetDeadline(*entry, SomeDeadline());
        return;
      case 6:
      case 7:
        return ChangeHash(db, key);
      case 8:
        if (Entry* entry = db.Modify(key, now); entry != nullptr && entry->is_string()) {
          db.MutableText(entry).Append("more");
          db.TextChanged(*entry);
        }
        return;
      case 9:
        db.PutText(key, std::string(random_() % 5000, 'x'), SomeDeadline(), now);
        return;
      default:
        db.PutText(key, std::to_string(random_() % 1000), SomeDeadline(), now);
    }
  }
  size_t Random(size_t below) { return random_() % below; }

 private:
  int Index() { return static_cast<int>(random_() % 3); }
  Deadline SomeDeadline() {
    const auto ms = static_cast<int64_t>(1 + random_() % 50);
    if (random_() % 2 == 0) return Deadline::None();
    return random_() % 2 == 0 ? Deadline::Steady(world.now().ms() + ms)
                              : Deadline::Unix(world.now().unix_ms() + ms);
  }
  void FlushSome() {
    if (random_() % 8 == 0) world.keyspace().Flush(Index(), random_() % 2 == 0);
    world.keyspace().FreeSlice(random_() % 4);
  }
  void MoveOrRename(Database& db, HashedKey key) {
    Database& to = world.keyspace().db(Index());
    const std::string name = Concat("key:", random_() % 40);
    if (random_() % 2 == 0) {
      world.keyspace().Rename(db, key, to, world.Key(name), world.now());
    } else if (&to != &db && to.Find(key, world.now()) == nullptr) {
      world.keyspace().MoveEntry(db, key, to, world.now());
    }
  }
  void PassTime() {
    world.clock.Advance(static_cast<int64_t>(random_() % 5));
    world.wheel().Advance(world.now().ms(), SIZE_MAX, [this](TimerNode& node) {
      world.keyspace().TimerFired(node, world.now());
    });
  }
  void ChangeHash(Database& db, HashedKey key) {
    const RdbContext context = world.Context();
    Entry* entry = db.Modify(key, world.now());
    if (entry == nullptr || entry->type() != ValueType::kHash)
      entry = &db.PutValue(key, std::make_unique<Hash>(), SomeDeadline(), world.now());
    auto& hash = static_cast<Hash&>(entry->value());
    for (size_t i = 0; i < 3; ++i) {
      const std::string field = Concat('f', random_() % 30);
      hash.Set(field, std::string(random_() % 100, 'v'), context.hash, world.now());
    }
    db.ValueChanged(*entry);
  }

  Generator random_;
};

TEST(KeyspaceImage, WhatIsLargeEndsOnceItHasBeenGiven) {
  RdbWorld world;
  Keyspace& keyspace = world.keyspace();
  Database& db = keyspace.db(0);
  const auto fire = [&] {
    world.wheel().Advance(world.now().ms(), SIZE_MAX,
                          [&](TimerNode& node) { keyspace.TimerFired(node, world.now()); });
  };
  for (const bool is_abandoned : {false, true}) {
    for (const std::string name : {"a", "b", "c"})
      db.PutText(world.Key(name), std::string(1000, 'x'), Deadline::Steady(world.now().ms() + 10),
                 world.now());
    keyspace.set_image_large_bytes(100);
    ImageRecorder recorder(world);
    const Content before = world.Content();
    keyspace.BeginImage(recorder);
    world.clock.Advance(10);
    fire();
    EXPECT_EQ(db.Find(world.Key("a"), world.now()), nullptr) << "its time is over";
    EXPECT_EQ(db.size(), 3u);
    EXPECT_TRUE(recorder.content.empty());
    if (is_abandoned) {
      keyspace.AbandonImage();
      EXPECT_EQ(db.Find(world.Key("a"), world.now()), nullptr);
      EXPECT_EQ(db.size(), 2u);
    }
    while (keyspace.ImageSlice(world.now(), 1)) continue;
    while (keyspace.RearmSlice(world.now(), 10)) continue;
    fire();
    EXPECT_EQ(db.size(), 0u);
    EXPECT_EQ(recorder.content, is_abandoned ? Content() : before);
    EXPECT_EQ(keyspace.Audit(world.now()), "");
  }
}

// Whatever moment, and offset of the wall clock, the last write had.
TEST(KeyspaceImage, SetsTimersThatFiredInVainByThePresent) {
  RdbWorld world;
  Keyspace& keyspace = world.keyspace();
  Database& db = keyspace.db(0);
  const auto fire = [&] {
    world.wheel().Advance(world.now().ms(), SIZE_MAX,
                          [&](TimerNode& node) { keyspace.TimerFired(node, world.now()); });
  };
  db.PutText(world.Key("a"), std::string(1000, 'x'), Deadline::Unix(world.now().unix_ms() + 10),
             world.now());
  keyspace.set_image_large_bytes(100);
  ImageRecorder recorder(world);
  keyspace.BeginImage(recorder);
  world.clock.Advance(10);
  fire();
  EXPECT_EQ(db.Find(world.Key("a"), world.now()), nullptr);
  Now other = world.now();
  other.unix_offset_ms -= 60'000;
  db.PutInteger(world.Key("b"), 1, Deadline::None(), other);
  while (keyspace.ImageSlice(world.now(), 1)) continue;
  fire();
  EXPECT_EQ(db.size(), 1u) << "its time is over now, and not in a minute";
  EXPECT_EQ(keyspace.Audit(world.now()), "");
}

TEST(KeyspaceImage, IsAsACloneOfItsInstant) {
  for (uint64_t round = 0; round < 100; ++round) {
    ChangingWorld changing(TestSeed(round));
    RdbWorld& world = changing.world;
    Keyspace& keyspace = world.keyspace();
    for (int image = 0; image < 3; ++image) {
      for (size_t left = changing.Random(300); left > 0; --left) changing.Change();
      ImageRecorder recorder(world);
      const Content before = world.Content();
      const bool is_abandoned = changing.Random(4) == 0;
      // What has ended waits then for what lies outside of its entry to be given.
      keyspace.set_image_large_bytes(changing.Random(2) == 0 ? 1 : KeyspaceImage::kLargeBytes);
      keyspace.BeginImage(recorder);
      do {
        for (size_t left = changing.Random(20); left > 0; --left) changing.Change();
        if (is_abandoned && changing.Random(3) == 0) keyspace.AbandonImage();
      } while (keyspace.ImageSlice(world.now(), 1 + changing.Random(10)));
      EXPECT_FALSE(keyspace.takes_image());
      while (keyspace.RearmSlice(world.now(), 10)) {
      }
      EXPECT_EQ(keyspace.Audit(world.now()), "");
      if (!is_abandoned) {
        ASSERT_EQ(recorder.content, before) << "seed " << TestSeed(round);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
