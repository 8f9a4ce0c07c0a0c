// See rdb_input.h. The checksum is that of bytes that were taken, not of those at hand: it is
// brought up to date where the window moves, and where it is asked for.
#include "storage/rdb/rdb_input.h"

#include <cassert>
#include <cstring>
#include <optional>

#include "storage/rdb/crc64.h"

namespace sluice {

RdbInput::RdbInput(ByteSource& source, uint64_t string_bytes_max)
    : source_(source),
      string_bytes_max_(string_bytes_max),
      piece_(std::make_unique_for_overwrite<char[]>(kPieceBytes)) {}

void RdbInput::Count(const char* until) {
  const auto end = static_cast<size_t>(until - piece_.get());
  assert(end >= counted_ && end <= filled_);
  crc_ = Crc64({piece_.get() + counted_, end - counted_}, crc_);
  counted_ = end;
}

std::string_view RdbInput::More(std::string_view rest, size_t bytes) {
  assert(bytes <= kPieceBytes);
  Count(piece_.get() + filled_ - rest.size());
  std::memmove(piece_.get(), piece_.get() + filled_ - rest.size(), rest.size());
  filled_ = rest.size();
  counted_ = 0;
  while (filled_ < bytes && !unreadable_) {
    const std::optional<size_t> got = source_.Read(piece_.get() + filled_, kPieceBytes - filled_);
    unreadable_ = !got;
    if (!got || *got == 0) break;
    filled_ += *got;
    end_offset_ += *got;
  }
  return {piece_.get(), filled_};
}

uint64_t RdbInput::Left(std::string_view rest) const {
  const uint64_t to_come = source_.left();
  return to_come == ByteSource::kUnknown ? to_come : rest.size() + to_come;
}

uint64_t RdbInput::Crc(std::string_view rest) {
  Count(piece_.get() + filled_ - rest.size());
  return crc_;
}

}  // namespace sluice
