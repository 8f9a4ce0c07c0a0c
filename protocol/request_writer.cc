// See request_writer.h.
#include "protocol/request_writer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice {
namespace {

// Requests are short: one is put together here, and goes to its place as a whole.
constexpr size_t kRequestBytes = 512;
// A sign, 20 digits, a line end.
constexpr size_t kNumberBytesMax = 23;

char* PutLineEnd(char* at) {
  at[0] = '\r';
  at[1] = '\n';
  return at + 2;
}

char* PutNumber(char* at, char sign, size_t number) {
  *at++ = sign;
  if (number < 10) {
    *at++ = static_cast<char>('0' + number);
  } else {
    at = std::to_chars(at, at + kNumberBytesMax, number).ptr;
  }
  return PutLineEnd(at);
}

// Of a number with its sign and its line end.
size_t NumberBytes(size_t number) {
  size_t bytes = 4;
  for (; number >= 10; number /= 10) ++bytes;
  return bytes;
}

}  // namespace

void AppendRequest(std::string& out, Args words) {
  std::array<char, kRequestBytes> bytes;
  char* at = PutNumber(bytes.data(), '*', words.size());
  const auto flush = [&] {
    out.append(bytes.data(), static_cast<size_t>(at - bytes.data()));
    at = bytes.data();
  };
  for (const std::string_view word : words) {
    const auto room = static_cast<size_t>(bytes.data() + bytes.size() - at);
    if (room < kNumberBytesMax + word.size() + 2) [[unlikely]]
      flush();
    at = PutNumber(at, '$', word.size());
    if (word.size() > bytes.size() - kNumberBytesMax - 2) [[unlikely]] {
      flush();
      out.append(word);
    } else {
      at = std::copy(word.begin(), word.end(), at);
    }
    at = PutLineEnd(at);
  }
  flush();
}

size_t RequestBytes(Args words) {
  size_t bytes = NumberBytes(words.size());
  for (const std::string_view word : words) bytes += NumberBytes(word.size()) + word.size() + 2;
  return bytes;
}

}  // namespace sluice
