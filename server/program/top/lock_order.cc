// See lock_order.h.
#include "server/program/top/lock_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

namespace sluice {
namespace {

// Its place among others does not change by being asked for.
bool IsSettled(const LockFacts& lock) {
  if (lock.is_known) return lock.waiters == 0 || !lock.first_waiters.empty();
  return !lock.obstacle.empty();
}

bool WaitsLonger(const LockFacts* a, const LockFacts* b) {
  return a->longest_wait_ms() > b->longest_wait_ms();
}

bool EndsSooner(const LockFacts* a, const LockFacts* b) {
  const auto key = [](const LockFacts& lock) {
    const bool has_lease = lock.is_known && lock.lease_ms >= 0;
    return std::make_tuple(has_lease ? lock.lease_ms : std::numeric_limits<int64_t>::max(),
                           std::string_view(lock.name));
  };
  return key(*a) < key(*b);
}

}  // namespace

LockList LocksInOrder(const std::vector<LockFacts>& locks, std::string_view part) {
  LockList list;
  for (const LockFacts& lock : locks) {
    if (lock.name.find(part) != lock.name.npos) list.push_back(&lock);
  }
  const auto others =
      std::stable_partition(list.begin(), list.end(), std::mem_fn(&LockFacts::is_waited_for));
  const auto is_settled = [](const LockFacts* lock) { return IsSettled(*lock); };
  if (std::all_of(list.begin(), others, is_settled))
    std::stable_sort(list.begin(), others, WaitsLonger);
  if (std::all_of(others, list.end(), is_settled)) std::stable_sort(others, list.end(), EndsSooner);
  return list;
}

size_t RowsOf(const LockFacts& lock) { return 1 + lock.first_waiters.size(); }

LockWindow WindowOn(std::span<const LockFacts* const> list, size_t selected, size_t first,
                    size_t rows) {
  if (list.empty() || rows == 0) return {};
  selected = std::min(selected, list.size() - 1);
  // The earliest first lock with which the selected one is whole.
  size_t earliest = selected;
  for (size_t taken = RowsOf(*list[selected]); earliest > 0; --earliest) {
    taken += RowsOf(*list[earliest - 1]);
    if (taken > rows) break;
  }
  // The latest one with which no rows stay empty.
  size_t latest = list.size();
  for (size_t taken = 0; latest > 0; --latest) {
    taken += RowsOf(*list[latest - 1]);
    if (taken > rows) break;
  }
  latest = std::min(latest, list.size() - 1);
  LockWindow window{std::min(std::clamp(first, earliest, selected), std::max(latest, earliest))};
  for (size_t taken = 0; window.first + window.count < list.size() && taken < rows; ++window.count)
    taken += RowsOf(*list[window.first + window.count]);
  return window;
}

}  // namespace sluice
