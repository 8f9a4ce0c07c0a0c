// Entries that are moved in memory are the same as before, and their timers find them.
#include "storage/keyspace/entry_mover.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "protocol/text/concat.h"
#include "storage/types/hash.h"
#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

struct CountsExpired final : KeyspaceObserver {
  void KeyTouched(int, std::string_view) override { ++touched; }
  void KeyExpired(int, const Entry&, int64_t) override { ++expired; }
  void DatabaseReplaced(int, int) override {}
  int touched = 0;
  int expired = 0;
};

class EntryMoverTest : public testing::Test {
 protected:
  static constexpr int kKeys = 2000;

  Now now() { return clock_.Sample(); }
  HashedKey Key(const std::string& name) { return keyspace_.Hash(name); }
  static std::string Name(int i) { return Concat("key:", i); }
  static std::string Text(int i) { return std::string(static_cast<size_t>(i) % 300, 'x'); }

  void Fill(int db) {
    Database& to = keyspace_.db(db);
    for (int i = 0; i < kKeys; ++i) {
      const std::string name = Name(i);
      const Deadline deadline =
          i % 3 == 0 ? Deadline::Steady(now().ms() + 1000 + i) : Deadline::None();
      if (i % 10 == 7) {
        auto hash = std::make_unique<Hash>();
        const Hash::Limits limits{.text_bytes = 1000, .hash_keys = &keyspace_.hash_keys()};
        hash->Set("field", Text(i), limits, now());
        to.PutValue(Key(name), std::move(hash), deadline, now());
      } else {
        to.PutText(Key(name), Text(i), deadline, now());
      }
    }
  }

  // All slices that something of an entry lies on count as nearly empty.
  void ChooseAll() {
    std::set<uintptr_t> slices;
    const auto add = [&slices](const void* at) {
      slices.insert(reinterpret_cast<uintptr_t>(at) >> SparsePages::kSliceBits);
    };
    for (int db = 0; db < keyspace_.databases(); ++db) {
      keyspace_.db(db).ForEach([&](const Entry& entry) {
        char scratch[Entry::kTextScratch];
        add(&entry);
        if (entry.is_string()) add(entry.Text(scratch).data());
      });
    }
    pages_.Clear();
    for (const uintptr_t slice : slices) {
      pages_.Add({.begin = slice << SparsePages::kSliceBits,
                  .bytes = SparsePages::kSliceBytes,
                  .block_bytes = 16,
                  .blocks_used = 1});
    }
    pages_.Choose();
  }

  void ExpectAllThere(int db) {
    for (int i = 0; i < kKeys; ++i) {
      const std::string name = Name(i);
      const Entry* const entry = keyspace_.db(db).FindEvenExpired(Key(name));
      ASSERT_NE(entry, nullptr) << name;
      char scratch[Entry::kTextScratch];
      if (entry->is_string()) {
        EXPECT_EQ(entry->Text(scratch), Text(i));
      } else {
        EXPECT_EQ(entry->type(), ValueType::kHash);
      }
      EXPECT_EQ(entry->is_volatile(), i % 3 == 0);
    }
  }

  ManualClock clock_;
  CountsExpired observer_;
  TimerWheel wheel_{clock_.Sample().ms()};
  Keyspace keyspace_{4, SipKey{7}, wheel_, observer_};
  SparsePages pages_;
};

TEST_F(EntryMoverTest, WhatIsMovedIsAsItWas) {
  Fill(0);
  Fill(2);
  const size_t memory = keyspace_.memory_bytes();
  const int touched = observer_.touched;
  for (int round = 0; round < 3; ++round) {
    ChooseAll();
    EntryMover mover(keyspace_, pages_);
    while (mover.Step()) EXPECT_EQ(keyspace_.Audit(now()), "");
    EXPECT_EQ(mover.counts().keys + mover.counts().keys_left, 2U * kKeys);
    EXPECT_GT(mover.counts().blocks, 0U);
    ExpectAllThere(0);
    ExpectAllThere(2);
  }
  EXPECT_EQ(observer_.touched, touched);
  EXPECT_EQ(keyspace_.memory_bytes(), memory);
}

TEST_F(EntryMoverTest, TimersFindMovedEntries) {
  Fill(1);
  ChooseAll();
  EntryMover mover(keyspace_, pages_);
  while (mover.Step()) {
  }
  clock_.Advance(10'000);
  wheel_.Advance(now().ms(), SIZE_MAX,
                 [this](TimerNode& node) { keyspace_.TimerFired(node, now()); });
  EXPECT_EQ(observer_.expired, (kKeys + 2) / 3);
  EXPECT_EQ(keyspace_.Audit(now()), "");
}

// Between two steps anything may happen.
TEST_F(EntryMoverTest, KeysComeAndGoMeanwhile) {
  Fill(0);
  ChooseAll();
  EntryMover mover(keyspace_, pages_);
  for (int step = 0; mover.Step(); ++step) {
    for (int i = step; i < kKeys; i += 7) {
      const std::string name = Name(i), other = Concat("new:", step, ":", i);
      keyspace_.db(0).Delete(Key(name), now());
      keyspace_.db(0).PutText(Key(other), Text(i), Deadline::None(), now());
    }
    EXPECT_EQ(keyspace_.Audit(now()), "");
  }
  keyspace_.Flush(0, false);
  EXPECT_FALSE(mover.Step());
}

TEST_F(EntryMoverTest, NothingIsMovedWhereNothingIsSparse) {
  Fill(0);
  EntryMover mover(keyspace_, pages_);
  while (mover.Step()) {
  }
  EXPECT_EQ(mover.counts().blocks, 0U);
  EXPECT_EQ(mover.counts().keys_left, static_cast<uint64_t>(kKeys));
}

}  // namespace
}  // namespace sluice
