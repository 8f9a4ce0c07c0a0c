// See json_text.h.
#include "server/http/text/json_text.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

void AppendEscaped(std::string& text, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      ConcatTo(text, '\\', c);
    } else if (byte < 0x20 || c == '<' || byte == 0x7f) {
      ConcatTo(text, "\\u00", kHex[byte >> 4], kHex[byte & 15]);
    } else {
      text += c;
    }
  }
}

}  // namespace

// Writes a comma, unless an opening bracket or a name stands before.
void JsonText::Separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

JsonText& JsonText::Open(char begin, char end) {
  Separate();
  text_ += begin;
  ends_ += end;
  return *this;
}

JsonText& JsonText::End() {
  assert(!ends_.empty());
  text_ += ends_.back();
  ends_.pop_back();
  return *this;
}

JsonText& JsonText::Key(std::string_view name) {
  Separate();
  ConcatTo(text_, '"', name, "\":");
  return *this;
}

JsonText& JsonText::Value(std::string_view text) {
  Separate();
  text_ += '"';
  AppendEscaped(text_, text);
  text_ += '"';
  return *this;
}

JsonText& JsonText::Value(double number) {
  Separate();
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, std::isfinite(number) ? number : 0);
  text_.append(digits, end.ptr);
  return *this;
}

JsonText& JsonText::Value(bool flag) {
  Separate();
  text_ += flag ? "true" : "false";
  return *this;
}

std::string JsonText::Take() {
  assert(ends_.empty());
  return std::move(text_);
}

}  // namespace sluice
