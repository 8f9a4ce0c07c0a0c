// Histories of one lock, judged in O(n log n): tokens give the order of its grants.
//
// A holding begins at a moment of its grant's span. It ends with its release, or by its lease: that
// is over at the earliest `lease` after the call that has begun or renewed it, at the latest
// `lease` behind its answer, with the drift of the clocks added. Sorted by their tokens, the grants
// are a chain. Going up, each gets its earliest beginning and end: behind the ends of those before
// it that exclude it. Going down, each gets its latest ones.
//
//   a grant that cannot have been before its answer            a fault
//   a renewal, or a release, of what had surely ended          a fault
//   a refusal that lies where there was surely room            a fault
//   more permits surely held at one moment than there are      a fault
//
// For exclusive holdings this finds every fault. Permits and shared holdings are counted where they
// are surely, or possibly, held: what is found is a fault, but not all faults are found. An attempt
// without an answer may have got the lock at any time, and explains every refusal that comes later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/linearizable/span.h"

namespace sluice {

// What a holder says of its holding.
struct HoldingWord {
  enum class Answer : uint8_t { kDone, kNotHeld, kNone };
  Span span;
  Answer answer = Answer::kNone;
  int64_t lease_us = 0;  // of a renewal
};

// One attempt to get the lock, under a name that no other has. All words are called behind its
// answer, and there are none if it was refused.
struct LockAttempt {
  enum class Answer : uint8_t { kGranted, kRefused, kNone };
  Span span;
  Answer answer = Answer::kNone;
  int64_t token = 0;     // kGranted
  int64_t weight = 1;    // permits; the lock's capacity for an exclusive one
  int64_t lease_us = 0;  // 0: it ends by its release alone
  std::vector<HoldingWord> renewals = {};
  std::vector<HoldingWord> releases = {};
};

struct LockRules {
  int64_t capacity = 1;
  int64_t drift_ppm = 0;  // of the server's clock against true time, at most
  int64_t grain_us = 0;   // leases may last so much longer than was asked
  // When the server did nothing, in order: what was to end then may end with it, as what had been
  // asked for before comes first.
  std::vector<Span> standstills = {};
};

// What is wrong with it, as a sentence; null: nothing was found.
std::optional<std::string> JudgeLock(std::span<const LockAttempt> history, const LockRules& terms);

// --- the same as a model to search with

// Attempts come apart into what happens to a lock. The end of a lease is an operation, too.
struct LockEvent {
  enum class Kind : uint8_t { kGrant, kRefusal, kLeaseEnd, kRelease, kWord, kNotHeld };
  Span span;
  Kind kind = Kind::kGrant;
  size_t attempt = 0;
  int64_t token = 0;  // 0: it is not known
  int64_t weight = 1;
  int64_t capacity = 1;
};
std::vector<LockEvent> EventsOf(std::span<const LockAttempt> history, const LockRules& terms);

struct LockModel {
  struct State {
    std::map<size_t, int64_t> held;  // weights by attempt
    std::set<size_t> begun;          // attempts that have held it
    int64_t token = 0;
    auto operator<=>(const State&) const = default;
  };
  using Operation = LockEvent;
  static void Apply(const State& state, const Operation& event, std::vector<State>& after);
};

}  // namespace sluice
