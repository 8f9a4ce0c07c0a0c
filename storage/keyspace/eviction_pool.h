// EvictionPool: which key goes next when memory is full. It looks at one segment of a database
// after the other, in the order of hashes, which has nothing to do with how keys are used, and at
// databases in turn; takes the few of a segment that are the first to go, and keeps the best of
// what it has taken in order. So each key is looked at once in a round, those of a segment are
// fetched together, and what goes is chosen from some 300 and not from 5.
//
//   EvictionPool::Rule rule{.by = By::kIdle, .samples = 5, .may_go = ...};
//   EvictionPool::Victim victim;
//   if (pool.Next(keyspace, rule, now, victim) == Found::kKey) victim.db->DeleteFound(...);
//
// `samples` is how many keys are looked at for each that goes, as in Redis, times kSelection: a
// look costs a fraction of one of Redis's, where each is a place of its own in memory.
//
// A candidate is remembered by address and hash, and nothing reads the address before its table has
// said that the entry is there still. One that was used since it was looked at stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/hashing/random.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

// The key that goes first: the longest unused, the least often used, the one that ends next, or any
// by chance.
enum class EvictBy : uint8_t { kIdle, kFrequency, kDeadline, kRandom };

class EvictionPool {
 public:
  // Keys looked at for one that goes, times `samples`: measured by `tools/bench --only 'evict*'`.
  static constexpr size_t kSelection = 2;
  static constexpr size_t kCandidatesMax = 64;
  // Keys that a segment can have, in the main.
  static constexpr size_t kSegmentMost = 512;
  // Below so many a further segment is looked at, so that keys of different ones compete.
  static constexpr size_t kRefillBelow = 32;
  // With several databases the keys of one may all be worse than those of another.
  static constexpr size_t kRefillBelowOfMany = 48;
  // Databases that are looked into for that, 3 µs each.
  static constexpr size_t kDatabasesAtOnce = 4;

  struct Rule {
    EvictBy by = EvictBy::kIdle;
    bool volatile_only = false;
    size_t samples = 5;
    absl::FunctionRef<bool(const Entry&)> may_go;  // asked of few
  };
  struct Victim {
    Database* db = nullptr;
    const Entry* entry = nullptr;  // until the next change of the keyspace
    uint64_t hash = 0;
  };
  enum class Found : uint8_t {
    kKey,
    kNoneYet,  // so far; ask again
    kNone,     // in all of the keyspace
  };

  explicit EvictionPool(uint64_t seed) : chance_(seed) {}

  // Looks at some segments. A victim has to go, or is forgotten.
  Found Next(Keyspace& keyspace, const Rule& rule, const Now& now, Victim& victim);
  // The rule, or what a score means, has changed.
  void Clear() { candidates_.clear(); }

 private:
  struct Candidate {
    uint64_t score = 0;  // the highest goes first
    const Entry* entry = nullptr;
    Database* db = nullptr;
    uint64_t hash = 0;
  };
  // The few of a segment that go first, of those that are offered.
  class Best {
   public:
    struct Item {
      uint64_t score = 0;
      const Entry* entry = nullptr;
    };
    void Begin(size_t most);  // so many are kept
    bool Wants(uint64_t score) const { return !has_floor_ || score > floor_; }
    void Add(uint64_t score, const Entry& entry);
    std::span<const Item> Sorted(size_t count);  // the first `count`

   private:
    static bool GoesFirst(const Item& a, const Item& b) { return a.score > b.score; }
    size_t most_ = 1;
    std::vector<Item> items_;
    uint64_t floor_ = 0;
    bool has_floor_ = false;
  };
  struct Hand {
    uint64_t position = 0;
    uint32_t rounds = 0;  // past the beginning, since there was a candidate
  };
  static bool GoesLater(const Candidate& a, const Candidate& b) { return a.score < b.score; }

  uint64_t ScoreOf(const Database& db, const Entry& entry, const Rule& rule, const Now& now);
  bool IsInVain(Keyspace& keyspace, const Rule& rule) const;
  void ForgetRounds();
  static bool HasAny(Keyspace& keyspace, int db, const Rule& rule);
  Database* NextDatabase(Keyspace& keyspace, const Rule& rule);
  bool Refill(Keyspace& keyspace, const Rule& rule, const Now& now);
  bool LookAtSegment(Database& db, const Rule& rule, const Now& now);
  bool TakeBest(Database& db, size_t count);
  bool IsCandidate(const Entry& entry) const;
  bool TakeLast(const Rule& rule, const Now& now, Victim& victim);

  Random chance_;
  std::vector<Candidate> candidates_;  // the last goes first
  Best best_;                          // for the work
  std::vector<Hand> hands_;            // by the index of the database
  size_t refill_below_ = kRefillBelow;
  int db_ = 0;               // the last that was looked into
  bool any_rounds_ = false;  // some hand has one
};

}  // namespace sluice
