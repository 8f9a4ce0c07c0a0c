// See glob.h. A pattern is cut at its stars into pieces. The first and the last piece have their
// places; each one between is taken where it first comes, so nothing ever backtracks over a star.
#include "protocol/text/glob.h"

#include <string.h>  // memmem

#include <array>
#include <utility>

namespace sluice {
namespace {

constexpr uint32_t kAny = 256;
constexpr uint32_t kFirstClass = 257;
constexpr size_t kNowhere = std::string_view::npos;

uint8_t Byte(char c) { return static_cast<uint8_t>(c); }

// Upper-case ASCII to lower case, if case is ignored.
char Fold(char c, bool ignore_case) {
  return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// Ranges compare as Redis's chars do, which have a sign.
int Signed(char c) { return static_cast<signed char>(c); }

}  // namespace

// --- reading the pattern

Glob::Glob(std::string_view pattern, bool ignore_case)
    : ignore_case_(ignore_case), plain_(!ignore_case), empty_(pattern.empty()) {
  Read(pattern);
}

// Never fails: what Redis makes of a faulty pattern ("[" without "]", a '\' at the end) is made of
// it here.
void Glob::Read(std::string_view pattern) {
  pieces_.push_back({0, 0});
  for (size_t at = 0; at < pattern.size() && !too_long_; ++at) {
    char c = pattern[at];
    if (c == '*') {
      const bool follows_star = pieces_.size() > 1 && pieces_.back().size() == 0;
      if (!follows_star) pieces_.push_back({characters_.size(), characters_.size()});
      continue;
    }
    if (c == '?') {
      AddCharacter(kAny);
    } else if (c == '[') {
      classes_.push_back(ReadClass(pattern, at));
      AddCharacter(kFirstClass + static_cast<uint32_t>(classes_.size()) - 1);
    } else {
      if (c == '\\' && at + 1 < pattern.size()) c = pattern[++at];
      AddCharacter(Byte(Fold(c, ignore_case_)));
    }
    pieces_.back().end = characters_.size();
  }
}

// The byte is kept twice, as a character and for memmem.
void Glob::AddCharacter(uint32_t character) {
  plain_ = plain_ && character < kAny;
  too_long_ = characters_.size() == kCharactersMax;
  characters_.push_back(character);
  bytes_.push_back(static_cast<char>(character));
}

Glob::Class Glob::ReadClass(std::string_view pattern, size_t& at) const {
  const bool negated = ++at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  Class exact;  // after a '\' case is not ignored
  // How many more ranges hold each folded byte than the one before.
  std::array<int, 257> begun = {};
  const auto add = [&](int low, int high) {
    if (low > high) return;
    ++begun[static_cast<size_t>(low + 128)];
    --begun[static_cast<size_t>(high + 129)];
  };
  for (; at < pattern.size() && pattern[at] != ']'; ++at) {
    const size_t left = pattern.size() - at;
    if (pattern[at] == '\\' && left >= 2) {
      exact.set(Byte(pattern[++at]));
    } else if (left >= 3 && pattern[at + 1] == '-') {
      char low = pattern[at];
      char high = pattern[at + 2];
      if (Signed(low) > Signed(high)) std::swap(low, high);
      add(Signed(Fold(low, ignore_case_)), Signed(Fold(high, ignore_case_)));
      at += 2;
    } else {
      const int byte = Signed(Fold(pattern[at], ignore_case_));
      add(byte, byte);
    }
  }
  Class folded;
  int ranges = 0;
  for (int byte = -128; byte < 128; ++byte) {
    ranges += begun[static_cast<size_t>(byte + 128)];
    if (ranges > 0) folded.set(static_cast<uint8_t>(byte));
  }
  Class result;
  for (size_t byte = 0; byte < result.size(); ++byte) {
    const bool found = exact[byte] || folded[Byte(Fold(static_cast<char>(byte), ignore_case_))];
    result[byte] = found != negated;
  }
  return result;
}

// --- matching

// Compares one piece, place by place: every piece has a fixed length, as each of its characters
// stands for one byte. Requires: the text has so many bytes from `at` on.
bool Glob::TakesAt(const Piece& piece, std::string_view text, size_t at, size_t& steps) const {
  for (size_t i = piece.begin; i < piece.end; ++i, ++at) {
    ++steps;
    const uint32_t character = characters_[i];
    if (character < kAny) {
      if (Byte(Fold(text[at], ignore_case_)) != character) return false;
    } else if (character > kAny && !classes_[character - kFirstClass][Byte(text[at])]) {
      return false;
    }
  }
  return true;
}

size_t Glob::Find(const Piece& piece, std::string_view text, size_t at, size_t& steps) const {
  if (plain_) {  // in linear time
    const void* const found =
        memmem(text.data() + at, text.size() - at, bytes_.data() + piece.begin, piece.size());
    return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : kNowhere;
  }
  for (; at + piece.size() <= text.size() && steps < kStepsMax; ++at) {
    if (TakesAt(piece, text, at, steps)) return at;
  }
  return kNowhere;
}

bool Glob::Matches(std::string_view text) const {
  if (text.empty() || empty_) return text.empty() && empty_;
  if (too_long_ || text.size() < characters_.size()) return false;
  const Piece& first = pieces_.front();
  const Piece& last = pieces_.back();
  size_t steps = 0;
  if (!TakesAt(first, text, 0, steps)) return false;
  if (pieces_.size() == 1) return text.size() == characters_.size();
  const size_t last_at = text.size() - last.size();
  if (!TakesAt(last, text, last_at, steps)) return false;
  // The first and the last piece have their places; every other one is taken where it first comes.
  size_t at = first.size();
  for (size_t i = 1; i + 1 < pieces_.size(); ++i) {
    at = Find(pieces_[i], text.substr(0, last_at), at, steps);
    if (at == kNowhere) return false;
    at += pieces_[i].size();
  }
  return at <= last_at;
}

bool GlobMatches(std::string_view pattern, std::string_view text, bool ignore_case) {
  return Glob(pattern, ignore_case).Matches(text);
}

}  // namespace sluice
