// See set_operands.h.
#include "server/commands/sorted_sets/set_operands.h"

#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace sluice {
namespace {

constexpr double kSetScore = 1;  // of every member of a set

// Redis's rules for what doubles cannot say: the sum of opposite infinities is 0.
void Combine(double& score, double other, Aggregate aggregate) {
  switch (aggregate) {
    case Aggregate::kSum:
    case Aggregate::kCount:
      score += other;
      if (std::isnan(score)) score = 0;  // of opposite infinities, or infinity times 0
      break;
    case Aggregate::kMin:
      score = other < score ? other : score;
      break;
    case Aggregate::kMax:
      score = other > score ? other : score;
      break;
  }
}

// Sums of floating-point numbers depend on their order: it is Redis's, the smallest set first.
void SmallestFirst(std::vector<SetOperand>& operands) {
  std::ranges::stable_sort(operands, {}, [](const SetOperand& operand) { return operand.size(); });
}

// The operands' scores of one member. Each source is asked once, however often it is named: what is
// done for every operand is arithmetic.
class Scores {
 public:
  // `operands` outlives it, and is in its final order.
  explicit Scores(const std::vector<SetOperand>& operands) : operands_(operands) {
    absl::flat_hash_map<const void*, size_t> places;
    for (const SetOperand& operand : operands) {
      const auto [at, is_new] = places.try_emplace(operand.source(), sources_.size());
      if (is_new) sources_.push_back(&operand);
      place_of_.push_back(at->second);
    }
    scores_.resize(sources_.size());
  }

  // Looks the member up in all sources but the first, whose walk is at it. False: one lacks it.
  bool Find(std::string_view name, double score) {
    scores_[0] = score;
    for (size_t i = 1; i < sources_.size(); ++i) {
      const std::optional<double> found = sources_[i]->Score(name);
      if (!found) return false;
      scores_[i] = *found;
    }
    return true;
  }
  // In the order of the operands.
  double Combined(Aggregate aggregate) const {
    double sum = operands_[0].Weighted(scores_[0]);
    for (size_t i = 1; i < operands_.size(); ++i) {
      Combine(sum, operands_[i].weight * scores_[place_of_[i]], aggregate);
    }
    return sum;
  }

 private:
  const std::vector<SetOperand>& operands_;
  std::vector<const SetOperand*> sources_;  // the first operand of each
  std::vector<size_t> place_of_;            // of each operand's source
  std::vector<double> scores_;              // by source
};

// Calls `visit(name, score)` for what is in all operands, until it says no.
template <typename Visit>
void ForEachCommon(SetOperands& operands, const Visit& visit) {
  std::vector<SetOperand>& list = operands.list;
  SmallestFirst(list);
  const SetOperand& smallest = list.front();
  if (smallest.size() == 0) return;
  Scores scores(list);
  smallest.ForEach([&](std::string_view name, double score) {
    return !scores.Find(name, score) || visit(name, scores.Combined(operands.aggregate));
  });
}

// Keeps each source once, for operations in which a set that comes twice changes nothing.
void KeepDistinct(std::vector<SetOperand>& operands) {
  absl::flat_hash_set<const void*> known;
  std::erase_if(operands, [&known](const SetOperand& operand) {
    return !known.insert(operand.source()).second;
  });
}

using Names = absl::flat_hash_set<std::string, KeyedHash, std::equal_to<>>;

// The members that the first operand shares with the others, where these are small beside it.
Names CommonNames(const SetOperand& first, const std::vector<SetOperand>& others,
                  const SipKey& hash_key) {
  Names names(0, KeyedHash(hash_key));
  for (const SetOperand& other : others) {
    other.ForEach([&](std::string_view name, double) {
      if (first.Score(name)) names.emplace(name);
      return true;
    });
  }
  return names;
}

}  // namespace

// --- one of them

// 0 for a missing key.
size_t SetOperand::size() const {
  if (plain) return plain->size();
  return sorted ? sorted->size() : 0;
}

std::optional<double> SetOperand::Score(std::string_view name) const {
  if (plain) return plain->Has(name) ? std::optional(kSetScore) : std::nullopt;
  const std::optional<double> score = sorted ? sorted->Score(name) : std::nullopt;
  return score && counts ? std::optional(kSetScore) : score;
}

// A plain set cannot be left early: after a no its members are only passed over.
void SetOperand::ForEach(SortedSet::Visit visit) const {
  bool more = true;
  if (plain) plain->ForEach([&](std::string_view name) { more = more && visit(name, kSetScore); });
  if (!sorted) return;
  if (!counts) return sorted->ForEach(sorted->All(), SortedSet::Direction::kUp, visit);
  sorted->ForEach(sorted->All(), SortedSet::Direction::kUp,
                  [&](std::string_view name, double) { return visit(name, kSetScore); });
}

// --- all of them

// A hash table from names to scores, under a key that clients do not know: they choose the names.
// O(all members).
std::vector<ScoredName> UnionOf(SetOperands& operands, HashKeys& hash_keys) {
  SmallestFirst(operands.list);
  absl::flat_hash_map<std::string, double, KeyedHash, std::equal_to<>> scores(
      0, KeyedHash(hash_keys.Next()));
  for (const SetOperand& operand : operands.list) {
    operand.ForEach([&](std::string_view name, double score) {
      const double weighted = operand.Weighted(score);
      const auto at = scores.find(name);
      if (at == scores.end()) {
        scores.emplace(name, weighted);
      } else {
        Combine(at->second, weighted, operands.aggregate);
      }
      return true;
    });
  }
  std::vector<ScoredName> elements;
  elements.reserve(scores.size());
  for (auto& [name, score] : scores) elements.push_back({score, name});
  return elements;
}

// O(members of the smallest * different sources).
std::vector<ScoredName> IntersectionOf(SetOperands& operands, HashKeys&) {
  std::vector<ScoredName> elements;
  ForEachCommon(operands, [&](std::string_view name, double score) {
    elements.push_back({score, std::string(name)});
    return true;
  });
  return elements;
}

// Scores are those of the first operand. Two ways lead there, and the sizes choose: gather what is
// common in a table, or ask every other set for each member.
std::vector<ScoredName> DifferenceOf(SetOperands& operands, HashKeys& hash_keys) {
  std::vector<SetOperand>& others = operands.list;
  const SetOperand first = others.front();
  if (first.size() == 0) return {};
  others.erase(others.begin());
  KeepDistinct(others);
  uint64_t others_size = 0;
  for (const SetOperand& other : others) {
    // Without itself nothing is left.
    if (other.source() == first.source()) return {};
    others_size += other.size();
  }
  // The way with fewer look-ups. Looking everywhere ends at the first that has it: half of them.
  std::vector<ScoredName> elements;
  const auto subtract = [&](const auto& is_elsewhere) {
    first.ForEach([&](std::string_view name, double score) {
      if (!is_elsewhere(name)) elements.push_back({score, std::string(name)});
      return true;
    });
  };
  if (others_size < first.size() * others.size() / 2) {
    const Names names = CommonNames(first, others, hash_keys.Next());
    subtract([&](std::string_view name) { return !names.empty() && names.contains(name); });
  } else {
    std::ranges::stable_sort(others, std::ranges::greater(), &SetOperand::size);
    subtract([&](std::string_view name) {
      return std::ranges::any_of(
          others, [name](const SetOperand& other) { return other.Score(name).has_value(); });
    });
  }
  return elements;
}

// Scores do not matter, so a source that is named again is dropped.
int64_t CountCommon(SetOperands& operands, int64_t most) {
  int64_t count = 0;
  KeepDistinct(operands.list);  // without their scores
  ForEachCommon(operands, [&](std::string_view, double) { return ++count != most; });
  return count;
}

}  // namespace sluice
