// See lock_histories.h.
#include "tests/support/linearizable/lock_histories.h"

#include <algorithm>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

using LockAnswer = LockAttempt::Answer;
using WordAnswer = HoldingWord::Answer;
constexpr int64_t kMillion = 1'000'000;

// --- when a lease is over

struct Bounds {
  int64_t earliest = kNever;
  int64_t latest = kNever;
};

Bounds LeaseFrom(const Span& span, int64_t lease_us, const LockRules& terms) {
  const int64_t drift =
      lease_us / kMillion * terms.drift_ppm + lease_us % kMillion * terms.drift_ppm / kMillion;
  Bounds end = {Later(span.call, lease_us - drift - 1),
                Later(span.answer, lease_us + drift + 1 + terms.grain_us)};
  const auto standstill =
      std::ranges::upper_bound(terms.standstills, end.latest, {}, &Span::answer);
  if (standstill != terms.standstills.end() && standstill->call <= end.latest)
    end.latest = standstill->answer;
  return end;
}

// A renewal without an answer may have come to pass, and then before what it renews was over.
Bounds LeaseEnd(const LockAttempt& attempt, const LockRules& terms) {
  Bounds end;
  if (attempt.lease_us > 0) end = LeaseFrom(attempt.span, attempt.lease_us, terms);
  int64_t last_call = kBeforeAll;
  for (const HoldingWord& renewal : attempt.renewals) {
    if (renewal.answer != WordAnswer::kDone || renewal.span.call < last_call) continue;
    last_call = renewal.span.call;
    end = LeaseFrom(renewal.span, renewal.lease_us, terms);
  }
  for (const HoldingWord& renewal : attempt.renewals) {
    if (renewal.answer != WordAnswer::kNone) continue;
    end.earliest =
        std::min(end.earliest, LeaseFrom(renewal.span, renewal.lease_us, terms).earliest);
    end.latest = LeaseFrom({0, end.latest}, renewal.lease_us, terms).latest;
  }
  return end;
}

// --- one holding

struct Holding {
  const LockAttempt* attempt;
  int64_t start = 0;  // the earliest
  int64_t end = 0;    // the earliest
  int64_t start_latest = kNever;
  int64_t end_latest = kNever;
  int64_t ends_from = kNever;     // the first moment at which something may end it
  int64_t lives_to = kBeforeAll;  // it was there so long, at the least: the calls of what was done
};

Holding HoldingOf(const LockAttempt& attempt, const LockRules& terms) {
  Holding holding{.attempt = &attempt, .start_latest = attempt.span.answer};
  const Bounds lease = LeaseEnd(attempt, terms);
  holding.ends_from = lease.earliest;
  holding.end_latest = lease.latest;
  bool is_released = false;
  const auto was_there = [&](const HoldingWord& word) {
    holding.lives_to = std::max(holding.lives_to, word.span.call);
    holding.start_latest = std::min(holding.start_latest, word.span.answer);
  };
  for (const HoldingWord& renewal : attempt.renewals) {
    if (renewal.answer == WordAnswer::kDone) was_there(renewal);
    if (renewal.answer == WordAnswer::kNotHeld)
      holding.end_latest = std::min(holding.end_latest, renewal.span.answer);
  }
  for (const HoldingWord& release : attempt.releases) {
    if (release.answer == WordAnswer::kDone) {
      was_there(release);
      holding.ends_from = release.span.call;
      is_released = true;
    } else if (release.answer == WordAnswer::kNone && !is_released) {
      holding.ends_from = std::min(holding.ends_from, release.span.call);
    }
    if (release.answer != WordAnswer::kNone)
      holding.end_latest = std::min(holding.end_latest, release.span.answer);
  }
  return holding;
}

// --- all of them

// How many permits can be held, at most, at a moment: it rises only at beginnings.
class PossiblyHeld {
 public:
  using Changes = std::vector<std::pair<int64_t, int64_t>>;
  PossiblyHeld(Changes begins, Changes ends)
      : begins_(Sums(std::move(begins))), ends_(Sums(std::move(ends))) {
    std::vector<int64_t> row;
    for (const auto& [moment, sum] : begins_) row.push_back(At(moment));
    // rows_[k][i]: the most of the 2^k beginnings from the i-th on.
    for (size_t width = 1; width <= row.size(); width *= 2) {
      rows_.push_back(row);
      for (size_t i = 0; i + width < row.size(); ++i) row[i] = std::max(row[i], row[i + width]);
    }
  }

  int64_t MostIn(const Span& span) const {
    int64_t most = At(span.call);
    const size_t from = UpTo(begins_, span.call);
    const size_t to = UpTo(begins_, span.answer);
    if (from == to) return most;
    size_t level = 0;
    while ((size_t{2} << level) <= to - from) ++level;
    return std::max({most, rows_[level][from], rows_[level][to - (size_t{1} << level)]});
  }

 private:
  static Changes Sums(Changes changes) {
    std::ranges::sort(changes);
    int64_t sum = 0;
    for (auto& [moment, weight] : changes) weight = sum += weight;
    return changes;
  }
  // How many are at this moment or before it.
  static size_t UpTo(const Changes& sums, int64_t moment) {
    return static_cast<size_t>(
        std::ranges::upper_bound(sums, moment, {}, &Changes::value_type::first) - sums.begin());
  }
  int64_t At(int64_t moment) const {
    const size_t begun = UpTo(begins_, moment);
    const size_t ended = moment == kBeforeAll ? 0 : UpTo(ends_, moment - 1);  // its end counts
    return (begun ? begins_[begun - 1].second : 0) - (ended ? ends_[ended - 1].second : 0);
  }

  Changes begins_, ends_;  // what has begun, or ended, up to each moment
  std::vector<std::vector<int64_t>> rows_;
};

class LockJudge {
 public:
  LockJudge(std::span<const LockAttempt> history, const LockRules& terms)
      : history_(history), terms_(terms) {
    for (const LockAttempt& attempt : history) {
      if (attempt.answer == LockAnswer::kGranted) holdings_.push_back(HoldingOf(attempt, terms));
    }
    std::ranges::sort(holdings_, {}, [](const Holding& one) { return one.attempt->token; });
  }

  std::optional<std::string> Run() {
    GoUp();
    if (!fault_) GoDown();
    if (!fault_) CountWhatIsSure();
    if (!fault_) LookAtRefusals();
    return fault_;
  }

 private:
  bool IsExclusive(const Holding& holding) const {
    return holding.attempt->weight >= terms_.capacity;
  }
  std::string NameOf(const Holding& holding) const {
    return Concat("attempt ", holding.attempt - history_.data(), " (token ", holding.attempt->token,
                  ")");
  }

  void GoUp() {
    const Holding* before = nullptr;          // by token
    const Holding* last_to_end = nullptr;     // whose earliest end is the latest
    const Holding* last_exclusive = nullptr;  // and of those that exclude all others
    for (Holding& holding : holdings_) {
      const LockAttempt& attempt = *holding.attempt;
      if (before && before->attempt->token == attempt.token) {
        fault_ = Concat(NameOf(*before), " and ", NameOf(holding), " have the same token");
        return;
      }
      holding.start = std::max(attempt.span.call, before ? before->start : kBeforeAll);
      const Holding* const barrier = IsExclusive(holding) ? last_to_end : last_exclusive;
      if (barrier) holding.start = std::max(holding.start, barrier->end);
      if (holding.start > holding.start_latest) {
        fault_ = Concat(NameOf(holding), " held it by ", holding.start_latest, ", and ",
                        barrier ? NameOf(*barrier) : NameOf(*before), " until ", holding.start,
                        " at the least");
        return;
      }
      holding.end = std::max({holding.start, holding.lives_to, holding.ends_from});
      if (holding.end > holding.end_latest) {
        fault_ = Concat(NameOf(holding), " was over by ", holding.end_latest, ", and held until ",
                        holding.end, " at the least");
        return;
      }
      before = &holding;
      if (!last_to_end || last_to_end->end < holding.end) last_to_end = &holding;
      if (IsExclusive(holding) && (!last_exclusive || last_exclusive->end < holding.end))
        last_exclusive = &holding;
    }
  }

  void GoDown() {
    int64_t start_after = kNever;            // the latest, of the one behind it
    int64_t exclusive_start_after = kNever;  // of those behind it that exclude all others
    for (auto holding = holdings_.rbegin(); holding != holdings_.rend(); ++holding) {
      const bool is_exclusive = IsExclusive(*holding);
      holding->end_latest =
          std::min(holding->end_latest, is_exclusive ? start_after : exclusive_start_after);
      holding->start_latest = std::min({holding->start_latest, start_after, holding->end_latest});
      start_after = holding->start_latest;
      if (is_exclusive) exclusive_start_after = std::min(exclusive_start_after, start_after);
    }
  }

  // Never more than there are.
  void CountWhatIsSure() {
    std::vector<std::pair<int64_t, int64_t>> changes;  // an end comes before a beginning
    for (const Holding& holding : holdings_) {
      if (holding.start_latest >= holding.end) continue;
      changes.emplace_back(holding.start_latest, holding.attempt->weight);
      changes.emplace_back(holding.end, -holding.attempt->weight);
    }
    std::ranges::sort(changes);
    int64_t held = 0;
    for (const auto& [moment, change] : changes) {
      held += change;
      if (held <= terms_.capacity) continue;
      fault_ = Concat(held, " permits of ", terms_.capacity, " were held at ", moment);
      return;
    }
  }

  // A refusal needs a moment at which there can have been no room for it.
  void LookAtRefusals() {
    PossiblyHeld::Changes begins, ends;
    for (const Holding& holding : holdings_) {
      begins.emplace_back(holding.start, holding.attempt->weight);
      ends.emplace_back(holding.end_latest, holding.attempt->weight);
    }
    for (const LockAttempt& attempt : history_) {
      if (attempt.answer == LockAnswer::kNone)
        begins.emplace_back(attempt.span.call, attempt.weight);
    }
    const PossiblyHeld possibly(std::move(begins), std::move(ends));
    for (const LockAttempt& attempt : history_) {
      if (attempt.answer != LockAnswer::kRefused) continue;
      if (possibly.MostIn(attempt.span) + attempt.weight > terms_.capacity) continue;
      fault_ = Concat("attempt ", &attempt - history_.data(), " was refused between ",
                      attempt.span.call, " and ", attempt.span.answer, ", and there was room");
      return;
    }
  }

  const std::span<const LockAttempt> history_;
  const LockRules& terms_;
  std::vector<Holding> holdings_;  // by token
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> JudgeLock(std::span<const LockAttempt> history, const LockRules& terms) {
  return LockJudge(history, terms).Run();
}

// --- the model

std::vector<LockEvent> EventsOf(std::span<const LockAttempt> history, const LockRules& terms) {
  using Kind = LockEvent::Kind;
  std::vector<LockEvent> events;
  for (size_t i = 0; i < history.size(); ++i) {
    const LockAttempt& attempt = history[i];
    const auto add = [&](const Span& span, Kind kind) {
      events.push_back({span, kind, i, attempt.token, attempt.weight, terms.capacity});
    };
    if (attempt.answer == LockAnswer::kRefused) {
      add(attempt.span, Kind::kRefusal);
      continue;
    }
    add(attempt.span, Kind::kGrant);
    const Bounds lease = LeaseEnd(attempt, terms);
    if (lease.earliest != kNever) add({lease.earliest, lease.latest}, Kind::kLeaseEnd);
    for (const HoldingWord& renewal : attempt.renewals) {
      if (renewal.answer == WordAnswer::kDone) add(renewal.span, Kind::kWord);
      if (renewal.answer == WordAnswer::kNotHeld) add(renewal.span, Kind::kNotHeld);
    }
    for (const HoldingWord& release : attempt.releases)
      add(release.span, release.answer == WordAnswer::kNotHeld ? Kind::kNotHeld : Kind::kRelease);
  }
  return events;
}

void LockModel::Apply(const State& state, const Operation& event, std::vector<State>& after) {
  using Kind = LockEvent::Kind;
  const bool is_held = state.held.contains(event.attempt);
  int64_t held = 0;
  for (const auto& [attempt, weight] : state.held) held += weight;
  const bool has_room = held + event.weight <= event.capacity;
  State next = state;
  switch (event.kind) {
    case Kind::kGrant:
      if (!has_room || (event.token != 0 && event.token <= state.token)) return;
      next.held[event.attempt] = event.weight;
      next.begun.insert(event.attempt);
      next.token = std::max(state.token, event.token);
      break;
    case Kind::kRefusal:
      if (has_room) return;
      break;
    case Kind::kLeaseEnd:
      if (!state.begun.contains(event.attempt)) return;
      next.held.erase(event.attempt);
      break;
    case Kind::kRelease:
      if (!is_held) return;
      next.held.erase(event.attempt);
      break;
    case Kind::kWord:
      if (!is_held) return;
      break;
    case Kind::kNotHeld:
      if (is_held) return;
      break;
  }
  after.push_back(std::move(next));
}

}  // namespace sluice
