// See command_line.h.
#include "tests/support/command_line.h"

#include <cctype>

namespace sluice {
namespace {

bool IsBlank(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool IsHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)); }

int HexValue(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 0x20) - 'a' + 10;
}

char Unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Reads what stands between double quotes; `at` is behind the opening one, and then behind the
// closing one.
bool ReadDoubleQuoted(std::string_view line, size_t& at, std::string& out) {
  while (at < line.size()) {
    const char c = line[at++];
    if (c == '"') return true;
    if (c != '\\' || at == line.size()) {
      out += c;
    } else if (line[at] == 'x' && at + 2 < line.size() && IsHex(line[at + 1]) &&
               IsHex(line[at + 2])) {
      out += static_cast<char>(HexValue(line[at + 1]) * 16 + HexValue(line[at + 2]));
      at += 3;
    } else {
      out += Unescaped(line[at++]);
    }
  }
  return false;
}

bool ReadSingleQuoted(std::string_view line, size_t& at, std::string& out) {
  while (at < line.size()) {
    if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == '\'')
      ++at;
    else if (line[at] == '\'')
      return ++at, true;
    out += line[at++];
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> SplitCommandLine(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  while (true) {
    while (at < line.size() && IsBlank(line[at])) ++at;
    if (at == line.size()) return words;
    std::string word;
    while (at < line.size() && !IsBlank(line[at])) {
      const char c = line[at++];
      if (c != '"' && c != '\'') {
        word += c;
        continue;
      }
      const bool closed =
          c == '"' ? ReadDoubleQuoted(line, at, word) : ReadSingleQuoted(line, at, word);
      if (!closed || (at < line.size() && !IsBlank(line[at]))) return std::nullopt;
    }
    words.push_back(std::move(word));
  }
}

std::string EncodeRequest(const std::vector<std::string>& arguments) {
  std::string bytes = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string& argument : arguments) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return bytes;
}

}  // namespace sluice
