// KeyPatterns: the patterns of a selector's keys, each with the access that it allows.
//
//   KeyPatterns patterns;
//   patterns.Add("app:*", kReads);
//   patterns.Allow("app:1", kReads);  // true
//
// Patterns stand in the order of their first bytes that mean themselves, eight at most. That is an
// index: of thousands of patterns a key meets those that begin as it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/glob.h"

namespace sluice {

class KeyPatterns {
 public:
  // The same pattern again adds to what it allows. O(patterns).
  void Add(std::string_view pattern, uint8_t access);
  void clear();
  size_t size() const { return patterns_.size(); }
  bool Has(std::string_view pattern) const;

  // Whether one pattern allows all of that access to the key. A key that is neither read nor
  // written is allowed by any pattern that matches.
  bool Allow(std::string_view key, uint8_t access) const;
  // Whether one pattern allows that access to any key there is: "*", also where it is no rule for
  // all keys ("%R~*").
  bool AllowAnyKey(uint8_t access) const;
  // "~app:* %R~log:*", in the order in which they came.
  std::string Describe() const;

 private:
  struct Pattern {
    std::string text;
    Glob glob;
    uint8_t access;
  };
  // The plain beginning of one pattern.
  struct Head {
    uint64_t bytes;
    uint32_t pattern;  // its place in patterns_
    uint8_t size;
    bool is_prefix;  // nothing but a star follows: the glob is not needed
  };
  // Heads of one size, [begin, end) of heads_, in the order of their bytes.
  struct Group {
    uint64_t mask;
    uint32_t begin;
    uint32_t end;
    uint8_t size;  // a shorter key has no pattern here
  };
  Head HeadOf(std::string_view pattern) const;
  void Insert(const Head& head);

  std::vector<Pattern> patterns_;
  std::vector<Head> heads_;    // by size, then by bytes
  std::vector<Group> groups_;  // by size: nine at most
};

}  // namespace sluice
