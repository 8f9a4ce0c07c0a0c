// See number_text.h. Digits are written in pairs from a table, and up to eight at a time read as
// the bytes of one word (D. Lemire, "Quickly parsing eight digits", 2018). Writing them as a word,
// by multiplications with reciprocals, took half as long again: each waits for the one before.
#include "protocol/text/number_text.h"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "protocol/text/letters.h"

namespace sluice {
namespace {

// "00" to "99", one after another.
constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Requires: number < 100.
inline char* FormatPair(char* out, uint32_t number) {
  std::memcpy(out, &kPairs[2 * number], 2);
  return out + 2;
}

// Without leading zeros. Requires: number < 10'000.
inline char* FormatUpToFour(char* out, uint32_t number) {
  if (number >= 100) {
    const uint32_t high = number / 100;
    if (high >= 10) {
      out = FormatPair(out, high);
    } else {
      *out++ = static_cast<char>('0' + high);
    }
    return FormatPair(out, number % 100);
  }
  if (number >= 10) return FormatPair(out, number);
  *out = static_cast<char>('0' + number);
  return out + 1;
}

// Exactly four digits. Requires: number < 10'000.
inline char* FormatFour(char* out, uint32_t number) {
  return FormatPair(FormatPair(out, number / 100), number % 100);
}

// Exactly eight digits. Requires: number < 10^8.
inline char* FormatEight(char* out, uint32_t number) {
  return FormatFour(FormatFour(out, number / 10'000), number % 10'000);
}

// Without leading zeros. Requires: number < 10^8.
inline char* FormatUpToEight(char* out, uint32_t number) {
  if (number < 10'000) return FormatUpToFour(out, number);
  return FormatFour(FormatUpToFour(out, number / 10'000), number % 10'000);
}

static_assert(std::endian::native == std::endian::little);
constexpr uint64_t kZeros = 0x3030303030303030;

// Of so many bytes LoadPadded makes a word.
inline bool IsPadded(size_t bytes) { return bytes - 4 <= 4; }

// The bytes of a text of four to eight, the first in the lowest, with "0" put before them to make
// eight.
inline uint64_t LoadPadded(std::string_view text) {
  uint32_t first, last;
  std::memcpy(&first, text.data(), 4);
  std::memcpy(&last, text.data() + text.size() - 4, 4);
  const size_t padding = 8 * (8 - text.size());  // bits
  const uint64_t bytes = first | uint64_t{last} << (32 - padding);
  return padding == 0 ? bytes : bytes << padding | kZeros >> (64 - padding);
}

// High halves must be 3, low ones at most 9: both for eight bytes at once.
inline bool AreDigits(uint64_t bytes) {
  constexpr uint64_t kHighHalves = 0xf0f0f0f0f0f0f0f0;
  constexpr uint64_t kSixes = 0x0606060606060606;  // carry 10 and above into the high half
  return ((bytes & kHighHalves) | (((bytes + kSixes) & kHighHalves) >> 4)) == 0x3333333333333333;
}

// Requires: AreDigits.
inline uint64_t NumberOfEight(uint64_t bytes) {
  const uint64_t digits = bytes - kZeros;
  const uint64_t quarters = ((digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff);
  const uint64_t halves = ((quarters * 100 + (quarters >> 16)) & 0x0000ffff0000ffff);
  return (halves * 10'000 + (halves >> 32)) & 0xffffffff;
}

// --- as the C library reads

bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// strtoull to the end of the C string in `text`; null where it would stop before, or overflow. A
// minus sign negates modulo 2^64, as there.
std::optional<uint64_t> ParseStrtoull(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !IsDigit(text.front())) return std::nullopt;  // from_chars takes no sign here
  uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

// strtod and strtold to the end of `text`, without a locale.
template <typename Float>
std::optional<Float> ParseFloat(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  auto format = std::chars_format::general;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    format = std::chars_format::hex;
    text.remove_prefix(2);
  }
  if (text.empty() || text.front() == '-') return std::nullopt;
  // from_chars would take "inf" and "nan" after "0x" too.
  if (format == std::chars_format::hex &&
      (text.front() == 'i' || text.front() == 'I' || text.front() == 'n' || text.front() == 'N')) {
    return std::nullopt;
  }
  Float value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (std::isnan(value)) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace

// --- reading

namespace {

// Three ways by length: one digit, which most counts are; four to eight at once in a word; all
// others one by one. No text of more than 19 digits can fit.
std::optional<int64_t> ParseAnyInt64(std::string_view text) {
  if (text.size() == 1) {
    if (!IsDigit(text.front())) return std::nullopt;
    return text.front() - '0';
  }
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() >= kInt64TextMax) return std::nullopt;
  if (digits.front() == '0') return std::nullopt;
  if (IsPadded(digits.size())) {
    const uint64_t bytes = LoadPadded(digits);
    if (!AreDigits(bytes)) return std::nullopt;
    const auto magnitude = static_cast<int64_t>(NumberOfEight(bytes));
    return negative ? -magnitude : magnitude;
  }
  uint64_t magnitude = 0;  // 19 digits fit
  for (const char c : digits) {
    if (!IsDigit(c)) return std::nullopt;
    magnitude = magnitude * 10 + static_cast<uint64_t>(c - '0');
  }
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (magnitude > kMax + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(negative ? -magnitude : magnitude);
}

}  // namespace

// Times in ms and counts that are worth a word are mostly of four to eight digits: these are looked
// at first, and nothing else of them.
std::optional<int64_t> ParseInt64(std::string_view text) {
  if (IsPadded(text.size()) && text.front() != '0') [[likely]] {
    const uint64_t bytes = LoadPadded(text);
    if (AreDigits(bytes)) [[likely]]
      return static_cast<int64_t>(NumberOfEight(bytes));
  }
  return ParseAnyInt64(text);
}

// "-1" is refused as a canonical number, but " -1" goes to strtoull, which makes 2^64 - 1 of it: as
// in Redis.
std::optional<uint64_t> ParseUint64(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (const std::optional<int64_t> value = ParseInt64(text)) {
    if (*value < 0) return std::nullopt;
    return static_cast<uint64_t>(*value);
  }
  return ParseStrtoull(text);
}

// Redis 7.0's parseScanCursorOrReply, which asks strtoul and refuses leading spaces.
std::optional<uint64_t> ParseCursor(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (text.empty()) return 0;
  if (IsSpace(text.front())) return std::nullopt;
  return ParseStrtoull(text);
}

std::optional<double> ParseDouble(std::string_view text) { return ParseFloat<double>(text); }

// The C library decides what ParseDouble refuses, in the C locale, whatever that of the process is.
std::optional<double> ParseStrtod(std::string_view text) {
  if (const std::optional<double> value = ParseDouble(text)) return value;
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text.substr(0, text.find('\0')));
  char* end = nullptr;
  const double value = strtod_l(copy.c_str(), &end, c_locale);
  if (*end != '\0' || std::isnan(value)) return std::nullopt;
  return value;
}

std::optional<long double> ParseLongDouble(std::string_view text) {
  if (text.size() >= kLongDoubleTextMax) return std::nullopt;
  // libstdc++ 12 looks for a NUL behind the text of a long double, whatever its end is said to be.
  char copy[kLongDoubleTextMax];
  *std::copy(text.begin(), text.end(), copy) = '\0';
  return ParseFloat<long double>({copy, text.size()});
}

// --- writing

// Short ones two digits at a time, others in groups of eight from the left, of which only the first
// has no leading zeros.
char* FormatInt64(char* out, int64_t value) {
  if (static_cast<uint64_t>(value) < 10'000) [[likely]]
    return FormatUpToFour(out, static_cast<uint32_t>(value));
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) {
    *out++ = '-';
    magnitude = -magnitude;
  }
  constexpr uint64_t kEight = 100'000'000;
  if (magnitude < kEight) return FormatUpToEight(out, static_cast<uint32_t>(magnitude));
  const uint64_t high = magnitude / kEight;
  const auto low = static_cast<uint32_t>(magnitude - high * kEight);
  if (high < kEight) {
    out = FormatUpToEight(out, static_cast<uint32_t>(high));
  } else {
    out = FormatUpToEight(out, static_cast<uint32_t>(high / kEight));
    out = FormatEight(out, static_cast<uint32_t>(high % kEight));
  }
  return FormatEight(out, low);
}

std::string Int64Text(int64_t value) {
  char text[kInt64TextMax];
  return std::string(text, FormatInt64(text, value));
}

// 3 -> "3", 3.5 -> "3.5", 1e20 -> "1e+20", -0.0 -> "-0", as printf's %.17g does.
char* FormatDouble(char* out, double value) {
  if (std::isnan(value) && std::signbit(value)) *out++ = '-';  // as printf shows it
  if (std::isnan(value)) {
    std::memcpy(out, "nan", 3);
    return out + 3;
  }
  // Whole numbers that a double holds exactly: ten times faster, and what most scores are.
  constexpr double kExactMax = 1LL << 53;
  if (std::fabs(value) <= kExactMax) {
    const int64_t whole = static_cast<int64_t>(value);
    if (static_cast<double>(whole) == value && (whole != 0 || !std::signbit(value))) {
      return FormatInt64(out, whole);
    }
  }
  return std::to_chars(out, out + kDoubleTextMax, value, std::chars_format::general, 17).ptr;
}

std::string DoubleText(double value) {
  char text[kDoubleTextMax];
  return std::string(text, FormatDouble(text, value));
}

// 5.00000000000000000 becomes 5, 5.50000000000000000 becomes 5.5.
std::string HumanLongDoubleText(long double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[kLongDoubleTextMax];
  const char* const end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 17).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  text = text.substr(0, text.find_last_not_of('0') + 1);  // there is always a point
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text == "-0" ? "0" : text);
}

}  // namespace sluice
