// See rdb_sequence.h.
#include "storage/rdb/rdb_sequence.h"

#include <string>

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

}  // namespace sluice
