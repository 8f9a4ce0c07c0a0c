// LockHolders: one in the lock itself, several in a book; the newest token is never forgotten.
#include "storage/locks/lock_holders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice {
namespace {

LockHolder Holder(int64_t token, std::string_view owner = "a") {
  return {.owner = BoxedText(owner), .token = token};
}

std::vector<int64_t> Tokens(const LockHolders& holders) {
  std::vector<int64_t> tokens;
  for (const LockHolder& holder : holders) tokens.push_back(holder.token);
  return tokens;
}

TEST(LockHolders, OnePlainHolderNeedsNoBook) {
  LockHolders holders;
  EXPECT_TRUE(holders.empty());
  EXPECT_EQ(Tokens(holders), (std::vector<int64_t>{}));
  EXPECT_EQ(holders.newest_token(), 0);
  holders.Put(Holder(5));
  EXPECT_EQ(Tokens(holders), (std::vector<int64_t>{5}));
  EXPECT_EQ(holders.Find(4), nullptr);
  EXPECT_EQ(holders.Find(5)->owner, "a");
  EXPECT_EQ(&holders.newest(), holders.Find(5));
  EXPECT_EQ(holders.book(), nullptr);
}

TEST(LockHolders, TheNewestTokenIsKnownWhenItsHolderHasGone) {
  LockHolders holders;
  holders.Put(Holder(5));
  holders.Erase(5);
  EXPECT_TRUE(holders.empty());
  EXPECT_EQ(holders.Find(5), nullptr);
  EXPECT_EQ(holders.newest_token(), 5);
  holders.Put(Holder(5, "b"));  // a log says it anew
  EXPECT_EQ(holders.book(), nullptr);
  holders.Erase(5);
  holders.Put(Holder(3));  // an older one, from a log
  EXPECT_EQ(Tokens(holders), (std::vector<int64_t>{3}));
  EXPECT_EQ(holders.newest_token(), 5);
}

TEST(LockHolders, ASecondMakesTheBook) {
  LockHolders holders;
  holders.Put(Holder(5, "a"));
  const std::string_view owner = holders.Find(5)->owner;
  holders.Put(Holder(7, "b"));
  holders.Put(Holder(6, "c"));
  EXPECT_NE(holders.book(), nullptr);
  EXPECT_EQ(Tokens(holders), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(holders.Find(5)->owner.view().data(), owner.data());
  holders.Erase(7);
  holders.Erase(5);
  EXPECT_EQ(holders.size(), 1u);
  EXPECT_EQ(holders.newest().token, 6);
  EXPECT_EQ(holders.newest_token(), 7);
}

TEST(LockHolders, MemoryFollows) {
  LockHolders holders;
  EXPECT_EQ(holders.OutsideBytes(), 0u);
  holders.Put(Holder(5, "a"));
  EXPECT_EQ(holders.OutsideBytes(), 8u);
  holders.Find(5)->set_label("");  // as it is: no room is taken
  EXPECT_EQ(holders.OutsideBytes(), 8u);
  holders.Find(5)->set_label(std::string(100, 'x'));
  EXPECT_GT(holders.OutsideBytes(), 200u);
  holders.Erase(5);
  EXPECT_EQ(holders.OutsideBytes(), 0u);
}

// A session costs a bond, and no book; a copy of its holder is tied to nothing.
TEST(LockHolders, BondsAreCountedWhereverTheirHolderLies) {
  LockHolders holders;
  LockHolder& one = holders.Put(Holder(5, "a"));
  const size_t bare = holders.OutsideBytes();
  for (const uint64_t session : {7, 8, 9}) {
    one.extra.Make().sessions.push_back(session);
    holders.AddBond(one).token = 5;
  }
  EXPECT_EQ(holders.book(), nullptr);
  EXPECT_EQ(holders.bonds(), 3u);
  EXPECT_GT(holders.OutsideBytes(), bare + 3 * sizeof(SessionBond));
  const LockHolder copy = one;
  EXPECT_EQ(copy.sessions().size(), 3u);
  EXPECT_TRUE(copy.extra->bonds.list.empty());

  holders.Put(Holder(6, "b"));  // into the book
  LockHolder& moved = *holders.Find(5);
  EXPECT_EQ(holders.bonds(), 3u);
  holders.DropBond(moved, 1);
  holders.DropBond(moved, 9);  // there is none
  EXPECT_EQ(holders.bonds(), 2u);
  LockHolder& other = *holders.Find(6);
  other.extra.Make().sessions.push_back(7);
  holders.AddBond(other).token = 6;
  EXPECT_EQ(holders.bonds(), 3u);
  holders.DropBonds(moved);
  EXPECT_EQ(holders.bonds(), 1u);
  holders.DropBonds(*holders.Find(6));
  EXPECT_EQ(holders.bonds(), 0u);
}

}  // namespace
}  // namespace sluice
