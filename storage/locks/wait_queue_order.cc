// The order of a line (WaitQueue, wait_queue.h). A place is (rank, wait id): waits of one owner
// share a rank, so they stay together; an owner that holds the lock gets a rank below all others,
// whatever their priority, for it is re-entrant there.
#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/locks/wait_queue.h"

namespace sluice {
namespace {

// Owners that hold the lock have ranks below it; it is itself below whatever a request can have.
constexpr int64_t kHoldersMs = -(int64_t{1} << 60);
static_assert(kAheadMsMax < (int64_t{1} << 59));

}  // namespace

// By when it came, or counts as having come; with other waits of the owner. An owner that holds one
// of the locks already is ahead of all others there, and stays so if it loses it while it waits for
// the rest: else it could come to wait for those who wait for it.
WaitQueue::Spot WaitQueue::SpotFor(const Queued& queued, Line& line, const Lock* lock) {
  const uint64_t id = queued.wait.id;
  if (lock != nullptr) lock->Watch();
  const Together* const others = TogetherIn(line, *queued.owner);
  if (lock != nullptr && lock->FindOwner(queued.owner->name) != nullptr) {
    // Its other waits are in front already: no wait of an owner moves all of them.
    if (others != nullptr) {
      const Rank theirs = PlaceIn(*others->front(), line).at.first;
      if (theirs.first < kHoldersMs) return {theirs, id};
    }
    const int64_t first_ms = line.all.empty() ? 0 : line.all.begin()->first.first.first;
    const Rank front{std::min(first_ms, kHoldersMs) - 1, id};
    if (others != nullptr) {
      for (Queued* const other : *others) MoveToFront(*other, line, front);
    }
    return {front, id};
  }
  if (others != nullptr) return {PlaceIn(*others->front(), line).at.first, id};
  return {{queued.wait.request.CameMs(queued.wait.since_ms), id}, id};
}

void WaitQueue::MoveToFront(Queued& queued, Line& line, Rank front) {
  moved_.push_back({&queued, &line, PlaceIn(queued, line).at.first});
  Reseat(queued, line, front);
}

// A request that is refused must not have brought forward the others of its owner.
void WaitQueue::TakeBack(uint64_t id, absl::Span<OpenLock> locks) {
  assert(id == last_id_);
  Remove(id, locks);
  for (const Moved& moved : std::exchange(moved_, {}))
    Reseat(*moved.queued, *moved.line, moved.former);
}

// The spot is the key in up to four maps of the line: out of all, changed, into all again. Where it
// is parked is a reader's key, too.
void WaitQueue::Reseat(Queued& queued, Line& line, Rank rank) {
  Place& place = *std::ranges::find(queued.places, &line, &Place::line);
  const Place* parked = queued.parked;
  const bool linked = queued.linked;
  Unpark(queued);
  Link(queued, false);
  line.all.erase(place.at);
  if (!queued.shared()) line.exclusive.erase(place.at);
  place.at.first = rank;
  line.all.emplace(place.at, &queued);
  if (!queued.shared()) line.exclusive.emplace(place.at, &queued);
  Link(queued, linked);
  if (parked != nullptr) Park(queued, *parked);
}

bool WaitQueue::IsLast(const Queued& queued) {
  return std::ranges::all_of(queued.places, [&](const Place& place) {
    return place.line->all.rbegin()->second == &queued;
  });
}

// Where it stands with others of its owner, or holds the lock, that has put it there and not its
// priority.
bool WaitQueue::MoveToEnd(uint64_t id) {
  Queued& queued = **waits_.Find(id);
  bool moved = false;
  for (const Place& place : queued.places) {
    const Queue& all = place.line->all;
    const bool stays = place.at.first.first < kHoldersMs ||
                       TogetherIn(*place.line, *queued.owner)->size() > 1 ||
                       all.rbegin()->second == &queued;
    if (stays) continue;
    Reseat(queued, *place.line, {all.rbegin()->first.first.first, id});
    moved = true;
  }
  return moved;
}

}  // namespace sluice
