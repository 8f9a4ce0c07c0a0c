// See rdb_sequence.h.
#include "storage/rdb/rdb_sequence.h"

#include <array>
#include <string>

#include "protocol/text/free_memory.h"
#include "storage/listpack/listpack.h"
#include "storage/rdb/ziplist.h"

namespace sluice {
namespace {

bool ForEachInListpack(std::string_view bytes, VisitPacked visit) {
  ListpackReader reader(bytes);
  while (const std::optional<PackedItem> item = reader.Next()) {
    if (!visit(*item)) return false;
  }
  return reader.ok();
}

// The texts that are kept back for ReadTogether.
class TextBatch {
 public:
  // True: they are as many, or as long, as may be kept.
  bool Add(std::string_view text) {
    texts_[count_++] = text;
    bytes_ += text.size();
    return count_ == texts_.size() || bytes_ > kBytesMax;
  }
  size_t size() const { return count_; }
  std::span<const std::string> texts() const { return std::span(texts_).first(count_); }
  // The room of long ones goes with them.
  void Clear() {
    if (bytes_ > kBytesMax) FreeMemory(texts_);
    count_ = bytes_ = 0;
  }

 private:
  static constexpr size_t kBytesMax = 64 * 1024;
  std::array<std::string, kTextsTogether> texts_;
  size_t count_ = 0;
  size_t bytes_ = 0;
};

bool ReadStrings(RdbReader& reader, uint64_t each, VisitText visit) {
  // A count that the bytes cannot hold runs into their end.
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    for (uint64_t i = 0; i < each; ++i) {
      const std::string text = reader.String();
      if (reader.failed() || !visit(text)) return false;
    }
  }
  return reader.ok();
}

}  // namespace

// One visitor for all forms: a number becomes text here, on the stack.
bool ReadPacked(std::string_view bytes, RdbSequence form, VisitText visit) {
  const auto visit_item = [&](const PackedItem& item) {
    char scratch[kInt64TextMax];
    return visit(item.Text(scratch));
  };
  switch (form) {
    case RdbSequence::kListpack:
      return ForEachInListpack(bytes, visit_item);
    case RdbSequence::kZiplist:
      return ForEachInZiplist(bytes, visit_item);
    case RdbSequence::kZipmap:
      return ForEachInZipmap(bytes, visit_item);
    case RdbSequence::kIntset:
      return ForEachInIntset(bytes, visit_item);
    default:
      return false;
  }
}

bool ReadSequence(RdbReader& reader, RdbSequence form, VisitText visit) {
  bool whole;
  if (form == RdbSequence::kStrings || form == RdbSequence::kPairs) {
    whole = ReadStrings(reader, form == RdbSequence::kPairs ? 2 : 1, visit);
  } else {
    const std::string bytes = reader.String();
    whole = reader.ok() && ReadPacked(bytes, form, visit);
  }
  if (!whole) reader.Fail();
  return whole;
}

bool ReadTogether(RdbReader& reader, RdbSequence form, VisitTexts visit) {
  TextBatch batch;
  const size_t each = form == RdbSequence::kPairs ? 2 : 1;
  const auto flush = [&] {
    const bool ok = batch.size() == 0 || visit(batch.texts());
    batch.Clear();
    return ok;
  };
  const bool whole = ReadSequence(reader, form, [&](std::string_view text) {
    const bool is_full = batch.Add(text);
    return !is_full || batch.size() % each != 0 || flush();
  });
  if (whole && flush()) return true;
  reader.Fail();
  return false;
}

}  // namespace sluice
