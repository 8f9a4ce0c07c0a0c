// See deadlock.h. Marks that only go forward keep both steps short. A line is visited from, or up
// to, the farthest place that was of interest so far (Reach::seen); in the reduction each line has
// a front, a first unfinished writer, and the readers before it.
#include "storage/locks/deadlock.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr WaitQueue::Rank kAheadOfAll{INT64_MIN, 0};
constexpr WaitQueue::Rank kBehindAll{INT64_MAX, UINT64_MAX};
constexpr size_t kFirstTry = 64;  // steps; mostly one side has ended by then

}  // namespace

// --- who finishes, among few

// The reduction of the wait-for graph. Node: an owner. Line: the candidates' waits for one lock, in
// order, as far back as one of the candidates waits. A node with no waits left (`left` is 0)
// finishes: its permits go back and its waits leave their lines, which may let others finish.
class DeadlockSearch::Reduction {
 public:
  Reduction(const DeadlockSearch& search, const std::vector<const Owner*>& owners, size_t* steps);
  bool Finishes(const Owner& owner);

 private:
  struct Node {
    size_t left = 0;            // of its waits, the locks that cannot be granted yet
    std::vector<size_t> lines;  // in which it waits
    std::vector<std::pair<size_t, int64_t>> permits;  // that it holds, by line
  };
  static constexpr size_t kNone = SIZE_MAX;
  struct Item {
    size_t node;
    const LockShape* shape;
    bool is_first;  // of its owner in this line: the others follow it
    bool is_given;  // no holder is an obstacle to it
    int64_t own;    // permits that its owner holds, which are none either
    bool granted = false;
  };
  struct LineState {
    const Lock* lock;
    std::vector<Item> items;
    int64_t held = 0;                   // permits of owners that have not finished
    size_t front = 0;                   // all before it have finished
    size_t writer = 0;                  // all before it have finished or are shared
    size_t readers = 0;                 // all shared ones before it have none ahead
    std::vector<size_t> await_all;      // items that wait until all have given back,
    std::vector<size_t> await_permits;  // or enough of them; readers that ask to write, too
  };

  void AddLine(const Line& line, WaitQueue::Spot last);
  size_t NodeOf(const Queued& queued);
  void AddHolders(const Line& line, size_t at);
  void AddHolder(const Owner& owner, size_t at);
  void Advance(LineState& line);
  void MayBeNext(LineState& line, size_t first, bool shared);
  bool HoldersAllow(const LineState& line, const Item& item) const;
  void Grant(LineState& line, size_t item);
  void GiveBack(LineState& line, int64_t permits);
  bool HasFinished(const Item& item) const { return nodes_[item.node].left == 0; }

  const DeadlockSearch& search_;
  size_t& steps_;
  absl::flat_hash_map<const Owner*, size_t> owners_;
  std::vector<Node> nodes_;
  std::vector<LineState> lines_;
  std::vector<size_t> finished_;  // nodes to follow up
};

// The candidates' nodes first, then each line that one of them waits in, once, down to the last of
// them.
DeadlockSearch::Reduction::Reduction(const DeadlockSearch& search,
                                     const std::vector<const Owner*>& owners, size_t* steps)
    : search_(search), steps_(*steps) {
  absl::flat_hash_map<const Line*, WaitQueue::Spot> last;  // of interest in each line
  for (const Owner* owner : owners) {
    owners_.emplace(owner, owners_.size());
    for (const Queued* queued : owner->waits) {
      for (const Place& place : queued->places) {
        WaitQueue::Spot& at = last.try_emplace(place.line, place.at).first->second;
        at = std::max(at, place.at);
      }
    }
  }
  nodes_.resize(owners_.size());
  lines_.reserve(last.size());
  for (const auto& [line, at] : last) AddLine(*line, at);
}

// The node of an owner of the candidates; a bystander has a node of its own. kNone: the owner
// finishes anyway.
size_t DeadlockSearch::Reduction::NodeOf(const Queued& queued) {
  const auto found = owners_.find(queued.owner);
  if (found != owners_.end()) return found->second;
  if (queued.linked) return kNone;
  nodes_.emplace_back();
  return nodes_.size() - 1;
}

// All that wait in this line up to its last candidate. An owner that is linked and no candidate is
// known to finish, and left out; a bystander is a node of its own, which finishes once it has had
// its turn.
void DeadlockSearch::Reduction::AddLine(const Line& line, WaitQueue::Spot last) {
  const size_t at = lines_.size();
  LineState& state = lines_.emplace_back();
  state.lock = search_.locks_.FindLock(line.name);
  for (auto place = line.all.begin(); place != line.all.end() && place->first <= last; ++place) {
    ++steps_;
    const Queued& queued = *place->second;
    const size_t node = NodeOf(queued);
    if (node == kNone) continue;
    const bool is_first = state.items.empty() || state.items.back().node != node;
    if (is_first) nodes_[node].lines.push_back(at);
    const bool may_hold = node < owners_.size();
    ++nodes_[node].left;
    state.items.push_back({node, &queued.wait.request.terms.shape, is_first,
                           may_hold && search_.IsGivenTo(queued, line),
                           may_hold ? search_.HeldBy(*queued.owner, line) : 0});
  }
  AddHolders(line, at);
}

// By the holders or by the candidates, whichever are fewer.
void DeadlockSearch::Reduction::AddHolders(const Line& line, size_t at) {
  const Lock* lock = lines_[at].lock;
  if (lock == nullptr) return;
  if (lock->holders().size() > owners_.size()) {
    for (const auto& [owner, node] : owners_)
      if (search_.HeldBy(*owner, line) > 0) AddHolder(*owner, at);
    return;
  }
  for (const LockHolder& holder : lock->holders()) {
    if (!search_.Holds(holder)) continue;
    const Owner* owner = search_.queue_.FindOwner(holder.owner);
    if (owner != nullptr && owners_.contains(owner)) AddHolder(*owner, at);
  }
}

void DeadlockSearch::Reduction::AddHolder(const Owner& owner, size_t at) {
  ++steps_;
  LineState& state = lines_[at];
  const int64_t permits = state.lock->FindOwner(owner.name)->permits();
  state.held += permits;
  nodes_[owners_.at(&owner)].permits.push_back({at, permits});
}

// A work list, in any order: what can finish once can finish later, too, as finishing only gives
// back.
bool DeadlockSearch::Reduction::Finishes(const Owner& owner) {
  for (auto& [held_by, node] : owners_) {
    if (nodes_[node].left == 0) finished_.push_back(node);
  }
  for (LineState& line : lines_) Advance(line);
  while (!finished_.empty()) {
    const Node& node = nodes_[finished_.back()];
    finished_.pop_back();
    for (const auto& [at, permits] : node.permits) GiveBack(lines_[at], permits);
    for (const size_t at : node.lines) Advance(lines_[at]);
  }
  return nodes_[owners_.at(&owner)].left == 0;
}

// Tries the waits that may go next, as far as the line decides: its first unfinished wait, whatever
// it is, and all shared ones before the first unfinished writer. The three marks only move forward,
// so a line costs its length over the whole reduction.
void DeadlockSearch::Reduction::Advance(LineState& line) {
  const size_t size = line.items.size();
  while (line.front < size && HasFinished(line.items[line.front])) ++line.front;
  if (line.front < size) MayBeNext(line, line.front, false);
  const auto writes = [](const Item& item) { return item.shape->mode != LockMode::kShared; };
  while (line.writer < size &&
         (!writes(line.items[line.writer]) || HasFinished(line.items[line.writer])))
    ++line.writer;
  for (; line.readers < size && line.readers <= line.writer; ++line.readers)
    MayBeNext(line, line.readers, true);
}

// No other owner's conflicting wait is ahead of this one's first, or will be again.
void DeadlockSearch::Reduction::MayBeNext(LineState& line, size_t first, bool shared) {
  if (!line.items[first].is_first) return;
  const size_t node = line.items[first].node;
  for (size_t item = first; item < line.items.size() && line.items[item].node == node; ++item) {
    ++steps_;
    const LockShape& shape = *line.items[item].shape;
    if ((shape.mode == LockMode::kShared) != shared || line.items[item].granted) continue;
    // A wait that holders forbid is written down, and looked at again only when a holder gives
    // back.
    if (HoldersAllow(line, line.items[item])) {
      Grant(line, item);
    } else {
      const bool permits = shape.mode == LockMode::kPermits || line.items[item].own > 0;
      (permits ? line.await_permits : line.await_all).push_back(item);
    }
  }
}

// Lock::Fit over again, but for the holders of the candidates that have not finished.
bool DeadlockSearch::Reduction::HoldersAllow(const LineState& line, const Item& item) const {
  const LockShape& shape = *item.shape;
  if (line.lock == nullptr || item.is_given || line.held <= item.own) return true;
  const LockMode mode = line.lock->mode();
  if (mode == LockMode::kShared && shape.mode == LockMode::kShared) return true;
  return mode == LockMode::kPermits && shape.mode == LockMode::kPermits &&
         line.lock->permits_of() == shape.of && line.held - item.own + shape.permits <= shape.of;
}

void DeadlockSearch::Reduction::Grant(LineState& line, size_t at) {
  Item& item = line.items[at];
  if (std::exchange(item.granted, true)) return;
  if (--nodes_[item.node].left == 0) finished_.push_back(item.node);
}

// Requests for permits may be let in one by one; a whole lock only when all permits are back.
void DeadlockSearch::Reduction::GiveBack(LineState& line, int64_t permits) {
  line.held -= permits;
  for (const size_t item : line.await_permits) {
    ++steps_;
    if (HoldersAllow(line, line.items[item])) Grant(line, item);
  }
  if (line.held != 0) return;
  for (const size_t item : line.await_all) Grant(line, item);
  line.await_all.clear();
}

// --- who could be in the circle
// Reach::seen keeps both walks linear: a line is walked from the farthest spot seen so far, so no
// part of it is walked twice in one try.

bool DeadlockSearch::ClosesCircle() {
  // In the midst of a line, with another wait of its owner, it may be new in the way of those
  // behind: then the circle may go through any wait of the owner.
  from_ = WaitQueue::IsLast(asked_)
              ? std::vector<const Queued*>{&asked_}
              : std::vector<const Queued*>(asker_->waits.begin(), asker_->waits.end());
  for (size_t steps_max = kFirstTry;; steps_max *= 2) {
    Reach behind;
    began_ = steps_;
    // Either side alone can answer: the one that ends within the limit does.
    if (Backwards(steps_max, behind))
      return behind.owners.size() > 1 && IsObstructedBy(behind) && IsStuck(behind);
    Reach ahead;
    began_ = steps_;
    if (Forwards(steps_max, ahead)) {
      ahead.Add(asker_);
      return ahead.meets && IsStuck(ahead);
    }
  }
}

// The owners that wait for the asking one, directly or not. False: too many steps.
bool DeadlockSearch::Backwards(size_t steps_max, Reach& reach) {
  reach.Add(asker_);
  for (size_t i = 0; i < reach.owners.size(); ++i) {
    const Owner& owner = *reach.owners[i];
    for (const Lock* lock : owner.holds) {
      ++steps_;
      if (IsSpent(steps_max)) return false;
      const Line* line = queue_.LineOf(lock->name());
      // A lock that has left the keyspace may be still to be freed.
      if (line == nullptr || locks_.FindLock(lock->name()) != lock) continue;
      VisitBehind(*line, kAheadOfAll, steps_max, reach);
    }
    for (const Queued* queued : owner.waits) {
      for (const Place& place : queued->places) {
        ++steps_;
        if (IsSpent(steps_max)) return false;
        VisitBehind(*place.line, place.at.first, steps_max, reach);
      }
    }
  }
  return !IsSpent(steps_max);
}

// Everything linked behind the spot `at`, down to where an earlier visit began.
void DeadlockSearch::VisitBehind(const Line& line, Rank at, size_t steps_max, Reach& reach) {
  Rank& seen = reach.seen.try_emplace(&line, kBehindAll).first->second;
  if (at >= seen) return;
  const auto end = line.linked.upper_bound({std::exchange(seen, at), UINT64_MAX});
  for (auto place = line.linked.upper_bound({at, UINT64_MAX}); place != end; ++place) {
    ++steps_;
    if (IsSpent(steps_max)) return;
    reach.Add(place->second->owner);
  }
}

// For whom the request waits, directly or not, and whether that comes back to its owner.
bool DeadlockSearch::Forwards(size_t steps_max, Reach& reach) {
  for (const Queued* queued : from_) {
    for (const Place& place : queued->places) {
      ++steps_;
      if (!HasNoneAhead(*queued, place)) VisitAhead(place, steps_max, reach);
      if (IsSpent(steps_max)) return false;
    }
  }
  for (size_t i = 0; i < reach.owners.size(); ++i) {
    for (const Queued* queued : reach.owners[i]->waits) {
      for (const Place& place : queued->places) {
        VisitAhead(place, steps_max, reach);
        if (IsSpent(steps_max)) return false;
      }
    }
  }
  return true;
}

// The holders, and all ahead.
void DeadlockSearch::VisitAhead(const Place& place, size_t steps_max, Reach& reach) {
  ++steps_;
  const Line& line = *place.line;
  const auto [known, is_new] = reach.seen.try_emplace(&line, kAheadOfAll);
  if (is_new) VisitHolders(line, steps_max, reach);
  const Rank at = place.at.first;
  if (at <= known->second) return;
  const auto end = line.linked.lower_bound({at, 0});
  auto ahead = line.linked.lower_bound({std::exchange(known->second, at), 0});
  for (; ahead != end && !IsSpent(steps_max); ++ahead) {
    ++steps_;
    Reached(ahead->second->owner, reach);
  }
}

void DeadlockSearch::VisitHolders(const Line& line, size_t steps_max, Reach& reach) {
  const Lock* lock = locks_.FindLock(line.name);
  if (lock == nullptr) return;
  for (const LockHolder& holder : lock->holders()) {
    ++steps_;
    if (IsSpent(steps_max)) return;
    const Owner* owner = Holds(holder) ? queue_.FindOwner(holder.owner) : nullptr;
    if (owner != nullptr && !owner->waits.empty()) Reached(owner, reach);
  }
}

void DeadlockSearch::Reached(const Owner* owner, Reach& reach) const {
  if (owner == asker_) {
    reach.meets = true;
  } else {
    reach.Add(owner);
  }
}

bool DeadlockSearch::Holds(const LockHolder& holder) const {
  const bool is_over = holder.lease_until_ms <= over_ms_ && holder.sessions().empty();
  return !holder.is_minimum_hold() && !is_over;
}

// Permits; 0: the owner does not hold it.
int64_t DeadlockSearch::HeldBy(const Owner& owner, const Line& line) const {
  const Lock* lock = locks_.FindLock(line.name);
  const LockHolder* holder = lock == nullptr ? nullptr : lock->FindOwner(owner.name);
  return holder != nullptr && Holds(*holder) ? holder->permits() : 0;
}

// Whether the wait gets this lock whatever others hold: its owner holds it in the same shape. In
// another shape (a connection of its has got that meanwhile) it has to give that back first, and
// then waits for all others.
bool DeadlockSearch::IsGivenTo(const Queued& queued, const Line& line) const {
  const LockRequest& request = queued.wait.request;
  if (request.upgrades || HeldBy(*queued.owner, line) == 0) return false;
  return locks_.FindLock(line.name)->Fit(request.owner, request.terms.shape) == LockFit::kReentrant;
}

// Whether nobody is in its way at this place. Waits ahead count even for an owner that holds the
// lock: it may lose that and wait on, as one of its other connections holds it.
bool DeadlockSearch::HasNoneAhead(const Queued& queued, const Place& place) const {
  return place.line->all.begin()->first.first >= place.at.first && IsGivenTo(queued, *place.line);
}

// Whether one of those behind is in the way of the request itself. Bystanders between them need no
// look: what they wait for is in the same line.
bool DeadlockSearch::IsObstructedBy(const Reach& behind) {
  for (const Queued* queued : from_) {
    for (const Place& place : queued->places) {
      if (!HasNoneAhead(*queued, place) && IsObstructedAt(place, behind)) return true;
    }
  }
  return false;
}

// By those behind or by those in the line, whichever are fewer.
bool DeadlockSearch::IsObstructedAt(const Place& place, const Reach& behind) {
  const Line& line = *place.line;
  const Lock* lock = locks_.FindLock(line.name);
  const size_t in_line = line.linked.size() + (lock == nullptr ? 0 : lock->holders().size());
  if (in_line <= behind.owners.size()) {
    Reach ahead;
    VisitAhead(place, SIZE_MAX, ahead);
    return std::any_of(ahead.owners.begin(), ahead.owners.end(),
                       [&](const Owner* owner) { return behind.known.contains(owner); });
  }
  return std::any_of(behind.owners.begin(), behind.owners.end(), [&](const Owner* owner) {
    ++steps_;
    if (owner == asker_) return false;
    if (HeldBy(*owner, line) > 0) return true;
    const WaitQueue::Together* waits = queue_.TogetherIn(line, *owner);
    return waits != nullptr && WaitQueue::PlaceIn(*waits->front(), line).at < place.at;
  });
}

bool DeadlockSearch::IsStuck(const Reach& candidates) {
  return !Reduction(*this, candidates.owners, &steps_).Finishes(*asker_);
}

}  // namespace sluice
