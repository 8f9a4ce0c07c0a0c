// ListBuilder: a list that is read from a file or a dump, element by element from the front. Its
// chunks are filled as List::Push fills them, but aside, and get a block of their exact size once.
//
//   ListBuilder builder(limits);
//   builder.Number(5);
//   builder.Text("five");
//   std::unique_ptr<List> list = builder.Finish();
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "storage/types/list.h"

namespace sluice {

// O(1) an element, beside a copy of its bytes.
class ListBuilder {
 public:
  explicit ListBuilder(const ListLimits& limits);

  void Text(std::string_view text);  // as a number, if it is one
  void Number(int64_t number);
  bool empty() const { return list_->empty() && count_ == 0; }
  std::unique_ptr<List> Finish();  // once

 private:
  bool Fits(size_t bytes) const {
    const size_t used = used_ + (count_ + 1) * sizeof(uint16_t) + bytes;
    return count_ < limits_.chunk_elements && used <= chunk_bytes_;
  }
  void Note(size_t bytes, bool integer) {
    used_ += bytes;
    slots_[count_++] = static_cast<uint16_t>(used_ << 1 | (integer ? 1 : 0));
  }
  void EndChunk();

  const ListLimits limits_;
  const size_t chunk_bytes_;
  std::unique_ptr<List> list_;
  // The chunk that is being filled, with room for a word behind its last element.
  std::unique_ptr<uint16_t[]> slots_;
  std::unique_ptr<char[]> bytes_;
  size_t count_ = 0;
  size_t used_ = 0;
};

// As ListItem keeps it: the fewest bytes whose sign extension is the number.
inline void ListBuilder::Number(int64_t number) {
  static_assert(std::endian::native == std::endian::little);
  const auto magnitude = static_cast<uint64_t>(number ^ number >> 63);
  const size_t bytes = (static_cast<size_t>(std::bit_width(magnitude)) + 8) / 8;
  if (!Fits(bytes)) EndChunk();
  std::memcpy(bytes_.get() + used_, &number, sizeof number);
  Note(bytes, true);
}

}  // namespace sluice
