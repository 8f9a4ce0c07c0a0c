// SnapshotWriter: the state of the server as an RDB file: AUX fields, libraries of functions, what
// is kept beside keys (policies, what is remembered of locks), and keys. redis-check-rdb accepts
// every such file, and redis-server 7.0 loads it where only its types are in it.
//
// A server that follows another writes locks and limits as of the last moment that the stream has
// told: a key that is over since stays until its end is told, and may be renamed before.
//
// A large value is written in pieces. Other keys that change meanwhile wait in memory until it has
// ended; if it is about to change itself, all that is left of it is written at once.
//
// AUX fields that Redis has, too, where there is a stream to replicas: repl-stream-db, repl-id and
// repl-offset (storage/log/stream_position.h). Of our own, which Redis skips:
//   sluice-skew      where it shows its master's Unix time: how much later the machine's own is
//   sluice-clock     unix offset | shift | Unix time | boot: of the instant, so that deadlines that
//                    were relative go on as in a log (LogClock)
//   sluice-commands  requests in RESP that are played: LIMIT.POLICY SET, LOCK.RESTORE and
//                    REQUEST.REMEMBER alone
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "protocol/args.h"
#include "scripting/functions.h"
#include "server/core/turn_clock.h"
#include "server/snapshots/left_out.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/policy.h"
#include "storage/locks/fence.h"
#include "storage/log/stream_position.h"
#include "storage/rdb/large/large_value_writer.h"
#include "storage/rdb/rdb_file_writer.h"
#include "storage/requests/request_memory.h"

namespace sluice {

class Hash;

// What of the data is in an image.
struct ImageParts {
  bool keys = true;
  bool functions = true;
  bool operator==(const ImageParts&) const = default;
};

class SnapshotWriter final : public EntrySaver, private FenceSaver {
 public:
  // The data that is written; all of it outlives the writer.
  struct Source {
    Keyspace& keyspace;
    const FunctionLibraries& functions;
    const PolicyTable& policies;
    FenceMemory& fences;
    RequestMemory* requests = nullptr;  // null: there are none
  };
  struct Style {
    bool compress = true;
    bool checksum = true;
    bool is_base = false;  // of a log
    // Nothing but what redis-server 7.0 reads (RdbContext::for_redis), and no word of ours: keys of
    // Redis's types, of hashes that have deadlines the fields. All that is left out is counted.
    // Keys stay that are over, and there: a replica keeps them until it is told of their end.
    bool for_redis = false;
    ImageParts parts;
    std::string boot;  // the machine's
    size_t used_memory = 0;
    std::optional<StreamPosition> stream;  // to replicas, at the instant; null: there is none
    bool writes_idle_times = false;  // of keys; how often they are used is written where it is kept
    size_t large_bytes = LargeValueWriter::kLargeBytes;  // from here on values come in pieces
    size_t piece_bytes = LargeValueWriter::kPieceBytes;
  };
  // As of the clock's moment.
  SnapshotWriter(const Source& source, const TurnClock& clock, const Style& style, ByteSink& sink);

  // The whole at once, while nothing else happens.
  void WriteAll();
  // Or an image of this instant: what comes first, and then a slice after the other.
  void BeginImage();
  // Some `budget` keys, or what is remembered of so many locks; false when all is written.
  bool Slice(size_t budget);
  // No more is to be written: Slice goes on for the keyspace alone.
  void Abandon();
  // Behind the last slice. False when anything has failed.
  bool End() { return writer_.End(); }
  bool ok() const { return writer_.ok(); }
  uint64_t keys() const { return keys_; }
  uint64_t keys_at_first() const { return keys_at_first_; }
  uint64_t pieces() const { return pieces_; }  // of large values
  const LeftOut& left_out() const { return left_out_; }
  // Bytes that wait in memory for a large value to end.
  size_t waiting_bytes() const { return writer_.waiting_bytes(); }

 private:
  void WriteHead();
  void WriteStream(const StreamPosition& stream);
  void WriteClock();
  void WritePolicies();
  void WriteFences();
  bool WriteRequests(size_t budget);
  void LeaveOutBeside();
  bool Holds(const Entry& entry);
  bool HoldsHash(const Hash& hash);
  void Save(int db, const Entry& entry) override;
  bool SavePiece(int db, const Entry& entry) override;
  // Writes the fields that stand before a key.
  void WriteBefore(int db, const Entry& entry);
  bool WritePiece(const Entry& entry);  // false: that was the last
  bool HasRoom() const override { return writer_.bytes() < slice_end_; }
  void SaveFence(const LockName& name, int64_t token) override;
  void GiveFenceFirst(LockNameView name);
  void Play(Args command);
  void EndCommands();

  const Source source_;
  const TurnClock& clock_;
  const Style style_;
  const RdbContext context_;
  RdbFileWriter writer_;
  std::unique_ptr<LargeValueWriter> large_;  // null: no value is being written in pieces
  const Entry* large_entry_ = nullptr;       // whose value that is
  uint64_t pieces_ = 0;
  LeftOut left_out_;
  std::string commands_;     // that are not written yet
  std::set<int> databases_;  // of which the file has the size
  int db_ = -1;              // of the key before
  bool fences_are_given_ = false;
  std::set<std::pair<int, std::string>> fences_given_first_;  // while the others are not
  uint64_t keys_ = 0;
  uint64_t slice_end_ = 0;  // bytes of the file
  uint64_t keys_at_first_ = 0;
};

}  // namespace sluice
