// See small_sorted_set.h. A pack makes integers of texts of two characters and more, so a score of
// one digit comes back as that character; and no whole score begins with the 'f' of the others.
#include "storage/types/small_sorted_set.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/base/attributes.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

using Position = StringPack::Position;

constexpr double kWholeMax = 1e18;  // to either side: what an int64 holds
constexpr char kFraction = 'f';

// How a score is kept: see the header.
// 1 -> "1", 1e6 -> "1000000" (for a pack an integer of 3 bytes), 1.5 -> 'f' 3f f8, 0.1 -> 'f' and
// all eight bytes, as no byte at its end is zero.
class ScoreText {
 public:
  explicit ScoreText(double score) {
    const bool is_minus_zero = score == 0 && std::signbit(score);
    if (std::abs(score) <= kWholeMax && !is_minus_zero &&
        score == static_cast<double>(static_cast<int64_t>(score))) {
      size_ = FormatInt64(text_, static_cast<int64_t>(score)) - text_;
      return;
    }
    const uint64_t bits = __builtin_bswap64(std::bit_cast<uint64_t>(score));
    text_[0] = kFraction;
    std::memcpy(text_ + 1, &bits, sizeof(bits));
    size_ = 1 + sizeof(bits);
    while (text_[size_ - 1] == 0) --size_;
  }
  std::string_view text() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return {text_, static_cast<size_t>(size_)};
  }

 private:
  char text_[kInt64TextMax];
  ptrdiff_t size_;
};

class Name {
 public:
  Name(const StringPack& pack, Position at) : text_(pack.At(at).Text(scratch_)) {}
  std::string_view text() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return text_; }

 private:
  char scratch_[StringPack::kTextScratch];
  std::string_view text_;
};

}  // namespace

// --- reading

double SmallSortedSet::ScoreAt(Place place) const {
  const StringPack::Item item = pack_.At(pack_.Next(place));
  if (item.is_integer()) return static_cast<double>(item.integer());
  const std::string_view text = item.Text(nullptr);
  if (text[0] != kFraction) return text[0] - '0';
  uint64_t bits = 0;
  std::memcpy(&bits, text.data() + 1, std::min(text.size() - 1, sizeof(bits)));
  return std::bit_cast<double>(__builtin_bswap64(bits));
}

size_t SmallSortedSet::RankOf(Place place) const {
  return SkipWhile(0, [&](Place at) { return at != place; });
}

template <typename Holds>
size_t SmallSortedSet::SkipWhile(size_t from, const Holds& holds) const {
  size_t rank = from;
  Place at = pack_.Nth(2 * from);
  for (; at != pack_.end() && holds(at); ++rank) at = pack_.Next(pack_.Next(at));
  return rank;
}

RankRange SmallSortedSet::Between(const ScoreRange& range) const {
  if (range.empty()) return {};
  const size_t first = SkipWhile(0, [&](Place at) { return range.Below(ScoreAt(at)); });
  return {first, SkipWhile(first, [&](Place at) { return !range.Above(ScoreAt(at)); })};
}

// Redis leaves open what is between two names in a set of several scores. So that it is the same
// here all the same: it looks at the first and the last element before it looks for others.
RankRange SmallSortedSet::Between(const LexRange& range) const {
  if (range.empty() || size() == 0) return {};
  const auto name_at = [this](size_t rank) { return Name(pack_, pack_.Nth(2 * rank)); };
  if (range.Below(name_at(size() - 1).text()) || range.Above(name_at(0).text())) return {};
  const size_t first = SkipWhile(0, [&](Place at) { return range.Below(Name(pack_, at).text()); });
  return {first, SkipWhile(first, [&](Place at) { return !range.Above(Name(pack_, at).text()); })};
}

void SmallSortedSet::ForEach(
    RankRange range, bool downwards,
    absl::FunctionRef<bool(std::string_view name, double score)> visit) const {
  if (range.empty()) return;
  Place at = pack_.Nth(2 * range.first);
  if (!downwards) {
    for (size_t left = range.size(); left > 0; --left) {
      if (!visit(Name(pack_, at).text(), ScoreAt(at))) return;
      at = pack_.Next(pack_.Next(at));
    }
    return;
  }
  absl::InlinedVector<Place, 128> places;  // elements only know what follows them
  for (size_t left = range.size(); left > 0; --left) {
    places.push_back(at);
    at = pack_.Next(pack_.Next(at));
  }
  for (; !places.empty(); places.pop_back()) {
    if (!visit(Name(pack_, places.back()).text(), ScoreAt(places.back()))) return;
  }
}

// --- changing

// Score first, then the name before it: the pack inserts in front of a position.
void SmallSortedSet::Insert(std::string_view name, double score) {
  Place at = pack_.begin();
  for (; at != pack_.end(); at = pack_.Next(pack_.Next(at))) {
    const double other = ScoreAt(at);
    if (other > score || (other == score && Name(pack_, at).text() > name)) break;
  }
  at = pack_.Insert(at, ScoreText(score).text());
  pack_.Insert(at, name);
}

void SmallSortedSet::Append(std::string_view name, double score) {
  pack_.Append(name);
  pack_.Append(ScoreText(score).text());
}

std::string SmallSortedSet::Audit() const {
  if (pack_.size() % 2 != 0) return "a sorted set with half an element";
  std::string fault;
  std::string last;
  double last_score = 0;
  size_t rank = 0;
  ForEach({0, size()}, false, [&](std::string_view name, double score) {
    if (rank++ > 0 && (score < last_score || (score == last_score && name <= last))) {
      fault = "a small sorted set out of order";
    }
    last = name;
    last_score = score;
    return true;
  });
  return fault;
}

}  // namespace sluice
