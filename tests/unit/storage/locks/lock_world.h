// A keyspace of locks in a std::map, a manual clock, timers, and a plain record of all that
// happened: what the property tests hold against the rules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "storage/locks/deadlock.h"
#include "storage/locks/locks.h"
#include "tests/support/manual_clock.h"

namespace sluice {

// Whether the two cannot hold a lock side by side, permits aside.
inline bool Conflict(const LockShape& a, const LockShape& b) {
  return a.mode != LockMode::kShared || b.mode != LockMode::kShared;
}

// Locks whose functions take names, and open what they name.
class LocksByName : public Locks {
 public:
  LocksByName(LockStore& store, LockListener& listener, LockCallers& callers, FenceTokens& tokens,
              FenceMemory& memory, WorkMeter* meter = nullptr)
      : Locks(store, listener, callers, tokens, memory, SipKey{1}, meter), store_(store) {}

  AcquireResult Acquire(const LockRequest& request, const WaitTerms& wait, const Now& now) {
    OpenLocks open = Open(request);
    return Locks::Acquire(absl::MakeSpan(open), LockRequest(request), wait, now);
  }
  WaitQueue::Obstacle ObstacleOf(const LockRequest& request, const Now& now) {
    OpenLocks open = Open(request);
    return queue().ObstacleOf(request, absl::MakeSpan(open), now.ms());
  }
  int64_t Renew(LockNameView name, std::string_view owner, int64_t lease_ms, int64_t token,
                const Now& now) {
    OpenLock open(store_, name);
    return Locks::Renew(open, owner, lease_ms, token, now);
  }
  AcquireResult Upgrade(LockNameView name, std::string_view owner, const WaitTerms& wait,
                        const Now& now) {
    OpenLock open(store_, name);
    return Locks::Upgrade(open, owner, wait, now);
  }
  AcquireResult Downgrade(LockNameView name, std::string_view owner, const Now& now) {
    OpenLock open(store_, name);
    return Locks::Downgrade(open, owner, now);
  }
  int64_t Release(LockNameView name, std::string_view owner, bool all, int64_t token,
                  const Now& now) {
    OpenLock open(store_, name);
    return Locks::Release(open, owner, all, token, now);
  }
  int64_t Break(LockNameView name, int64_t token, const Now& now) {
    OpenLock open(store_, name);
    return Locks::Break(open, token, now);
  }
  void Settle(LockNameView name, const Now& now) {
    OpenLock open(store_, name);
    Locks::Settle(open, now);
  }
  TokenCheck CheckToken(LockNameView name, int64_t token, const Now& now) {
    OpenLock open(store_, name);
    return Locks::CheckToken(open, token, now);
  }

 private:
  OpenLocks Open(const LockRequest& request) {
    OpenLocks open;
    for (const LockName& name : request.names) open.emplace_back(store_, name);
    return open;
  }

  LockStore& store_;
};

// A lock whose holders are tied to the world.
class TiedLock : public Lock {
 public:
  TiedLock(const LockTies& ties, LockNameView name) : ties_(ties), key_(name.key) {
    set_db(name.db);
  }
  ~TiedLock() override { Unwatch(); }

 protected:
  const LockTies* ties() const override { return &ties_; }
  std::string_view key() const override { return key_; }

 private:
  const LockTies& ties_;
  const std::string key_;
};

class LockWorld : public LockStore, public LockListener, public LockCallers, public WorkMeter {
 public:
  struct Grant {
    int64_t token;
    LockMode mode;
    bool ended = false;
    bool dropped = false;
  };
  struct Ended {
    std::string key;
    std::string owner;
    LockEnd end;
  };

  explicit LockWorld(int64_t mark = kTokenMax)
      : tokens(0), memory(SipKey{1}), locks(*this, *this, *this, tokens, memory, this) {
    tokens.set_mark(mark);
  }

  Now now() { return clock.Sample(); }
  static LockNameView Name(std::string_view key) { return {0, key}; }
  static LockRequest Request(std::string_view owner, std::vector<std::string> keys,
                             LockTerms terms = {.lease_ms = 1000}) {
    LockRequest request{std::string(owner), {}, std::move(terms)};
    for (const std::string& key : keys) request.names.push_back(LockName(Name(key)));
    return request;
  }
  AcquireResult Acquire(const LockRequest& request, int64_t wait_ms = 0, uint64_t client = 0) {
    return locks.Acquire(request, {client, wait_ms}, now());
  }
  AcquireResult Upgrade(std::string_view key, std::string_view owner, int64_t wait_ms = 0) {
    return locks.Upgrade(Name(key), owner, {0, wait_ms}, now());
  }
  AcquireResult Downgrade(std::string_view key, std::string_view owner) {
    return locks.Downgrade(Name(key), owner, now());
  }
  int64_t Release(std::string_view key, std::string_view owner) {
    return locks.Release(Name(key), owner, false, 0, now());
  }
  Lock* At(std::string_view key) {
    const auto found = store.find(key);
    return found == store.end() ? nullptr : found->second.get();
  }

  // As DEL does.
  void Drop(std::string_view key) {
    if (At(key) == nullptr) return;
    store.erase(std::string(key));
    ++changed;
    for (Grant& grant : history[std::string(key)]) grant.dropped = true;
    locks.Dropped(Name(key), now());
  }

  // Moves the clock; leases and waits end at their times, in order.
  void Advance(int64_t ms) {
    const int64_t target = now().ms() + ms;
    while (true) {
      const int64_t next = NextTimer();
      if (next > target) break;
      if (next > now().ms()) clock.Advance(next - now().ms());
      RunTimers();
    }
    clock.Advance(target - now().ms());
  }

  // --- LockStore
  const Lock* FindLock(LockNameView name) const override {
    const auto found = store.find(name.key);
    return found == store.end() ? nullptr : found->second.get();
  }
  uint64_t changes() const override { return changed; }
  void Look(LockPlace& place) override {
    ++looked;
    place.lock = FindLock(place.name);
  }
  Lock* BeginChange(LockPlace& place) override {
    ++modified;
    return At(place.name.key);
  }
  Lock& Create(LockPlace& place) override {
    ++created;
    auto& at = store[std::string(place.name.key)];
    EXPECT_EQ(at, nullptr);
    at = std::make_unique<TiedLock>(locks.ties(), place.name);
    place.lock = at.get();
    ++changed;
    return *at;
  }
  void Remove(LockPlace& place) override {
    ++removed;
    EXPECT_EQ(store.erase(std::string(place.name.key)), 1u);
    place.lock = nullptr;
    ++changed;
  }
  void EndChange(LockPlace& place) override {
    if (audits) {
      ASSERT_EQ(place.lock->Audit(), "");
    }
  }

  // --- LockListener, LockCallers
  void LockAcquired(const Lock& lock, const LockHolder& holder) override {
    EXPECT_GT(holder.token, newest_token) << "tokens grow";
    newest_token = holder.token;
    history[std::string(lock.name().key)].push_back({holder.token, lock.mode()});
  }
  void HoldChanged(const Lock& lock, const LockHolder& holder) override {
    EXPECT_EQ(lock.FindOwner(holder.owner), &holder) << "still a holder";
    ++holds_changed;
  }
  void ModeChanged(const Lock& lock, const LockHolder& holder, int64_t former) override {
    for (Grant& grant : history[std::string(lock.name().key)]) grant.ended |= grant.token == former;
    EXPECT_EQ(lock.holders().size(), 1u) << "nobody else holds it";
    LockAcquired(lock, holder);
  }
  void MinimumHoldEnded(const Lock& lock, const LockHolder& holder, LockEnd end) override {
    for (Grant& grant : history[std::string(lock.name().key)])
      grant.dropped |= grant.token == holder.token && end == LockEnd::kBroken;
  }
  void SessionBound(uint64_t) override {}
  bool IsSpent() override { return spent; }
  void AllEnded(const Lock& lock, const Lock::CrowdEnd& crowd, LockEnd end) override {
    ++crowds_ended;
    int64_t holders = crowd.lost;
    for (const LockHolder& holder : lock.holders()) {
      if (holder.is_minimum_hold()) {
        MinimumHoldEnded(lock, holder, end);
      } else {
        LockEnded(lock, holder, end);
        --holders;
      }
    }
    EXPECT_EQ(holders, 0);
  }
  void LockEnded(const Lock& lock, const LockHolder& holder, LockEnd end) override {
    ended.push_back({std::string(lock.name().key), std::string(holder.owner.view()), end});
    for (Grant& grant : history[std::string(lock.name().key)]) {
      if (grant.token != holder.token) continue;
      grant.ended = true;
      grant.dropped |= end == LockEnd::kBroken;
    }
  }
  void WaitGranted(const LockWait& wait, const LockGrants& grants) override {
    ASSERT_EQ(grants.size(), wait.request.names.size());
    for (size_t i = 0; i < grants.size() && audits; ++i) {
      // Re-entrant, or a reader that has become the writer: whatever its place.
      if (grants[i].holds > 1 || wait.request.upgrades) continue;
      const WaitQueue::Line* line = locks.queue().LineOf(wait.request.names[i]);
      if (line == nullptr) continue;
      const std::string& key = wait.request.names[i].key;
      for (const auto& [place, queued] : line->all) {
        const LockWait& other = queued->wait;
        EXPECT_FALSE(Rank(other, key) < Rank(wait, key) &&
                     Conflict(other.request.terms.shape, wait.request.terms.shape))
            << "overtaken";
      }
    }
    granted.push_back(wait.id);
  }
  void WaitReplaced(const LockWait& wait) override { replaced.push_back(wait.id); }
  void HoldLost(const LockWait& wait) override { lost.push_back(wait.id); }
  bool IsConnected(uint64_t connection) const override { return !gone.contains(connection); }

  // A later request has the place of the wait.
  void TookPlaceOf(uint64_t id, uint64_t former) {
    for (const LockName& name : locks.queue().Find(id)->request.names)
      ranks[{id, name.key}] = ranks.contains({former, name.key})
                                  ? ranks.at({former, name.key})
                                  : now().ms() * 0x1000000 + static_cast<int64_t>(former);
  }

  // The place in the line of a lock: by arrival, less what its priority gives; with other waits of
  // the owner, but in front for who held it when it was queued. `at_end`: its priority would have
  // closed a circle.
  void Queued(uint64_t id, int64_t deadline_ms, bool at_end = false) {
    const LockWait& queued = *locks.queue().Find(id);
    const std::string& owner = queued.request.owner;
    for (const LockName& name : queued.request.names) {
      const Lock* lock = FindLock(name);
      const bool holds = lock != nullptr && lock->FindOwner(owner) != nullptr;
      const bool is_set = ranks.contains({id, name.key});
      int64_t& rank = ranks[{id, name.key}];
      if (!is_set) rank = holds ? INT64_MIN / 2 - static_cast<int64_t>(id) : Arrival(queued);
      bool has_company = holds;
      int64_t last = INT64_MIN;
      for (const auto& [other, other_deadline_ms] : waiting) {
        const LockWait* wait = locks.queue().Find(other);
        if (wait == nullptr || other == id) continue;
        if (std::ranges::find(wait->request.names, name) == wait->request.names.end()) continue;
        int64_t& others = ranks.at({other, name.key});
        last = std::max(last, others);
        if (wait->request.owner != owner) continue;
        const bool are_in_front = others < INT64_MIN / 4;
        if (holds && are_in_front && !is_set) rank = others;
        if (holds && !are_in_front) others = rank;
        if (!holds && !is_set) rank = others;
        has_company = true;
      }
      if (at_end && !is_set && !has_company && last > rank) rank = (last & ~0xffffff) + int64_t(id);
    }
    waiting[id] = deadline_ms;
  }
  // In ms, with the number behind it.
  static int64_t Arrival(const LockWait& wait) {
    return wait.request.CameMs(wait.since_ms) * 0x1000000 + static_cast<int64_t>(wait.id);
  }
  int64_t Rank(const LockWait& wait, const std::string& key) const {
    const auto found = ranks.find({wait.id, key});
    return found == ranks.end() ? Arrival(wait) : found->second;
  }

  int64_t NextTimer() {
    int64_t next = kNoDeadline;
    for (const auto& [key, lock] : store) next = std::min(next, lock->NextDeadlineMs());
    for (const auto& [id, deadline_ms] : waiting) next = std::min(next, deadline_ms);
    return next;
  }
  void RunTimers() {
    std::vector<std::string> keys;
    for (const auto& [key, lock] : store) keys.push_back(key);
    for (const std::string& key : keys) locks.Settle(Name(key), now());
    for (auto place = waiting.begin(); place != waiting.end();) {
      if (locks.queue().Find(place->first) == nullptr) {
        place = waiting.erase(place);
      } else if (place->second <= now().ms()) {
        locks.Cancel(place->first, now());
        place = waiting.erase(place);
      } else {
        ++place;
      }
    }
  }

  bool audits = true;  // every change, over all holders and waiters
  bool spent = false;  // the meter
  int holds_changed = 0;
  int crowds_ended = 0;  // at the cost of one
  ManualClock clock;
  FenceTokens tokens;
  FenceMemory memory;
  LocksByName locks;
  std::map<std::string, std::unique_ptr<Lock>, std::less<>> store;
  std::map<std::string, std::vector<Grant>> history;  // of every key, all grants ever
  std::vector<Ended> ended;
  std::vector<uint64_t> granted;        // waits
  std::vector<uint64_t> replaced;       // waits
  std::vector<uint64_t> lost;           // waits of readers that were none any more
  std::set<uint64_t> gone;              // connections
  std::map<uint64_t, int64_t> waiting;  // deadlines of those that the test queued
  std::map<std::pair<uint64_t, std::string>, int64_t> ranks;  // of those, in each line
  int64_t newest_token = 0;
  int created = 0;   // keys
  int removed = 0;   // and those that went
  int modified = 0;  // calls of BeginChange
  int looked = 0;    // and of Look
  uint64_t changed = 0;
};

}  // namespace sluice
