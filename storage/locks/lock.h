// Lock: a key's value of type `lock`, and the rules of who may hold it. Many readers or one writer
// (Courtois, Heymans, Parnas 1971), or a semaphore of m permits (Dijkstra 1965); leases as in Gray
// and Cheriton 1989.
//
// A holder is an owner with a token, its bindings (a lease, sessions) and a number of holds
// (re-entrancy). It is one until the last of its bindings has ended: each session while its
// connection lives, the lease while it runs. MINHOLD keeps the place of a holder that is gone until
// its time is over: such a one "lingers", it takes room and belongs to no owner. A lock without
// holders is to be removed from the keyspace.
//
// Times are engine ms. A lease, and a MINHOLD, never ends before it has lasted as long as was
// asked: it counts from the end of the ms in which it was given. Leases end by Expire, which
// a caller that looks at a lock calls first: nothing else here looks at the clock. Waiting, tokens
// and events are locks.h; nothing here knows of them.
//
// A crowd of holders that ends as a whole (EndAll) ends in one step, whatever their number: from
// then on every caller that looks at the lock finds it without holders. Their memory, and what ties
// them to the world, are given back in slices (FreeSome) when the lock has left the keyspace.
//
// One holder's life, with a lease of 10 s and MINHOLD 15 s; it releases at 4 s:
//
//   0 s held         lease until 10, place kept until 15
//   4 s lingers      belongs to no owner, takes room; its token is still the newest
//  15 s gone         Expire ends it; the lock is empty and leaves the keyspace
//
// Invariants: at most one exclusive holder and then no other; all holders have the lock's mode; the
// permits in use are at most m; every owner holds once.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "boost/intrusive/list.hpp"
#include "storage/keyspace/value.h"
#include "storage/locks/lock_holders.h"
#include "storage/locks/lock_name.h"
#include "storage/time/clock.h"

namespace sluice {

// --- What ties a lock's holders to the world around the lock, kept by the lock itself, so that it
// cannot drift, also when the lock is destroyed with all its holders.
//
// LockWatcher hears of the holders of locks that are watched (Lock::Watch): the search for circles
// needs to know what an owner holds, but only where others wait for it.
//
// LockSessions lists what each session is a binding of. A bond leaves its list by itself, so the
// end of a session costs what it holds, and a lock that goes away costs its own bonds.

class Lock;

class LockWatcher {
 public:
  virtual ~LockWatcher() = default;
  virtual void Held(const Lock& lock, std::string_view owner) = 0;
  virtual void Freed(const Lock& lock, std::string_view owner) = 0;
};

class LockSessions {
 public:
  // Null when it holds nothing.
  const SessionBond* First(uint64_t session) const {
    const auto found = bonds_.find(session);
    return found == bonds_.end() || found->second->empty() ? nullptr : &found->second->front();
  }
  void Add(uint64_t session, SessionBond& bond) {
    std::unique_ptr<Bonds>& bonds = bonds_[session];
    if (bonds == nullptr) bonds = std::make_unique<Bonds>();
    bonds->push_back(bond);
  }
  // Requires: it holds nothing.
  void Forget(uint64_t session) { bonds_.erase(session); }

 private:
  using Bonds = boost::intrusive::list<SessionBond, boost::intrusive::constant_time_size<false>>;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Bonds>> bonds_;  // for their addresses
};

struct LockTies {
  LockWatcher& watcher;
  LockSessions& sessions;
  // Other holders of locks that were read from a log may be missing: see Lock::is_in_doubt.
  const bool& holders_may_be_missing;
};

// --- the lock

enum class LockFit : uint8_t {
  kFits,
  kReentrant,     // its owner holds it already, in this shape
  kBusy,          // it has to wait
  kLockMode,      // its owner holds it in another shape
  kOtherPermits,  // the semaphore has another m
};

// Costs, with n holders: Fit, Grant, Renew, Release are O(log n), and so is each lease that ends.
// Up to kScanned holders no index is kept: they are looked through.
class Lock : public Value {
 public:
  using OnEnd = absl::FunctionRef<void(const LockHolder&)>;

  Lock() = default;
  Lock(const Lock&) = delete;
  // One that has ties unwatches itself before: its class knows them.
  ~Lock() override { assert(!watched_); }

  // Where it is held; an empty name if no key holds it. Valid as the key is.
  LockNameView name() const { return {db_, key()}; }
  // The watcher is told of the holders, now and from now on. Locks of many holders are watched
  // always: so this never has many to tell of.
  void Watch() const;
  void Unwatch() const;
  // It has left the keyspace, and is still to be freed: the session is no binding of it any more.
  void Unbind(uint64_t session, int64_t token) { DropSession(*holders_.Find(token), session); }
  bool has_many() const { return index() != nullptr; }

  LockFit Fit(std::string_view owner, const LockShape& shape) const;
  // Whether the owner, a reader, is alone with the lock, so that it may become its writer. One that
  // holds nothing, or not as a reader, has nothing to wait for: kReentrant, too.
  LockFit FitToUpgrade(std::string_view owner) const;

  // Makes a lock without a holder as one that was just made, under the same name. Requires:
  // empty(), and it was no crowd.
  void BeginAnew();

  // Requires: Fit is kFits; token above newest_token().
  const LockHolder& Grant(std::string_view owner, const LockTerms& terms, int64_t token,
                          const Now& now);
  // One hold and, if there is one, one session more; lease and minhold become the longer of what is
  // left and the new one, a new label takes the place of the old. Requires: Fit is kReentrant.
  const LockHolder& Reenter(std::string_view owner, const LockTerms& terms, const Now& now);
  // The owner holds it in this mode from now on, under a new token; all else of its hold stays.
  // Requires: it holds it alone, exclusive or shared; token above newest_token().
  const LockHolder& ChangeMode(std::string_view owner, LockMode mode, int64_t token);
  // Sets the lease anew from now on, be it shorter than what is left; null if the owner holds
  // nothing, or (token != 0) under another token.
  const LockHolder* Renew(std::string_view owner, int64_t lease_ms, int64_t token, const Now& now);
  // Drops connections from those to be told of a loss. The list of them grows with every re-entry.
  void SweepNotified(std::string_view owner, absl::FunctionRef<bool(uint64_t)> is_connected);
  // Whether the owner holds it, and (token != 0) under this token.
  bool IsHeldBy(std::string_view owner, int64_t token) const;
  // Gives back one hold, or all. Returns the holds that are left, -1 if not held likewise. At 0
  // `on_end` was called.
  int64_t Release(std::string_view owner, bool all, int64_t token, const Now& now, OnEnd on_end);

  // Whether such a holder can be beside the others, in place of the one with its token.
  bool GoesWith(const LockHolder& holder, const LockShape& shape) const;
  // Makes `holder` one as it is, kept or not, in place of the one with its token: from a log
  // or another server. False, and nothing changes, if it does not go with the other holders.
  bool Restore(const LockHolder& holder, const LockShape& shape);
  // The obstacle to restoring a holder whose grant is missing (a start has lost it). Holders that
  // are older have ended in what is missing.
  struct InTheWay {
    // kBeside: newer, or permits that others have or may have.
    enum class Kind : uint8_t { kNothing, kOwn, kAll, kBeside } kind = Kind::kNothing;
    int64_t token = 0;  // kOwn: the owner's older one
  };
  InTheWay FindInTheWay(const LockHolder& holder, const LockShape& shape) const;
  // This owner's hold has been proved: there is no owner alone beside it, so readers may come.
  void Prove(std::string_view owner);
  // It was read from a log that may lack other holders: it takes no new ones.
  bool is_in_doubt() const { return in_doubt_ && ties() && ties()->holders_may_be_missing; }

  // Expire to Forgo call `on_end` for every holder that loses the lock, while it still is one, and
  // return how many. They call it for holders that end kept, too, but do not count them.

  // Ends the leases that are over, `left` at most, which each lowers: a crowd whose leases end in
  // the same ms ends in slices. A holder that sessions keep only loses its lease.
  int64_t Expire(const Now& now, int64_t& left, OnEnd on_end);
  // The same for one holder, if its lease is over.
  int64_t ExpireOne(int64_t token, const Now& now, OnEnd on_end);
  // The holder of this token is bound to the session no more, and ends if that was its last
  // binding. Requires: it was bound.
  int64_t EndSession(uint64_t session, int64_t token, const Now& now, OnEnd on_end);
  // Throws out the holders, or (token != 0) the one of a token. Their tokens are stale, those of
  // later grants are not.
  int64_t Break(int64_t token, const Now& now, OnEnd on_end);
  int64_t Forgo(int64_t token, const Now& now, OnEnd on_end);  // the same, their tokens as they are

  // More holders and bonds than are ended one by one in a command that ends all of them.
  bool is_crowd() const { return Elements() > kCrowdMin; }
  struct CrowdEnd {
    int64_t lost = 0;  // holders, but those that linger
    int64_t over = 0;  // of them, those whose lease was over
  };
  // All end at this moment, at the cost of one, and of a glance at each lease that was over at
  // `until_ms` (100,000: 0.3 ms). With `broken` their tokens are stale. Requires: is_crowd.
  CrowdEnd EndAll(bool broken, int64_t until_ms = INT64_MIN);
  // Whether the lease of a holder was over before its crowd ended.
  bool WasOver(const LockHolder& holder) const;
  // Whether it is a crowd whose leases are all over at that moment, and no session or MINHOLD keeps
  // a holder or its place.
  bool AllOver(int64_t until_ms) const;

  bool empty() const { return holders_.empty() || ended_; }
  // It has no holder any more, although it has still to be taken apart.
  virtual bool Ended() const { return empty(); }
  LockMode mode() const { return mode_; }
  int64_t permits_of() const { return holders_.book() ? holders_.book()->of : 1; }
  int64_t newest_token() const { return holders_.newest_token(); }
  // The one that passes although it may have no holder any more; 0: it was broken.
  int64_t valid_token() const {
    const bool is_broken = holders_.book() && newest_token() <= holders_.book()->broken_token;
    return is_broken ? 0 : newest_token();
  }
  // When Expire has next something to do; kNoDeadline if never.
  int64_t NextDeadlineMs() const;
  const LockHolder* FindOwner(std::string_view owner) const;  // null if it holds nothing
  // The one of this owner, or (no owner) of this token, be it kept; null if there is none.
  const LockHolder* FindHolder(std::string_view owner, int64_t token) const;
  bool Holds(int64_t token) const;  // a holder that does not linger
  // Lingering ones included; in the order of their tokens.
  const LockHolders& holders() const { return holders_; }
  std::string Audit() const override;  // the first violated invariant, or empty

  ValueType type() const override { return ValueType::kLock; }
  std::string_view Encoding() const override { return "lock"; }
  size_t MemoryBytes() const override { return BlockSize(sizeof(Lock)) + OutsideBytes(); }
  size_t Elements() const override { return 1 + holders_.size() + holders_.bonds(); }
  size_t FreeSome(size_t budget) override {
    return FreeHolders(budget, [](const LockHolder&) {});
  }
  // Without holders: a copy has no owner.
  std::unique_ptr<Value> Clone() const override { return std::make_unique<Lock>(); }

 protected:
  // As FreeSome; calls `on_end` for each holder that goes and does not linger.
  size_t FreeHolders(size_t budget, OnEnd on_end);
  // Null, or what outlives the lock.
  virtual const LockTies* ties() const { return nullptr; }
  virtual std::string_view key() const { return {}; }  // which holds it
  void set_db(int db) { db_ = static_cast<int16_t>(db); }
  // For one that leaves its entry: its holders may have to be told of the key.
  void KeepKey(std::string_view key) { holders_.MakeBook().key = key; }
  std::string_view kept_key() const {
    return holders_.book() ? holders_.book()->key.view() : std::string_view();
  }
  size_t OutsideBytes() const { return holders_.OutsideBytes(); }  // heap memory beside the object

 private:
  static constexpr size_t kScanned = 8;
  static constexpr size_t kCrowdMin = 64;  // some 50 us

  const LockIndex* index() const {
    return holders_.book() ? holders_.book()->index.get() : nullptr;
  }
  LockIndex* index() { return holders_.book() ? holders_.book()->index.get() : nullptr; }
  LockIndex& MakeIndex();
  static bool HasLeaseAlone(const LockHolder& holder) {
    return !holder.is_minimum_hold() && holder.sessions().empty();
  }
  // To be called around every change of a holder: out of the index before, into it after.
  void Unlist(const LockHolder& holder);
  void List(const LockHolder& holder);
  std::pair<int64_t, int64_t> EarliestEnd() const;  // and its token
  int64_t permits_used() const;
  void SetShape(const LockShape& shape);
  LockHolder* FindHeld(std::string_view owner, int64_t token);
  const LockHolder& Place(const LockHolder& holder);
  void TakeOut(LockHolder& holder);
  // Binds a session once, however often it is named.
  void Bind(int64_t token, uint64_t session);
  void DropSession(LockHolder& holder, uint64_t session);
  // To be called when a holder that does not linger has come, and before one goes.
  void Tie(const LockHolder& holder);
  void Untie(LockHolder& holder);
  void WatchIfMany();
  void SetEnd(LockHolder& holder, int64_t lease_until_ms);
  void NoteBroken(int64_t token);
  // The owner's part is over: it lingers, or is gone.
  void End(LockHolder& holder, bool may_keep_minimum, const Now& now, OnEnd on_end);

  [[no_unique_address]] LockHolders holders_;  // the rest stands in its padding
  LockMode mode_ = LockMode::kExclusive;       // of the holders
  mutable bool watched_ = false;
  bool in_doubt_ = false;
  bool ended_ = false;  // all of them: see EndAll
  int16_t db_ = 0;
};
// There may be a million of them.
static_assert(sizeof(Lock) <= 64);

}  // namespace sluice
