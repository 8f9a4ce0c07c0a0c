// WATCH over a real keyspace: which changes make a transaction dirty, and that nothing is left
// behind by sessions that have gone.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/clients/session.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/transaction.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/clock.h"
#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

class WatchTableTest : public testing::Test, private KeyspaceObserver {
 protected:
  Session& Connect() {
    const auto id = static_cast<uint32_t>(sessions_.size());
    sessions_.push_back(std::make_unique<Session>(SessionId{id, 0}, id + 1, Peer(), 0));
    return *sessions_.back();
  }
  void Set(int db, std::string_view key, Deadline deadline = Deadline::None()) {
    keyspace_.db(db).PutText(keyspace_.Hash(key), "v", deadline, now());
  }
  void Delete(int db, std::string_view key) { keyspace_.db(db).Delete(keyspace_.Hash(key), now()); }
  void Watch(Session& session, std::string_view key, int db = 0) {
    const bool missing = !keyspace_.db(db).Find(keyspace_.Hash(key), now());
    table_.Watch(session, db, key, missing);
  }
  // What EXEC asks.
  bool Broken(Session& session) {
    turn_clock_.Refresh();
    const bool expired = table_.AnyExpired(session);
    return expired || TransactionOf(session)->dirty;
  }
  Deadline In(int64_t ms) { return Deadline::Steady(now().ms() + ms); }
  Now now() { return clock_.Sample(); }

  ManualClock clock_;
  TimerWheel wheel_{0};
  TurnClock turn_clock_{clock_};
  SlowPathFlags flags_;
  Keyspace keyspace_{16, SipKey{1}, wheel_, *this};
  WatchTable table_{keyspace_, turn_clock_, flags_, SipKey{1}};

 private:
  void KeyTouched(int db, std::string_view key) override {
    table_.KeyTouched(db, key, /*died=*/false);
  }
  void KeyExpired(int db, const Entry& entry, int64_t) override {
    table_.KeyTouched(db, entry.key(), /*died=*/true);
  }
  void DatabaseReplaced(int db, int other) override {
    turn_clock_.Refresh();
    table_.DatabaseReplaced(db, other);
  }

  std::vector<std::unique_ptr<Session>> sessions_;
};

TEST_F(WatchTableTest, OnlyTheWatchersOfAKeySeeItTouched) {
  Session& one = Connect();
  Session& two = Connect();
  Watch(one, "a");
  Watch(two, "b");
  Set(1, "a");
  EXPECT_FALSE(Broken(one));
  Set(0, "a");
  EXPECT_TRUE(Broken(one));
  EXPECT_FALSE(Broken(two));
}

TEST_F(WatchTableTest, DeletingNothingIsNoChange) {
  Session& session = Connect();
  Watch(session, "a");
  Delete(0, "a");
  EXPECT_FALSE(Broken(session));
}

TEST_F(WatchTableTest, UnwatchingForgetsTheDirtToo) {
  Session& session = Connect();
  Watch(session, "a");
  Watch(session, "a");
  Set(0, "a");
  table_.UnwatchAll(session);
  EXPECT_FALSE(table_.listens());
  EXPECT_FALSE(Broken(session));
  Set(0, "a");
  EXPECT_FALSE(Broken(session));
}

TEST_F(WatchTableTest, AKeyThatDiesHasChanged) {
  Session& session = Connect();
  Set(0, "a", In(10));
  Watch(session, "a");
  clock_.Advance(9);
  EXPECT_FALSE(Broken(session));
  clock_.Advance(1);
  EXPECT_TRUE(Broken(session));
}

TEST_F(WatchTableTest, AKeyThatWasDeadBeforeHasNot) {
  Session& session = Connect();
  Set(0, "a", In(10));
  clock_.Advance(10);
  // It may not be removed yet, so that WATCH leaves it where it is.
  keyspace_.set_expiry_allowed(false);
  Watch(session, "a");
  keyspace_.set_expiry_allowed(true);
  EXPECT_FALSE(keyspace_.db(0).Find(keyspace_.Hash("a"), now()));
  EXPECT_EQ(keyspace_.db(0).size(), 0u);
  EXPECT_FALSE(Broken(session));
  Set(0, "a");
  EXPECT_TRUE(Broken(session));
}

TEST_F(WatchTableTest, ADeadKeyThatMayNotBeRemovedHasChangedAllTheSame) {
  Session& session = Connect();
  Set(0, "a", In(10));
  Watch(session, "a");
  clock_.Advance(10);
  keyspace_.set_expiry_allowed(false);
  EXPECT_TRUE(Broken(session));
}

TEST_F(WatchTableTest, FlushTouchesWhatIsThere) {
  Session& there = Connect();
  Session& missing = Connect();
  Session& elsewhere = Connect();
  Set(0, "a");
  Set(1, "a");
  Watch(there, "a");
  Watch(missing, "b");
  Watch(elsewhere, "a", 1);
  keyspace_.Flush(0, false);
  EXPECT_TRUE(Broken(there));
  EXPECT_FALSE(Broken(missing));
  EXPECT_FALSE(Broken(elsewhere));
}

TEST_F(WatchTableTest, SwapTouchesWhatIsOnEitherSide) {
  Session& here = Connect();
  Session& there = Connect();
  Session& nowhere = Connect();
  Session& other_side = Connect();
  Set(0, "a");
  Set(1, "b");
  Watch(here, "a");
  Watch(there, "b");
  Watch(nowhere, "c");
  Watch(other_side, "b", 1);
  keyspace_.Swap(0, 1);
  EXPECT_TRUE(Broken(here));
  EXPECT_TRUE(Broken(there));
  EXPECT_FALSE(Broken(nowhere));
  EXPECT_TRUE(Broken(other_side));
}

TEST_F(WatchTableTest, SwappingADeadKeyInIsNoChange) {
  Session& session = Connect();
  Set(1, "a", In(10));
  Watch(session, "a");
  clock_.Advance(10);
  keyspace_.Swap(0, 1);
  EXPECT_FALSE(Broken(session));
}

TEST_F(WatchTableTest, ManySessionsComeAndGo) {
  std::mt19937 random(7);
  std::vector<Session*> sessions;
  for (int i = 0; i < 20; ++i) sessions.push_back(&Connect());
  for (int i = 0; i < 5000; ++i) {
    Session& session = *sessions[random() % sessions.size()];
    const std::string key(1, static_cast<char>('a' + random() % 8));
    switch (random() % 4) {
      case 0:
        table_.UnwatchAll(session);
        break;
      case 1:
        Set(0, key);
        for (Session* each : sessions) {
          if (!each->rare->transaction) continue;
          for (const WatchedKey& watched : TransactionOf(*each)->watched) {
            EXPECT_TRUE(watched.key != key || TransactionOf(*each)->dirty);
          }
        }
        break;
      default:
        Watch(session, key);
    }
  }
  for (Session* session : sessions) EndTransaction(*session, table_);
  EXPECT_FALSE(table_.listens());
}

TEST(QueuedCommand, KeepsItsOwnBytes) {
  std::string name = "SET", key = "", value("\0x", 2);
  const std::vector<std::string_view> args{name, key, value};
  CommandSpec spec{.name = "SET", .arity = 3, .run = [](CommandCall&) {}};
  const CommandFamily family{"test", {&spec, 1}};
  const CommandTable table({&family, 1});
  std::vector<QueuedCommand> queue;
  for (int i = 0; i < 10; ++i) queue.emplace_back(*table.Check(args));
  name = key = value = "overwritten";
  for (const QueuedCommand& queued : queue) {
    ASSERT_EQ(queued.args().size(), 3u);
    EXPECT_EQ(queued.args()[0], "SET");
    EXPECT_EQ(queued.args()[1], "");
    EXPECT_EQ(queued.args()[2], std::string_view("\0x", 2));
    // In the sizes that the allocator gives.
    EXPECT_EQ(queued.bytes(),
              sizeof(QueuedCommand) + BlockSize(3 * sizeof(std::string_view)) + BlockSize(5));
  }
}

}  // namespace
}  // namespace sluice
