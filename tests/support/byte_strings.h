// ByteSource and ByteSink over strings, with their faults.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "storage/rdb/byte_sink.h"
#include "storage/rdb/byte_source.h"

namespace sluice {

class StringSource final : public ByteSource {
 public:
  // The bytes outlive the source.
  explicit StringSource(std::string_view bytes) : rest_(bytes) {}

  size_t piece_bytes = SIZE_MAX;  // each read gives so many, at most
  bool is_endless = false;        // as a connection: what is to come is not known
  size_t fails_after = SIZE_MAX;  // so many bytes can be read
  uint64_t claimed_more = 0;      // as a file that is being cut while it is read
  size_t largest_read = 0;

  std::optional<size_t> Read(char* into, size_t bytes) override {
    largest_read = std::max(largest_read, bytes);
    if (given_ >= fails_after) return std::nullopt;
    const size_t got = std::min({bytes, rest_.size(), piece_bytes, fails_after - given_});
    rest_.copy(into, got);
    rest_.remove_prefix(got);
    given_ += got;
    return got;
  }
  uint64_t left() const override { return is_endless ? kUnknown : rest_.size() + claimed_more; }

 private:
  std::string_view rest_;
  size_t given_ = 0;
};

class StringSink final : public ByteSink {
 public:
  std::string bytes;
  size_t room = SIZE_MAX;
  size_t largest_write = 0;

  bool Write(std::string_view piece) override {
    largest_write = std::max(largest_write, piece.size());
    if (bytes.size() + piece.size() > room) return false;
    bytes.append(piece);
    return true;
  }
};

}  // namespace sluice
