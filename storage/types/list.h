// List: the value of the LIST commands, elements in the order in which they were pushed.
//
// A chain of chunks (list_chunk.h) of some kilobytes each, as Redis's quicklist: pushing and
// popping at both ends takes the same time whatever the length, an index is found by skipping whole
// chunks from the nearer end, and no change moves more than a chunk. No chunk is empty; where
// elements are taken out of the middle, small neighbours become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "boost/intrusive/list.hpp"
#include "storage/keyspace/value.h"
#include "storage/types/list_chunk.h"
#include "storage/types/list_item.h"

namespace sluice {

// How full a chunk is made (list-max-listpack-size), and from which size on an element is kept
// alone (DEBUG QUICKLIST-PACKED-THRESHOLD).
struct ListLimits {
  static constexpr size_t kDefaultChunkBytes = 8192;
  size_t chunk_bytes = kDefaultChunkBytes;
  size_t chunk_elements = SIZE_MAX;
  size_t alone_bytes = SIZE_MAX;

  // As list-max-listpack-size says: a chunk's elements, of which 0 counts as 1; -1 to -5 mean its 4
  // to 64 kilobytes, and anything below counts as -5.
  static ListLimits Of(int64_t size);
  // Whether 15 bits of an offset cannot reach it, or DEBUG QUICKLIST-PACKED-THRESHOLD says so.
  bool KeepsAlone(const ListItem& item) const {
    if (item.integer() || item.size() == 0) return false;
    return item.size() > ListChunk::kBytesMax - sizeof(uint16_t) || item.size() >= alone_bytes;
  }
};

// Push and Drop at an end are O(1) amortized; an index is O(chunks), the middle of a chunk O(its
// bytes).
class List final : public Value {
 public:
  static constexpr ValueType kType = ValueType::kList;
  static constexpr size_t kTextScratch = ListItem::kTextScratch;

  List() = default;
  ~List() override;

  ValueType type() const override { return kType; }
  std::string_view Encoding() const override { return "quicklist"; }
  size_t MemoryBytes() const override { return sizeof(*this) + chunk_bytes_; }
  std::unique_ptr<Value> Clone() const override;
  size_t Elements() const override { return chunks_.size(); }
  size_t FreeSome(size_t budget) override;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t chunks() const { return chunks_.size(); }
  std::string Audit() const override;  // the first violated invariant as a sentence, or empty

  // --- reading. Texts live until the list changes, or in `scratch` (kTextScratch bytes).
  // Requires: index < size().
  std::string_view At(size_t index, char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND) const;
  std::string_view AtEnd(
      ListEnd end, char* scratch ABSL_ATTRIBUTE_LIFETIME_BOUND) const;  // requires: size() > 0
  // Visits elements with their indexes from `index` on, towards the back or the front, until the
  // end or until `visit` says false.
  using Visit = absl::FunctionRef<bool(size_t index, std::string_view text)>;
  void Walk(size_t index, ListEnd towards, Visit visit) const;
  // Visits all elements from the front on as they are kept (ListItem): no integer becomes text.
  template <typename VisitKept>  // (std::string_view bytes, bool integer)
  void ForEachKept(VisitKept&& visit) const {
    for (const ListChunk& chunk : chunks_) chunk.ForEachKept(visit);
  }
  // A chunk after the other, as the list keeps them; null: none is left.
  const ListChunk* FirstChunk() const { return chunks_.empty() ? nullptr : &chunks_.front(); }
  const ListChunk* NextChunk(const ListChunk& chunk) const;
  // The indexes of elements equal to `text`, in the same manner. At most `looks` elements are
  // compared.
  void Find(std::string_view text, ListEnd towards, size_t looks,
            absl::FunctionRef<bool(size_t index)> found) const;

  // --- writing
  // Views into the list are void after each of these.
  void Push(ListEnd end, std::string_view text, const ListLimits& limits);
  void Drop(ListEnd end, size_t count);  // requires: count <= size()
  void Replace(size_t index, std::string_view text, const ListLimits& limits);
  // A whole chunk, which is not empty, behind all others: as loading has it.
  void AppendChunk(std::unique_ptr<ListChunk> chunk);
  // `text` becomes the element at `index` <= size().
  void Insert(size_t index, std::string_view text, const ListLimits& limits);
  // Removes at most `max` elements equal to `text`, the first or the last ones; how many.
  size_t Remove(std::string_view text, size_t max, ListEnd from);

 private:
  using Chunks = boost::intrusive::list<ListChunk>;
  struct Place {
    Chunks::iterator chunk;
    size_t offset;
  };

  Place Locate(size_t index) const;  // requires: index < size()
  Chunks::iterator Add(Chunks::const_iterator before, std::unique_ptr<ListChunk> chunk);
  Chunks::iterator Remove(Chunks::iterator chunk);
  void InsertAt(Place place, const ListItem& item, const ListLimits& limits);
  void EraseAt(Place place);
  // Takes the chunk that follows into this one if both are small; gives this one.
  Chunks::iterator JoinNext(Chunks::iterator chunk);
  // Runs `change` on a chunk, keeping the accounts.
  template <typename Change>
  void Alter(ListChunk& chunk, Change change);

  Chunks chunks_;
  size_t size_ = 0;
  size_t chunk_bytes_ = 0;  // the chunks' MemoryBytes
};

}  // namespace sluice
