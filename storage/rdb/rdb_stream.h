// Streams in RDB form.
//
//   count | (first id 16, listpack) ... | length | last id | first id | max deleted id | added
//   groups: count | (name, last id, entries read, pending, consumers) ...
//     pending: count | (id 16, delivered ms 8, deliveries) ...
//     consumers: count | (name, seen ms 8, count | id 16 ...) ...
//   listpack: live | deleted | fields | name ... | 0 | entry ...
//     entry: flags | ms and sequence beyond the first id | [fields, and names between the values] |
//            value ... | how many elements that was
//
// The first version has no first id, max deleted id, added, and entries read; the third one has a
// second time of each consumer. The fourth has, behind all, what XADD's IDMP remembers, which is
// read and left out; the fifth behind the consumers of a group the ids of its pending entries that
// nobody owns: count | id 16 ... Ids of 16 bytes are big-endian.
//
// The second version is written. There what nobody owns is of a consumer without a name, who was
// never seen, delivered at time 0, in the order in which it was given back; Redis takes that for a
// consumer.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_reader.h"
#include "storage/rdb/rdb_writer.h"
#include "storage/types/streams/stream.h"

namespace sluice {

// Writes a stream in parts, each of a chunk or of a few pending entries. The stream must not change
// meanwhile.
class StreamParts {
 public:
  explicit StreamParts(const Stream& stream);  // which outlives this
  bool WriteNext(RdbWriter& writer);           // false: that was the last part

 private:
  enum class Next : uint8_t { kHead, kChunk, kGroup, kPending, kConsumer, kOwned, kUnowned };

  Next WriteChunk(RdbWriter& writer);
  Next WriteGroup(RdbWriter& writer);
  Next WritePending(RdbWriter& writer);
  Next WriteConsumer(RdbWriter& writer);
  Next WriteOwned(RdbWriter& writer);
  Next WriteUnowned(RdbWriter& writer);

  const Stream& stream_;
  Next next_ = Next::kHead;
  Stream::Chunks::const_iterator chunk_;
  Stream::Groups::const_iterator group_;
  StreamGroup::PendingEntries::const_iterator pending_;      // of the group
  StreamGroup::Consumers::const_iterator consumer_;          // of the group
  decltype(StreamConsumer::pending)::const_iterator owned_;  // of the consumer
  StreamGroup::Unowned::const_iterator unowned_;             // of the group
};

void WriteStream(const Stream& stream, RdbWriter& writer);            // as RdbType::kStream2
std::unique_ptr<Stream> ReadStream(RdbType type, RdbReader& reader);  // null at a fault

}  // namespace sluice
