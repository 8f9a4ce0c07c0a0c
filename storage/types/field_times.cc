// See field_times.h. A deadline of one order is compared with one of the other only as of a
// moment, `now`: the wall clock may be elsewhere at the next.
#include "storage/types/field_times.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace sluice {

// --- one order

const Member* FieldOrder::FirstDue(int64_t ms) const {
  return !empty() && first_ms() <= ms ? order_.begin()->second : nullptr;
}

size_t FieldOrder::CountDue(int64_t ms) const {
  if (ms < counted_ms_) {  // a wall clock was stepped back
    due_ = static_cast<size_t>(std::distance(order_.begin(), order_.upper_bound(ms)));
  } else if (!empty() && last_ms() > counted_ms_) {
    for (auto at = order_.upper_bound(counted_ms_); at != order_.end() && at->first <= ms; ++at)
      ++due_;
  }
  counted_ms_ = ms;
  return due_;
}

void FieldOrder::Add(int64_t ms, const Member& member) {
  const bool is_new = order_.emplace(ms, &member).second;
  due_ += is_new && ms <= counted_ms_ ? 1 : 0;
}

void FieldOrder::Remove(int64_t ms, const Member& member) {
  const bool was_there = order_.erase({ms, &member}) > 0;
  due_ -= was_there && ms <= counted_ms_ ? 1 : 0;
}

// The earliest first.
size_t FieldOrder::FreeSome(size_t budget) {
  const size_t count = std::min(budget, size());
  order_.erase(order_.begin(), std::next(order_.begin(), static_cast<ptrdiff_t>(count)));
  due_ -= std::min(due_, count);
  return count;
}

std::string FieldOrder::Audit() const {
  const auto due = std::distance(order_.begin(), order_.upper_bound(counted_ms_));
  return static_cast<size_t>(due) == due_ ? "" : "the fields that are due are miscounted";
}

// --- both

void FieldTimes::Add(const Member& member) {
  const Deadline deadline = member.deadline();
  if (!deadline.none()) OrderOf(deadline).Add(deadline.ms, member);
}

void FieldTimes::Remove(const Member& member) {
  const Deadline deadline = member.deadline();
  if (!deadline.none()) OrderOf(deadline).Remove(deadline.ms, member);
}

int64_t FieldTimes::NextMs(const Now& now) const {
  int64_t next = Value::kNever;
  if (!steady_.empty()) next = steady_.first_ms();
  int64_t of_unix;
  if (!unix_.empty() && !__builtin_sub_overflow(unix_.first_ms(), now.unix_offset_ms, &of_unix)) {
    next = std::min(next, of_unix);
  }
  return next;
}

const Member* FieldTimes::FirstDue(const Now& now) const {
  const Member* const first = steady_.FirstDue(now.ms());
  return first ? first : unix_.FirstDue(now.unix_ms());
}

size_t FieldTimes::CountDue(const Now& now) const {
  return steady_.CountDue(now.ms()) + unix_.CountDue(now.unix_ms());
}

bool FieldTimes::AllDue(const Now& now) const {
  return (steady_.empty() || steady_.last_ms() <= now.ms()) &&
         (unix_.empty() || unix_.last_ms() <= now.unix_ms());
}

size_t FieldTimes::FreeSome(size_t budget) {
  const size_t freed = steady_.FreeSome(budget);
  return freed + unix_.FreeSome(budget - freed);
}

std::string FieldTimes::Audit() const {
  std::string fault = steady_.Audit();
  return fault.empty() ? unix_.Audit() : fault;
}

}  // namespace sluice
