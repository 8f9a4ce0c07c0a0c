// FreeMemory: empties a text, a vector or what has such members, and gives their memory back.
// ClearKeeping: the same, but a block that is small enough stays for what comes next.
//
// Assigning an empty one does not: `text = std::string()`, `text = {}` and `vector = {}` keep the
// block for what comes next. That is right for a few KB; what a client has made large would be kept
// for good.
#pragma once

#include <cstddef>
#include <utility>

namespace sluice {

template <typename T>
void FreeMemory(T& object) {
  T empty{};
  std::swap(object, empty);
}

// `kept_max`: the capacity of a text or a vector up to which it keeps its block.
template <typename T>
void ClearKeeping(T& object, size_t kept_max) {
  object.clear();
  if (object.capacity() > kept_max) [[unlikely]]
    FreeMemory(object);
}

}  // namespace sluice
