#include "storage/reclaimer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

namespace sluice {
namespace {

// A long text, whose pages go back to the system one after the other; its block in the end. Only
// pages that lie wholly within the text are its own: the allocator's notes are around it.
class LongText final : public Value {
 public:
  // Precondition: it is longer than a page.
  explicit LongText(std::unique_ptr<std::string> text)
      : text_(std::move(text)), page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const auto data = reinterpret_cast<uintptr_t>(text_->data());
    begin_ = (data + page_bytes_ - 1) / page_bytes_ * page_bytes_;
    pages_ = (data + text_->capacity() - begin_) / page_bytes_;
  }

  ValueType type() const override { return ValueType::kString; }
  std::string_view Encoding() const override { return "raw"; }
  size_t MemoryBytes() const override { return pages_ * page_bytes_; }
  std::unique_ptr<Value> Clone() const override { return nullptr; }  // nobody uses it any more
  size_t Elements() const override { return pages_; }
  size_t FreeSome(size_t budget) override {
    const size_t pages = std::min(pages_, budget);
    if (pages == 0) return 0;
    // Whether or not it works: what stays goes with the block.
    madvise(reinterpret_cast<void*>(begin_), pages * page_bytes_, MADV_DONTNEED);
    begin_ += pages * page_bytes_;
    pages_ -= pages;
    return pages;
  }

 private:
  std::unique_ptr<std::string> text_;
  const size_t page_bytes_;  // the system's
  uintptr_t begin_;          // of its pages that are still there
  size_t pages_;
};

}  // namespace

void Reclaimer::Take(std::unique_ptr<Value> value, size_t accounted) {
  if (value->Elements() > kAtOnceMax) {
    waiting_.push_back({std::move(value), accounted});
  } else {
    memory_ -= accounted;
  }
}

void Reclaimer::Take(std::unique_ptr<std::string> text, size_t accounted) {
  if (text->capacity() > kTextAtOnceMax) {
    Take(std::make_unique<LongText>(std::move(text)), accounted);
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
