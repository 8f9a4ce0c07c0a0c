#include "storage/reclaimer.h"

#include <cassert>
#include <utility>

namespace sluice {

void Reclaimer::Take(std::unique_ptr<Value> value, size_t accounted) {
  if (value->Elements() > kAtOnceMax) {
    waiting_.push_back({std::move(value), accounted});
  } else {
    memory_ -= accounted;
  }
}

size_t Reclaimer::Free(size_t budget) {
  size_t freed = 0;
  while (freed < budget && !waiting_.empty()) {
    Waiting& last = waiting_.back();
    const size_t pieces = last.value->FreeSome(budget - freed);
    freed += pieces;
    if (pieces == 0) {
      memory_ -= last.accounted;
      waiting_.pop_back();
      ++freed;
      continue;
    }
    const size_t left = last.value->MemoryBytes();
    assert(left <= last.accounted);
    memory_ -= last.accounted - left;
    last.accounted = left;
  }
  return freed;
}

size_t Reclaimer::accounted() const {
  size_t bytes = 0;
  for (const Waiting& waiting : waiting_) bytes += waiting.accounted;
  return bytes;
}

}  // namespace sluice
