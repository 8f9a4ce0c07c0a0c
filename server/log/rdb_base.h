// RdbBase: an RDB file that is loaded: a base of the log, or a snapshot; Redis's, or ours
// (snapshot_writer.h). Its keys go into the keyspace part by part, at a moment long ago
// (LogLoader), so nothing has ended.
//
// A key that is there twice is a fault, unless the file is merged into what there is. The caller
// knows what bytes behind the end are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "server/config/config.h"
#include "server/log/key_batch.h"
#include "storage/disk.h"
#include "storage/keyspace/keyspace.h"
#include "storage/log/rdb_source.h"
#include "storage/log/stream_position.h"
#include "storage/log/turn_writer.h"
#include "storage/rdb/rdb_file_reader.h"

namespace sluice {

class RdbBase final : private RdbFileVisitor {
 public:
  // Plays what is no plain key, and names the moment.
  class Player {
   public:
    virtual ~Player() = default;
    // A command; why it is refused, or empty.
    virtual std::string PlayWords(int db, Args words) = 0;
    // The writer of the file says when that was, and by which clock. Returns the moment at which
    // its keys are put from now on.
    virtual Now FollowClock(const LogClock& clock, int64_t unix_ms, std::string_view boot) = 0;
    // The present, as the deadlines of the file are to be compared with it.
    virtual Now Present() const = 0;
  };
  struct Options {
    bool drops_ended = false;  // keys whose time is over by now are left out
    // But not where the file has a place in a stream: as they end, replicas are told.
    bool keeps_ended_of_streams = false;
    bool merges = false;       // what is there already is replaced, instead of refused
    bool keeps_locks = false;  // locks, and what is remembered of them, are left out
  };

  // All that is referred to outlives it. `now` is the moment at which keys are put.
  RdbBase(DiskFile& file, uint64_t bytes, const Settings& settings, Keyspace& keyspace,
          const Now& now, Player& player, const Options& options);

  // Reads one part. kFault: error() says why, with the offset.
  RdbFileReader::State Step();
  const std::string& error() const { return error_; }
  uint64_t offset() const { return reader_.offset(); }
  uint64_t keys() const { return keys_ - std::min(keys_, kept_ended_); }
  uint64_t ended() const { return ended_; }  // keys whose time was over; left out, or soon to go
  // Where the stream to replicas stood; null: the file does not say.
  std::optional<StreamPosition> stream() const { return stream_.position(); }
  // Sentences that a person should read once the file is loaded: what was left out because only a
  // module can read it, and what was mended.
  std::vector<std::string> Notes() const;

 private:
  std::string Aux(std::string_view name, std::string_view value) override;
  std::string Function(std::string_view code) override;
  RdbFileKey& Place() override { return batch_.Place(); }
  std::string Key(RdbFileKey& key) override;
  void LeftOut(const RdbLeftOut& what) override;
  void Mended(const RdbFileKey& key, std::string_view what) override;
  void SizeHint(uint64_t db, uint64_t keys, uint64_t with_deadline) override;

  std::string TakeClock(std::string_view value);
  std::string TakeSkew(std::string_view value);
  std::string PlayCommands(std::string_view requests);
  // Puts all that were read into the keyspace, unless one before was there twice.
  void PutKeys();
  void ExpectNoMore();
  bool Put(Database& db, HashedKey name, RdbFileKey& key);
  std::string RestoreLock(const RdbFileKey& key);

  Keyspace& keyspace_;
  Player& player_;
  const Options options_;
  const uint64_t bytes_;
  Now present_;
  RdbContext context_;  // which the reader looks at, too
  RdbSource source_;
  RdbFileReader reader_;
  KeyBatch batch_;
  StreamFields stream_;
  int64_t skew_ms_ = 0;  // of the clock that it names next
  uint64_t keys_ = 0;
  uint64_t ended_ = 0;
  uint64_t kept_ended_ = 0;
  std::map<std::string, uint64_t> unknown_;  // by module type
  std::vector<std::string> mended_;          // of the first keys
  uint64_t mended_keys_ = 0;
  std::string error_;
};

}  // namespace sluice
