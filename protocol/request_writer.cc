// See request_writer.h.
#include "protocol/request_writer.h"

#include <charconv>

namespace sluice {
namespace {

void AppendNumber(std::string& out, char sign, size_t number) {
  char text[24];
  text[0] = sign;
  char* const end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
  end[0] = '\r';
  end[1] = '\n';
  out.append(text, static_cast<size_t>(end + 2 - text));
}

// Of a number with its sign and its line end.
size_t NumberBytes(size_t number) {
  size_t bytes = 4;
  for (; number >= 10; number /= 10) ++bytes;
  return bytes;
}

}  // namespace

void AppendRequest(std::string& out, Args words) {
  AppendNumber(out, '*', words.size());
  for (const std::string_view word : words) {
    AppendNumber(out, '$', word.size());
    out.append(word);
    out.append("\r\n");
  }
}

size_t RequestBytes(Args words) {
  size_t bytes = NumberBytes(words.size());
  for (const std::string_view word : words) bytes += NumberBytes(word.size()) + word.size() + 2;
  return bytes;
}

}  // namespace sluice
