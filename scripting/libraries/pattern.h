// Pattern: Lua 5.1's patterns, matched as its string library does, down to the error texts. Each
// step counts as work of the script (LuaState::Work), so a pattern that tries for ever can be
// ended.
//
// How "(%a+)=(%d*)" matches "key=42": %a+ takes "key", capture 1 closes, '=' fits, %d* takes "42",
// capture 2 closes, the pattern is over: the match ends behind "42".
//
//   Pattern pattern(L, text, size, source);
//   if (const char* end = pattern.MatchAt(text)) count = pattern.PushCaptures(text, end);
//
// `text` and `source` are C strings that stay where they are. Has no destructor, for its errors and
// those of the work it counts jump over it.
#pragma once

#include <cstddef>

#include "scripting/lua/lua_api.h"

namespace sluice {

class LuaState;

// The items of a pattern: a character, `.`, a class (%a), a set ([a-z]), each with *, +, ? or -
// behind it; captures ( ), positions (); %bxy balanced, %f[set] a frontier, %1 a capture again.
//
// Time is not bounded by itself ("a*a*a*b" tries every split): the work it counts is. Memory is
// this object's alone.
class Pattern {
 public:
  Pattern(lua_State* L, const char* text, size_t size, const char* source);

  const char* begin() const { return text_; }
  const char* end() const { return end_; }
  // The pattern began with ^, which has been taken off (SkipAnchor).
  bool SkipAnchor();

  // Where a match that begins at `at` ends, or null. Forgets the captures of the try before.
  const char* MatchAt(const char* at);

  // Pushes all captures of the match from `from` to `to`, or the whole if there are none; how many.
  // `from` null: the captures alone, as string.find wants them. PushCapture pushes one.
  int PushCaptures(const char* from, const char* to);
  void PushCapture(int index, const char* from, const char* to);

 private:
  // Lengths of captures that are open, and of those that are positions.
  static constexpr ptrdiff_t kUnfinished = -1;
  static constexpr ptrdiff_t kPosition = -2;

  // Each answers where the match of the whole rest ends if it goes on from `at`, or null.
  const char* Match(const char* at, const char* item);
  // Matches %b, %f or %1 to %9, which look like a class and are none, and moves behind the item;
  // `at` becomes null where it does not match. False: the item is a class, and nothing has been
  // done.
  bool MatchSpecial(const char*& at, const char*& item);
  const char* MostOf(const char* at, const char* item, const char* behind);
  const char* FewestOf(const char* at, const char* item, const char* behind);
  const char* OpenCapture(const char* at, const char* item, ptrdiff_t length);
  const char* CloseCapture(const char* at, const char* item);
  // Single items that are longer than a character: where they end, or null. Balanced is %bxy: from
  // an x to the y that balances it.
  const char* Balanced(const char* at, const char* item);
  const char* Repeated(const char* at, int digit);
  bool Frontier(const char* at, const char* set, const char* behind);
  // Whether the character at `at` is one of the item, which ends at `behind`.
  bool Single(const char* at, const char* item, const char* behind);
  const char* BehindItem(const char* item);
  // Raise if there is no such capture, or if it is not closed yet.
  int CaptureAt(int digit);
  int LastOpen();
  void Work(size_t steps);

  lua_State* const L_;
  LuaState& state_;
  const char* const text_;
  const char* const end_;
  const char* source_;
  // Captures that are open or closed, in the order of their '('; fixed room, as Lua has it.
  int captures_ = 0;
  struct {
    const char* begin;
    ptrdiff_t length;
  } capture_[LUA_MAXCAPTURES];
};

}  // namespace sluice
