// See words.h.
#include "protocol/text/words.h"

#include "protocol/text/concat.h"
#include "protocol/text/hex.h"
#include "protocol/text/letters.h"

namespace sluice {
namespace {

// Other space is skipped before a word, but belongs to one that has begun.
bool EndsWord(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr std::string_view kEscapes = "n\nr\rt\tb\ba\a";  // letter and byte

// A letter that is no escape stands for itself.
char Unescaped(char letter) {
  for (size_t i = 0; i < kEscapes.size(); i += 2) {
    if (kEscapes[i] == letter) return kEscapes[i + 1];
  }
  return letter;
}

// A double-quoted piece from behind its opening quote; false if it never closes.
bool TakeDoubleQuoted(std::string_view line, size_t& at, std::string& word) {
  for (; at < line.size(); ++at) {
    const char c = line[at];
    const size_t left = line.size() - at;
    if (c == '\\' && left > 3 && line[at + 1] == 'x' && HexDigit(line[at + 2]) >= 0 &&
        HexDigit(line[at + 3]) >= 0) {
      word.push_back(static_cast<char>(HexDigit(line[at + 2]) * 16 + HexDigit(line[at + 3])));
      at += 3;
    } else if (c == '\\' && left > 1) {
      word.push_back(Unescaped(line[++at]));
    } else if (c == '"') {
      ++at;
      return at == line.size() || IsSpace(line[at]);
    } else {
      word.push_back(c);
    }
  }
  return false;
}

// Only \' is an escape here.
bool TakeSingleQuoted(std::string_view line, size_t& at, std::string& word) {
  for (; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == '\'') {
      word.push_back('\'');
      ++at;
    } else if (line[at] == '\'') {
      ++at;
      return at == line.size() || IsSpace(line[at]);
    } else {
      word.push_back(line[at]);
    }
  }
  return false;
}

// Letters where there are such, \x.. for all else that is not printed. ASCII letters alone,
// whatever the locale.
void AppendEscaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  size_t escape = 1;
  while (escape < kEscapes.size() && kEscapes[escape] != c) escape += 2;
  if (c == '\\') {
    out += "\\\\";
  } else if (escape < kEscapes.size()) {
    ConcatTo(out, '\\', kEscapes[escape - 1]);
  } else if (byte >= 0x20 && byte < 0x7f) {
    out.push_back(c);
  } else {
    ConcatTo(out, "\\x", kHex[byte >> 4], kHex[byte & 15]);
  }
}

}  // namespace

// As sdssplitargs: quotes may begin in the middle of a word, and must end it.
bool SplitWords(std::string_view line, std::vector<std::string>& words) {
  line = line.substr(0, line.find('\0'));
  size_t at = 0;
  while (true) {
    while (at < line.size() && IsSpace(line[at])) ++at;
    if (at == line.size()) return true;
    std::string word;
    while (at < line.size() && !EndsWord(line[at])) {
      const char c = line[at++];
      if (c == '"') {
        if (!TakeDoubleQuoted(line, at, word)) return false;
      } else if (c == '\'') {
        if (!TakeSingleQuoted(line, at, word)) return false;
      } else {
        word.push_back(c);
      }
    }
    words.push_back(std::move(word));
  }
}

// The inverse of TakeDoubleQuoted.
std::string QuotedWord(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted.push_back('\\');
    AppendEscaped(quoted, c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string EscapedText(std::string_view text, size_t bytes_max) {
  std::string escaped;
  for (const char c : text.substr(0, bytes_max)) AppendEscaped(escaped, c);
  if (text.size() > bytes_max) escaped += "...";
  return escaped;
}

}  // namespace sluice
