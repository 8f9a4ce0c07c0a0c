// ArgumentList: the arguments of requests, one after another, as views. It is what a vector is, but
// for this: room that was made once stays in use, so a request's arguments are written into it
// without being set to nothing before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/text/free_memory.h"

namespace sluice {

class ArgumentList {
 public:
  // Places for `count` more, to be written to. Like all pointers into the list, until the next one.
  std::string_view* Add(size_t count) {
    const size_t before = size_;
    size_ += count;
    if (size_ > room_.size()) [[unlikely]]
      room_.resize(std::max(size_, 2 * before));
    return room_.data() + before;
  }
  void push_back(std::string_view argument) { *Add(1) = argument; }
  // Requires: no more than there are.
  void Shorten(size_t size) { size_ = size; }
  // Gives the memory back, too, if that is for more than `kept`.
  void Clear(size_t kept = SIZE_MAX) {
    size_ = 0;
    if (room_.size() > kept) [[unlikely]]
      FreeMemory(room_);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return room_.size(); }
  const std::string_view* data() const { return room_.data(); }
  const std::string_view* begin() const { return data(); }
  const std::string_view* end() const { return data() + size_; }
  std::string_view operator[](size_t at) const { return room_[at]; }

 private:
  std::vector<std::string_view> room_;
  size_t size_ = 0;
};

}  // namespace sluice
