// Glob patterns as Redis reads them (KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET): '*', '?', '[abc]',
// '[^a]', '[a-z]' and '\' before a character that stands for itself.
//
//   const Glob glob("user:*");  // read once
//   for (name : names) if (glob.Matches(name)) ...
//
// The time of a match is bounded whatever a client sends: texts shorter than the pattern are never
// looked at, a class is a table, what stands between two stars is sought once, and a match that
// takes more than kStepsMax comparisons is none, as Redis 7.2.6 gives up among too many stars.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// "h?llo*w[ao]rld" is two pieces, `h?llo` at the start and `w[ao]rld` at the end; "*a*b*" is four,
// of which the first and the last are empty.
class Glob {
 public:
  // Some 20 ms.
  static constexpr size_t kStepsMax = 1 << 24;
  // A pattern of more characters, stars not counted, matches nothing.
  static constexpr size_t kCharactersMax = 1 << 20;

  // The pattern is not needed any more afterwards.
  explicit Glob(std::string_view pattern, bool ignore_case = false);

  // Whether all of `text` matches. As in Redis, nothing but the empty pattern matches empty text.
  bool Matches(std::string_view text) const;

 private:
  // A part between two stars: characters [begin, end) of the pattern.
  struct Piece {
    size_t begin;
    size_t end;
    size_t size() const { return end - begin; }
  };
  using Class = std::bitset<256>;

  void Read(std::string_view pattern);
  void AddCharacter(uint32_t character);
  // Reads the class whose '[' is at pattern[at]; `at` moves to its ']'. A class without a ']' ends
  // with the pattern. A table of 256 bits: it is made once, and a look-up is constant.
  Class ReadClass(std::string_view pattern, size_t& at) const;
  bool TakesAt(const Piece& piece, std::string_view text, size_t at, size_t& steps) const;
  // Where a piece is first found from `at` on; npos: nowhere.
  size_t Find(const Piece& piece, std::string_view text, size_t at, size_t& steps) const;

  bool ignore_case_;
  bool plain_ = true;  // no '?', no class, no folding: bytes_ are the characters
  bool too_long_ = false;
  bool empty_;
  std::vector<uint32_t> characters_;  // a byte, kAny, or a class from kFirstClass on
  std::string bytes_;
  std::vector<Class> classes_;
  std::vector<Piece> pieces_;  // one more than there are stars; neighbouring stars are one
};

// Whether all of `text` matches: for a single text.
bool GlobMatches(std::string_view pattern, std::string_view text, bool ignore_case = false);

}  // namespace sluice
