// See rdb_stream.h. What is read is validated as it is built: ids must grow, and every pending
// entry needs exactly one owner.
#include "storage/rdb/rdb_stream.h"

#include <string>
#include <utility>
#include <vector>

#include "storage/rdb/listpack.h"
#include "storage/rdb/rdb_moment.h"

namespace sluice {
namespace {

constexpr int64_t kDeleted = 1;
constexpr int64_t kSameFields = 2;
constexpr size_t kPendingPerPart = 64;

// --- writing

void WriteRawId(StreamId id, RdbWriter& writer) {
  for (const uint64_t part : {id.ms, id.seq}) {
    for (int shift = 56; shift >= 0; shift -= 8) writer.Byte(static_cast<uint8_t>(part >> shift));
  }
}

std::string RawId(StreamId id) {
  std::string bytes;
  RdbWriter writer(bytes);
  WriteRawId(id, writer);
  return bytes;
}

void WriteId(StreamId id, RdbWriter& writer) {
  writer.Length(id.ms);
  writer.Length(id.seq);
}

// Two forms: the chunk's own field names left out (kSameFields), or each entry with its names. The
// last number counts the elements, so that Redis can walk backwards.
void WriteEntry(const StreamChunk& chunk, const StreamChunk::Record& record,
                ListpackWriter& listpack) {
  const int64_t pairs = record.pairs;
  listpack.Number(record.deleted * kDeleted + record.same_fields * kSameFields);
  listpack.Number(static_cast<int64_t>(record.id.ms - chunk.base_id().ms));
  listpack.Number(static_cast<int64_t>(record.id.seq - chunk.base_id().seq));
  if (!record.same_fields) listpack.Number(pairs);
  for (size_t i = 0; i < record.pairs; ++i) {
    if (!record.same_fields) listpack.Text(chunk.Field(record, i));
    listpack.Text(chunk.Value(record, i));
  }
  listpack.Number(record.same_fields ? pairs + 3 : 2 * pairs + 4);
}

// Deleted entries are written, too, marked by their flag: their places count in the chunk.
std::string ListpackOf(const StreamChunk& chunk) {
  ListpackWriter listpack;
  listpack.Number(static_cast<int64_t>(chunk.live()));
  listpack.Number(static_cast<int64_t>(chunk.records() - chunk.live()));
  listpack.Number(static_cast<int64_t>(chunk.master_pairs()));
  for (size_t i = 0; i < chunk.master_pairs(); ++i) listpack.Text(chunk.MasterField(i));
  listpack.Number(0);
  for (size_t i = 0; i < chunk.records(); ++i) WriteEntry(chunk, chunk.record(i), listpack);
  return listpack.Finish();
}

// --- reading a chunk

// Takes the elements of a chunk's listpack one by one. After a fault all are empty and ok() false.
class ChunkReader {
 public:
  explicit ChunkReader(std::string_view bytes) : listpack_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() { return !listpack_.Next() && listpack_.ok(); }
  int64_t Number() {
    const std::optional<PackedItem> item = Next();
    if (!item || !item->number) ok_ = false;
    return ok_ ? *item->number : 0;
  }
  uint64_t Count() {
    const int64_t number = Number();
    if (number < 0) ok_ = false;
    return ok_ ? static_cast<uint64_t>(number) : 0;
  }
  std::string Text() {
    const std::optional<PackedItem> item = Next();
    return item ? item->ToString() : std::string();
  }

 private:
  std::optional<PackedItem> Next() {
    std::optional<PackedItem> item;
    if (ok_) item = listpack_.Next();
    ok_ = item.has_value();
    return item;
  }

  ListpackReader listpack_;
  bool ok_ = true;
};

// One entry of the chunk, appended to it. False at a fault.
// Ids are sums that a hostile file may make wrap: an id that does not grow is a fault, whatever
// made it.
bool ReadEntry(ChunkReader& reader, const std::vector<std::string>& fields, StreamChunk& chunk) {
  const int64_t flags = reader.Number();
  const auto ms = static_cast<uint64_t>(reader.Number());
  const auto seq = static_cast<uint64_t>(reader.Number());
  const StreamId id{chunk.base_id().ms + ms, chunk.base_id().seq + seq};
  const bool same = flags & kSameFields;
  const uint64_t pairs = same ? fields.size() : reader.Count();
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < pairs && reader.ok(); ++i) {
    texts.push_back(same ? fields[i] : reader.Text());
    texts.push_back(reader.Text());
  }
  const uint64_t elements = reader.Count();
  if (!reader.ok() || pairs == 0 || elements != (same ? pairs + 3 : 2 * pairs + 4)) return false;
  const bool grows =
      chunk.records() == 0 ? id >= chunk.base_id() : id > chunk.record(chunk.records() - 1).id;
  if (!grows) return false;
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  chunk.Append(id, Args(views));
  if (flags & kDeleted) chunk.Delete(chunk.records() - 1);
  return true;
}

// The head's counts are believed only as far as entries follow; at the end both have to agree.
std::unique_ptr<StreamChunk> ReadChunk(StreamId base, std::string_view listpack) {
  ChunkReader reader(listpack);
  const uint64_t live = reader.Count();
  const uint64_t deleted = reader.Count();
  std::vector<std::string> fields;
  for (uint64_t left = reader.Count(); left > 0 && reader.ok(); --left) {
    fields.push_back(reader.Text());
  }
  if (reader.Number() != 0 || !reader.ok() || live + deleted == 0) return nullptr;
  std::vector<std::string_view> pairs;  // the names alone count
  for (const std::string& field : fields) pairs.insert(pairs.end(), {field, {}});
  auto chunk = std::make_unique<StreamChunk>(base, Args(pairs));
  for (uint64_t i = 0; i < live + deleted; ++i) {
    if (!ReadEntry(reader, fields, *chunk)) return nullptr;
  }
  if (!reader.AtEnd() || chunk->live() != live) return nullptr;
  chunk->ShrinkToFit();
  return chunk;
}

// --- reading the rest

StreamId ReadRawId(std::string_view bytes) {
  StreamId id;
  if (bytes.size() != 16) return id;
  for (size_t i = 0; i < 16; ++i) {
    uint64_t& part = i < 8 ? id.ms : id.seq;
    part = part << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return id;
}

StreamId ReadId(RdbReader& reader) {
  const uint64_t ms = reader.Length();
  return {ms, reader.Length()};
}

bool ReadChunks(RdbReader& reader, Stream& stream) {
  for (uint64_t left = reader.Length(); left > 0; --left) {
    const std::string base = reader.String();
    const std::string listpack = reader.String();
    if (reader.failed() || base.size() != 16) return false;
    if (!stream.AppendChunk(ReadChunk(ReadRawId(base), listpack))) return false;
  }
  return reader.ok();
}

// A moment as a Unix time; what no clock shows is a fault.
int64_t ReadUnixMs(RdbReader& reader) {
  const int64_t ms = reader.Int64();
  if (ms < -kRdbMomentMsMax || ms > kRdbMomentMsMax) reader.Fail();
  return reader.ok() ? ms : 0;
}

// The group's list first, without owners: these follow with the consumers.
bool ReadPending(RdbReader& reader, StreamGroup::PendingEntries& pending) {
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const StreamId id = ReadRawId(reader.Raw(16));
    PendingEntry entry;
    entry.delivered_ms = ReadUnixMs(reader);
    entry.deliveries = static_cast<int64_t>(reader.Length());
    if (!pending.emplace(id, entry).second) return false;
  }
  return reader.ok();
}

// Every pending entry has to have exactly one owner.
bool ReadConsumers(RdbType type, RdbReader& reader, const StreamGroup::PendingEntries& pending,
                   StreamGroup& group) {
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const std::string name = reader.String();
    const int64_t seen_ms = ReadUnixMs(reader);
    if (type == RdbType::kStream3) reader.Int64();  // when it was last given something
    if (reader.failed() || group.FindConsumer(name)) return false;
    StreamConsumer& consumer = group.AddConsumer(name, seen_ms);
    for (uint64_t ids = reader.Length(); ids > 0 && reader.ok(); --ids) {
      const StreamId id = ReadRawId(reader.Raw(16));
      const auto found = pending.find(id);
      if (found == pending.end() || group.FindPending(id)) return false;
      PendingEntry& entry = group.Give(id, consumer);
      entry.delivered_ms = found->second.delivered_ms;
      entry.deliveries = found->second.deliveries;
    }
  }
  return reader.ok() && group.pending().size() == pending.size();
}

bool ReadGroups(RdbType type, RdbReader& reader, Stream& stream) {
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const std::string name = reader.String();
    const StreamId last_id = ReadId(reader);
    // The first form had no such counter: it is what the last id implies.
    const int64_t entries_read = type == RdbType::kStream1 ? stream.EntriesAddedUpTo(last_id)
                                                           : static_cast<int64_t>(reader.Length());
    if (reader.failed()) return false;
    StreamGroup* const group = stream.AddGroup(name, last_id, entries_read);
    StreamGroup::PendingEntries pending;
    if (!group || !ReadPending(reader, pending)) return false;
    if (!ReadConsumers(type, reader, pending, *group)) return false;
  }
  return reader.ok();
}

// The file's own counts have to agree with what was read.
bool ReadCounters(RdbType type, RdbReader& reader, Stream& stream) {
  const uint64_t length = reader.Length();
  const StreamId last_id = ReadId(reader);
  uint64_t added = length;
  if (type != RdbType::kStream1) {
    ReadId(reader);  // the first id, which the entries tell
    stream.SetMaxDeletedId(ReadId(reader));
    added = reader.Length();
  }
  const bool fits = length == stream.length() && last_id >= stream.last_id();
  if (reader.failed() || !fits) return false;
  stream.SetLastId(last_id);
  stream.SetEntriesAdded(added);
  return true;
}

}  // namespace

// --- the parts of a stream
// A state machine over iterators: each part takes up where the last one ended, so that the sum of
// the parts is the same bytes as at once.

StreamParts::StreamParts(const Stream& stream)
    : stream_(stream), chunk_(stream.chunks().begin()), group_(stream.groups().begin()) {}

// head -> chunks -> (group -> pending -> (consumer -> owned)*)* -> end
bool StreamParts::WriteNext(RdbWriter& writer) {
  switch (next_) {
    case Next::kHead:
      writer.Length(stream_.chunks().size());
      next_ = Next::kChunk;
      return true;
    case Next::kChunk:
      next_ = WriteChunk(writer);
      break;
    case Next::kGroup:
      next_ = WriteGroup(writer);
      break;
    case Next::kPending:
      next_ = WritePending(writer);
      break;
    case Next::kConsumer:
      next_ = WriteConsumer(writer);
      break;
    case Next::kOwned:
      next_ = WriteOwned(writer);
      break;
  }
  return next_ != Next::kGroup || group_ != stream_.groups().end();
}

// Behind the last chunk stand the counters, and how many groups there are.
StreamParts::Next StreamParts::WriteChunk(RdbWriter& writer) {
  if (chunk_ != stream_.chunks().end()) {
    const auto& [id, chunk] = *chunk_++;
    writer.String(RawId(id));
    writer.String(ListpackOf(*chunk));
    return Next::kChunk;
  }
  writer.Length(stream_.length());
  WriteId(stream_.last_id(), writer);
  WriteId(stream_.first_id(), writer);
  WriteId(stream_.max_deleted_id(), writer);
  writer.Length(stream_.entries_added());
  writer.Length(stream_.groups().size());
  return Next::kGroup;
}

StreamParts::Next StreamParts::WriteGroup(RdbWriter& writer) {
  const auto& [name, group] = *group_;
  writer.String(name);
  WriteId(group->last_id, writer);
  writer.Length(static_cast<uint64_t>(group->entries_read));
  writer.Length(group->pending().size());
  pending_ = group->pending().begin();
  return Next::kPending;
}

// Some entries a part, so that a group with a million of them does not make a part of its size.
StreamParts::Next StreamParts::WritePending(RdbWriter& writer) {
  const StreamGroup& group = *group_->second;
  for (size_t i = 0; i < kPendingPerPart && pending_ != group.pending().end(); ++i, ++pending_) {
    const auto& [id, pending] = *pending_;
    WriteRawId(id, writer);
    writer.Int64(pending.delivered_ms);
    writer.Length(static_cast<uint64_t>(pending.deliveries));
  }
  if (pending_ != group.pending().end()) return Next::kPending;
  writer.Length(group.consumers().size());
  consumer_ = group.consumers().begin();
  return Next::kConsumer;
}

StreamParts::Next StreamParts::WriteConsumer(RdbWriter& writer) {
  if (consumer_ == group_->second->consumers().end()) {
    ++group_;
    return Next::kGroup;
  }
  const auto& [name, consumer] = *consumer_;
  writer.String(name);
  writer.Int64(consumer->seen_ms);
  writer.Length(consumer->pending.size());
  owned_ = consumer->pending.begin();
  return Next::kOwned;
}

StreamParts::Next StreamParts::WriteOwned(RdbWriter& writer) {
  const auto& owned = consumer_->second->pending;
  for (size_t i = 0; i < kPendingPerPart && owned_ != owned.end(); ++i, ++owned_)
    WriteRawId(*owned_, writer);
  if (owned_ != owned.end()) return Next::kOwned;
  ++consumer_;
  return Next::kConsumer;
}

void WriteStream(const Stream& stream, RdbWriter& writer) {
  StreamParts parts(stream);
  while (parts.WriteNext(writer)) continue;
}

std::unique_ptr<Stream> ReadStream(RdbType type, RdbReader& reader) {
  auto stream = std::make_unique<Stream>();
  if (ReadChunks(reader, *stream) && ReadCounters(type, reader, *stream) &&
      ReadGroups(type, reader, *stream)) {
    return stream;
  }
  reader.Fail();
  return nullptr;
}

}  // namespace sluice
