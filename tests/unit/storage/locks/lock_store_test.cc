// An open lock: how often a command looks its key up, that it never shows what was there before a
// change, and what the end of a change does to the key. Looks are counted, by LockWorld.
#include "storage/locks/lock_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

using enum AcquireOutcome;

TEST(OpenLock, IsLookedUpOnceACommand) {
  LockWorld world;
  const auto looks_of = [&](auto command) {
    const int before = world.looked;
    command();
    return world.looked - before;
  };
  const LockRequest request = world.Request("a", {"k"});
  EXPECT_EQ(looks_of([&] { EXPECT_EQ(world.Acquire(request).outcome, kGranted); }), 1);
  EXPECT_EQ(looks_of([&] { EXPECT_EQ(world.Acquire(request).grants[0].holds, 2); }), 1);
  EXPECT_EQ(looks_of([&] { world.locks.Renew(world.Name("k"), "a", 50, 0, world.now()); }), 1);
  EXPECT_EQ(looks_of([&] { EXPECT_EQ(world.Release("k", "a"), 1); }), 1);
  EXPECT_EQ(looks_of([&] { EXPECT_EQ(world.Release("k", "a"), 0); }), 1);
  EXPECT_EQ(looks_of([&] { EXPECT_EQ(world.Release("k", "a"), -1); }), 1);
}

TEST(OpenLock, OfSeveralEachIsLookedUpTwiceAtMost) {
  LockWorld world;
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back("k" + std::to_string(i));
  EXPECT_EQ(world.Acquire(world.Request("a", keys)).outcome, kGranted);
  EXPECT_LE(world.looked, 200);
}

// The release looks once, and each line that moves once, however many readers it lets in.
TEST(OpenLock, IsLookedUpOnceALineThatMoves) {
  LockWorld world;
  world.Acquire(world.Request("writer", {"k"}));
  const LockTerms reads{.shape = {LockMode::kShared}, .lease_ms = 1000};
  for (int i = 0; i < 50; ++i) {
    const LockRequest request = world.Request("reader" + std::to_string(i), {"k"}, reads);
    ASSERT_EQ(world.Acquire(request, 1000).outcome, kQueued);
  }
  const int before = world.looked;
  EXPECT_EQ(world.Release("k", "writer"), 0);
  EXPECT_EQ(world.granted.size(), 50u);
  EXPECT_EQ(world.looked - before, 2);
}

TEST(OpenLock, ShowsWhatOthersHaveDoneSince) {
  LockWorld world;
  OpenLock open(world, world.Name("k"));
  EXPECT_EQ(open.lock(), nullptr);
  world.Acquire(world.Request("a", {"k"}));
  ASSERT_NE(open.lock(), nullptr);
  EXPECT_TRUE(open.lock()->IsHeldBy("a", 0));
  OpenLock other(world, world.Name("k"));
  world.locks.Locks::Release(other, "a", true, 0, world.now());
  EXPECT_EQ(open.lock(), nullptr);
  EXPECT_EQ(other.lock(), nullptr);
}

TEST(LockChange, RemovesWhatHasComeToBeFree) {
  LockWorld world;
  OpenLock open(world, world.Name("k"));
  {
    LockChange change(open);
    EXPECT_FALSE(change);
    change.Create();  // and no owner comes to hold it
  }
  EXPECT_EQ(world.store.size(), 0u);
  EXPECT_EQ(open.lock(), nullptr);
}

TEST(LockChange, KeepsWhatWasFreeBefore) {
  LockWorld world;
  world.store["k"] = std::make_unique<TiedLock>(world.locks.ties(),
                                                LockNameView{0, "k"});  // a copy: it has no holder
  OpenLock open(world, world.Name("k"));
  {
    const LockChange change(open);
    EXPECT_TRUE(change);
  }
  EXPECT_EQ(world.store.size(), 1u);
}

}  // namespace
}  // namespace sluice
