// See sorted_set.h.
#include "storage/types/sorted_set.h"

#include <algorithm>
#include <vector>

#include "storage/types/large_sorted_set.h"

namespace sluice {

SortedSet::SortedSet() = default;

SortedSet::SortedSet(const SortedSet& other) : small_(other.small_) {
  if (other.large_) large_ = std::make_unique<LargeSortedSet>(*other.large_);
}

SortedSet::~SortedSet() = default;

size_t SortedSet::MemoryBytes() const {
  return sizeof(*this) + (large_ ? sizeof(*large_) + large_->heap_bytes() : small_.heap_bytes());
}

size_t SortedSet::FreeSome(size_t budget) { return large_ ? large_->FreeSome(budget) : 0; }

// --- reading

size_t SortedSet::size() const { return large_ ? large_->size() : small_.size(); }

std::optional<double> SortedSet::Score(std::string_view name) const {
  if (large_) {
    const ScoredMember* const member = large_->Find(name);
    return member ? std::optional(member->score()) : std::nullopt;
  }
  const SmallSortedSet::Place place = small_.Find(name);
  return place != small_.end() ? std::optional(small_.ScoreAt(place)) : std::nullopt;
}

// Rank and score by one look-up of the name.
std::optional<SortedSet::Found> SortedSet::Find(std::string_view name) const {
  if (large_) {
    const ScoredMember* const member = large_->Find(name);
    if (!member) return std::nullopt;
    return Found{large_->RankOf(*member), member->score()};
  }
  const SmallSortedSet::Place place = small_.Find(name);
  if (place == small_.end()) return std::nullopt;
  return Found{small_.RankOf(place), small_.ScoreAt(place)};
}

RankRange SortedSet::Between(const ScoreRange& range) const {
  return large_ ? large_->Between(range) : small_.Between(range);
}

RankRange SortedSet::Between(const LexRange& range) const {
  return large_ ? large_->Between(range) : small_.Between(range);
}

void SortedSet::ForEach(RankRange range, Direction direction, Visit visit) const {
  const bool down = direction == Direction::kDown;
  if (range.empty()) return;
  if (!large_) return small_.ForEach(range, down, visit);
  constexpr size_t kAhead = 8;  // a third of the time of a walk over a million members
  LargeSortedSet::Place at = large_->At(down ? range.last - 1 : range.first);
  for (size_t left = range.size(); left > 0; --left) {
    if (!down && left > kAhead) at.Prefetch(kAhead);
    if (!visit(at.member().key(), at.member().score())) return;
    down ? at.Previous() : at.Next();
  }
}

uint64_t SortedSet::Scan(uint64_t cursor, size_t count,
                         absl::FunctionRef<void(std::string_view name, double score)> visit,
                         ScanCache* cache) const {
  if (large_) {
    return large_->Scan(
        cursor, count, [visit](const ScoredMember& member) { visit(member.key(), member.score()); },
        cache);
  }
  small_.ForEach(All(), false, [visit](std::string_view name, double score) {
    visit(name, score);
    return true;
  });
  return 0;
}

// --- changing

bool SortedSet::Put(std::string_view name, double score, const Limits& limits) {
  if (!large_) {
    const SmallSortedSet::Place place = small_.Find(name);
    if (place != small_.end()) {
      if (small_.ScoreAt(place) == score) return false;
      small_.Erase(place);
      small_.Insert(name, score + 0.0);
      return false;
    }
    const bool fits = small_.size() < limits.members_max && name.size() <= limits.name_bytes_max &&
                      small_.HasRoom(name.size());
    if (fits) {
      small_.Insert(name, score + 0.0);
      return true;
    }
    Enlarge(*limits.hash_keys);
  }
  const ScoredMember* const member = large_->Find(name);
  if (!member) {
    large_->Insert(name, score);
  } else if (member->score() != score) {
    large_->Rescore(*member, score);
  }
  return !member;
}

bool SortedSet::Add(std::span<const NewMember> members, const Limits& limits) {
  size_t added = 0;
  for (; added < members.size() && !large_; ++added) {
    if (!Put(members[added].name, members[added].score, limits)) return false;
  }
  return added == members.size() || large_->Add(members.subspan(added));
}

bool SortedSet::Load(std::span<NewMember> members, const Limits& limits) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  bool fits = members.size() <= limits.members_max;
  size_t bytes = 0;
  for (const NewMember& member : members) {
    names.push_back(member.name);
    fits = fits && member.name.size() <= limits.name_bytes_max;
    bytes += member.name.size() + SmallSortedSet::kElementRoom;
  }
  if (!AllDiffer(names)) return false;
  std::sort(members.begin(), members.end(), [](const NewMember& a, const NewMember& b) {
    return a.score != b.score ? a.score < b.score : a.name < b.name;
  });
  if (fits && small_.HasRoom(bytes)) {
    for (const NewMember& member : members) small_.Append(member.name, member.score);
    return true;
  }
  large_ = std::make_unique<LargeSortedSet>(*limits.hash_keys);
  for (const NewMember& member : members) large_->Insert(member.name, member.score);
  return true;
}

bool SortedSet::Erase(std::string_view name) {
  if (large_) {
    const ScoredMember* const member = large_->Find(name);
    if (member) large_->Erase(*member);
    return member != nullptr;
  }
  const SmallSortedSet::Place place = small_.Find(name);
  if (place == small_.end()) return false;
  small_.Erase(place);
  return true;
}

// One by one from the same rank: what follows moves up.
void SortedSet::Erase(RankRange range) {
  if (!large_) return small_.Erase(range);
  for (size_t left = range.size(); left > 0; --left) {
    large_->Erase(large_->At(range.first).member());
  }
}

// In order, so each insert is at the tree's end.
void SortedSet::Enlarge(HashKeys& hash_keys) {
  large_ = std::make_unique<LargeSortedSet>(hash_keys);
  small_.ForEach({0, small_.size()}, false, [this](std::string_view name, double score) {
    large_->Insert(name, score);
    return true;
  });
  small_ = SmallSortedSet();
}

std::string SortedSet::Audit() const {
  if (!large_) return small_.Audit();
  return small_.size() == 0 ? large_->Audit() : "a sorted set of both forms";
}

}  // namespace sluice
