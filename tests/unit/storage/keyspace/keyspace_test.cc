// The keyspace against a plain model: a std::map of databases, seeded histories, a manual clock,
// and Audit() again and again.
#include "storage/keyspace/keyspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/number_text.h"
#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

class Recorder final : public KeyspaceObserver {
 public:
  void KeyTouched(int, std::string_view) override { ++touched; }
  void KeyExpired(int db, const Entry& entry, int64_t late_ms) override {
    EXPECT_GE(late_ms, 0);
    expired.emplace_back(db, std::string(entry.key()));
    last_late_ms = late_ms;
  }
  void DatabaseReplaced(int, int) override { ++replaced; }

  size_t touched = 0;
  size_t replaced = 0;
  int64_t last_late_ms = 0;
  std::vector<std::pair<int, std::string>> expired;
};

// It knows at any time which entry holds it.
class Blob final : public Value {
 public:
  explicit Blob(size_t bytes) : bytes_(bytes) {}
  ValueType type() const override { return ValueType::kList; }
  std::string_view Encoding() const override { return "listpack"; }
  size_t MemoryBytes() const override { return bytes_; }
  std::unique_ptr<Value> Clone() const override { return std::make_unique<Blob>(bytes_); }
  void Grow(size_t bytes) { bytes_ += bytes; }
  void HeldBy(ValueHolder& holder) override { holder_ = static_cast<Entry*>(&holder); }
  void Retire() override { EXPECT_EQ(&holder_->value(), this) << "it has left it already"; }
  std::string Audit() const override {
    return &holder_->value() == this ? "" : "a value does not know its entry";
  }

 private:
  size_t bytes_;
  const Entry* holder_ = nullptr;
};

struct World {
  explicit World(int databases = 4, uint64_t seed = 7)
      : wheel(clock.Sample().ms()), keyspace(databases, SipKey{seed}, wheel, recorder) {
    keyspace.db(0).KeepBySlots();  // Audit compares
  }

  Now now() { return clock.Sample(); }
  Database& db(int index) { return keyspace.db(index); }
  HashedKey Key(std::string_view key) { return keyspace.Hash(key); }
  std::string Get(int index, std::string_view key) {
    const Entry* entry = db(index).Find(Key(key), now());
    if (entry == nullptr) return "(none)";
    char scratch[Entry::kTextScratch];
    return entry->is_string() ? std::string(entry->Text(scratch)) : "(value)";
  }
  void RunTimers(size_t budget = SIZE_MAX) {
    wheel.Advance(now().ms(), budget, [this](TimerNode& node) {
      ASSERT_EQ(node.kind(), TimerKind::kEntry);
      keyspace.TimerFired(node, now());
    });
  }
  void Rearm() {
    while (keyspace.RearmSlice(now(), 100)) {
    }
  }
  std::string Audit() { return keyspace.Audit(now()); }

  ManualClock clock;
  Recorder recorder;
  TimerWheel wheel;
  Keyspace keyspace;
};

TEST(Keyspace, KeepsCanonicalIntegersAsNumbers) {
  World world;
  Database& db = world.db(0);
  const struct {
    std::string_view text;
    bool integer;
  } kCases[] = {{"0", true},
                {"-1", true},
                {"2147483647", true},
                {"2147483648", true},
                {"-9223372036854775808", true},
                {"9223372036854775808", false},
                {"", false},
                {"-", false},
                {"-0", false},
                {"01", false},
                {" 1", false},
                {"1.0", false},
                {"abc", false}};
  for (const auto& [text, integer] : kCases) {
    EXPECT_EQ(db.PutText(world.Key("k"), text, Deadline::None(), world.now()).is_integer(), integer)
        << text;
    EXPECT_EQ(world.Get(0, "k"), text);
    EXPECT_FALSE(db.PutTextAsIs(world.Key("k"), text, Deadline::None(), world.now()).is_integer());
    EXPECT_EQ(world.Get(0, "k"), text);
    EXPECT_EQ(world.Audit(), "");
  }
}

TEST(Keyspace, AKeyIsMissingFromItsVeryMillisecondOn) {
  World world;
  Database& db = world.db(0);
  const int64_t base = world.now().unix_ms();
  db.PutInteger(world.Key("steady"), 1, Deadline::Steady(world.now().ms() + 100), world.now());
  db.PutInteger(world.Key("unix"), 2, Deadline::Unix(base + 100), world.now());
  world.clock.Advance(99);
  EXPECT_EQ(world.Get(0, "steady"), "1");
  EXPECT_EQ(world.Get(0, "unix"), "2");
  world.clock.AdvanceMicros(1000);
  EXPECT_EQ(world.Get(0, "steady"), "(none)");
  EXPECT_EQ(world.Get(0, "unix"), "(none)");
  EXPECT_EQ(world.recorder.expired.size(), 2u);
  EXPECT_EQ(world.recorder.last_late_ms, 0);
  EXPECT_EQ(db.size(), 0u);
  EXPECT_EQ(world.wheel.size(), 0u);
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, TimersExpireWithoutAnyoneLooking) {
  World world;
  for (int i = 0; i < 5000; ++i)
    world.db(1).PutInteger(world.Key("k" + std::to_string(i)), i, Deadline::Steady(1 + i % 50),
                           world.now());
  world.clock.Advance(20);
  world.RunTimers();
  EXPECT_EQ(world.db(1).size(), 3000u);
  EXPECT_EQ(world.recorder.expired.size(), 2000u);
  EXPECT_EQ(world.recorder.expired.front().first, 1);
  world.clock.Advance(1000);
  world.RunTimers(10);
  EXPECT_EQ(world.db(1).size(), 2990u);
  EXPECT_EQ(world.Audit(), "");
  world.RunTimers();
  EXPECT_EQ(world.db(1).size(), 0u);
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, AbsoluteDeadlinesFollowTheWallClockAndRelativeOnesDoNot) {
  World world;
  Database& db = world.db(0);
  const int64_t unix_ms = world.now().unix_ms();
  for (int i = 0; i < 2000; ++i)
    db.PutInteger(world.Key("a" + std::to_string(i)), i, Deadline::Unix(unix_ms + 10'000),
                  world.now());
  db.PutInteger(world.Key("r"), 0, Deadline::Steady(world.now().ms() + 10'000), world.now());
  world.clock.StepWall(9'000);
  world.keyspace.WallStepped();
  world.Rearm();
  world.clock.Advance(999);
  world.RunTimers();
  EXPECT_EQ(db.size(), 2001u);
  world.clock.Advance(1);
  world.RunTimers();
  EXPECT_EQ(db.size(), 1u);
  EXPECT_EQ(world.Get(0, "r"), "0");

  // Back: a timer that fires too early is armed again, even with no walk at all.
  db.PutInteger(world.Key("b"), 0, Deadline::Unix(world.now().unix_ms() + 100), world.now());
  world.clock.StepWall(-1'000);
  world.clock.Advance(100);
  world.RunTimers();
  EXPECT_EQ(world.Get(0, "b"), "0");
  world.clock.Advance(999);
  world.RunTimers();
  EXPECT_EQ(db.size(), 2u);
  world.clock.Advance(1);
  world.RunTimers();
  EXPECT_EQ(db.size(), 1u);
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, WhatIsMovedOrRenamedWhileReArmingIsNotMissed) {
  World world;
  const Deadline deadline = Deadline::Unix(world.now().unix_ms() + 10'000);
  world.db(0).PutInteger(world.Key("first"), 1, deadline, world.now());
  for (int i = 0; i < 3000; ++i)
    world.db(1).PutInteger(world.Key(std::to_string(i)), i, deadline, world.now());
  world.clock.StepWall(9'000);
  world.keyspace.WallStepped();
  ASSERT_TRUE(world.keyspace.RearmSlice(world.now(), 1));  // through with the first database
  ASSERT_TRUE(world.keyspace.RearmSlice(world.now(), 1));  // and into the second
  for (int i = 0; i < 3000; ++i) {
    const std::string key = std::to_string(i);
    if (i % 2 == 0)
      world.keyspace.MoveEntry(world.db(1), world.Key(key), world.db(0), world.now());
    else
      world.keyspace.Rename(world.db(1), world.Key(key), world.db(1), world.Key(key + "new"),
                            world.now());
  }
  world.Rearm();
  world.clock.Advance(1'000);
  world.RunTimers();
  EXPECT_EQ(world.db(0).size() + world.db(1).size(), 0u);
}

TEST(Keyspace, FarDeadlinesAreKept) {
  World world;
  Database& db = world.db(0);
  for (const int64_t ms : {int64_t{1} << 47, int64_t{1} << 48, int64_t{1} << 60, INT64_MAX}) {
    Entry& entry = db.PutInteger(world.Key("k"), 1, Deadline::Steady(ms), world.now());
    EXPECT_GE(entry.deadline().LeftMs(world.now()), ms - 1'700'000'000'000) << ms;
    EXPECT_EQ(db.SetDeadline(entry, Deadline::Unix(ms)).deadline(), Deadline::Unix(ms));
    EXPECT_EQ(world.Get(0, "k"), "1");
    EXPECT_EQ(world.Audit(), "");
  }
  db.PutInteger(world.Key("past"), 1, Deadline::Unix(INT64_MIN), world.now());
  EXPECT_EQ(world.Audit(), "");
  EXPECT_EQ(world.Get(0, "past"), "(none)");
  db.PutInteger(world.Key("past"), 1, Deadline::Steady(-5), world.now());
  world.RunTimers();
  EXPECT_EQ(db.size(), 1u);
}

TEST(Keyspace, PausedExpiryHidesButKeeps) {
  World world;
  Database& db = world.db(0);
  const Deadline soon = Deadline::Steady(world.now().ms() + 10);
  for (const char* key : {"met", "fired", "replaced", "deleted"})
    db.PutInteger(world.Key(key), 1, soon, world.now());
  world.keyspace.set_expiry_allowed(false);
  world.clock.Advance(20);
  EXPECT_EQ(world.Get(0, "met"), "(none)");
  EXPECT_TRUE(db.Delete(world.Key("deleted"), world.now())) << "as a master says";
  world.RunTimers();
  EXPECT_EQ(db.size(), 3u);
  EXPECT_EQ(world.wheel.size(), 0u);
  EXPECT_EQ(world.Audit(), "");
  db.PutInteger(world.Key("replaced"), 2, Deadline::None(), world.now());
  EXPECT_EQ(world.recorder.expired.size(), 0u);

  world.keyspace.set_expiry_allowed(true);
  world.Rearm();
  EXPECT_EQ(world.wheel.size(), 2u);
  world.RunTimers();
  EXPECT_EQ(db.size(), 1u);
  EXPECT_EQ(world.Get(0, "replaced"), "2");
  EXPECT_EQ(world.Audit(), "");
}

// An entry that has moved or is gone is not found, whatever was suggested.
TEST(Keyspace, WhatWasSuggestedIsForgottenWhenItMoves) {
  World world;
  Database& db = world.db(0);
  const HashedKey key = world.Key("key");
  const Entry& put = db.PutText(key, "text", Deadline::None(), world.now());
  db.Suggest(key, put);
  EXPECT_EQ(db.Find(key, world.now()), &put);
  EXPECT_EQ(db.Find(world.Key("kez"), world.now()), nullptr);
  const uint64_t moves = world.keyspace.moves();
  db.PutText(key, "next", Deadline::None(), world.now());  // in place
  EXPECT_EQ(world.keyspace.moves(), moves);
  EXPECT_EQ(db.Find(key, world.now()), &put);
  const std::string longer(100, 'x');
  const Entry& moved = db.PutText(key, longer, Deadline::None(), world.now());
  EXPECT_NE(world.keyspace.moves(), moves);
  EXPECT_EQ(db.Find(key, world.now()), &moved);
  db.Suggest(key, moved);
  db.Delete(key, world.now());
  EXPECT_EQ(db.Find(key, world.now()), nullptr);
  db.Suggest(key, db.PutText(key, "text", Deadline::None(), world.now()));
  world.keyspace.Flush(0, false);
  EXPECT_EQ(db.Find(key, world.now()), nullptr);
}

TEST(Keyspace, PutsOverWhatWasFoundAsIfItLookedAgain) {
  World world;
  Database& db = world.db(0);
  const HashedKey key = world.Key("key");
  const auto put = [&](std::string_view text) {
    db.PutTextOver(db.Find(key, world.now()), key, text, Deadline::None(), world.now());
    return world.Get(0, "key");
  };
  EXPECT_EQ(put("a"), "a");
  EXPECT_EQ(put("b"), "b");
  EXPECT_EQ(put("17"), "17");
  EXPECT_EQ(put("-5"), "-5");
  EXPECT_EQ(put(std::string(1000, 'x')), std::string(1000, 'x'));
  EXPECT_EQ(put(std::string(900, 'y')), std::string(900, 'y'));
  EXPECT_EQ(put("c"), "c");
  // One that is past its deadline and has to stay is hidden from Find, and overwritten.
  db.PutText(key, "old", Deadline::Steady(world.now().ms() + 10), world.now());
  world.keyspace.set_expiry_allowed(false);
  world.clock.Advance(20);
  EXPECT_EQ(put("d"), "d");
  EXPECT_EQ(db.size(), 1u);
  EXPECT_EQ(world.Audit(), "");
}

// A value under a name that was looked for and not found; where one is hidden, it is put over that.
TEST(Keyspace, AddsWhatWasNotFound) {
  World world;
  Database& db = world.db(0);
  const auto add = [&](std::string_view name) -> Entry& {
    const HashedKey key = world.Key(name);
    EXPECT_EQ(db.Find(key, world.now()), nullptr);
    return db.AddValue(key, std::make_unique<Blob>(1000), Deadline::None(), world.now());
  };
  Entry& added = add("new");
  EXPECT_EQ(db.Find(world.Key("new"), world.now()), &added);
  EXPECT_EQ(static_cast<Blob&>(added.value()).MemoryBytes(), 1000u);
  db.PutText(world.Key("old"), "old", Deadline::Steady(world.now().ms() + 10), world.now());
  world.keyspace.set_expiry_allowed(false);
  world.clock.Advance(20);
  add("old");
  EXPECT_EQ(db.size(), 2u);
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, InactiveExpiryWaitsUntilAKeyIsMet) {
  World world;
  Database& db = world.db(0);
  db.PutInteger(world.Key("a"), 1, Deadline::Steady(10), world.now());
  db.PutInteger(world.Key("b"), 1, Deadline::Steady(10), world.now());
  world.keyspace.set_active_expiry(false);
  world.clock.Advance(50);
  world.RunTimers();
  EXPECT_EQ(db.size(), 2u);
  EXPECT_EQ(world.Get(0, "a"), "(none)");
  EXPECT_EQ(db.size(), 1u);
  EXPECT_EQ(world.recorder.last_late_ms, 40);
  world.keyspace.set_active_expiry(true);
  world.Rearm();
  world.RunTimers();
  EXPECT_EQ(db.size(), 0u);
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, ValuesAreAccountedAndFreed) {
  World world;
  const size_t before = world.keyspace.memory_bytes();
  EXPECT_EQ(before, 0u);
  Database& db = world.db(0);
  db.PutValue(world.Key("v"), std::make_unique<Blob>(1000), Deadline::None(), world.now());
  const size_t with = world.keyspace.memory_bytes();
  EXPECT_GT(with, 1000u);
  Entry* entry = db.Modify(world.Key("v"), world.now());
  EXPECT_EQ(entry->Encoding(), "listpack");
  static_cast<Blob&>(entry->value()).Grow(500);
  EXPECT_EQ(world.Audit(), "a value has changed its size without being accounted");
  db.ValueChanged(*entry);
  EXPECT_EQ(world.keyspace.memory_bytes(), with + 500);
  EXPECT_EQ(world.Audit(), "");
  Entry& moved = db.SetDeadline(*entry, Deadline::Steady(1000));
  EXPECT_EQ(static_cast<Blob&>(moved.value()).MemoryBytes(), 1500u);
  db.PutText(world.Key("v"), "x", Deadline::None(), world.now());
  EXPECT_LT(world.keyspace.memory_bytes(), 1000u);
  EXPECT_EQ(world.Audit(), "");
}

// In its own change of address, of name and of database, and until it has been overwritten.
TEST(Keyspace, AValueKnowsItsEntry) {
  World world;
  Database& db = world.db(0);
  Entry& put =
      db.PutValue(world.Key("v"), std::make_unique<Blob>(100), Deadline::None(), world.now());
  EXPECT_EQ(world.Audit(), "");
  db.SetDeadline(put, Deadline::Steady(1000));
  EXPECT_EQ(world.Audit(), "");
  const std::string long_name(100, 'n');
  world.keyspace.Rename(db, world.Key("v"), db, world.Key(long_name), world.now());
  EXPECT_EQ(world.Audit(), "");
  world.keyspace.MoveEntry(db, world.Key(long_name), world.db(1), world.now());
  EXPECT_EQ(world.Audit(), "");
  world.db(1).PutText(world.Key(long_name), "x", Deadline::None(), world.now());
  EXPECT_EQ(world.Audit(), "");
  db.PutValue(world.Key("v"), std::make_unique<Blob>(100), Deadline::None(), world.now());
  EXPECT_TRUE(db.Delete(world.Key("v"), world.now()));
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, AChangedTextIsRawFromThenOn) {
  World world;
  Database& db = world.db(0);
  db.PutText(world.Key("k"), "12", Deadline::Steady(1000), world.now());
  Entry* entry = db.Modify(world.Key("k"), world.now());
  EXPECT_EQ(entry->Encoding(), "int");
  db.MutableText(entry).Append("3");
  db.TextChanged(*entry);
  EXPECT_EQ(world.Get(0, "k"), "123");
  EXPECT_EQ(entry->Encoding(), "raw");
  EXPECT_EQ(entry->deadline(), Deadline::Steady(1000));
  db.PutText(world.Key("same"), "34", Deadline::Steady(1000), world.now());
  const uint64_t changes = world.keyspace.changes();
  db.MakeRaw(*db.Find(world.Key("same"), world.now()), world.now());
  EXPECT_EQ(db.Find(world.Key("same"), world.now())->Encoding(), "raw");
  EXPECT_EQ(world.Get(0, "same"), "34");
  EXPECT_EQ(world.keyspace.changes(), changes);
  entry = db.Modify(world.Key("k"), world.now());
  db.MutableText(entry).Append(std::string(10'000, 'x'));
  EXPECT_NE(world.Audit(), "");
  db.TextChanged(*entry);
  EXPECT_EQ(entry->TextBytes(), 10'003u);
  EXPECT_EQ(world.Audit(), "");
  EXPECT_EQ(db.SetText(*entry, "short").Encoding(), "embstr");
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, SourcesMayBeViewsOfWhatIsOverwritten) {
  World world;
  Database& db = world.db(0);
  char scratch[Entry::kTextScratch];
  for (const size_t size : {20, 100, 128, 129, 1000}) {
    const std::string text = std::string(size, 'a') + "bcd";
    for (const size_t from : {size_t{0}, size_t{1}, size / 2, size}) {
      Entry& entry = db.PutText(world.Key("k"), text, Deadline::None(), world.now());
      db.PutText(world.Key("k"), entry.Text(scratch).substr(from), Deadline::Steady(9),
                 world.now());
      EXPECT_EQ(world.Get(0, "k"), text.substr(from));
      Entry& again = db.PutText(world.Key("k"), text, Deadline::Steady(9), world.now());
      db.SetText(again, again.Text(scratch).substr(from));
      EXPECT_EQ(world.Get(0, "k"), text.substr(from));
      EXPECT_EQ(world.Audit(), "");
    }
  }
}

TEST(Keyspace, SwapChangesIndexesAndTimersStillFindTheirKeys) {
  World world;
  Database& a = world.db(0);
  a.PutInteger(world.Key("k"), 1, Deadline::Steady(10), world.now());
  world.keyspace.Swap(0, 3);  // 3 was not made yet
  EXPECT_EQ(a.index(), 3);
  EXPECT_FALSE(world.keyspace.made(0));
  EXPECT_EQ(world.Get(0, "k"), "(none)");
  EXPECT_EQ(world.Get(3, "k"), "1");
  world.keyspace.Swap(3, 3);
  EXPECT_EQ(world.recorder.replaced, 1u);
  world.clock.Advance(10);
  world.RunTimers();
  ASSERT_EQ(world.recorder.expired.size(), 1u);
  EXPECT_EQ(world.recorder.expired[0].first, 3);
  EXPECT_EQ(world.Audit(), "");
}

TEST(Keyspace, LazyFlushHidesAtOnceAndFreesInSlices) {
  World world;
  for (int i = 0; i < 3000; ++i)
    world.db(1).PutInteger(world.Key(std::to_string(i)), i, Deadline::Steady(10), world.now());
  world.keyspace.Flush(1, true);
  EXPECT_EQ(world.db(1).size(), 0u);
  EXPECT_EQ(world.db(1).volatile_size(), 0u);
  world.db(1).PutInteger(world.Key("5"), -5, Deadline::Steady(30), world.now());
  EXPECT_EQ(world.Audit(), "");
  EXPECT_TRUE(world.keyspace.FreeSlice(1000));
  EXPECT_EQ(world.Audit(), "");
  world.clock.Advance(20);
  world.RunTimers();  // those of the garbage fire for nothing
  EXPECT_EQ(world.recorder.expired.size(), 0u);
  EXPECT_EQ(world.Get(1, "5"), "-5");
  EXPECT_TRUE(world.keyspace.FreeSlice(1999));
  EXPECT_EQ(world.Audit(), "");
  EXPECT_FALSE(world.keyspace.FreeSlice(1000));
  EXPECT_EQ(world.Audit(), "");
  EXPECT_EQ(world.db(1).size(), 1u);
}

TEST(Keyspace, RandomEntryIsUniformAndRepeatable) {
  World world;
  constexpr int kKeys = 1200;
  for (int i = 0; i < kKeys; ++i)
    world.db(0).PutInteger(world.Key("key" + std::to_string(i)), i, Deadline::None(), world.now());
  std::vector<int> hits(kKeys);
  Random random(1);
  constexpr int kDraws = 24'000;
  for (int i = 0; i < kDraws; ++i) ++hits[world.db(0).RandomEntry(random)->integer()];
  double chi_square = 0;
  constexpr double kExpected = double{kDraws} / kKeys;
  for (const int count : hits) chi_square += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_NEAR(chi_square, kKeys - 1, 5 * std::sqrt(2.0 * kKeys));  // five sigma

  World other;
  for (int i = kKeys; i-- > 0;)
    other.db(0).PutInteger(other.Key("key" + std::to_string(i)), i, Deadline::None(), other.now());
  Random r1(2), r2(2);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(world.db(0).RandomEntry(r1)->key(), other.db(0).RandomEntry(r2)->key());
}

// --- the model

struct ModelEntry {
  std::string text;
  Deadline deadline;
};
using Model = std::vector<std::map<std::string, ModelEntry>>;

class History {
 public:
  explicit History(uint64_t seed) : random_(seed), world_(kDatabases, seed), model_(kDatabases) {}

  void Step() {
    const int db = Pick(kDatabases);
    const std::string key = AnyKey();
    Suggest();
    switch (Pick(18)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return PutText(db, key);
      case 4:
        return PutInteger(db, key);
      case 5:
      case 6:
        return Change(db, key);
      case 7:
        return SetDeadline(db, key);
      case 8:
      case 9:
        return Delete(db, key);
      case 10:
        return Rename(db, key);
      case 11:
        return Move(db, key);
      case 12:
        return Pick(40) == 0 ? Swap() : Compare(db, key);
      case 13:
        return Pick(200) == 0 ? Flush(db) : Compare(db, key);
      case 14:
        return Tick();
      case 15:
        return Pick(10) == 0 ? StepWall() : Compare(db, key);
      case 16:
        world_.keyspace.FreeSlice(Pick(50));
        world_.keyspace.RearmSlice(world_.now(), Pick(300));
        return;
      default:
        return Compare(db, key);
    }
  }

  void CompareAll() {
    ASSERT_EQ(world_.Audit(), "");
    EXPECT_GT(std::exchange(suggested_, 0), 0);
    ForgetPassed();
    for (int db = 0; db < kDatabases; ++db) {
      size_t live = 0;
      world_.db(db).ForEach(
          [&](const Entry& entry) { live += entry.Expired(world_.now()) ? 0 : 1; });
      EXPECT_EQ(live, model_[db].size());
      for (const auto& [key, value] : model_[db]) Compare(db, key);
    }
  }

 private:
  static constexpr int kDatabases = 3;

  // As a batch does: a key is fetched now, and what was found suggested before a later step. Here
  // the step is mostly about another key.
  void Suggest() {
    if (fetched_ && fetched_moves_ == world_.keyspace.moves()) {
      fetched_db_->Suggest(world_.Key(fetched_key_), *fetched_);
      ++suggested_;
    }
    fetched_db_ = &world_.db(Pick(kDatabases));  // SWAPDB may make it another's index meanwhile
    fetched_key_ = AnyKey();
    const PackedPointer* const slot = fetched_db_->PrefetchSlot(world_.Key(fetched_key_));
    fetched_ = slot ? Database::PrefetchEntry(*slot) : nullptr;
    fetched_moves_ = world_.keyspace.moves();
  }

  uint64_t Pick(uint64_t below) { return random_() % below; }
  std::string AnyKey() {
    const uint64_t i = Pick(1500);
    std::string key = "key:" + std::to_string(i);
    if (i % 100 == 7) key.append(i % 3 == 0 ? 400 : 245, 'x');
    return key;
  }
  std::string AnyText() {
    static constexpr size_t kSizes[] = {0, 1, 5, 18, 44, 45, 127, 128, 129, 300, 2000};
    if (Pick(3) == 0) return std::to_string(static_cast<int64_t>(random_()) >> Pick(64));
    return std::string(kSizes[Pick(std::size(kSizes))], static_cast<char>('a' + Pick(26)));
  }
  Deadline AnyDeadline() {
    const int64_t span = static_cast<int64_t>(Pick(uint64_t{1} << Pick(24)));
    switch (Pick(4)) {
      case 0:
        return Deadline::Unix(world_.now().unix_ms() + 1 + span);
      case 1:
        return Deadline::Steady(world_.now().ms() + 1 + span);
      default:
        return Deadline::None();
    }
  }
  ModelEntry* Live(int db, const std::string& key) {
    const auto it = model_[db].find(key);
    if (it == model_[db].end()) return nullptr;
    if (!it->second.deadline.Passed(world_.now())) return &it->second;
    model_[db].erase(it);
    return nullptr;
  }

  void PutText(int db, const std::string& key) {
    const std::string text = AnyText();
    const Deadline deadline = AnyDeadline();
    const HashedKey hashed = world_.Key(key);
    Database& at = world_.db(db);
    if (Pick(2) == 0) {
      at.PutText(hashed, text, deadline, world_.now());
    } else {
      at.PutTextOver(at.Find(hashed, world_.now()), hashed, text, deadline, world_.now());
    }
    model_[db][key] = {text, deadline};
  }
  void PutInteger(int db, const std::string& key) {
    const int64_t integer = static_cast<int64_t>(random_()) >> Pick(64);
    const Deadline deadline = AnyDeadline();
    world_.db(db).PutInteger(world_.Key(key), integer, deadline, world_.now());
    model_[db][key] = {std::to_string(integer), deadline};
  }
  Entry* ModifyFound(Database& db, const std::string& key) {
    const Entry* found = db.Find(world_.Key(key), world_.now());
    return found == nullptr ? nullptr : &db.Modify(*found, world_.now());
  }
  void Change(int db, const std::string& key) {
    Entry* entry = Pick(2) ? world_.db(db).Modify(world_.Key(key), world_.now())
                           : ModifyFound(world_.db(db), key);
    ModelEntry* expected = Live(db, key);
    ASSERT_EQ(entry != nullptr, expected != nullptr);
    if (entry == nullptr) return;
    switch (Pick(3)) {
      case 0: {
        const int64_t integer = static_cast<int64_t>(random_()) >> Pick(64);
        world_.db(db).SetInteger(*entry, integer);
        expected->text = std::to_string(integer);
        break;
      }
      case 1:
        expected->text = AnyText();
        world_.db(db).SetText(*entry, expected->text);
        break;
      default:
        world_.db(db).MutableText(entry).Append("tail");
        world_.db(db).TextChanged(*entry);
        expected->text += "tail";
    }
  }
  void SetDeadline(int db, const std::string& key) {
    Entry* entry = world_.db(db).Modify(world_.Key(key), world_.now());
    ModelEntry* expected = Live(db, key);
    ASSERT_EQ(entry != nullptr, expected != nullptr);
    if (entry == nullptr) return;
    expected->deadline = AnyDeadline();
    world_.db(db).SetDeadline(*entry, expected->deadline);
  }
  void Delete(int db, const std::string& key) {
    const bool existed = Live(db, key) != nullptr;
    ASSERT_EQ(world_.db(db).Delete(world_.Key(key), world_.now()), existed);
    model_[db].erase(key);
  }
  void Rename(int db, const std::string& key) {
    const std::string target = AnyKey();
    const int target_db = Pick(4) == 0 ? static_cast<int>(Pick(kDatabases)) : db;
    if (Live(db, key) == nullptr) return;
    const ModelEntry entry = model_[db][key];
    world_.keyspace.Rename(world_.db(db), world_.Key(key), world_.db(target_db), world_.Key(target),
                           world_.now());
    model_[db].erase(key);
    model_[target_db][target] = entry;
    Compare(target_db, target);
  }
  void Move(int db, const std::string& key) {
    const int target = static_cast<int>(Pick(kDatabases));
    if (target == db || Live(db, key) == nullptr || Live(target, key) != nullptr) return;
    world_.keyspace.MoveEntry(world_.db(db), world_.Key(key), world_.db(target), world_.now());
    model_[target][key] = model_[db][key];
    model_[db].erase(key);
  }
  void Swap() {
    const int a = static_cast<int>(Pick(kDatabases));
    const int b = static_cast<int>(Pick(kDatabases));
    world_.keyspace.Swap(a, b);
    std::swap(model_[a], model_[b]);
  }
  void Flush(int db) {
    world_.keyspace.Flush(db, Pick(2) == 0);
    model_[db].clear();
  }
  void Tick() {
    world_.clock.Advance(static_cast<int64_t>(Pick(uint64_t{1} << Pick(14))));
    world_.RunTimers(Pick(30));
  }
  void StepWall() {
    // A step back would bring back what has passed and was not removed yet: leave nothing of it.
    FinishTimers();
    ForgetPassed();
    world_.clock.StepWall(static_cast<int64_t>(Pick(20'000)) - 10'000);
    world_.keyspace.WallStepped();
  }
  // With all slices through, nothing expired may be left.
  void FinishTimers() {
    world_.Rearm();
    world_.RunTimers();
    for (int db = 0; db < kDatabases; ++db)
      world_.db(db).ForEach([this](const Entry& entry) {
        EXPECT_FALSE(entry.Expired(world_.now())) << "a timer is late";
      });
  }
  void ForgetPassed() {
    for (auto& keys : model_)
      std::erase_if(keys,
                    [this](const auto& item) { return item.second.deadline.Passed(world_.now()); });
  }
  void Compare(int db, const std::string& key) {
    const Entry* entry = world_.db(db).Find(world_.Key(key), world_.now());
    const ModelEntry* expected = Live(db, key);
    ASSERT_EQ(entry != nullptr, expected != nullptr) << key;
    if (entry == nullptr) return;
    char scratch[Entry::kTextScratch];
    ASSERT_EQ(entry->Text(scratch), expected->text);
    ASSERT_EQ(entry->deadline(), expected->deadline);
    ASSERT_EQ(entry->key(), key);
  }

  std::mt19937_64 random_;
  World world_;
  Model model_;
  Database* fetched_db_ = nullptr;
  std::string fetched_key_;
  const Entry* fetched_ = nullptr;
  uint64_t fetched_moves_ = 0;
  int suggested_ = 0;  // since the last CompareAll
};

class KeyspaceModel : public testing::TestWithParam<int> {};

TEST_P(KeyspaceModel, AgreesOverALongHistory) {
  History history(static_cast<uint64_t>(GetParam()));
  for (int round = 0; round < 100; ++round) {
    for (int step = 0; step < 600; ++step) {
      history.Step();
      ASSERT_FALSE(HasFatalFailure()) << "round " << round << " step " << step;
    }
    history.CompareAll();
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeyspaceModel, testing::Range(1, 9));

std::vector<std::string> KeysOf(const SlotKeys& keys, KeySlot slot, size_t count) {
  std::vector<std::string> found;
  keys.Walk(slot, count, [&](const Entry& entry) { found.emplace_back(entry.key()); });
  std::ranges::sort(found);
  return found;
}

TEST(Keyspace, KeysAreKeptBySlots) {
  using Keys = std::vector<std::string>;
  World world;
  Database& db = world.db(1);
  EXPECT_EQ(db.slot_keys(), nullptr);
  const auto put = [&](const char* key, const char* text) {
    db.PutText(world.Key(key), text, Deadline::None(), world.now());
  };
  put("{b}1", "v");
  put("a", "v");
  db.KeepBySlots();  // with those that are there
  put("{b}2", "v");
  const KeySlot slot = SlotOfKey("b");
  EXPECT_EQ(KeysOf(*db.slot_keys(), slot, 9), Keys({"{b}1", "{b}2"}));
  EXPECT_EQ(KeysOf(*db.slot_keys(), slot, 1).size(), 1u);
  EXPECT_EQ(KeysOf(*db.slot_keys(), slot, 0), Keys());
  put("{b}1", std::string(100, 'x').c_str());  // in another block
  EXPECT_EQ(KeysOf(*db.slot_keys(), slot, 9), Keys({"{b}1", "{b}2"}));
  world.keyspace.Rename(db, world.Key("{b}2"), db, world.Key("{a}2"), world.now());
  EXPECT_EQ(KeysOf(*db.slot_keys(), slot, 9), Keys({"{b}1"}));
  EXPECT_EQ(KeysOf(*db.slot_keys(), SlotOfKey("a"), 9), Keys({"a", "{a}2"}));
  db.Delete(world.Key("{b}1"), world.now());
  EXPECT_EQ(db.slot_keys()->CountOf(slot), 0u);
  EXPECT_EQ(world.keyspace.Audit(world.now()), "");
  world.keyspace.Flush(1, /*lazily=*/false);
  EXPECT_EQ(db.slot_keys()->size(), 0u);
}

// From a list to a table and back; entries move to other blocks, and come and go, in both.
TEST(Keyspace, KeysOfASlotMayBeFewOrMany) {
  World world;
  Database& db = world.db(0);
  const KeySlot slot = SlotOfKey("b");
  const auto key = [](size_t i) { return "{b}" + std::to_string(i); };
  const auto put = [&](size_t i, size_t bytes) {
    db.PutText(world.Key(key(i)), std::string(bytes, 'x'), Deadline::None(), world.now());
  };
  constexpr size_t kMost = SlotKeys::kFewMax + 200;
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kMost; ++i) {
      put(i, 1);
      put(i / 2, 1 + i % 90);
      if (i % 100 != 0 && i + 20 < SlotKeys::kFewMax) continue;
      ASSERT_EQ(world.keyspace.Audit(world.now()), "") << i;
    }
    ASSERT_EQ(KeysOf(*db.slot_keys(), slot, SIZE_MAX).size(), kMost);
    for (size_t i = 0; i < kMost; ++i) {
      ASSERT_TRUE(db.Delete(world.Key(key(i * 7 % kMost)), world.now()));
      if (i % 50 != 0 && i + 300 < kMost) continue;
      ASSERT_EQ(world.keyspace.Audit(world.now()), "") << i;
    }
    ASSERT_EQ(db.slot_keys()->CountOf(slot), 0u);
  }
}

// A slot may have all keys; what was flushed is freed in slices, the slots' tables first.
TEST(Keyspace, OneSlotMayHaveAllKeys) {
  constexpr size_t kKeys = 20'000;
  World world;
  for (size_t i = 0; i < kKeys; ++i)
    world.db(0).PutText(world.Key("{b}" + std::to_string(i)), "v", Deadline::None(), world.now());
  const KeySlot slot = SlotOfKey("b");
  EXPECT_EQ(world.db(0).slot_keys()->CountOf(slot), kKeys);
  EXPECT_EQ(KeysOf(*world.db(0).slot_keys(), slot, 10).size(), 10u);
  EXPECT_EQ(KeysOf(*world.db(0).slot_keys(), slot, SIZE_MAX).size(), kKeys);
  EXPECT_EQ(world.keyspace.Audit(world.now()), "");
  world.keyspace.Flush(0, /*lazily=*/true);
  EXPECT_EQ(world.db(0).slot_keys()->CountOf(slot), 0u);
  size_t slices = 1;
  for (; world.keyspace.FreeSlice(1000); ++slices) {
    world.db(0).PutText(world.Key("{b}" + std::to_string(slices)), "v", Deadline::None(),
                        world.now());
    ASSERT_EQ(world.keyspace.Audit(world.now()), "") << slices;
  }
  EXPECT_GE(slices, 2 * kKeys / 1000);
  EXPECT_EQ(world.db(0).slot_keys()->CountOf(slot), slices - 1);
}

}  // namespace
}  // namespace sluice
