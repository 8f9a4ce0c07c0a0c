// RarePart: what few of many objects have, in a block of its own that is made when it is first
// written to. Until then it reads as a T that nothing was set in, and takes 8 bytes.
#pragma once

#include <memory>

namespace sluice {

template <typename T>
class RarePart {
 public:
  RarePart() = default;
  RarePart(const RarePart& other)
      : part_(other.part_ ? std::make_unique<T>(*other.part_) : nullptr) {}
  RarePart(RarePart&&) = default;
  RarePart& operator=(const RarePart& other) { return *this = RarePart(other); }
  RarePart& operator=(RarePart&&) = default;

  bool is_made() const { return part_ != nullptr; }
  const T& operator*() const {
    if (part_) return *part_;
    static const T kUnset{};
    return kUnset;
  }
  const T* operator->() const { return &**this; }
  T& Make() {
    if (!part_) part_ = std::make_unique<T>();
    return *part_;
  }

 private:
  std::unique_ptr<T> part_;
};

}  // namespace sluice
