// Keys: the bytes that a terminal sends, as the keys that a person has struck.
//
//   j           a text of one character, which may have several bytes
//   ESC [ A     an arrow; ESC O A where the terminal is in another mode
//   ESC         the key of that name, if no more comes: only time tells it from the begin of others
//
// Knows no terminal: who reads one asks whether more is awaited, and says when none has come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct Key {
  enum class Kind : uint8_t {
    kText,
    kEnter,
    kEscape,
    kBackspace,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kInterrupt,  // Ctrl-C
    kStop,       // Ctrl-Z
    kRedraw,     // Ctrl-L
    kOther       // one that means nothing here
  };
  Kind kind = Kind::kOther;
  std::string text;  // of kText: UTF-8
  bool operator==(const Key&) const = default;
};

class KeyReader {
 public:
  // The keys that end with these bytes.
  std::vector<Key> Read(std::string_view bytes);
  // Whether a key has begun and may go on.
  bool is_awaiting() const { return !begun_.empty(); }
  // Nothing more has come: the keys that have begun.
  std::vector<Key> End();

 private:
  std::string begun_;
};

}  // namespace sluice
