// ByteSource: bytes that come one after the other, of a file or of a peer, in pieces that the
// reader asks for. See rdb_file_reader.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Puts what comes next into `into`, at most `bytes` (> 0), and tells how many: 0 at the end, null
  // when it cannot be read. May serve others meanwhile: nothing is half built in the keyspace.
  virtual std::optional<size_t> Read(char* into, size_t bytes) = 0;
  // How many can still come, at most; kUnknown. A length beyond it is refused before memory is
  // taken.
  virtual uint64_t left() const = 0;

  static constexpr uint64_t kUnknown = UINT64_MAX;
};

}  // namespace sluice
