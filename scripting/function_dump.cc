// See function_dump.h. The decoder of LZF here is this file's own: scripting reads dumps without
// storage/rdb's reader.
#include "scripting/function_dump.h"

#include <cstdint>
#include <utility>

#include "storage/rdb/crc64.h"

namespace sluice {
namespace {

constexpr uint8_t kFunctionOpcode = 0xF5;
constexpr uint16_t kDumpVersion = 10;
constexpr uint16_t kVersionMax = 12;  // newer servers wrote no other form for functions
constexpr size_t kFooterBytes = 10;
constexpr size_t kCodeBytesMax = 512UL << 20;

// --- writing

// The lowest `bytes` bytes of a number, either end first.
void PutNumber(std::string& out, uint64_t number, int bytes, bool high_first) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<char>(number >> (8 * (high_first ? bytes - 1 - i : i))));
  }
}

// The lengths of RDB (storage/rdb/rdb_format.h): 6 bits, 14 bits, 4 bytes or 8 bytes, the highest
// byte first.
void PutLength(std::string& out, size_t length) {
  if (length < 64) return PutNumber(out, length, 1, true);
  if (length < 16384) return PutNumber(out, 0x4000 | length, 2, true);
  const bool wide = length > 0xffffffff;
  out.push_back(wide ? '\x81' : '\x80');
  PutNumber(out, length, wide ? 8 : 4, true);
}

// --- reading

// Bytes taken from the front; after a fault `bad` stays set and everything is empty.
struct Bytes {
  std::string_view left;
  bool bad = false;

  // The next bytes; none, and `bad`, when there are not so many.
  std::string_view Take(size_t count) {
    if (bad || count > left.size()) {
      bad = true;
      return {};
    }
    const std::string_view taken = left.substr(0, count);
    left.remove_prefix(count);
    return taken;
  }
  // 0 after a fault, so callers may go on and look at `bad` once.
  uint64_t Number(size_t bytes, bool high_first) {
    uint64_t number = 0;
    const std::string_view taken = Take(bytes);
    for (size_t i = 0; i < taken.size(); ++i) {
      number = (number << 8) | static_cast<uint8_t>(taken[high_first ? i : taken.size() - 1 - i]);
    }
    return number;
  }
  // A length; true in `special` when it is the number of an encoding instead.
  uint64_t Length(bool& special) {
    special = false;
    const auto first = static_cast<uint8_t>(Number(1, true));
    switch (first >> 6) {
      case 0:
        return first & 63;
      case 1:
        return (uint64_t{first & 63u} << 8) | Number(1, true);
      case 2:
        bad |= first > 0x81;
        return Number(first & 1 ? 8 : 4, true);
      default:
        special = true;
        return first & 63;
    }
  }
};

// LZF: literal runs and references to bytes before them. The result is checked against its
// announced size at every step, so a small payload cannot grow without end.
bool Decompress(std::string_view packed, size_t size, std::string& out) {
  if (size > kCodeBytesMax) return false;
  Bytes in{packed};
  while (!in.left.empty()) {
    const size_t control = in.Number(1, true);
    if (control < 32) {
      out += in.Take(control + 1);
    } else {
      size_t length = (control >> 5) + 2;
      if (control >> 5 == 7) length += in.Number(1, true);
      const size_t back = ((control & 31) << 8 | in.Number(1, true)) + 1;
      if (in.bad || back > out.size()) return false;
      for (; length > 0; --length) out.push_back(out[out.size() - back]);
    }
    if (in.bad || out.size() > size) return false;
  }
  return out.size() == size;
}

// A plain string; a number of 1, 2 or 4 bytes, which stands for its decimal text; or a compressed
// string.
bool TakeString(Bytes& in, std::string& out) {
  bool special;
  const uint64_t length = in.Length(special);
  if (!special) {
    out = in.Take(length);
    return !in.bad;
  }
  constexpr uint64_t kCompressed = 3;
  if (length < kCompressed) {  // a number of 1, 2 or 4 bytes
    const int bytes = 1 << length;
    const int unused = 64 - 8 * bytes;
    const auto number =
        static_cast<int64_t>(in.Number(static_cast<size_t>(bytes), false) << unused);
    out = std::to_string(number >> unused);
    return !in.bad;
  }
  if (length != kCompressed) return false;
  const uint64_t packed = in.Length(special);
  if (special) return false;
  const uint64_t size = in.Length(special);
  if (special) return false;
  return Decompress(in.Take(packed), size, out) && !in.bad;
}

}  // namespace

std::string WriteFunctionDump(std::span<const std::string_view> codes) {
  std::string out;
  for (const std::string_view code : codes) {
    out.push_back(static_cast<char>(kFunctionOpcode));
    PutLength(out, code.size());
    out += code;
  }
  PutNumber(out, kDumpVersion, 2, false);
  PutNumber(out, Crc64(out), 8, false);
  return out;
}

// Reads the seal first (version and checksum). A fault behind a sound seal is told in its place.
std::optional<FunctionDump> ReadFunctionDump(std::string_view payload) {
  if (payload.size() < kFooterBytes) return std::nullopt;
  Bytes footer{payload.substr(payload.size() - kFooterBytes)};
  if (footer.Number(2, false) > kVersionMax) return std::nullopt;
  if (footer.Number(8, false) != Crc64(payload.substr(0, payload.size() - 8))) return std::nullopt;

  // As in Redis a string may reach into the footer.
  FunctionDump dump;
  Bytes in{payload};
  while (in.left.size() > kFooterBytes && dump.error.empty()) {
    std::string code;
    if (in.Number(1, true) != kFunctionOpcode) {
      dump.error = "ERR given type is not a function";
    } else if (!TakeString(in, code)) {
      dump.error = "ERR Failed loading library payload";
    } else {
      dump.codes.push_back(std::move(code));
    }
  }
  return dump;
}

}  // namespace sluice
