// See reclaimer.h. The value that came last is freed first. A long text counts as a value
// whose elements are pages.
#include "storage/keyspace/reclaimer.h"

#include <unistd.h>

#include <cassert>
#include <utility>

namespace sluice {
namespace {

// A long text, whose pages go back to the system one after the other.
class LongText final : public Value {
 public:
  explicit LongText(std::unique_ptr<TextBlock> text)
      : text_(std::move(text)), page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {}

  ValueType type() const override { return ValueType::kString; }
  std::string_view Encoding() const override { return "raw"; }
  size_t MemoryBytes() const override { return text_->MemoryBytes(); }
  std::unique_ptr<Value> Clone() const override { return nullptr; }  // it is garbage
  size_t Elements() const override { return text_->MemoryBytes() / page_bytes_; }
  size_t FreeSome(size_t budget) override { return text_->FreePages(budget); }

 private:
  std::unique_ptr<TextBlock> text_;
  const size_t page_bytes_;  // the system's
};

}  // namespace

void Reclaimer::Take(std::unique_ptr<Value> value, size_t accounted) {
  if (value->Elements() > kAtOnceMax) {
    // It may have taken something along from its entry.
    const size_t bytes = value->MemoryBytes();
    memory_ += bytes - accounted;
    waiting_.push_back({std::move(value), bytes});
  } else {
    memory_ -= accounted;  // the value ends here, with its unique_ptr
  }
}

void Reclaimer::Take(std::unique_ptr<TextBlock> text, size_t accounted) {
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
    // Bytes are given back as pieces go: used memory falls while a big value is being freed.
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
