// PendingBlocks: bytes that are gathered for a worker, in blocks of some 256 KiB. A block never
// grows: that would copy it, into memory that the system still has to clear, in the midst of a
// turn. A few blocks that the worker is done with are used again: memory that is had anew for each
// costs more than what is written there, as the system clears it page by page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/free_memory.h"

namespace sluice {

class PendingBlocks {
 public:
  static constexpr size_t kBlockBytes = 256 * 1024;

  size_t bytes() const { return bytes_; }

  void Append(std::string_view bytes) {
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < bytes.size())
      AddBlock(std::max(kBlockBytes, bytes.size()));
    blocks_.back().append(bytes);
    bytes_ += bytes.size();
  }

  // All of it; nothing is left.
  std::vector<std::string> Take() {
    bytes_ = 0;
    return std::exchange(blocks_, {});
  }

  // Of blocks that were taken and are done with.
  void Reuse(std::vector<std::string> blocks) {
    for (std::string& block : blocks) {
      if (spare_.size() == kSpareBlocks) return;
      if (block.capacity() > 2 * kBlockBytes) continue;  // it had one large value
      block.clear();
      spare_.push_back(std::move(block));
    }
  }

  void Clear() {
    Take();
    FreeMemory(spare_);
  }

 private:
  static constexpr size_t kSpareBlocks = 8;

  void AddBlock(size_t bytes) {
    if (spare_.empty()) {
      blocks_.emplace_back();
    } else {
      blocks_.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
    blocks_.back().reserve(bytes);
  }

  std::vector<std::string> blocks_;
  std::vector<std::string> spare_;
  size_t bytes_ = 0;
};

}  // namespace sluice
