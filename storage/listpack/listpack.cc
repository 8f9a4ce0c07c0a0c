// See listpack.h. Bytes that are read come from a peer: every length is checked against what is
// left, back-lengths too.
#include "storage/listpack/listpack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "storage/listpack/listpack_size.h"

namespace sluice {
namespace {

constexpr uint8_t kEnd = 0xff;
constexpr uint64_t kTooManyToCount = UINT16_MAX;
constexpr size_t kBacklengthMax = 5;

// Three forms by length: 6, 12 and 32 bits.
char* PutTextHead(char* at, size_t length) {
  if (length < 64) {
    *at++ = static_cast<char>(0x80 | length);
    return at;
  }
  if (length < 4096) {
    *at++ = static_cast<char>(0xe0 | length >> 8);
    *at++ = static_cast<char>(length & 255);
    return at;
  }
  *at++ = static_cast<char>(0xf0);
  const auto bits = static_cast<uint32_t>(length);
  std::memcpy(at, &bits, sizeof bits);
  return at + sizeof bits;
}

// The length goes backwards: it is read from its last byte to its first, whose top bit is clear;
// seven bits a byte.
char* PutBacklength(char* at, size_t encoded) {
  const size_t bytes = ListpackBacklengthBytes(encoded);
  for (size_t i = 0; i < bytes; ++i) {
    *at++ = static_cast<char>((encoded >> 7 * (bytes - 1 - i) & 127) | (i > 0 ? 128 : 0));
  }
  return at;
}

// A count of 65,535 and more is written as 65,535: readers count then.
void PutHeader(char* at, size_t bytes, uint64_t count) {
  const auto total = static_cast<uint32_t>(bytes);
  const auto counted = static_cast<uint16_t>(std::min(count, kTooManyToCount));
  std::memcpy(at, &total, sizeof total);
  std::memcpy(at + sizeof total, &counted, sizeof counted);
}

}  // namespace

// --- writing

char* PutListpackText(char* at, std::string_view text) {
  if (const std::optional<int64_t> number = ListpackNumber(text)) {
    return PutListpackNumber(at, *number);
  }
  char* const begin = at;
  at = PutTextHead(at, text.size());
  std::memcpy(at, text.data(), text.size());
  at += text.size();
  return PutBacklength(at, static_cast<size_t>(at - begin));
}

std::string ListpackWriter::Finish() {
  bytes_.resize(Close().size());
  Reopen();
  return std::exchange(bytes_, std::string(kRoomAtFirst, '\0'));
}

std::string_view ListpackWriter::Close() {
  *Room(1) = static_cast<char>(kEnd);
  const size_t bytes = used_ + 1;
  PutHeader(bytes_.data(), bytes, elements_);
  return {bytes_.data(), bytes};
}

std::string FramedListpack(std::string_view head, std::string_view elements, uint64_t count) {
  const size_t bytes = kListpackFrameBytes + head.size() + elements.size();
  std::string listpack;
  listpack.reserve(bytes);
  char header[kListpackHeaderBytes];
  PutHeader(header, bytes, count);
  listpack.append(header, sizeof header);
  listpack.append(head);
  listpack.append(elements);
  listpack.push_back(static_cast<char>(kEnd));
  return listpack;
}

// --- reading

ListpackReader::ListpackReader(std::string_view bytes)
    : at_(bytes.data()), end_(bytes.data() + bytes.size()) {
  const bool has_frame =
      bytes.size() >= kListpackFrameBytes && static_cast<uint8_t>(bytes.back()) == kEnd;
  uint32_t total = 0;
  uint16_t counted = 0;
  if (has_frame) {
    std::memcpy(&total, at_, sizeof total);
    std::memcpy(&counted, at_ + sizeof total, sizeof counted);
  }
  if (!has_frame || total != bytes.size()) {
    Refuse();
    return;
  }
  announced_ = counted;
  at_ += kListpackHeaderBytes;
  --end_;
}

bool ListpackReader::IsBacklength(const char* at, const char* end, size_t encoded_bytes) {
  char written[kBacklengthMax];
  const auto bytes = static_cast<size_t>(PutBacklength(written, encoded_bytes) - written);
  return static_cast<size_t>(end - at) >= bytes && std::memcmp(at, written, bytes) == 0;
}

}  // namespace sluice
