#include "server/config/file.h"

#include <algorithm>
#include <cstring>

#include "protocol/concat.h"
#include "server/config/default_user.h"
#include "server/config/options.h"

namespace sluice {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::string_view kEscapes = "n\nr\rt\tb\ba\a";  // letter and byte

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

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

}  // namespace

bool SplitWords(std::string_view line, std::vector<std::string>& words) {
  line = line.substr(0, line.find('\0'));
  size_t at = 0;
  while (true) {
    while (at < line.size() && IsSpace(line[at])) ++at;
    if (at == line.size()) return true;
    std::string word;
    while (at < line.size() && !IsSpace(line[at])) {
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

std::string QuotedWord(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    size_t escape = 1;
    while (escape < kEscapes.size() && kEscapes[escape] != c) escape += 2;
    if (c == '\\' || c == '"') {
      ConcatTo(quoted, '\\', c);
    } else if (escape < kEscapes.size()) {
      ConcatTo(quoted, '\\', kEscapes[escape - 1]);
    } else if (byte >= 0x20 && byte < 0x7f) {
      quoted.push_back(c);
    } else {
      ConcatTo(quoted, "\\x", kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  quoted.push_back('"');
  return quoted;
}

std::string_view TrimLine(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t from = line.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(kBlank) - from + 1);
}

// --- loading

std::string Config::LoadFile(const std::string& path) {
  file_ = disk_->Absolute(path);
  const std::string fault = LoadFile(path, 0);
  return fault.empty() ? CheckDefaultUser() : fault;
}

std::string Config::LoadFile(const std::string& path, int depth) {
  std::string text;
  if (const int fault = disk_->Read(path, text); fault != 0) {
    return Concat("can't open the config file '", path, "': ", std::strerror(fault));
  }
  return LoadLines(text, {.source = path, .depth = depth});
}

std::string Config::LoadText(std::string_view text, std::string_view source) {
  const std::string fault = LoadLines(text, {.source = source});
  return fault.empty() ? CheckDefaultUser() : fault;
}

// Only when all is read: requirepass may stand before or after the user.
std::string Config::CheckDefaultUser() const {
  if (!default_user_ || IsPasswordOf(*default_user_, settings_.requirepass)) return {};
  return "the line 'user default' has another password than requirepass; Sluice knows only "
         "requirepass: let it be the same, and delete that line";
}

std::string Config::LoadLines(std::string_view text, Place place) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = TrimLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++place.line;
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> words;
    std::string fault = SplitWords(line, words) ? LoadDirective(words, place.depth)
                                                : "Unbalanced quotes in configuration line";
    if (!fault.empty()) {
      // Options of the command line have no source.
      if (place.source.empty()) return Concat("--", line, ": ", fault);
      return Concat(place.source, ", line ", place.line, ": '", line, "': ", fault);
    }
  }
  return {};
}

std::string Config::LoadDirective(std::vector<std::string> words, int depth) {
  if (words.empty()) return {};
  const std::string name = Lower(std::move(words[0]));
  words.erase(words.begin());
  for (const std::string_view ignored : IgnoredDirectives()) {
    if (name == ignored && words.size() == 1) return {};
  }
  if (name == "user") {
    default_user_ = DefaultUserPassword(words);
    if (default_user_) return {};
  }
  for (const RefusedDirective& refused : RefusedDirectives()) {
    if (name == refused.name) return Concat("Sluice does not take this: ", refused.why);
  }
  if (name == "include" && words.size() == 1) return Include(words[0], depth);
  return SetAtStart(name, std::move(words));
}

// A pattern includes what it matches, perhaps nothing; a plain path must be there.
std::string Config::Include(const std::string& pattern, int depth) {
  if (depth + 1 >= kIncludeDepthMax) return "includes go too deep: does a file include itself?";
  if (pattern.find_first_of("*?[") == std::string::npos) return LoadFile(pattern, depth + 1);
  std::string fault;
  for (const std::string& path : disk_->Match(pattern)) {
    if (fault.empty()) fault = LoadFile(path, depth + 1);
  }
  return fault;
}

}  // namespace sluice
