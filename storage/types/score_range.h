// The arguments of a sorted set: a member to be, and the bounds of its ranges: scores, or members
// by their bytes (for sets in which all scores are equal). Plain values that say of a score or a
// member on which side it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace sluice {

// A member to be, of a set that has none of that name.
struct NewMember {
  static constexpr size_t kTogetherMax = 32;  // that are added with one call

  std::string_view name;
  double score;
};

struct ScoreRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;  // the bound itself does not belong to it
  bool max_open = false;

  bool Below(double score) const { return min_open ? score <= min : score < min; }
  bool Above(double score) const { return max_open ? score >= max : score > max; }
  bool empty() const { return min > max || (min == max && (min_open || max_open)); }
};

// "-", "[text", "(text" and "+" of ZRANGEBYLEX.
struct LexBound {
  enum class Kind : uint8_t { kLowest, kText, kHighest };  // before, among, after all members
  Kind kind = Kind::kText;
  bool open = false;  // of kText: the bound itself does not belong to it
  std::string_view text;

  // Negative, 0 or positive as the member lies before, at or after the bound.
  int Compare(std::string_view member) const {
    if (kind == Kind::kText) return member.compare(text);
    return kind == Kind::kLowest ? 1 : -1;
  }
};

struct LexRange {
  LexBound min{LexBound::Kind::kLowest, false, {}};
  LexBound max{LexBound::Kind::kHighest, false, {}};

  bool Below(std::string_view member) const {
    const int order = min.Compare(member);
    return min.open ? order <= 0 : order < 0;
  }
  bool Above(std::string_view member) const {
    const int order = max.Compare(member);
    return max.open ? order >= 0 : order > 0;
  }
  bool empty() const {
    if (min.kind != max.kind) return min.kind > max.kind;
    if (min.kind != LexBound::Kind::kText) return true;
    const int order = min.text.compare(max.text);
    return order > 0 || (order == 0 && (min.open || max.open));
  }
};

// Elements by their ranks, the lowest being 0: first <= rank < last.
struct RankRange {
  size_t first = 0;
  size_t last = 0;

  size_t size() const { return last - first; }
  bool empty() const { return first == last; }
  bool operator==(const RankRange&) const = default;
};

}  // namespace sluice
