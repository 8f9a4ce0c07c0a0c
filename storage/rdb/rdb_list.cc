// Lists in RDB form: see rdb_collections.h. Whatever its chunks are here, a list is written as
// nodes of some 8 KB, as Redis has them by default.
#include <algorithm>
#include <string>

#include "protocol/text/number_text.h"
#include "storage/listpack/listpack.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_sequence.h"
#include "storage/types/list_builder.h"

namespace sluice {
namespace {

constexpr size_t kNodeBytes = 8192;  // as list-max-listpack-size -2

// The length of a number as text.
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

// Writes a list's nodes one after the other. To find that a node gets no shorter takes the longest,
// and the next ones are mostly alike: behind such a one some stay as they are without being tried.
class NodesWriter {
 public:
  // `out` outlives it.
  NodesWriter(std::string& out, bool compress) : out_(out), writer_(out, compress) {}

  uint64_t count() const { return count_; }
  void Write(ListpackWriter& node) {
    Write(node.Close());
    node.Reopen();
  }

 private:
  static constexpr int kUntriedMax = 7;

  void Write(std::string_view text) {
    writer_.Length(static_cast<uint64_t>(RdbQuicklistNode::kPacked));
    ++count_;
    if (untried_ > 0) {
      --untried_;
      writer_.Length(text.size());
      return writer_.Raw(text);
    }
    const size_t before = out_.size();
    writer_.String(text);
    const bool is_shorter = out_.size() - before < text.size();
    untried_ = next_ = is_shorter ? 0 : std::min(2 * next_ + 1, kUntriedMax);
  }

  std::string& out_;
  RdbWriter writer_;
  uint64_t count_ = 0;
  int untried_ = 0;  // so many of the next ones
  int next_ = 0;     // how many those were last
};

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
  writer.Length(static_cast<uint64_t>(RdbQuicklistNode::kPacked));
  writer.String(node.Finish());
}

// The count of nodes comes first and is known last: so the nodes are written aside.
void WriteList(const List& list, RdbWriter& writer) {
  std::string nodes;
  NodesWriter nodes_writer(nodes, writer.compress());
  ListpackWriter node;
  list.ForEachKept([&](std::string_view bytes, bool integer) ABSL_ATTRIBUTE_ALWAYS_INLINE {
    if (integer) {
      const int64_t number = ListItem::Number(bytes);
      if (IsFull(node, number)) nodes_writer.Write(node);
      return node.Number(number);
    }
    if (IsFull(node, bytes)) nodes_writer.Write(node);
    node.Text(bytes);
  });
  if (node.size() > 0) nodes_writer.Write(node);
  writer.Type(RdbType::kQuicklist);
  writer.Length(nodes_writer.count());
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
