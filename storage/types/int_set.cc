// See int_set.h.
#include "storage/types/int_set.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {
namespace {

uint32_t WidthOf(int64_t value) {
  if (value == static_cast<int16_t>(value)) return sizeof(int16_t);
  return value == static_cast<int32_t>(value) ? sizeof(int32_t) : sizeof(int64_t);
}

template <typename T>
int64_t Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

int64_t IntSet::at(size_t index) const {
  ABSL_HARDENING_ASSERT(index < size());
  const char* const place = bytes_.data() + index * width_;
  switch (width_) {
    case sizeof(int16_t):
      return Load<int16_t>(place);
    case sizeof(int32_t):
      return Load<int32_t>(place);
    default:
      return Load<int64_t>(place);
  }
}

// The lowest bytes come first on all that we run on.
void IntSet::Store(size_t index, int64_t value) {
  std::memcpy(bytes_.data() + index * width_, &value, width_);
}

// The first index whose number is not below the value.
size_t IntSet::LowerBound(int64_t value) const {
  size_t low = 0;
  for (size_t high = size(); low < high;) {
    const size_t middle = (low + high) / 2;
    if (at(middle) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool IntSet::contains(int64_t value) const {
  const size_t index = LowerBound(value);
  return index < size() && at(index) == value;
}

// One pass into a new block: at most some hundreds of numbers.
void IntSet::Widen(uint32_t width) {
  IntSet wide;
  wide.width_ = width;
  wide.bytes_.Splice(0, 0, size() * width);
  for (size_t i = 0; i < size(); ++i) wide.Store(i, at(i));
  *this = std::move(wide);
}

// A number that needs more width makes all of them wider first, though only it is at an end then.
bool IntSet::Add(int64_t value) {
  const size_t index = LowerBound(value);
  if (index < size() && at(index) == value) return false;
  if (WidthOf(value) > width_) Widen(WidthOf(value));
  bytes_.Splice(index * width_, 0, width_);
  Store(index, value);
  return true;
}

bool IntSet::Remove(int64_t value) {
  const size_t index = LowerBound(value);
  if (index == size() || at(index) != value) return false;
  bytes_.Splice(index * width_, width_, 0);
  return true;
}

}  // namespace sluice
