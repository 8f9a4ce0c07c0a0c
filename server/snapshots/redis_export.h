// RedisExport: the data of a server as an RDB file that redis-server 7.0 loads: keys of Redis's
// types with their deadlines, as Unix times, and libraries of functions. All else is left out, and
// counted.
//
// Of a hash whose fields have deadlines, which 7.0 does not know, the fields stay and the deadlines
// are left out. Nothing that is over at the clock's moment is written.
#pragma once

#include <cstdint>

#include "server/core/turn_clock.h"
#include "server/snapshots/left_out.h"
#include "server/snapshots/snapshot_writer.h"
#include "storage/rdb/byte_sink.h"
#include "storage/rdb/rdb_file_writer.h"

namespace sluice {

class RedisExport {
 public:
  struct Written {
    uint64_t keys = 0;
    uint64_t with_deadline = 0;  // of them
    uint64_t functions = 0;      // libraries
    int last_database = 0;       // the highest one that has keys
  };
  // All of it outlives this.
  RedisExport(const SnapshotWriter::Source& source, const TurnClock& clock, ByteSink& sink);
  RedisExport(const RedisExport&) = delete;

  // All at once. False: the sink has failed.
  bool WriteAll();
  const Written& written() const { return written_; }
  const LeftOut& left_out() const { return left_out_; }
  uint64_t bytes() const { return writer_.bytes(); }

 private:
  void CountBeside();
  void WriteDatabase(int index);
  bool Fits(const Entry& entry) const;
  void CountLeftOut(const Entry& entry);

  const SnapshotWriter::Source source_;
  const RdbContext context_;
  RdbFileWriter writer_;
  Written written_;
  LeftOut left_out_;
};

}  // namespace sluice
