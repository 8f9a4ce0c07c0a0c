// See reply_builder.h. An aggregate with nothing in it is complete at once; the last element of one
// may complete those around it, too.
#include "server/embed/reply_builder.h"

#include <algorithm>
#include <utility>

#include "protocol/text/free_memory.h"

namespace sluice {
inline namespace v1 {

// A handler's announcement is believed up to here; beyond it room is made as elements come.
constexpr size_t kReservedMax = 1 << 20;

Reply& ReplyBuilder::Place() {
  if (attributes_left_ > 0) [[unlikely]] {
    FreeMemory(dropped_);
    return *(at_ = &dropped_);
  }
  if (levels_.empty()) [[likely]] {
    if (count_ > 0) before_.push_back(std::exchange(value_, {}));
    return *(at_ = &value_);
  }
  return *(at_ = &levels_.back().aggregate->elements_.emplace_back());
}

void ReplyBuilder::Open(Kind kind, size_t length) {
  Reply& aggregate = Place();
  if (at_ != &dropped_ && length > 0) {
    aggregate.kind_ = kind;
    aggregate.elements_.reserve(std::min(length, kReservedMax));
    levels_.push_back({&aggregate, length});
    return;
  }
  Done(kind);
}

void ReplyBuilder::Done(Kind kind) {
  at_->kind_ = kind;
  if (at_ == &dropped_) [[unlikely]] {
    --attributes_left_;
    return;
  }
  if (levels_.empty()) [[likely]] {
    Completed();
  } else {
    Close();
  }
}

void ReplyBuilder::Close() {
  while (!levels_.empty() && --levels_.back().left == 0) levels_.pop_back();
  if (levels_.empty()) Completed();
}

void ReplyBuilder::Error(std::string_view text) {
  if (errors_) errors_->ErrorSent(text);
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  Place().text_.assign(text);
  Done(Kind::kError);
}

Reply ReplyBuilder::Take() {
  count_ = 0;
  if (!before_.empty()) before_.clear();
  return std::exchange(value_, {});
}

std::vector<Reply> ReplyBuilder::TakeAll() {
  std::vector<Reply> all = std::exchange(before_, {});
  if (count_ > 0) all.push_back(std::exchange(value_, {}));
  count_ = 0;
  return all;
}

void ReplyBuilder::Clear() {
  FreeMemory(value_);
  levels_.clear();
  before_.clear();
  count_ = attributes_left_ = 0;
}

}  // namespace v1
}  // namespace sluice
