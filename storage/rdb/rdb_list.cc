// Lists in RDB form: see rdb_collections.h. Whatever its chunks are here, a list is written as
// nodes of some 8 KB, as Redis has them by default.
#include <string>
#include <vector>

#include "storage/rdb/listpack.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_sequence.h"

namespace sluice {
namespace {

constexpr size_t kNodeBytes = 8192;  // as list-max-listpack-size -2

// Of the text of a number.
size_t TextBytes(int64_t number) {
  constexpr size_t kDigitsMax = 19;
  const auto bits = static_cast<uint64_t>(number);
  const uint64_t magnitude = number < 0 ? -bits : bits;
  size_t digits = 1;
  for (uint64_t bound = 10; digits < kDigitsMax && magnitude >= bound; bound *= 10) ++digits;
  return digits + (number < 0 ? 1 : 0);
}

}  // namespace

void WriteList(const List& list, RdbWriter& writer) {
  std::vector<std::string> nodes;
  ListpackWriter node;
  list.ForEachKept([&](std::string_view bytes, bool integer) {
    const int64_t number = integer ? ListItem::Number(bytes) : 0;
    const size_t text_bytes = integer ? TextBytes(number) : bytes.size();
    if (node.size() > 0 && node.bytes() + text_bytes > kNodeBytes) nodes.push_back(node.Finish());
    integer ? node.Number(number) : node.Text(bytes);
  });
  if (node.size() > 0) nodes.push_back(node.Finish());
  writer.Type(RdbType::kQuicklist);
  writer.Length(nodes.size());
  for (const std::string& bytes : nodes) {
    writer.Length(static_cast<uint64_t>(RdbQuicklistNode::kPacked));
    writer.String(bytes);
  }
}

std::unique_ptr<Value> ReadList(RdbType type, RdbReader& reader, const RdbContext& context) {
  auto list = std::make_unique<List>();
  const auto push = [&](std::string_view text) {
    list->Push(ListEnd::kBack, text, context.list);
    return true;
  };
  if (type == RdbType::kList || type == RdbType::kListZiplist) {
    ReadSequence(reader, type == RdbType::kList ? RdbSequence::kStrings : RdbSequence::kZiplist,
                 push);
  } else {
    for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
      const uint64_t node = type == RdbType::kQuicklist ? reader.Length() : 0;
      if (node == static_cast<uint64_t>(RdbQuicklistNode::kPlain)) {
        const std::string text = reader.String();
        if (text.empty()) reader.Fail();  // no text is so short that it stands alone
        if (reader.ok()) push(text);
      } else if (type == RdbType::kQuicklistZiplists) {
        ReadSequence(reader, RdbSequence::kZiplist, push);
      } else if (node == static_cast<uint64_t>(RdbQuicklistNode::kPacked)) {
        ReadSequence(reader, RdbSequence::kListpack, push);
      } else {
        reader.Fail();
      }
    }
  }
  if (reader.failed() || list->empty()) return nullptr;
  return list;
}

}  // namespace sluice
