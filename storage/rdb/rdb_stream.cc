// See rdb_stream.h. A stream is validated as it is built: ids must grow, and every pending entry
// has one owner. Facts that the entries tell by themselves (the stream's length, its last id, how
// many of a chunk are deleted) are taken from them, whatever the file says of it; then the reader
// is told what did not fit (RdbReader::Mend).
#include "storage/rdb/rdb_stream.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "storage/rdb/rdb_moment.h"

namespace sluice {
namespace {

constexpr size_t kPendingPerPart = 64;
constexpr std::string_view kNobody = "";

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

// --- reading

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

// A chunk without entries is left out.
bool ReadChunks(RdbReader& reader, Stream& stream) {
  bool counts_fit = true, all_have_entries = true;
  for (uint64_t left = reader.Length(); left > 0; --left) {
    const std::string base = reader.String();
    const std::string listpack = reader.String();
    if (reader.failed() || base.size() != 16) return false;
    std::unique_ptr<StreamChunk> chunk =
        StreamChunk::OfListpack(ReadRawId(base), listpack, counts_fit);
    if (!chunk) return false;
    all_have_entries = all_have_entries && chunk->records() > 0;
    if (chunk->records() > 0 && !stream.AppendChunk(std::move(chunk))) return false;
  }
  if (!all_have_entries) reader.Mend("nodes without entries");
  if (!counts_fit) reader.Mend("counts of nodes");
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

bool HasSecondTime(RdbType type) { return type != RdbType::kStream1 && type != RdbType::kStream2; }

// Ids, in the order in which they were given back.
bool ReadUnowned(RdbReader& reader, const StreamGroup::PendingEntries& pending,
                 StreamGroup& group) {
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const StreamId id = ReadRawId(reader.Raw(16));
    const auto found = pending.find(id);
    if (found == pending.end() || group.FindPending(id)) return false;
    group.Disown(id, found->second.deliveries);
  }
  return reader.ok();
}

// A pending entry has one owner or, if the file says so, none; another one without is left out.
bool ReadConsumers(RdbType type, RdbReader& reader, const StreamGroup::PendingEntries& pending,
                   StreamGroup& group) {
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const std::string name = reader.String();
    const int64_t seen_ms = ReadUnixMs(reader);
    if (HasSecondTime(type)) reader.Int64();  // when it was last given something
    if (reader.failed() || group.FindConsumer(name)) return false;
    const bool is_nobody = name.empty() && seen_ms == 0;
    StreamConsumer* const consumer = is_nobody ? nullptr : &group.AddConsumer(name, seen_ms);
    for (uint64_t ids = reader.Length(); ids > 0 && reader.ok(); --ids) {
      const StreamId id = ReadRawId(reader.Raw(16));
      const auto found = pending.find(id);
      if (found == pending.end() || group.FindPending(id)) return false;
      const auto& [owner, delivered_ms, deliveries] = found->second;
      if (is_nobody || (name.empty() && delivered_ms == 0)) {
        group.Disown(id, deliveries);
      } else {
        group.Give(id, *consumer, delivered_ms, deliveries);
      }
    }
  }
  if (type == RdbType::kStream5 && !ReadUnowned(reader, pending, group)) return false;
  if (reader.ok() && group.pending().size() != pending.size()) {
    reader.Mend("pending entries without a consumer");
  }
  return reader.ok();
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

// Passes over the producers of XADD's IDMP, and the bounds of what is kept of them.
bool PassProducers(RdbReader& reader) {
  reader.Length();  // for how long it is kept
  reader.Length();  // of how many ids
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    reader.String();
    for (uint64_t ids = reader.Length(); ids > 0 && reader.ok(); --ids) {
      reader.String();
      ReadId(reader);  // of the entry
    }
  }
  reader.Length();  // how many had an id
  reader.Length();  // how many of those came again
  return reader.ok();
}

// No stream says of itself what these do not allow, but bugs and other programs have written it.
void TakeCounters(RdbReader& reader, uint64_t length, StreamId last_id, StreamId max_deleted_id,
                  uint64_t added, Stream& stream) {
  if (length != stream.length()) reader.Mend("length");
  if (last_id < stream.last_id()) reader.Mend("last id");
  stream.SetLastId(std::max(last_id, stream.last_id()));
  stream.SetMaxDeletedId(max_deleted_id);  // XSETID may set the last id below it
  if (added < stream.length()) reader.Mend("count of entries added");
  stream.SetEntriesAdded(std::max(added, stream.length()));
}

bool ReadCounters(RdbType type, RdbReader& reader, Stream& stream) {
  const uint64_t length = reader.Length();
  const StreamId last_id = ReadId(reader);
  StreamId max_deleted_id;
  uint64_t added = stream.length();
  if (type != RdbType::kStream1) {
    ReadId(reader);  // the first id, which the entries tell
    max_deleted_id = ReadId(reader);
    added = reader.Length();
  }
  if (reader.failed()) return false;
  TakeCounters(reader, length, last_id, max_deleted_id, added, stream);
  return true;
}

}  // namespace

// --- the parts of a stream
// A state machine over iterators: each part takes up where the last one ended, so that the sum of
// the parts is the same bytes as at once.

StreamParts::StreamParts(const Stream& stream)
    : stream_(stream), chunk_(stream.chunks().begin()), group_(stream.groups().begin()) {}

// head -> chunks -> (group -> pending -> [unowned] -> (consumer -> owned [-> unowned])*)* -> end
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
    case Next::kUnowned:
      next_ = WriteUnowned(writer);
      break;
  }
  return next_ != Next::kGroup || group_ != stream_.groups().end();
}

// Behind the last chunk stand the counters, and how many groups there are.
StreamParts::Next StreamParts::WriteChunk(RdbWriter& writer) {
  if (chunk_ != stream_.chunks().end()) {
    const auto& [id, chunk] = *chunk_++;
    writer.String(RawId(id));
    writer.String(chunk->Listpack());
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
    writer.Int64(pending.shown_ms());
    writer.Length(static_cast<uint64_t>(pending.deliveries));
  }
  if (pending_ != group.pending().end()) return Next::kPending;
  consumer_ = group.consumers().begin();
  unowned_ = group.unowned().begin();
  const bool has_nobody = !group.unowned().empty() && !group.FindConsumer(kNobody);
  writer.Length(group.consumers().size() + (has_nobody ? 1 : 0));
  if (!has_nobody) return Next::kConsumer;
  writer.String(kNobody);
  writer.Int64(0);
  writer.Length(group.unowned().size());
  return Next::kUnowned;
}

StreamParts::Next StreamParts::WriteConsumer(RdbWriter& writer) {
  if (consumer_ == group_->second->consumers().end()) {
    ++group_;
    return Next::kGroup;
  }
  const auto& [name, consumer] = *consumer_;
  const size_t unowned = name == kNobody ? group_->second->unowned().size() : 0;
  writer.String(name);
  writer.Int64(consumer->seen_ms);
  writer.Length(consumer->pending.size() + unowned);
  owned_ = consumer->pending.begin();
  return Next::kOwned;
}

StreamParts::Next StreamParts::WriteOwned(RdbWriter& writer) {
  const auto& owned = consumer_->second->pending;
  for (size_t i = 0; i < kPendingPerPart && owned_ != owned.end(); ++i, ++owned_)
    WriteRawId(*owned_, writer);
  if (owned_ != owned.end()) return Next::kOwned;
  return (consumer_++)->first == kNobody ? Next::kUnowned : Next::kConsumer;
}

StreamParts::Next StreamParts::WriteUnowned(RdbWriter& writer) {
  const auto& unowned = group_->second->unowned();
  for (size_t i = 0; i < kPendingPerPart && unowned_ != unowned.end(); ++i, ++unowned_)
    WriteRawId(unowned_->second, writer);
  return unowned_ != unowned.end() ? Next::kUnowned : Next::kConsumer;
}

void WriteStream(const Stream& stream, RdbWriter& writer) {
  StreamParts parts(stream);
  while (parts.WriteNext(writer)) continue;
}

std::unique_ptr<Stream> ReadStream(RdbType type, RdbReader& reader) {
  auto stream = std::make_unique<Stream>();
  const bool has_producers = type == RdbType::kStream4 || type == RdbType::kStream5;
  if (ReadChunks(reader, *stream) && ReadCounters(type, reader, *stream) &&
      ReadGroups(type, reader, *stream) && (!has_producers || PassProducers(reader))) {
    return stream;
  }
  reader.Fail();
  return nullptr;
}

}  // namespace sluice
