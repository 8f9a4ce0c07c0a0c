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

}  // namespace

void AppendRequest(std::string& out, Args words) {
  AppendNumber(out, '*', words.size());
  for (const std::string_view word : words) {
    AppendNumber(out, '$', word.size());
    out.append(word);
    out.append("\r\n");
  }
}

}  // namespace sluice
