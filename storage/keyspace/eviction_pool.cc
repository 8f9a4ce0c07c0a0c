// See eviction_pool.h. The hand goes from database to database, and in each by segments; its place
// is a hash, which stays a place whatever is split and merged meanwhile.
#include "storage/keyspace/eviction_pool.h"

#include <algorithm>
#include <limits>

namespace sluice {

EvictionPool::Found EvictionPool::Next(Keyspace& keyspace, const Rule& rule, const Now& now,
                                       Victim& victim) {
  if (candidates_.size() < kRefillBelow && !LookAtSegment(keyspace, rule, now) &&
      candidates_.empty()) {
    // Twice past the beginning is once round at least.
    if (rounds_in_vain_ <= 1) return Found::kNoneYet;
    rounds_in_vain_ = 0;
    return Found::kNone;
  }
  if (!TakeLast(rule, now, victim)) return Found::kNoneYet;
  rounds_in_vain_ = 0;
  return Found::kKey;
}

// What a candidate has been chosen for has to be true still.
bool EvictionPool::TakeLast(const Rule& rule, const Now& now, Victim& victim) {
  while (!candidates_.empty()) {
    const Candidate last = candidates_.back();
    candidates_.pop_back();
    if (!last.db->Holds(*last.entry, last.hash)) continue;
    const bool is_asked_again = rule.by != EvictBy::kRandom;
    if (is_asked_again && ScoreOf(*last.db, *last.entry, rule, now) < last.score) continue;
    if (rule.volatile_only && !last.entry->is_volatile()) continue;
    if (!rule.may_go(*last.entry)) continue;
    victim = {last.db, last.entry, last.hash};
    return true;
  }
  return false;
}

uint64_t EvictionPool::ScoreOf(const Database& db, const Entry& entry, const Rule& rule,
                               const Now& now) {
  switch (rule.by) {
    case EvictBy::kIdle:
      return static_cast<uint64_t>(db.IdleSeconds(entry, now));
    case EvictBy::kFrequency:
      return AccessCount::kMost - db.AccessCounter(entry, now);
    case EvictBy::kDeadline: {
      // In Unix time, so that it is the same whenever it is asked.
      const Deadline deadline = entry.deadline();
      const int64_t at_ms =
          deadline.none() ? std::numeric_limits<int64_t>::max() : deadline.UnixMs(now);
      return static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) -
             static_cast<uint64_t>(std::max<int64_t>(at_ms, 0));
    }
    case EvictBy::kRandom:
      break;
  }
  return chance_();
}

// The next database that has keys; null: none has.
Database* EvictionPool::DatabaseAtHand(Keyspace& keyspace) {
  for (int i = 0; i <= keyspace.databases(); ++i) {
    if (db_ >= keyspace.databases()) {
      db_ = 0;
      ++rounds_in_vain_;
    }
    if (keyspace.made(db_) && keyspace.db(db_).size() > 0) return &keyspace.db(db_);
    ++db_;
    position_ = 0;
  }
  return nullptr;
}

// False: it has no key that may go, or only such as are known already.
bool EvictionPool::LookAtSegment(Keyspace& keyspace, const Rule& rule, const Now& now) {
  Database* const db = DatabaseAtHand(keyspace);
  if (db == nullptr) {
    rounds_in_vain_ = 2;
    return false;
  }
  segment_.clear();
  size_t looked_at = 0;
  position_ = db->WalkSegment(position_, [&](const Entry& entry) {
    ++looked_at;
    if (entry.is_kept_always() || (rule.volatile_only && !entry.is_volatile())) return;
    segment_.push_back({ScoreOf(*db, entry, rule, now), &entry, db, 0});
  });
  if (position_ == 0) ++db_;
  // By use the very first to go would be new keys, which had no time to be used: a choice as rough
  // as Redis's keeps more of them (74.2 % of hits in `tools/bench --only evict-hits-lfu`,
  // not 73.7).
  const size_t selection = rule.by == EvictBy::kFrequency ? 1 : kSelection;
  const size_t share = std::max<size_t>(rule.samples, 1) * selection;
  const size_t count = std::clamp<size_t>(looked_at / share, 1, kCandidatesMax);
  if (!TakeBest(rule, count)) return false;
  rounds_in_vain_ = 0;
  return true;
}

// The best `count` of the segment that may go become candidates; those that no longer have a place
// among the best of all are forgotten.
bool EvictionPool::TakeBest(const Rule& rule, size_t count) {
  std::make_heap(segment_.begin(), segment_.end(), GoesLater);
  size_t taken = 0;
  while (!segment_.empty() && taken < count) {
    std::pop_heap(segment_.begin(), segment_.end(), GoesLater);
    Candidate best = segment_.back();
    segment_.pop_back();
    if (IsCandidate(*best.entry) || !rule.may_go(*best.entry)) continue;
    best.hash = best.db->HashOf(*best.entry);
    const auto place = std::lower_bound(candidates_.begin(), candidates_.end(), best, GoesLater);
    candidates_.insert(place, best);
    ++taken;
  }
  if (candidates_.size() > kCandidatesMax) {
    candidates_.erase(candidates_.begin(),
                      candidates_.end() - static_cast<ptrdiff_t>(kCandidatesMax));
  }
  return taken > 0;
}

bool EvictionPool::IsCandidate(const Entry& entry) const {
  return std::ranges::any_of(candidates_,
                             [&entry](const Candidate& known) { return known.entry == &entry; });
}

}  // namespace sluice
