// RdbBase: a base of the log that is an RDB file, as Redis writes it (aof-use-rdb-preamble). Its
// keys go into the keyspace part by part. The clock is held meanwhile (LogLoader), so nothing has
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/config/config.h"
#include "storage/disk.h"
#include "storage/keyspace/keyspace.h"
#include "storage/rdb/rdb_file_reader.h"

namespace sluice {

class RdbBase final : private RdbFileVisitor {
 public:
  // Loads a library of functions; why that cannot be, or empty.
  using LoadFunction = std::function<std::string(std::string_view code)>;

  // All that is referred to outlives it. `now` is the moment at which the clock is held.
  RdbBase(DiskFile& file, uint64_t bytes, const Settings& settings, Keyspace& keyspace,
          const Now& now, LoadFunction load_function);

  // Reads one part. kFault: error() says why, with the offset.
  RdbFileReader::State Step();
  const std::string& error() const { return error_; }
  uint64_t offset() const { return reader_.offset(); }
  uint64_t keys() const { return keys_; }

 private:
  class Source final : public ByteSource {
   public:
    Source(DiskFile& file, uint64_t bytes) : file_(file), bytes_(bytes) {}
    std::optional<size_t> Read(char* into, size_t bytes) override;
    uint64_t left() const override { return bytes_ - at_; }

   private:
    DiskFile& file_;
    const uint64_t bytes_;
    uint64_t at_ = 0;
  };

  std::string Aux(std::string_view, std::string_view) override { return {}; }
  std::string Function(std::string_view code) override { return load_function_(code); }
  std::string Key(RdbFileKey& key) override;
  void LeftOut(const RdbLeftOut&) override {}  // what is empty is no key

  Keyspace& keyspace_;
  const LoadFunction load_function_;
  const uint64_t bytes_;
  const RdbContext context_;
  Source source_;
  RdbFileReader reader_;
  uint64_t keys_ = 0;
  std::string error_;
};

}  // namespace sluice
