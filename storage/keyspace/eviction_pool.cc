// See eviction_pool.h. Each database has a hand, which goes round it by segments, and they take
// turns. A hand's place is a hash, which stays a place whatever is split and merged meanwhile.
#include "storage/keyspace/eviction_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {

EvictionPool::Found EvictionPool::Next(Keyspace& keyspace, const Rule& rule, const Now& now,
                                       Victim& victim) {
  if (candidates_.size() < refill_below_ && !Refill(keyspace, rule, now) && candidates_.empty()) {
    if (!IsInVain(keyspace, rule)) return Found::kNoneYet;
    ForgetRounds();
    return Found::kNone;
  }
  if (!TakeLast(rule, now, victim)) return Found::kNoneYet;
  ForgetRounds();
  return Found::kKey;
}

// Whether every hand has come round since there was a candidate: twice past the beginning is once
// round at least.
bool EvictionPool::IsInVain(Keyspace& keyspace, const Rule& rule) const {
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (HasAny(keyspace, i, rule) && hands_[static_cast<size_t>(i)].rounds < 2) return false;
  }
  return true;
}

void EvictionPool::ForgetRounds() {
  if (!std::exchange(any_rounds_, false)) return;
  for (Hand& hand : hands_) hand.rounds = 0;
}

// The reason for which a candidate was chosen has to hold still.
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
    case EvictBy::kFrequency: {
      // Among keys that are used as often, the longest unused goes first: most are new keys.
      const uint64_t rareness = AccessCount::kMost - db.AccessCounter(entry, now);
      return rareness * AccessCount::kMoments + static_cast<uint64_t>(db.AccessAge(entry, now));
    }
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

bool EvictionPool::HasAny(Keyspace& keyspace, int db, const Rule& rule) {
  if (!keyspace.made(db)) return false;
  return (rule.volatile_only ? keyspace.db(db).volatile_size() : keyspace.db(db).size()) > 0;
}

// The next database that has keys of that kind; null: none has.
Database* EvictionPool::NextDatabase(Keyspace& keyspace, const Rule& rule) {
  const int databases = keyspace.databases();
  hands_.resize(static_cast<size_t>(databases));
  for (int i = 1; i <= databases; ++i) {
    const int db = (db_ + i) % databases;
    if (!HasAny(keyspace, db, rule)) continue;
    db_ = db;
    return &keyspace.db(db);
  }
  return nullptr;
}

// From a segment of each database, or of the next few: so their keys compete. False: there was no
// key that may go, or only such as are known already.
bool EvictionPool::Refill(Keyspace& keyspace, const Rule& rule, const Now& now) {
  bool any = false;
  const Database* first = nullptr;
  refill_below_ = kRefillBelow;
  for (size_t i = 0; i < kDatabasesAtOnce; ++i) {
    Database* const db = NextDatabase(keyspace, rule);
    if (db == nullptr || db == first) break;
    if (first != nullptr) refill_below_ = kRefillBelowOfMany;
    if (first == nullptr) first = db;
    any |= LookAtSegment(*db, rule, now);
  }
  if (any) ForgetRounds();
  return any;
}

bool EvictionPool::LookAtSegment(Database& db, const Rule& rule, const Now& now) {
  Hand& hand = hands_[static_cast<size_t>(db_)];
  const size_t share = std::max<size_t>(rule.samples, 1) * kSelection;
  best_.Begin(std::clamp<size_t>(kSegmentMost / share, 1, kCandidatesMax));
  size_t looked_at = 0;
  const int64_t access_clock = db.AccessClock(now);
  hand.position = db.WalkSegment(hand.position, [&](const Entry& entry) {
    ++looked_at;
    if (entry.is_kept_always() || (rule.volatile_only && !entry.is_volatile())) return;
    if (rule.by == EvictBy::kFrequency) db.SettleAccess(entry, now);
    const uint64_t score = rule.by == EvictBy::kIdle
                               ? static_cast<uint64_t>(access_clock - entry.access_clock()) &
                                     Database::kAccessClockMask
                               : ScoreOf(db, entry, rule, now);
    if (best_.Wants(score) && rule.may_go(entry)) best_.Add(score, entry);
  });
  if (hand.position == 0) {
    ++hand.rounds;
    any_rounds_ = true;
  }
  return TakeBest(db, std::clamp<size_t>(looked_at / share, 1, kCandidatesMax));
}

// The best `count` of the segment become candidates; those that no longer have a place among the
// best of all are forgotten.
bool EvictionPool::TakeBest(Database& db, size_t count) {
  size_t taken = 0;
  for (const Best::Item& item : best_.Sorted(count)) {
    if (IsCandidate(*item.entry)) continue;
    const Candidate best{item.score, item.entry, &db, db.HashOf(*item.entry)};
    candidates_.insert(std::lower_bound(candidates_.begin(), candidates_.end(), best, GoesLater),
                       best);
    ++taken;
  }
  if (candidates_.size() > kCandidatesMax) {
    candidates_.erase(candidates_.begin(),
                      candidates_.end() - static_cast<ptrdiff_t>(kCandidatesMax));
  }
  return taken > 0;
}

// --- the best of a segment

void EvictionPool::Best::Begin(size_t most) {
  most_ = most;
  items_.clear();
  floor_ = 0;
  has_floor_ = false;
}

// Twice as many as are kept are gathered before the worse half goes: most keys are done with one
// comparison.
void EvictionPool::Best::Add(uint64_t score, const Entry& entry) {
  items_.push_back({score, &entry});
  if (items_.size() < 2 * most_) return;
  const auto last_kept = items_.begin() + static_cast<ptrdiff_t>(most_ - 1);
  std::nth_element(items_.begin(), last_kept, items_.end(), GoesFirst);
  floor_ = last_kept->score;
  has_floor_ = true;
  items_.resize(most_);
}

std::span<const EvictionPool::Best::Item> EvictionPool::Best::Sorted(size_t count) {
  std::ranges::sort(items_, GoesFirst);
  return std::span(items_).first(std::min(count, items_.size()));
}

bool EvictionPool::IsCandidate(const Entry& entry) const {
  return std::ranges::any_of(candidates_,
                             [&entry](const Candidate& known) { return known.entry == &entry; });
}

}  // namespace sluice
