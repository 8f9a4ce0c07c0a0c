// See wait_queue.h; the order of a line is wait_queue_order.cc's. Places are looked up by the
// line's maps, never by position, so nothing moves when a wait leaves.
#include "storage/locks/wait_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

std::vector<const LockName*> Sorted(const LockNames& names) {
  std::vector<const LockName*> sorted;
  for (const LockName& name : names) sorted.push_back(&name);
  std::sort(sorted.begin(), sorted.end(),
            [](const LockName* a, const LockName* b) { return *a < *b; });
  return sorted;
}

bool IsParkedAt(const WaitQueue::Queued& queued, const WaitQueue::Line& line) {
  return queued.parked != nullptr && queued.parked->line == &line;
}

bool AreSame(const LockNames& a, const LockNames& b) {
  if (a.size() != b.size()) return false;
  const auto sorted_a = Sorted(a);
  const auto sorted_b = Sorted(b);
  return std::equal(sorted_a.begin(), sorted_a.end(), sorted_b.begin(),
                    [](const LockName* x, const LockName* y) { return *x == *y; });
}

// The place of a list that is in this line.
template <typename Places>
auto& FindPlace(Places& places, const WaitQueue::Line& line) {
  const auto place = std::find_if(places.begin(), places.end(),
                                  [&](const auto& one) { return one.line == &line; });
  assert(place != places.end());
  return *place;
}

}  // namespace

WaitQueue::WaitQueue(const LockFinder& locks, const SipKey& hash_key)
    : locks_(locks), lines_(LockNameHash(hash_key)), owners_(LockNameHash(hash_key)) {}

// --- what stands in the way
// An obstacle is the worst over all locks of a request. In the lock: its holders. In the line: the
// first writer ahead for a shared request, any wait ahead for another.

WaitQueue::Obstacle WaitQueue::ObstacleOf(const LockRequest& request, absl::Span<OpenLock> locks,
                                          int64_t now_ms) const {
  Obstacle worst = Obstacle::kNone;
  const Owner* owner = FindOwner(request.owner);
  for (OpenLock& lock : locks) {
    const Line* line = LineOf(lock.name());
    const Together* own = line == nullptr || owner == nullptr ? nullptr : TogetherIn(*line, *owner);
    Spot at{{request.CameMs(now_ms), UINT64_MAX}, 0};
    if (own != nullptr) at = {PlaceIn(*own->front(), *line).at.first, UINT64_MAX};
    worst = std::max(worst, ObstacleAt(request, lock.lock(), line, at));
  }
  return worst;
}

WaitQueue::Obstacle WaitQueue::ObstacleOf(const LockWait& wait) const {
  Obstacle worst = Obstacle::kNone;
  const Queued& queued = At(wait.id);
  for (const Place& place : queued.places) {
    worst = std::max(worst, ObstacleAt(queued, place, LockOf(*place.line)));
  }
  return worst;
}

WaitQueue::Obstacle WaitQueue::ObstacleAt(const Queued& queued, const Place& place,
                                          const Lock* lock) const {
  return ObstacleAt(queued.wait.request, lock, place.line, place.at);
}

WaitQueue::Obstacle WaitQueue::ObstacleAt(const LockRequest& request, const Lock* lock,
                                          const Line* line, Spot at) const {
  LockFit fit = LockFit::kFits;
  if (lock != nullptr) fit = lock->Fit(request.owner, request.terms.shape);
  if (request.upgrades) [[unlikely]]
    fit = lock == nullptr ? LockFit::kReentrant : lock->FitToUpgrade(request.owner);
  switch (fit) {
    case LockFit::kBusy:
      return Obstacle::kHolders;
    case LockFit::kLockMode:
      return Obstacle::kLockMode;
    case LockFit::kOtherPermits:
      return Obstacle::kOtherPermits;
    case LockFit::kReentrant:
      return Obstacle::kNone;
    case LockFit::kFits:
      break;
  }
  if (line == nullptr) return Obstacle::kNone;
  const bool shared = request.terms.shape.mode == LockMode::kShared;
  const Queue& ahead = shared ? line->exclusive : line->all;
  const bool waits = !ahead.empty() && ahead.begin()->first < at;
  return waits ? Obstacle::kQueue : Obstacle::kNone;
}

const WaitQueue::Place& WaitQueue::PlaceIn(const Queued& queued, const Line& line) {
  return FindPlace(queued.places, line);
}

// --- coming and going
// A wait stands in three places: in each line's maps, in its owner's list, and in together_, which
// finds an owner's waits in one line. Add and Remove keep all of them alike.

// Into every line, then parked at the first lock that is not to be had.
uint64_t WaitQueue::Add(LockRequest request, absl::Span<OpenLock> locks, uint64_t client,
                        int64_t since_ms, int64_t deadline_ms) {
  assert(!request.names.empty() && request.names.size() == locks.size());
  auto made = std::make_unique<Queued>();
  Queued& queued = *made;
  queued.wait = {++last_id_, std::move(request), client, since_ms, deadline_ms};
  queued.owner = &OwnerFor(queued.wait.request.owner);
  moved_.clear();
  for (size_t i = 0; i < locks.size(); ++i) {
    Line& line = LineFor(queued.wait.request.names[i]);
    queued.places.push_back({&line, SpotFor(queued, line, locks[i].lock())});
    Enter(queued, queued.places.back());
  }
  queued.index = queued.owner->waits.size();
  queued.owner->waits.push_back(&queued);
  LinkAsNeeded(*queued.owner);
  Keep(std::move(made));
  FindParking(queued,
              [&](const Place& place) { return locks[&place - queued.places.data()].lock(); });
  return queued.wait.id;
}

void WaitQueue::Remove(uint64_t id) {
  Remove(id, [&](const Place& place) { return LockOf(*place.line); });
}

void WaitQueue::Remove(uint64_t id, absl::Span<OpenLock> locks) {
  const Place* const first = At(id).places.data();
  Remove(id, [&](const Place& place) { return locks[&place - first].lock(); });
}

// Out of the same places as Add has put it, and lines that are empty then go.
void WaitQueue::Remove(uint64_t id, LockAt lock_at) {
  const std::unique_ptr<Queued> queued = Take(id);
  Unpark(*queued);
  Link(*queued, false);
  for (const Place& place : queued->places) Leave(*queued, place);
  // The last of the owner's waits takes the place in its list: O(1), and order means nothing there.
  Owner& owner = *queued->owner;
  owner.waits[queued->index] = owner.waits.back();
  owner.waits[queued->index]->index = queued->index;
  owner.waits.pop_back();
  LinkAsNeeded(owner);
  DropIfIdle(owner);
  for (const Place& place : queued->places) {
    if (place.line->all.empty()) Drop(*place.line, lock_at(place));
  }
}

void WaitQueue::Enter(Queued& queued, Place place) {
  place.line->all.emplace(place.at, &queued);
  if (!queued.shared()) place.line->exclusive.emplace(place.at, &queued);
  if (queued.wait.request.upgrades) place.line->upgrades.push_back(&queued);
  together_.TryEmplace(TogetherMap::key_type(place.line, queued.owner)).first->push_back(&queued);
}

void WaitQueue::Leave(Queued& queued, Place place) {
  place.line->all.erase(place.at);
  if (!queued.shared()) place.line->exclusive.erase(place.at);
  if (queued.wait.request.upgrades) {
    auto& upgrades = place.line->upgrades;
    upgrades.erase(std::find(upgrades.begin(), upgrades.end(), &queued));
  }
  const TogetherMap::key_type together(place.line, queued.owner);
  Together& waits = *together_.Find(together);
  waits.erase(std::find(waits.begin(), waits.end(), &queued));
  if (waits.empty()) together_.Erase(together);
}

// An empty one.
void WaitQueue::Drop(Line& line, const Lock* lock) {
  if (lock != nullptr && !lock->has_many()) lock->Unwatch();
  lines_by_number_.erase({line.name.db, line.number});
  lines_.Erase(LockNameView(line.name));
}

const LockWait* WaitQueue::Find(uint64_t id) const {
  const std::unique_ptr<Queued>* found = waits_.Find(id);
  return found == nullptr ? nullptr : &(*found)->wait;
}

size_t WaitQueue::BytesOf(const Queued& queued) {
  // With what stands for it in lines and maps: names and the owner's are there, too. Each wait
  // counts its line and its owner: most have them to themselves. It stands in two or three queues
  // of a line, each a tree whose first leaf has little room to spare.
  constexpr size_t kLeaf = BlockSize(2 * sizeof(void*) + sizeof(Queue::value_type));
  constexpr size_t kNumbered =
      RoomOfTables(sizeof(std::pair<std::pair<int, uint64_t>, const Line*>));
  constexpr size_t kPlaceBytes =
      3 * kLeaf + kNumbered + Lines::kSlotBytes + ShardedMap<TogetherMap>::kSlotBytes;
  constexpr size_t kOwnerBytes = Owners::kSlotBytes + BlockSize(sizeof(Queued*));
  const LockRequest& request = queued.wait.request;
  size_t bytes =
      BlockSize(sizeof(Queued)) + kOwnerBytes + 3 * HeapBytes(request.owner) + Waits::kSlotBytes;
  if (request.terms.label) bytes += HeapBytes(*request.terms.label);
  bytes += HeapBytes(request.id);
  for (const LockName& name : request.names) bytes += kPlaceBytes + 3 * HeapBytes(name.key);
  return bytes;
}

void WaitQueue::Keep(std::unique_ptr<Queued> queued) {
  const uint64_t id = queued->wait.id;
  waits_.TryEmplace(id, std::move(queued));
}

std::unique_ptr<WaitQueue::Queued> WaitQueue::Take(uint64_t id) {
  std::unique_ptr<Queued>* found = waits_.Find(id);
  assert(found != nullptr);
  std::unique_ptr<Queued> queued = std::move(*found);
  waits_.Erase(id);
  return queued;
}

// --- a request in the place of another
// A client that reconnects asks again for what its dead connection waits for: it keeps the place.

const LockWait* WaitQueue::SameAsked(const LockRequest& request) const {
  const Owner* owner = FindOwner(request.owner);
  const Line* line = owner == nullptr ? nullptr : LineOf(request.names.front());
  const Together* waits = line == nullptr ? nullptr : TogetherIn(*line, *owner);
  if (waits == nullptr) return nullptr;
  for (const Queued* queued : *waits) {
    if (AreSame(queued->wait.request.names, request.names)) return &queued->wait;
  }
  return nullptr;
}

LockWait WaitQueue::Replace(uint64_t id, LockRequest request, uint64_t client, int64_t since_ms,
                            int64_t deadline_ms, uint64_t* new_id) {
  LockWait former = At(id).wait;
  request.priority = former.request.priority;
  request.ahead_ms = former.request.ahead_ms;
  *new_id = ++last_id_;
  PutBack(id, {*new_id, std::move(request), client, since_ms, deadline_ms});
  return former;
}

// Out of the maps whose membership depends on the request (shared or not), into those of the new
// one at the same spots. The lines keep existing throughout, for their map of all is refilled at
// once.
void WaitQueue::PutBack(uint64_t id, LockWait wait) {
  std::unique_ptr<Queued> owned = Take(id);
  Queued& queued = *owned;
  Unpark(queued);
  absl::flat_hash_map<const Line*, Spot> at;
  for (const Place& place : queued.places) {
    Leave(queued, place);
    at.emplace(place.line, place.at);
  }
  queued.wait = std::move(wait);
  queued.places.clear();
  for (const LockName& name : queued.wait.request.names) {
    Line* line = FindLine(name);
    queued.places.push_back({line, at.at(line)});
    Enter(queued, queued.places.back());
  }
  Keep(std::move(owned));
  FindParking(queued, [&](const Place& place) { return LockOf(*place.line); });
}

// --- who is next
// Every wait that is not ready is parked at one of its locks. So a change of a lock makes at most
// those looked at that are parked there, and of these only the front and the first reader.

bool WaitQueue::FindParking(Queued& queued, LockAt lock_at) {
  ++steps_;
  Unpark(queued);
  for (const Place& place : queued.places) {
    if (ObstacleAt(queued, place, lock_at(place)) == Obstacle::kNone) continue;
    Park(queued, place);
    return true;
  }
  return false;
}

// Readers are listed by line as well: a released lock lets in the first of them without a walk past
// writers.
void WaitQueue::Park(Queued& queued, const Place& place) {
  queued.parked = &place;
  if (queued.shared()) place.line->readers.emplace(place.at, &queued);
}

void WaitQueue::Unpark(Queued& queued) {
  const Place* place = std::exchange(queued.parked, nullptr);
  if (place != nullptr && queued.shared()) place->line->readers.erase(place->at);
}

void WaitQueue::ParkAt(LockNameView name, uint64_t id) {
  Queued& queued = **waits_.Find(id);
  Unpark(queued);
  Park(queued, PlaceIn(queued, *FindLine(name)));
}

// One that is parked here and may have this lock.
WaitQueue::Queued* WaitQueue::FreeToGo(Line& line, const Lock* lock) {
  ++steps_;
  const auto may_go = [&](const Queued& queued) {
    return ObstacleAt(queued, *queued.parked, lock) == Obstacle::kNone;
  };
  for (Queued* const queued : line.upgrades)
    if (IsParkedAt(*queued, line) && may_go(*queued)) return queued;
  Queued* front = line.all.begin()->second;
  if (IsParkedAt(*front, line) && may_go(*front)) return front;
  // As the first of these, so all: there is room for readers and no writer ahead, or not.
  if (line.readers.empty()) return nullptr;
  Queued* reader = line.readers.begin()->second;
  return may_go(*reader) ? reader : nullptr;
}

const LockWait* WaitQueue::FirstReady(OpenLock& lock, int64_t& looks) {
  Line* line = FindLine(lock.name());
  if (line == nullptr) return nullptr;
  const auto lock_at = [&](const Place& place) {
    return place.line == line ? lock.lock() : LockOf(*place.line);
  };
  while (looks > 0) {
    Queued* queued = FreeToGo(*line, lock.lock());
    if (queued == nullptr) return nullptr;
    --looks;
    // If parked elsewhere, it is not met here again until that other lock changes.
    if (!FindParking(*queued, lock_at)) return &queued->wait;
  }
  return nullptr;
}

const LockWait* WaitQueue::FirstReadyAlone(OpenLock& lock) {
  Line* line = FindLine(lock.name());
  const Queued* const queued = line == nullptr ? nullptr : FreeToGo(*line, lock.lock());
  if (queued == nullptr || queued->wait.request.upgrades) return nullptr;
  return queued->wait.request.names.size() == 1 ? &queued->wait : nullptr;
}

const LockWait* WaitQueue::FirstReentrant(OpenLock& lock, std::string_view owner) {
  const Owner* found = FindOwner(owner);
  Line* line = found == nullptr ? nullptr : FindLine(lock.name());
  const Together* waits = line == nullptr ? nullptr : TogetherIn(*line, *found);
  if (waits == nullptr) return nullptr;
  const auto lock_at = [&](const Place& place) {
    return place.line == line ? lock.lock() : LockOf(*place.line);
  };
  // An owner has few waits in a line, mostly one: all are tried.
  for (Queued* queued : *waits) {
    if (IsParkedAt(*queued, *line) && !FindParking(*queued, lock_at)) return &queued->wait;
  }
  return nullptr;
}

// --- lines and owners

const WaitQueue::Line* WaitQueue::LineOf(LockNameView name) const { return FindLine(name); }

WaitQueue::Line* WaitQueue::FindLine(LockNameView name) const {
  if (lines_.empty()) return nullptr;  // the usual case: spares the hashing
  const std::unique_ptr<Line>* found = lines_.Find(name);
  return found == nullptr ? nullptr : found->get();
}

// Numbers grow, so a walk over a database's lines by number meets each once, new ones last.
WaitQueue::Line& WaitQueue::LineFor(const LockName& name) {
  std::unique_ptr<Line>& line = *lines_.TryEmplace(name).first;
  if (line == nullptr) {
    line = std::make_unique<Line>();
    line->name = name;
    line->number = ++last_line_;
    lines_by_number_.emplace(std::pair(name.db, line->number), line.get());
  }
  return *line;
}

const WaitQueue::Owner* WaitQueue::FindOwner(std::string_view owner) const {
  if (owners_.empty()) return nullptr;
  const std::unique_ptr<Owner>* found = owners_.Find(LockNameView{0, owner});
  return found == nullptr ? nullptr : found->get();
}

WaitQueue::Owner& WaitQueue::OwnerFor(std::string_view name) {
  std::unique_ptr<Owner>& owner = *owners_.TryEmplace(LockName(LockNameView{0, name})).first;
  if (owner == nullptr) {
    owner = std::make_unique<Owner>();
    owner->name = name;
  }
  return *owner;
}

void WaitQueue::DropIfIdle(Owner& owner) {
  if (owner.waits.empty() && owner.holds.empty()) owners_.Erase(LockNameView{0, owner.name});
}

const WaitQueue::Together* WaitQueue::TogetherIn(const Line& line, const Owner& owner) const {
  return together_.Find(TogetherMap::key_type(&line, &owner));
}

void WaitQueue::Held(const Lock& lock, std::string_view name) {
  Owner& owner = OwnerFor(name);
  owner.holds.insert(&lock);
  // An owner that holds what others wait for is a node of the graph: its waits are linked from now
  // on.
  LinkAsNeeded(owner);
}

void WaitQueue::Freed(const Lock& lock, std::string_view name) {
  Owner& owner = **owners_.Find(LockNameView{0, name});
  owner.holds.erase(&lock);
  LinkAsNeeded(owner);
  DropIfIdle(owner);
}

void WaitQueue::Link(Queued& queued, bool on) {
  if (std::exchange(queued.linked, on) == on) return;
  for (const Place& place : queued.places) {
    if (on) {
      place.line->linked.emplace(place.at, &queued);
    } else {
      place.line->linked.erase(place.at);
    }
  }
}

// After one wait, or lock held, more or less. While an owner has several waits all are linked.
void WaitQueue::LinkAsNeeded(Owner& owner) {
  if (owner.waits.empty()) return;
  Link(*owner.waits.front(), !owner.is_bystander());
  if (owner.waits.size() > 1) Link(*owner.waits.back(), true);
}

uint64_t WaitQueue::LinesOf(int db, uint64_t from, size_t count,
                            std::vector<LockName>* names) const {
  auto line = lines_by_number_.lower_bound({db, from});
  for (; count > 0 && line != lines_by_number_.end() && line->first.first == db; --count, ++line) {
    names->push_back(line->second->name);
    from = line->second->number + 1;
  }
  return from;
}

}  // namespace sluice
