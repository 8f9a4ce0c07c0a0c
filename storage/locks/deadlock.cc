// See deadlock.h.
#include "storage/locks/deadlock.h"

#include <algorithm>

namespace sluice {

DeadlockSearch::DeadlockSearch(const LockFinder& locks, const WaitQueue& queue,
                               const LockRequest& request)
    : locks_(locks),
      queue_(queue),
      asked_(request),
      owners_(0, queue.name_hash()),
      lines_(0, queue.name_hash()) {
  to_reach_ = asked_.names;
  for (size_t i = 0; i < to_reach_.size() && steps_ < kDeadlockStepsMax; ++i) {
    const LockName name = to_reach_[i];
    Reach(name);
  }
  AddWait(asked_);  // last: it would stand at the end of every line
  if (steps_ < kDeadlockStepsMax) DrawLines();
}

// --- what can be reached

// The whole line of a lock, and whoever holds it.
void DeadlockSearch::Reach(const LockName& name) {
  if (!lines_.try_emplace(name).second) return;
  if (const Lock* lock = locks_.FindLock(name)) {
    for (const auto& [token, holder] : lock->holders())
      if (!holder.lingers()) ReachOwner(holder.owner);
  }
  const WaitQueue::Queue* queue = queue_.QueueOf(name);
  if (queue == nullptr) return;
  for (const LockWait* wait : *queue) {
    if (steps_ >= kDeadlockStepsMax) return;
    ReachOwner(wait->request.owner);
  }
}

void DeadlockSearch::ReachOwner(std::string_view owner) {
  ++steps_;
  const std::vector<LockWait*>* waits = queue_.WaitsOf(owner);
  if (waits == nullptr || owners_.contains(LockNameView{0, owner})) return;
  for (const LockWait* wait : *waits) {
    AddWait(wait->request);
    const LockNames& names = wait->request.names;
    to_reach_.insert(to_reach_.end(), names.begin(), names.end());
  }
}

void DeadlockSearch::AddWait(const LockRequest& request) {
  std::unique_ptr<Owner>& owner = owners_[LockName({0, request.owner})];
  if (owner == nullptr) {
    owner = std::make_unique<Owner>();
    in_order_.push_back(owner.get());
  }
  owner->waits.push_back(&waits_.emplace_back(Wait{&request, owner.get()}));
}

// --- who can finish

// Lines in the order of the queues; the one that asks is behind all.
void DeadlockSearch::DrawLines() {
  for (auto& [name, line] : lines_) {
    const WaitQueue::Queue* queue = queue_.QueueOf(name);
    if (queue == nullptr) continue;
    for (const LockWait* wait : *queue) {
      const auto owner = owners_.find(LockNameView{0, wait->request.owner});
      for (Wait* known : owner->second->waits)
        if (known->request == &wait->request) line.waits.push_back(known);
    }
  }
  for (const LockName& name : asked_.names) lines_[name].waits.push_back(&waits_.back());
}

bool DeadlockSearch::ClosesCircle() {
  if (steps_ >= kDeadlockStepsMax) return false;
  const Wait& asking = waits_.back();
  FinishAll();
  if (steps_ >= kDeadlockStepsMax || asking.owner->finished) return false;
  asking.owner->finished = true;
  FinishAll();
  return steps_ < kDeadlockStepsMax && CanBeGranted(asking);
}

void DeadlockSearch::FinishAll() {
  for (bool progress = true; progress && steps_ < kDeadlockStepsMax;) {
    progress = false;
    for (Owner* owner : in_order_) {
      if (owner->finished || !CanFinish(*owner)) continue;
      owner->finished = true;
      progress = true;
    }
  }
}

bool DeadlockSearch::CanFinish(const Owner& owner) {
  return std::all_of(owner.waits.begin(), owner.waits.end(),
                     [&](const Wait* wait) { return CanBeGranted(*wait); });
}

bool DeadlockSearch::CanBeGranted(const Wait& wait) {
  const LockRequest& request = *wait.request;
  return std::all_of(request.names.begin(), request.names.end(), [&](const LockName& name) {
    ++steps_;
    const Lock* lock = locks_.FindLock(name);
    if (lock != nullptr && lock->FindOwner(request.owner) != nullptr) return true;  // re-entrant
    if (lock != nullptr && !HoldersAllow(*lock, request)) return false;
    const auto line = lines_.find(name);
    return line == lines_.end() || LineAllows(line->second, wait);
  });
}

bool DeadlockSearch::HoldersAllow(const Lock& lock, const LockRequest& request) {
  const LockShape& shape = request.terms.shape;
  if (lock.mode() == LockMode::kShared && shape.mode == LockMode::kShared) return true;
  const bool same_semaphore = lock.mode() == LockMode::kPermits &&
                              shape.mode == LockMode::kPermits && lock.permits_of() == shape.of;
  int64_t spare = same_semaphore ? shape.of - shape.permits : 0;  // what may stay in use
  for (const auto& [token, holder] : lock.holders()) {
    ++steps_;
    if (!holder.lingers() && Unfinished(holder.owner) != nullptr) spare -= holder.permits;
    if (spare < 0) return false;
  }
  return true;
}

bool DeadlockSearch::LineAllows(Line& line, const Wait& wait) {
  while (line.first < line.waits.size() && line.waits[line.first]->owner->finished) ++line.first;
  for (size_t i = line.first; i < line.waits.size(); ++i) {
    const Wait* ahead = line.waits[i];
    if (ahead == &wait) return true;
    ++steps_;
    // An owner does not wait for itself: with its first request the other is re-entrant.
    if (ahead->owner->finished || ahead->owner == wait.owner) continue;
    if (WaitQueue::Conflict(ahead->request->terms.shape, wait.request->terms.shape)) return false;
  }
  return true;
}

const DeadlockSearch::Owner* DeadlockSearch::Unfinished(std::string_view owner) const {
  const auto found = owners_.find(LockNameView{0, owner});
  return found == owners_.end() || found->second->finished ? nullptr : found->second.get();
}

}  // namespace sluice
