// PendingInput: what a client has sent and the engine has not run yet: half a request, or all while
// the client has to wait. Most clients have nothing here between two turns, and then it takes 8
// bytes.
//
//   bytes  [ run already | to be run ]        view(): the second part
//
// What has run stays in front until it is more than the half, so that a long queue of requests is
// not moved for each of them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/base/attributes.h"
#include "storage/memory/block_size.h"
#include "storage/memory/text_block.h"

namespace sluice {

class PendingInput {
 public:
  bool empty() const { return size() == 0; }
  // Of all bytes that are kept.
  size_t size() const { return kept_ ? kept_->bytes.size() : 0; }
  size_t capacity() const { return kept_ ? kept_->bytes.capacity() : 0; }
  size_t MemoryBytes() const {
    return kept_ ? BlockSize(sizeof(Kept)) + kept_->bytes.MemoryBytes() : 0;
  }
  // Those that have not run. Valid until the next change.
  std::string_view view() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return kept_ ? kept_->bytes.view().substr(kept_->start) : std::string_view();
  }

  // Behind what there is, with little room to spare.
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    TextBlock& kept = Make();
    kept.ReserveClosely(kept.size() + bytes.size());
    kept.Append(bytes);
  }
  // In place of what there is; may be a part of it.
  void Assign(std::string_view bytes) {
    if (bytes.empty()) return Clear();
    Make().Assign(bytes);
    kept_->start = 0;
  }
  // See TextBlock::Room.
  std::span<char> Room(size_t bytes, size_t wanted) ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return Make().Room(bytes, wanted);
  }
  void Lengthen(size_t bytes) { kept_->bytes.Lengthen(bytes); }

  // The first `bytes` of view() have run.
  void Ran(size_t bytes) {
    if (!kept_) return;
    kept_->start += bytes;
    if (kept_->start > kept_->bytes.size() / 2) Assign(view());
  }
  void Clear() { kept_.reset(); }
  // All that is kept, for a value that is made of it.
  TextBlock Take() {
    TextBlock taken = kept_ ? std::move(kept_->bytes) : TextBlock();
    Clear();
    return taken;
  }

 private:
  struct Kept {
    TextBlock bytes;
    size_t start = 0;  // the bytes before it have run
  };

  TextBlock& Make() {
    if (!kept_) kept_ = std::make_unique<Kept>();
    return kept_->bytes;
  }

  std::unique_ptr<Kept> kept_;
};

}  // namespace sluice
