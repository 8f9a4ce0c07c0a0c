// RdbSource: a file of a log whose bytes are those of an RDB file, as Redis and Valkey write their
// bases (aof-use-rdb-preamble): for the loader, and for --check-aof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/disk.h"
#include "storage/rdb/byte_source.h"

namespace sluice {

// Whether a file that begins with these bytes, 8 at least where there are as many, is one.
bool BeginsAsRdb(std::string_view begin);
// Why Disk::Open has refused to open a file for reading, in words.
std::string WhyUnopened(int fault);

// Reads at its own place, so the file may be read elsewhere meanwhile.
class RdbSource final : public ByteSource {
 public:
  // `file` outlives it.
  RdbSource(DiskFile& file, uint64_t bytes) : file_(file), bytes_(bytes) {}
  std::optional<size_t> Read(char* into, size_t bytes) override;
  uint64_t left() const override { return bytes_ - at_; }

 private:
  DiskFile& file_;
  const uint64_t bytes_;
  uint64_t at_ = 0;
};

}  // namespace sluice
