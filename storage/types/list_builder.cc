// See list_builder.h.
#include "storage/types/list_builder.h"

#include <algorithm>

namespace sluice {
namespace {

// Every element takes a slot, so there are no more of them.
constexpr size_t kSlotsMax = ListChunk::kBytesMax / sizeof(uint16_t) + 1;
// A number is stored as a word, whatever it needs.
constexpr size_t kBytesRoom = ListChunk::kBytesMax + sizeof(int64_t);

}  // namespace

ListBuilder::ListBuilder(const ListLimits& limits)
    : limits_(limits),
      chunk_bytes_(std::min(limits.chunk_bytes, ListChunk::kBytesMax)),
      list_(std::make_unique<List>()),
      slots_(std::make_unique_for_overwrite<uint16_t[]>(kSlotsMax)),
      bytes_(std::make_unique_for_overwrite<char[]>(kBytesRoom)) {}

// One that is kept alone ends the chunk before it.
void ListBuilder::Text(std::string_view text) {
  const ListItem item(text);
  if (item.integer()) return Number(ListItem::Number(item.bytes()));
  if (limits_.KeepsAlone(item)) {
    EndChunk();
    return list_->AppendChunk(ListChunk::Large(item));
  }
  if (!Fits(text.size())) EndChunk();
  if (!text.empty()) std::memcpy(bytes_.get() + used_, text.data(), text.size());
  Note(text.size(), false);
}

void ListBuilder::EndChunk() {
  if (count_ == 0) return;
  list_->AppendChunk(ListChunk::Of({slots_.get(), count_}, {bytes_.get(), used_}));
  count_ = 0;
  used_ = 0;
}

std::unique_ptr<List> ListBuilder::Finish() {
  EndChunk();
  return std::move(list_);
}

}  // namespace sluice
