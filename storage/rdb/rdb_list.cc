// Lists in RDB form: see rdb_collections.h. Whatever its chunks are here, a list is written as
// nodes of some 8 KB, as Redis has them by default.
#include <string>

#include "protocol/text/number_text.h"
#include "storage/listpack/listpack.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_sequence.h"
#include "storage/types/list_builder.h"

namespace sluice {
namespace {

constexpr size_t kNodeBytes = 8192;  // as list-max-listpack-size -2

// Of the text of a number.
size_t TextBytes(int64_t number) {
  char text[kInt64TextMax];
  return static_cast<size_t>(FormatInt64(text, number) - text);
}

// A node takes no element that could make it longer than kNodeBytes, where Redis counts a number as
// its text. Only near the end is that looked at.
bool IsFull(const ListpackWriter& node, int64_t number) {
  if (node.bytes() + kInt64TextMax <= kNodeBytes) return false;
  return node.size() > 0 && node.bytes() + TextBytes(number) > kNodeBytes;
}

bool IsFull(const ListpackWriter& node, std::string_view text) {
  return node.size() > 0 && node.bytes() + text.size() > kNodeBytes;
}

void WriteNode(ListpackWriter& node, RdbWriter& writer) {
  writer.Length(static_cast<uint64_t>(RdbQuicklistNode::kPacked));
  writer.String(node.Finish());
}

// A listpack's numbers need not become texts on the way.
void TakePackedNode(RdbReader& reader, ListBuilder& builder) {
  const std::string bytes = reader.String();
  if (reader.failed()) return;
  ListpackReader listpack(bytes);
  PackedItem item;
  while (listpack.Take(item)) {
    item.is_number ? builder.Number(item.number) : builder.Text(item.text);
  }
  if (!listpack.ok()) reader.Fail();
}

}  // namespace

void WriteListNode(const ListChunk& chunk, RdbWriter& writer) {
  ListpackWriter node;
  chunk.ForEachKept([&](std::string_view bytes, bool integer) {
    if (integer) return node.Number(ListItem::Number(bytes));
    node.Text(bytes);
  });
  WriteNode(node, writer);
}

// The count of nodes comes first and is known last: so the nodes are written aside.
void WriteList(const List& list, RdbWriter& writer) {
  std::string nodes;  // how many comes before them
  RdbWriter nodes_writer(nodes, writer.compress());
  uint64_t count = 0;
  ListpackWriter node;
  const auto end_node = [&] {
    WriteNode(node, nodes_writer);
    ++count;
  };
  list.ForEachKept([&](std::string_view bytes, bool integer) {
    if (integer) {
      const int64_t number = ListItem::Number(bytes);
      if (IsFull(node, number)) end_node();
      return node.Number(number);
    }
    if (IsFull(node, bytes)) end_node();
    node.Text(bytes);
  });
  if (node.size() > 0) end_node();
  writer.Type(RdbType::kQuicklist);
  writer.Length(count);
  writer.Raw(nodes);
}

// Chunks follow the present limits, not the file's.
std::unique_ptr<Value> ReadList(RdbType type, RdbReader& reader, const RdbContext& context) {
  ListBuilder builder(context.list);
  const auto push = [&builder](std::string_view text) {
    builder.Text(text);
    return true;
  };
  // The two oldest forms are one sequence; the later ones are a count of nodes, each a sequence.
  if (type == RdbType::kList || type == RdbType::kListZiplist) {
    ReadSequence(reader, type == RdbType::kList ? RdbSequence::kStrings : RdbSequence::kZiplist,
                 push);
  } else {
    for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
      const uint64_t node = type == RdbType::kQuicklist ? reader.Length() : 0;
      if (node == static_cast<uint64_t>(RdbQuicklistNode::kPlain)) {
        const std::string text = reader.String();
        if (text.empty()) reader.Fail();  // no text is so short that it stands alone
        if (reader.ok()) builder.Text(text);
      } else if (type == RdbType::kQuicklistZiplists) {
        ReadSequence(reader, RdbSequence::kZiplist, push);
      } else if (node == static_cast<uint64_t>(RdbQuicklistNode::kPacked)) {
        TakePackedNode(reader, builder);
      } else {
        reader.Fail();
      }
    }
  }
  if (reader.failed() || builder.empty()) return nullptr;
  return builder.Finish();
}

}  // namespace sluice
