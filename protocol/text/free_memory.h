// FreeMemory: empties a text, a vector or what has such members, and gives their memory back.
//
// Assigning an empty one does not: `text = std::string()`, `text = {}` and `vector = {}` keep the
// block for what comes next. That is right for a few KB; what a client has made large would be kept
// for good.
#pragma once

#include <utility>

namespace sluice {

template <typename T>
void FreeMemory(T& object) {
  T empty{};
  std::swap(object, empty);
}

}  // namespace sluice
