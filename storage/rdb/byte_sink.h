// ByteSink: where bytes go one after the other, into a file or to a peer. See rdb_file_writer.h.
#pragma once

#include <string_view>

namespace sluice {

// Owned by the caller of the writer that it is handed to. Pieces come in order, of any length.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Takes all of them. False when that failed; the writer writes no more then.
  virtual bool Write(std::string_view bytes) = 0;
};

}  // namespace sluice
