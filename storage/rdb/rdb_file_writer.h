// RdbFileWriter: an RDB file of version 10, as Redis 7.0 writes it, into a ByteSink in pieces. See
// rdb_file_reader.h for the frame. redis-check-rdb accepts every such file; Redis loads it when
// only types of Redis 7.0 are in it. Ours are module values, and so is a hash whose fields have
// deadlines, for which version 10 has no type (but see RdbContext::for_redis).
//
//   RdbFileWriter writer(sink, context);
//   writer.Aux("redis-ver", kRedisVersion);
//   writer.BeginDatabase(0, db.size(), db.volatile_size());
//   for (...) writer.Key(entry);
//   if (!writer.End()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "storage/keyspace/entry.h"
#include "storage/rdb/byte_sink.h"
#include "storage/rdb/rdb_value.h"

namespace sluice {

class RdbFileWriter {
 public:
  // At most so much is handed to the sink at once.
  static constexpr size_t kPieceBytes = 16 * 1024;

  // Both are used as long as the writer lives. Without `checksum` 0 stands in its place, which says
  // that there is none.
  RdbFileWriter(ByteSink& sink, const RdbContext& context, bool checksum = true);

  void Aux(std::string_view name, std::string_view value);
  void Function(std::string_view code);
  // The database of the keys that follow. The counts are a hint for who loads the file.
  void BeginDatabase(uint64_t index, uint64_t keys, uint64_t with_deadline);
  // Keys of a database that was begun before follow.
  void ContinueDatabase(uint64_t index);
  // As it is at the context's moment, with fields of hashes that are over, but there. The bytes of
  // its value are in memory as a whole meanwhile.
  void Key(const Entry& entry);
  // The same in pieces (LargeValueWriter), of which this is the first. Other parts that are written
  // before the key is ended wait in memory, and stand behind it.
  void BeginKey(const Entry& entry, std::string_view piece);
  void Piece(std::string_view piece);
  void EndKey();
  bool is_key_open() const { return is_key_open_; }
  // Hands the sink a piece of what has waited. False: nothing waits, or the key has not ended.
  bool HandWaiting();
  size_t waiting_bytes() const {
    return waiting_.empty() ? 0 : waiting_full_bytes_ + waiting_.back().size() - waiting_handed_;
  }
  // Once, behind all else, when no key is open. False when anything has failed.
  bool End();

  bool ok() const { return ok_; }
  uint64_t bytes() const { return bytes_written_ + buffer_.size() + waiting_bytes(); }

 private:
  // Where the next part goes.
  std::string& out();
  bool must_wait() const { return is_key_open_ || !waiting_.empty(); }
  void WriteDeadline(const Deadline& deadline);
  void WriteUse(const Entry& entry);
  void WriteHead(const Entry& entry, std::string_view value);
  void Hand(std::string_view bytes);
  void HandIfFull();

  ByteSink& sink_;
  const RdbContext& context_;
  const bool checksum_;
  std::string buffer_;  // what the sink has not been handed
  std::string value_;   // of the key that is being written, behind its type
  // Behind what comes in pieces; in blocks, as one text that grows would be copied again and again.
  std::deque<std::string> waiting_;
  size_t waiting_full_bytes_ = 0;  // of all blocks but the last
  size_t waiting_handed_ = 0;      // of the first
  bool is_key_open_ = false;
  uint64_t crc_ = 0;
  uint64_t bytes_written_ = 0;
  bool ok_ = true;
};

}  // namespace sluice
