// See field_times.h. A deadline of one order is compared with one of the other only as of a
// moment, `now`: the wall clock may be elsewhere at the next.
#include "storage/types/field_times.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace sluice {

void FieldTimes::Add(const Member& member) {
  const Deadline deadline = member.deadline();
  if (!deadline.none()) OrderOf(deadline).emplace(deadline.ms, &member);
}

void FieldTimes::Remove(const Member& member) {
  const Deadline deadline = member.deadline();
  if (!deadline.none()) OrderOf(deadline).erase({deadline.ms, &member});
}

int64_t FieldTimes::NextMs(const Now& now) const {
  int64_t next = Value::kNever;
  if (!steady_.empty()) next = steady_.begin()->first;
  int64_t of_unix;
  if (!unix_.empty() &&
      !__builtin_sub_overflow(unix_.begin()->first, now.unix_offset_ms, &of_unix)) {
    next = std::min(next, of_unix);
  }
  return next;
}

const Member* FieldTimes::FirstDue(const Now& now) const {
  if (!steady_.empty() && steady_.begin()->first <= now.ms()) return steady_.begin()->second;
  if (!unix_.empty() && unix_.begin()->first <= now.unix_ms()) return unix_.begin()->second;
  return nullptr;
}

// O(fields that are due): mostly none, as the timer takes them out.
size_t FieldTimes::CountDue(const Now& now) const {
  const auto due = [](const Order& order, int64_t ms) {
    return std::distance(
        order.begin(),
        std::find_if(order.begin(), order.end(), [ms](const auto& at) { return at.first > ms; }));
  };
  return static_cast<size_t>(due(steady_, now.ms()) + due(unix_, now.unix_ms()));
}

size_t FieldTimes::FreeSome(size_t budget) {
  size_t freed = 0;
  for (Order* const order : {&steady_, &unix_}) {
    const size_t count = std::min(budget - freed, order->size());
    order->erase(order->begin(), std::next(order->begin(), static_cast<ptrdiff_t>(count)));
    freed += count;
  }
  return freed;
}

}  // namespace sluice
