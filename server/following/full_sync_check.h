// FullSyncCheck: looks through the file of a full sync before anything is given up for it: whether
// it is whole, its checksum right, and each part one that this server can load. Every value is read
// as a loader reads it, and forgotten again, so a file that lies is found here, while the old data
// are there.
//
// It touches nothing of the server, so a worker can do it, a piece after the other:
//
//   while (check.Piece()) continue;
//   if (!check.fault().empty()) ...
//
// Two faults are not seen here: a library of functions whose code does not run, and a lock that is
// there twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/disk.h"
#include "storage/hashing/key_hash.h"
#include "storage/log/rdb_source.h"
#include "storage/log/stream_position.h"
#include "storage/rdb/rdb_file_reader.h"

namespace sluice {

// The file says this of itself.
struct FullSyncFacts {
  bool is_of_sluice = false;             // it has moments of a Sluice's engine time
  std::string version;                   // of the server, as it says (redis-ver)
  std::optional<StreamPosition> stream;  // at the file's instant
  std::vector<std::string> scripts;      // of a Redis before 7, which sends EVALSHA
  uint64_t keys = 0;
};

class FullSyncCheck final : private RdbFileVisitor {
 public:
  struct Options {
    uint64_t databases = 16;
    bool skips_unknown = false;  // rdb-skip-unknown
  };
  static constexpr uint64_t kPieceBytes = 8 * 1024 * 1024;
  // Scripts of one file: as many bytes as a client's request may have.
  static constexpr uint64_t kScriptBytesMax = 256 * 1024 * 1024;

  // `hash_key`: secret, for the tables of values that are read.
  FullSyncCheck(std::unique_ptr<DiskFile> file, uint64_t bytes, const Options& options,
                const TableKey& hash_key);

  // Some 8 MiB of it, or one value. False: it is through.
  bool Piece();
  // A sentence with the offset; empty: nothing is wrong with it.
  const std::string& fault() const { return fault_; }
  const FullSyncFacts& facts() const { return facts_; }

 private:
  std::string Aux(std::string_view name, std::string_view value) override;
  std::string Function(std::string_view) override { return {}; }
  std::string Key(RdbFileKey& key) override;
  void LeftOut(const RdbLeftOut&) override {}
  std::string TakeScript(std::string_view script);
  bool End();

  const std::unique_ptr<DiskFile> file_;
  const uint64_t bytes_;
  HashKeys hash_keys_;
  RdbContext context_;
  RdbSource source_;
  RdbFileReader reader_;
  StreamFields stream_;
  uint64_t script_bytes_ = 0;
  FullSyncFacts facts_;
  std::string fault_;
};

}  // namespace sluice
