// LazyDeque: a deque that takes no memory before its first element. std::deque takes 576 bytes at
// once, and a test double has thousands of engines with eight of them each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

namespace sluice {

template <typename Element>
class LazyDeque {
  using Deque = std::deque<Element>;

 public:
  using value_type = Element;
  using iterator = typename Deque::iterator;
  using const_iterator = typename Deque::const_iterator;

  bool empty() const { return !deque_ || deque_->empty(); }
  size_t size() const { return deque_ ? deque_->size() : 0; }
  iterator begin() { return deque_ ? deque_->begin() : iterator(); }
  iterator end() { return deque_ ? deque_->end() : iterator(); }
  const_iterator begin() const { return deque_ ? deque_->cbegin() : const_iterator(); }
  const_iterator end() const { return deque_ ? deque_->cend() : const_iterator(); }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }
  // Precondition of these: there is such an element.
  Element& front() { return deque_->front(); }
  const Element& front() const { return deque_->front(); }
  Element& back() { return deque_->back(); }
  const Element& back() const { return deque_->back(); }
  Element& operator[](size_t index) { return (*deque_)[index]; }
  const Element& operator[](size_t index) const { return (*deque_)[index]; }
  void erase(const_iterator element) { deque_->erase(element); }
  void pop_front() { deque_->pop_front(); }
  void pop_back() { deque_->pop_back(); }

  template <typename... Values>
  Element& emplace_back(Values&&... values) {
    return Made().emplace_back(std::forward<Values>(values)...);
  }
  template <typename... Values>
  Element& emplace_front(Values&&... values) {
    return Made().emplace_front(std::forward<Values>(values)...);
  }
  void push_back(Element element) { Made().push_back(std::move(element)); }
  void push_front(Element element) { Made().push_front(std::move(element)); }

  // Forgets the elements behind the first `count`.
  void Truncate(size_t count) {
    if (size() > count)
      deque_->erase(deque_->begin() + static_cast<ptrdiff_t>(count), deque_->end());
  }
  // Gives the memory back, too.
  void clear() { deque_.reset(); }
  template <typename Which>
  void EraseIf(Which which) {
    if (deque_) std::erase_if(*deque_, which);
  }

 private:
  Deque& Made() {
    if (!deque_) [[unlikely]]
      deque_ = std::make_unique<Deque>();
    return *deque_;
  }

  std::unique_ptr<Deque> deque_;
};

}  // namespace sluice
