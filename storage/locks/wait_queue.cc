// See wait_queue.h.
#include "storage/locks/wait_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {
namespace {

bool IsShared(const LockShape& shape) { return shape.mode == LockMode::kShared; }

}  // namespace

WaitQueue::WaitQueue(const LockFinder& locks, const SipKey& hash_key)
    : locks_(locks),
      queues_(0, LockNameHash(hash_key)),
      by_owner_(0, LockNameHash(hash_key)),
      exclusive_(0, LockNameHash(hash_key)) {}

// --- what stands in the way

WaitQueue::Obstacle WaitQueue::ObstacleOf(const LockRequest& request) const {
  return ObstacleAt(request, nullptr);
}

WaitQueue::Obstacle WaitQueue::ObstacleOf(const LockWait& wait) const {
  return ObstacleAt(wait.request, &wait);
}

// Errors weigh most, then holders. `self` is the wait in its place; null: at the end.
WaitQueue::Obstacle WaitQueue::ObstacleAt(const LockRequest& request, const LockWait* self) const {
  Obstacle worst = Obstacle::kNone;
  for (const LockName& name : request.names) {
    const Lock* lock = locks_.FindLock(name);
    const LockFit fit =
        lock == nullptr ? LockFit::kFits : lock->Fit(request.owner, request.terms.shape);
    Obstacle here = Obstacle::kNone;
    if (fit == LockFit::kBusy) here = Obstacle::kHolders;
    if (fit == LockFit::kLockMode) here = Obstacle::kLockMode;
    if (fit == LockFit::kOtherPermits) here = Obstacle::kOtherPermits;
    if (fit == LockFit::kFits && IsObstructed(name, request.terms.shape, self))
      here = Obstacle::kQueue;
    worst = std::max(worst, here);
  }
  return worst;
}

bool WaitQueue::IsObstructed(LockNameView name, const LockShape& shape,
                             const LockWait* self) const {
  const Queue* queue = QueueOf(name);
  if (queue == nullptr) return false;
  if (!IsShared(shape)) return queue->front() != self;
  if (!exclusive_.contains(name)) return false;
  for (const LockWait* ahead : *queue) {
    if (ahead == self) return false;
    if (!IsShared(ahead->request.terms.shape)) return true;
  }
  return false;
}

// --- coming and going

uint64_t WaitQueue::Add(LockRequest request, uint64_t client, int64_t since_ms,
                        int64_t deadline_ms) {
  assert(!request.names.empty());
  auto entry = std::make_unique<Entry>();
  entry->wait = {++last_id_, std::move(request), client, since_ms, deadline_ms};
  LockWait& wait = entry->wait;
  for (const LockName& name : wait.request.names) {
    Queue& queue = queues_[name];
    // Who holds one of the locks already is ahead of all others there, and stays so if it loses it
    // while it waits for the rest: else it could come to wait for those who wait for it.
    const Lock* lock = locks_.FindLock(name);
    const bool holds = lock != nullptr && lock->FindOwner(wait.request.owner) != nullptr;
    entry->places.push_back(queue.insert(holds ? queue.begin() : queue.end(), &wait));
    if (!IsShared(wait.request.terms.shape)) ++exclusive_[name];
  }
  by_owner_[LockName({0, wait.request.owner})].push_back(&wait);
  waits_.emplace(wait.id, std::move(entry));
  return last_id_;
}

void WaitQueue::Remove(uint64_t id) {
  const auto found = waits_.find(id);
  assert(found != waits_.end());
  const std::unique_ptr<Entry> entry = std::move(found->second);
  waits_.erase(found);
  const LockRequest& request = entry->wait.request;
  for (size_t i = 0; i < request.names.size(); ++i) {
    const auto queue = queues_.find(request.names[i]);
    queue->second.erase(entry->places[i]);
    if (queue->second.empty()) queues_.erase(queue);
    if (IsShared(request.terms.shape)) continue;
    const auto exclusive = exclusive_.find(request.names[i]);
    if (--exclusive->second == 0) exclusive_.erase(exclusive);
  }
  const auto owner = by_owner_.find(LockNameView{0, request.owner});
  std::erase(owner->second, &entry->wait);
  if (owner->second.empty()) by_owner_.erase(owner);
}

const LockWait* WaitQueue::Find(uint64_t id) const {
  const auto found = waits_.find(id);
  return found == waits_.end() ? nullptr : &found->second->wait;
}

// --- who is next

const LockWait* WaitQueue::FirstReady(LockNameView name) const {
  const Queue* queue = QueueOf(name);
  if (queue == nullptr) return nullptr;
  for (const LockWait* wait : *queue) {
    if (ObstacleOf(*wait) == Obstacle::kNone) return wait;
    // Behind it only readers may go, and only if it is a reader that lacks some other lock.
    const Lock* lock = locks_.FindLock(name);
    const LockShape& shape = wait->request.terms.shape;
    if (!IsShared(shape)) return nullptr;
    if (lock != nullptr && lock->Fit(wait->request.owner, shape) == LockFit::kBusy) return nullptr;
  }
  return nullptr;
}

const LockWait* WaitQueue::FirstReentrant(LockNameView name, std::string_view owner) const {
  const std::vector<LockWait*>* waits = WaitsOf(owner);
  if (waits == nullptr) return nullptr;
  for (const LockWait* wait : *waits) {
    const LockNames& names = wait->request.names;
    const bool asks = std::any_of(names.begin(), names.end(), [&](const LockName& asked) {
      return LockNameEqual()(asked, name);
    });
    if (asks && ObstacleOf(*wait) == Obstacle::kNone) return wait;
  }
  return nullptr;
}

const WaitQueue::Queue* WaitQueue::QueueOf(LockNameView name) const {
  if (queues_.empty()) return nullptr;  // the usual case: spares the hashing
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second;
}

LockNames WaitQueue::NamesIn(int db) const {
  LockNames names;
  for (const auto& [name, queue] : queues_)
    if (db < 0 || name.db == db) names.push_back(name);
  return names;
}

const std::vector<LockWait*>* WaitQueue::WaitsOf(std::string_view owner) const {
  if (by_owner_.empty()) return nullptr;
  const auto found = by_owner_.find(LockNameView{0, owner});
  return found == by_owner_.end() ? nullptr : &found->second;
}

}  // namespace sluice
