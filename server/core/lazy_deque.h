// LazyDeque: a deque that takes no memory before its first element. std::deque takes 576 bytes at
// once, and a test double has thousands of engines with eight of them each.
#pragma once

#include <algorithm>
#include <utility>

#include "boost/container/deque.hpp"

namespace sluice {

// Boost 1.74 walks from a null pointer where it clears a deque that has never had an element.
template <typename Element>
class LazyDeque : public boost::container::deque<Element> {
  using Base = boost::container::deque<Element>;

 public:
  LazyDeque() = default;
  LazyDeque(LazyDeque&& other) noexcept : Base(std::move(static_cast<Base&>(other))) {}
  LazyDeque& operator=(LazyDeque&& other) noexcept {
    this->swap(other);
    return *this;
  }

  void clear() {
    if (!this->empty()) Base::clear();
  }
  template <typename Which>
  void EraseIf(Which which) {
    const auto kept = std::remove_if(this->begin(), this->end(), which);
    if (kept != this->end()) this->erase(kept, this->end());
  }
};

}  // namespace sluice
