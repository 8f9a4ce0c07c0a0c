// The promises of locks, over thousands of seeded histories of acquiring, renewing, releasing,
// breaking, deleting, closing sessions, giving up, and time passing with and without timers:
//
//   at most one exclusive holder; shared never with exclusive; permits never above m (Lock::Audit);
//   first come first served, but for priorities (LockWorld::WaitGranted); no wait stays that may
//   go; every wait is granted, timed out or gone; tokens grow; a token that the rule calls stale
//   never passes, also after its memory has collapsed; no circle of owners waits, and what is
//   refused as one would have been one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/storage/locks/lock_world.h"

namespace sluice {
namespace {

struct Bounds {
  int owners;
  int keys;
  bool many_waits;  // an owner may wait on several connections at once
};

class History {
 public:
  History(uint64_t seed, const Bounds& bounds) : random_(seed), bounds_(bounds) {
    world_.clock.Advance(In(0, 1'000'000));
    if (OneIn(2)) world_.memory.set_retention_ms(In(1, 200));
    if (OneIn(3)) world_.memory.set_memory_max(static_cast<size_t>(In(0, 1'000)));
  }

  void Run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      Step();
      Check();
      // A circle would stay, so it need not be looked for at every step.
      ASSERT_TRUE(step % 8 != 0 || !IsStuck(nullptr));
    }
    world_.Advance(10'000);  // longer than any wait or lease
    for (uint64_t session = 1; session <= kSessions; ++session)
      world_.locks.SessionEnded(session, world_.now());
    world_.Advance(10'000);
    EXPECT_EQ(world_.locks.queue().size(), 0u);
    EXPECT_TRUE(world_.store.empty());
    EXPECT_FALSE(world_.locks.has_left_over());
    for (const char owner : std::string("abcdefghijkl"))
      EXPECT_EQ(world_.locks.queue().FindOwner({&owner, 1}), nullptr);
  }

  int deadlocks = 0;
  int overtaken = 0;
  int upgraded = 0;
  int put_behind = 0;
  size_t handed_over() const { return world_.granted.size(); }

 private:
  static constexpr uint64_t kSessions = 4;
  static constexpr int64_t kPatienceMs = 5;

  int64_t In(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }
  std::string AnyKey() { return std::string(1, static_cast<char>('p' + In(0, bounds_.keys - 1))); }
  std::string AnyOwner() {
    return std::string(1, static_cast<char>('a' + In(0, bounds_.owners - 1)));
  }
  int64_t AnyToken() {
    const auto& grants = world_.history[AnyKey()];
    if (grants.empty() || OneIn(9)) return In(0, world_.tokens.last() + 5);
    return grants[static_cast<size_t>(In(0, static_cast<int64_t>(grants.size()) - 1))].token;
  }

  void Step() {
    switch (In(0, 13)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Acquire();
      case 4:
      case 5:
      case 6:
        world_.locks.Release(LockWorld::Name(AnyKey()), AnyOwner(), OneIn(3),
                             OneIn(4) ? AnyToken() : 0, world_.now());
        return;
      case 7:
        world_.locks.Renew(LockWorld::Name(AnyKey()), AnyOwner(), In(1, 100),
                           OneIn(4) ? AnyToken() : 0, world_.now());
        return;
      case 8:
        if (OneIn(2)) return world_.Advance(In(0, 60));
        world_.clock.Advance(In(0, 60));  // the timers come later
        if (OneIn(8)) world_.clock.StepWall(In(-5'000, 5'000));
        return;
      case 9:
        return GiveUp();
      case 10:
        if (OneIn(3)) return Disconnect();
        world_.Advance(1);
        return;
      case 11:
        return bounds_.many_waits ? void() : Upgrade();
      case 12:
        return bounds_.many_waits ? void() : Downgrade();
      default:
        if (OneIn(2)) return world_.Drop(AnyKey());
        world_.locks.Break(LockWorld::Name(AnyKey()), OneIn(2) ? 0 : AnyToken(), world_.now());
    }
  }

  LockRequest AnyRequest() {
    LockTerms terms;
    if (OneIn(3)) terms.session = static_cast<uint64_t>(In(1, kSessions));
    if (terms.session == 0 || OneIn(2)) terms.lease_ms = In(1, 100);
    if (OneIn(6)) terms.minhold_ms = In(1, 80);
    const int64_t kind = In(0, 5);
    std::set<std::string> keys{AnyKey()};
    if (kind <= 1) terms.shape.mode = LockMode::kShared;
    if (kind == 2) {
      const int64_t of = OneIn(9) ? 4 : 3;
      terms.shape = {LockMode::kPermits, In(1, of), of};
    } else if (OneIn(3)) {
      keys.insert(AnyKey());
      keys.insert(AnyKey());
    }
    LockRequest request = LockWorld::Request(AnyOwner(), {keys.begin(), keys.end()}, terms);
    if (!bounds_.many_waits && OneIn(3)) request.ahead_ms = In(-10, 10) * kPatienceMs;
    return request;
  }

  void Acquire() {
    const LockRequest request = AnyRequest();
    const WaitQueue::Owner* owner = world_.locks.queue().FindOwner(request.owner);
    if (!bounds_.many_waits && owner != nullptr && !owner->waits.empty()) return;
    const int64_t wait_ms = OneIn(4) ? 0 : In(1, 200);
    for (const LockName& name : request.names) world_.locks.Settle(name, world_.now());
    const WaitQueue::Obstacle obstacle = world_.locks.ObstacleOf(request, world_.now());
    const LockWait* former = wait_ms > 0 ? world_.locks.queue().SameAsked(request) : nullptr;
    const uint64_t former_id = former == nullptr ? 0 : former->id;
    // Where its priority puts it; and at the end, where it stands if it would be stuck there.
    extra_rank_ =
        LockWorld::Arrival({.id = 0xffffff, .request = request, .since_ms = world_.now().ms()});
    const bool stuck_there = IsStuck(&request, former_id);
    extra_rank_ = INT64_MAX;
    const bool would_be_stuck = stuck_there && IsStuck(&request, former_id);
    const AcquireResult result = world_.Acquire(request, wait_ms);
    if (result.outcome == AcquireOutcome::kDeadlock) {
      ++deadlocks;
      EXPECT_TRUE(would_be_stuck);
    } else if (result.outcome == AcquireOutcome::kQueued) {
      EXPECT_FALSE(would_be_stuck);
      put_behind += stuck_there && former_id == 0;
      EXPECT_EQ(former_id != 0, std::ranges::count(world_.replaced, former_id) == 1);
      if (former_id != 0) world_.TookPlaceOf(result.wait_id, former_id);
      ASSERT_NE(world_.locks.queue().Find(result.wait_id), nullptr) << "granted too soon";
      world_.Queued(result.wait_id, world_.now().ms() + wait_ms, stuck_there);
      world_.locks.Continue(world_.now());  // as the end of the turn does
    } else if (result.outcome == AcquireOutcome::kGranted) {
      if (obstacle == WaitQueue::Obstacle::kQueue && former_id == 0) {
        ++overtaken;
        EXPECT_TRUE(would_be_stuck);
      } else if (former_id == 0) {
        EXPECT_EQ(obstacle, WaitQueue::Obstacle::kNone);
      }
      EXPECT_EQ(result.grants.size(), request.names.size());
    } else if (result.outcome == AcquireOutcome::kRefused) {
      EXPECT_EQ(wait_ms, 0);
    }
  }

  // At once if no other holds it; and of two that would wait for each other the second is refused.
  void Upgrade() {
    const std::string key = AnyKey();
    const std::string owner = AnyOwner();
    world_.locks.Settle(LockWorld::Name(key), world_.now());
    const Lock* const lock = world_.At(key);
    const LockHolder* const holder = lock == nullptr ? nullptr : lock->FindOwner(owner);
    const bool reads = holder != nullptr && lock->mode() == LockMode::kShared;
    const bool alone = reads && lock->holders().size() == 1;
    LockRequest asked = LockWorld::Request(owner, {key}, {});
    asked.upgrades = true;
    const int64_t wait_ms = OneIn(4) ? 0 : In(1, 200);
    const LockWait* const former =
        reads && !alone && wait_ms > 0 ? world_.locks.queue().SameAsked(asked) : nullptr;
    const uint64_t former_id = former == nullptr ? 0 : former->id;
    // One that stands in this line already would change its place.
    const WaitQueue::Line* const line = world_.locks.queue().LineOf(LockWorld::Name(key));
    const WaitQueue::Owner* const waiter = world_.locks.queue().FindOwner(owner);
    if (alone && line != nullptr && waiter != nullptr &&
        world_.locks.queue().TogetherIn(*line, *waiter) != nullptr)
      return;
    const bool would_be_stuck = reads && IsStuck(&asked, former_id);
    const int64_t token = holder == nullptr ? 0 : holder->token;
    const AcquireResult result = world_.Upgrade(key, owner, wait_ms);
    if (holder == nullptr) {
      EXPECT_EQ(result.outcome, AcquireOutcome::kNotHeld);
    } else if (!reads) {
      const bool writes = lock->mode() == LockMode::kExclusive;
      EXPECT_EQ(result.outcome, writes ? AcquireOutcome::kGranted : AcquireOutcome::kLockMode);
      EXPECT_EQ(world_.At(key)->FindOwner(owner)->token, token);
    } else if (alone && would_be_stuck) {
      EXPECT_EQ(result.outcome, AcquireOutcome::kDeadlock);
    } else if (alone) {
      ASSERT_EQ(result.outcome, AcquireOutcome::kGranted);
      EXPECT_GT(result.grants.front().token, token);
      ++upgraded;
    } else if (wait_ms == 0) {
      EXPECT_EQ(result.outcome, AcquireOutcome::kRefused);
    } else if (would_be_stuck) {
      EXPECT_EQ(result.outcome, AcquireOutcome::kDeadlock);
      ++deadlocks;
    } else {
      ASSERT_EQ(result.outcome, AcquireOutcome::kQueued);
      if (former_id != 0) world_.TookPlaceOf(result.wait_id, former_id);
      world_.Queued(result.wait_id, world_.now().ms() + wait_ms);
      world_.locks.Continue(world_.now());
    }
  }

  void Downgrade() {
    const std::string key = AnyKey();
    const std::string owner = AnyOwner();
    world_.locks.Settle(LockWorld::Name(key), world_.now());
    const Lock* const lock = world_.At(key);
    const LockHolder* const holder = lock == nullptr ? nullptr : lock->FindOwner(owner);
    const bool writes = holder != nullptr && lock->mode() == LockMode::kExclusive;
    const LockHolder before = holder == nullptr ? LockHolder() : *holder;
    const AcquireResult result = world_.Downgrade(key, owner);
    if (!writes) {
      const bool reads = holder != nullptr && lock->mode() == LockMode::kShared;
      EXPECT_EQ(result.outcome == AcquireOutcome::kGranted, reads);
      return;
    }
    const LockHolder* const after = world_.At(key)->FindOwner(owner);
    ASSERT_NE(after, nullptr);
    EXPECT_GT(result.grants.front().token, before.token);
    EXPECT_EQ(after->token, result.grants.front().token);
    EXPECT_EQ(after->lease_until_ms, before.lease_until_ms);
    EXPECT_EQ(after->since_ms, before.since_ms);
    EXPECT_EQ(after->minhold_until_ms(), before.minhold_until_ms());
    EXPECT_EQ(after->sessions().size(), before.sessions().size());
    EXPECT_EQ(world_.At(key)->mode(), LockMode::kShared);
  }

  void GiveUp() {
    if (world_.waiting.empty()) return;
    auto place = world_.waiting.begin();
    std::advance(place, In(0, static_cast<int64_t>(world_.waiting.size()) - 1));
    world_.locks.Cancel(place->first, world_.now());
    world_.waiting.erase(place);
  }

  // The waits of the connection go first, then what it holds.
  void Disconnect() {
    const auto session = static_cast<uint64_t>(In(1, kSessions));
    for (auto place = world_.waiting.begin(); place != world_.waiting.end();) {
      const LockWait* wait = world_.locks.queue().Find(place->first);
      if (wait != nullptr && wait->request.terms.session == session) {
        world_.locks.Cancel(place->first, world_.now());
        place = world_.waiting.erase(place);
      } else {
        ++place;
      }
    }
    world_.locks.SessionEnded(session, world_.now());
    for (const auto& [key, lock] : world_.store)
      for (const LockHolder& holder : lock->holders())
        EXPECT_EQ(std::ranges::count(holder.sessions(), session), 0);
  }

  void Check() {
    for (const auto& [key, lock] : world_.store) {
      ASSERT_EQ(lock->Audit(), "");
      ASSERT_FALSE(lock->empty());
    }
    for (const auto& [id, deadline_ms] : world_.waiting) {
      const LockWait* wait = world_.locks.queue().Find(id);
      if (wait == nullptr) continue;
      ASSERT_NE(world_.locks.queue().ObstacleOf(*wait), WaitQueue::Obstacle::kNone)
          << "a wait stays that may go: " << wait->request.owner << " for "
          << wait->request.names.front().key << " and " << wait->request.names.size() - 1
          << " more";
    }
    CheckTokens();
  }

  // The rule of FENCED as docs/locks-and-limits.md words it, from the record of all grants.
  bool IsStale(const std::vector<LockWorld::Grant>& grants, size_t index) {
    const LockWorld::Grant& grant = grants[index];
    if (grant.dropped) return true;
    for (size_t later = index + 1; later < grants.size(); ++later) {
      const bool excludes = grant.mode == LockMode::kExclusive || grants[later].mode != grant.mode;
      if (excludes || grant.ended) return true;
    }
    return false;
  }

  void CheckTokens() {
    const std::string key = AnyKey();
    world_.locks.Settle(LockWorld::Name(key), world_.now());
    const std::vector<LockWorld::Grant> grants = world_.history[key];
    const size_t first = grants.size() > 12 ? grants.size() - 12 : 0;
    for (size_t i = first; i < grants.size(); ++i) {
      const TokenCheck check =
          world_.locks.CheckToken(LockWorld::Name(key), grants[i].token, world_.now());
      if (IsStale(grants, i)) {
        ASSERT_NE(check, TokenCheck::kValid) << "a stale token passed";
      } else if (!grants[i].ended) {
        ASSERT_EQ(check, TokenCheck::kValid) << "a holder was fenced off";
      } else {
        ASSERT_NE(check, TokenCheck::kSuperseded) << "the newest can only be forgotten";
      }
    }
    ASSERT_EQ(world_.locks.CheckToken(LockWorld::Name(key), world_.tokens.last() + 1, world_.now()),
              TokenCheck::kNeverIssued);
  }

  // --- a circle of waiting owners, by naive reduction over everything that waits

  struct Pending {
    const LockRequest* request;
    uint64_t id;
    bool operator==(const Pending&) const = default;
  };

  // Whether an owner can never go on (`extra` null), or whether that of `extra` could not, put at
  // the end or in the place of `former`.
  bool IsStuck(const LockRequest* extra, uint64_t former = 0) {
    std::vector<Pending> pending;
    for (const auto& [id, deadline_ms] : world_.waiting)
      if (const LockWait* wait = world_.locks.queue().Find(id))
        pending.push_back({id == former ? extra : &wait->request, id});
    if (extra != nullptr && former == 0) pending.push_back({extra, INT64_MAX});
    const auto can_go = [&](const Pending& one) {
      return std::ranges::all_of(pending, [&](const Pending& other) {
        return other.request->owner != one.request->owner || CanGo(other, pending);
      });
    };
    while (true) {
      const auto found = std::ranges::find_if(pending, can_go);
      if (found == pending.end()) break;
      const std::string owner = found->request->owner;
      std::erase_if(pending, [&](const Pending& one) { return one.request->owner == owner; });
    }
    return extra == nullptr ? !pending.empty()
                            : std::ranges::any_of(pending, [&](const Pending& one) {
                                return one.request == extra;
                              });
  }

  // A lease that is over holds nothing, be it still to be ended.
  bool Holds(const LockHolder* holder) {
    if (holder == nullptr || holder->is_minimum_hold()) return false;
    return holder->lease_until_ms > world_.now().ms() || !holder->sessions().empty();
  }

  static bool IsReentrant(const Lock& lock, const LockRequest& request) {
    return lock.Fit(request.owner, request.terms.shape) == LockFit::kReentrant;
  }

  static bool Asks(const LockRequest& request, const LockName& name) {
    return std::ranges::find(request.names, name) != request.names.end();
  }

  // Of the owner's first wait in this line. If it holds the lock, asking brings all to the front.
  int64_t RankOf(const Pending& one, const LockName& name, const std::vector<Pending>& pending) {
    int64_t rank = INT64_MAX;
    if (one.request->upgrades && one.id == INT64_MAX) return INT64_MIN;  // ahead of all
    bool has_company = false;
    bool asks_as_holder = false;
    const Lock* const lock = world_.FindLock(name);
    const bool holds = lock != nullptr && lock->FindOwner(one.request->owner) != nullptr;
    for (const Pending& other : pending) {
      const bool is_extra = other.id == INT64_MAX && other.request->owner == one.request->owner;
      asks_as_holder |= is_extra && holds && Asks(*other.request, name);
      if (other.request->owner == one.request->owner && Asks(*other.request, name) &&
          other.id != INT64_MAX) {
        rank = std::min(rank, world_.ranks.at({other.id, name.key}));
        has_company = true;
      }
    }
    if (asks_as_holder && rank > INT64_MIN / 4) return INT64_MIN + 1;
    return has_company ? rank : extra_rank_;
  }

  bool CanGo(const Pending& one, const std::vector<Pending>& pending) {
    const auto waits = [&](const std::string& owner) {
      return std::ranges::any_of(
          pending, [&](const Pending& other) { return other.request->owner == owner; });
    };
    for (const LockName& name : one.request->names) {
      const LockShape& shape = one.request->terms.shape;
      const Lock* lock = world_.FindLock(name);
      const bool upgrades = one.request->upgrades;
      const bool holds = lock != nullptr && Holds(lock->FindOwner(one.request->owner));
      if (upgrades && !holds) continue;  // nothing to wait for: it is a reader no more
      const bool is_reentrant = holds && !upgrades && IsReentrant(*lock, *one.request);
      int64_t stuck_permits = 0;
      bool stuck_holder = false;
      if (lock != nullptr && !is_reentrant)
        for (const LockHolder& holder : lock->holders()) {
          if (!Holds(&holder) || !waits(std::string(holder.owner))) continue;
          if (holder.owner.view() == one.request->owner) continue;
          stuck_holder = true;
          stuck_permits += holder.permits();
        }
      if (stuck_holder) {
        const bool readers = lock->mode() == LockMode::kShared && shape.mode == LockMode::kShared;
        const bool room = lock->mode() == LockMode::kPermits && shape.mode == LockMode::kPermits &&
                          lock->permits_of() == shape.of &&
                          stuck_permits + shape.permits <= shape.of;
        if (!readers && !room) return false;
      }
      if (upgrades) continue;
      const int64_t rank = RankOf(one, name, pending);
      for (const Pending& other : pending) {
        if (other.request->owner == one.request->owner || !Asks(*other.request, name)) continue;
        if (RankOf(other, name, pending) >= rank) continue;
        if (Conflict(other.request->terms.shape, shape)) return false;
      }
    }
    return true;
  }

  int64_t extra_rank_ = INT64_MAX;  // of the request that IsStuck is asked about
  std::mt19937_64 random_;
  const Bounds bounds_;
  LockWorld world_;
};

void RunHistories(const Bounds& bounds, int histories, int steps) {
  int deadlocks = 0;
  int overtaken = 0;
  int upgraded = 0;
  int put_behind = 0;
  size_t handed_over = 0;
  for (int seed = 1; seed <= histories; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History history(static_cast<uint64_t>(seed), bounds);
    history.Run(steps);
    deadlocks += history.deadlocks;
    overtaken += history.overtaken;
    upgraded += history.upgraded;
    put_behind += history.put_behind;
    handed_over += history.handed_over();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(handed_over, static_cast<size_t>(histories));
  EXPECT_GT(deadlocks, histories / 50);
  EXPECT_GT(overtaken, 0);
  if (bounds.many_waits) return;
  EXPECT_GT(upgraded, 0);
  EXPECT_GT(put_behind, 0);
}

TEST(LockProperties, HoldForFewOwnersAndKeys) { RunHistories({3, 2, false}, 2'000, 150); }
TEST(LockProperties, HoldForManyOwners) { RunHistories({12, 3, false}, 1'000, 150); }
TEST(LockProperties, HoldForManyKeys) { RunHistories({6, 7, false}, 1'000, 150); }
// Without priorities and changes of mode.
TEST(LockProperties, HoldForOwnersWithSeveralConnections) {
  RunHistories({4, 3, true}, 3'000, 150);
}

}  // namespace
}  // namespace sluice
