// See pattern.h. The matcher backtracks as Lua's own (lstrlib.c) does; Work() is what bounds it.
#include "scripting/libraries/pattern.h"

#include <cctype>
#include <cstring>

#include "scripting/lua/lua_state.h"

namespace sluice {
namespace {

constexpr char kEscape = '%';
// A step that looks at bytes in a row costs as much as this many bytes.
constexpr size_t kBytesAStep = 16;

// --- classes and sets

int Code(char c) { return static_cast<unsigned char>(c); }

// %a and the like in the C locale; a capital letter is the complement.
bool IsOfClass(int c, int name) {
  bool is;
  switch (std::tolower(name)) {
    case 'a':
      is = std::isalpha(c);
      break;
    case 'c':
      is = std::iscntrl(c);
      break;
    case 'd':
      is = std::isdigit(c);
      break;
    case 'l':
      is = std::islower(c);
      break;
    case 'p':
      is = std::ispunct(c);
      break;
    case 's':
      is = std::isspace(c);
      break;
    case 'u':
      is = std::isupper(c);
      break;
    case 'w':
      is = std::isalnum(c);
      break;
    case 'x':
      is = std::isxdigit(c);
      break;
    case 'z':
      is = c == 0;
      break;
    default:
      return name == c;
  }
  return std::islower(name) ? is : !is;
}

// `set` points to [, `last` to its ]. Members are classes, ranges and characters; a ']' as the
// first is a member, as is a '-' at an end.
bool IsOfSet(int c, const char* set, const char* last) {
  bool member = true;
  if (set[1] == '^') {
    member = false;
    ++set;
  }
  while (++set < last) {
    if (*set == kEscape) {
      ++set;
      if (IsOfClass(c, Code(*set))) return member;
    } else if (set[1] == '-' && set + 2 < last) {
      set += 2;
      if (Code(set[-2]) <= c && c <= Code(*set)) return member;
    } else if (Code(*set) == c) {
      return member;
    }
  }
  return !member;
}

}  // namespace

// --- matching

Pattern::Pattern(lua_State* L, const char* text, size_t size, const char* source)
    : L_(L), state_(LuaState::Of(L)), text_(text), end_(text + size), source_(source) {}

bool Pattern::SkipAnchor() {
  const bool anchored = *source_ == '^';
  source_ += anchored;
  return anchored;
}

void Pattern::Work(size_t steps) { state_.Work(L_, steps); }

const char* Pattern::MatchAt(const char* at) {
  captures_ = 0;
  return Match(at, source_);
}

const char* Pattern::Match(const char* at, const char* item) {
  // Recurs for items that may match in several ways; the others follow each other in this loop.
  while (true) {
    Work(1);
    switch (*item) {
      case '\0':
        return at;
      case '(':
        if (item[1] == ')') return OpenCapture(at, item + 2, kPosition);
        return OpenCapture(at, item + 1, kUnfinished);
      case ')':
        return CloseCapture(at, item + 1);
      case '$':
        if (item[1] == '\0') return at == end_ ? at : nullptr;
        break;
      case kEscape:
        if (!MatchSpecial(at, item)) break;
        if (!at) return nullptr;
        continue;
      default:
        break;
    }
    const char* const behind = BehindItem(item);
    const bool matches = Single(at, item, behind);
    switch (*behind) {
      case '?':
        if (matches) {
          const char* const end = Match(at + 1, behind + 1);
          if (end) return end;
        }
        item = behind + 1;
        continue;
      case '*':
        return MostOf(at, item, behind);
      case '+':
        return matches ? MostOf(at + 1, item, behind) : nullptr;
      case '-':
        return FewestOf(at, item, behind);
      default:
        if (!matches) return nullptr;
        ++at;
        item = behind;
    }
  }
}

bool Pattern::MatchSpecial(const char*& at, const char*& item) {
  if (item[1] == 'b') {
    at = Balanced(at, item + 2);
    item += 4;
    return true;
  }
  if (item[1] == 'f') {
    item += 2;
    if (*item != '[') luaL_error(L_, "missing '[' after '%%f' in pattern");
    const char* const behind = BehindItem(item);
    if (!Frontier(at, item, behind)) at = nullptr;
    item = behind;
    return true;
  }
  if (!std::isdigit(Code(item[1]))) return false;
  at = Repeated(at, Code(item[1]));
  item += 2;
  return true;
}

// x* and x+: as many as there are, then one less each time until the rest of the pattern fits.
const char* Pattern::MostOf(const char* at, const char* item, const char* behind) {
  ptrdiff_t count = 0;
  while (Single(at + count, item, behind)) ++count;
  Work(static_cast<size_t>(count));
  for (; count >= 0; --count) {
    const char* const end = Match(at + count, behind + 1);
    if (end) return end;
  }
  return nullptr;
}

// x-: none at first, then one more each time.
const char* Pattern::FewestOf(const char* at, const char* item, const char* behind) {
  while (true) {
    const char* const end = Match(at, behind + 1);
    if (end) return end;
    if (!Single(at, item, behind)) return nullptr;
    ++at;
  }
}

// --- captures

// The capture is noted before the rest is tried and taken back if that fails: this is the
// backtracking.
const char* Pattern::OpenCapture(const char* at, const char* item, ptrdiff_t length) {
  if (captures_ >= LUA_MAXCAPTURES) luaL_error(L_, "too many captures");
  capture_[captures_] = {at, length};
  ++captures_;
  const char* const end = Match(at, item);
  if (!end) --captures_;
  return end;
}

// As OpenCapture: noted, tried, taken back.
const char* Pattern::CloseCapture(const char* at, const char* item) {
  const int last = LastOpen();
  capture_[last].length = at - capture_[last].begin;
  const char* const end = Match(at, item);
  if (!end) capture_[last].length = kUnfinished;
  return end;
}

// --- single items

const char* Pattern::Balanced(const char* at, const char* item) {
  if (item[0] == '\0' || item[1] == '\0') luaL_error(L_, "unbalanced pattern");
  if (*at != item[0]) return nullptr;
  const char* const begin = at;
  int open = 1;
  while (++at < end_) {
    if (*at == item[1]) {
      if (--open == 0) break;
    } else if (*at == item[0]) {
      ++open;
    }
  }
  Work(static_cast<size_t>(at - begin) / 2);
  return at < end_ ? at + 1 : nullptr;
}

// %1: what that capture holds, once more.
const char* Pattern::Repeated(const char* at, int digit) {
  const int index = CaptureAt(digit);
  const auto length = static_cast<size_t>(capture_[index].length);
  if (static_cast<size_t>(end_ - at) < length) return nullptr;
  Work(length / kBytesAStep);
  return std::memcmp(capture_[index].begin, at, length) == 0 ? at + length : nullptr;
}

// %f[set]: between a character that is not of the set and one that is; the ends of the text count
// as zero bytes.
bool Pattern::Frontier(const char* at, const char* set, const char* behind) {
  const char before = at == text_ ? '\0' : at[-1];
  return !IsOfSet(Code(before), set, behind - 1) && IsOfSet(Code(*at), set, behind - 1);
}

inline bool Pattern::Single(const char* at, const char* item, const char* behind) {
  if (at >= end_) return false;
  switch (*item) {
    case '.':
      return true;
    case kEscape:
      return IsOfClass(Code(*at), Code(item[1]));
    case '[':
      Work(static_cast<size_t>(behind - item) / 4);
      return IsOfSet(Code(*at), item, behind - 1);
    default:
      return *item == *at;
  }
}

// Where the item ends, whatever it is: behind the character of an escape, or the ] of a set.
inline const char* Pattern::BehindItem(const char* item) {
  switch (*item++) {
    case kEscape:
      if (*item == '\0') luaL_error(L_, "malformed pattern (ends with '%%')");
      return item + 1;
    case '[': {
      const char* const begin = item;
      if (*item == '^') ++item;
      do {
        if (*item == '\0') luaL_error(L_, "malformed pattern (missing ']')");
        if (*item++ == kEscape && *item != '\0') ++item;
      } while (*item != ']');
      Work(static_cast<size_t>(item - begin) / 4);
      return item + 1;
    }
    default:
      return item;
  }
}

// --- results

int Pattern::CaptureAt(int digit) {
  const int index = digit - '1';
  if (index < 0 || index >= captures_ || capture_[index].length == kUnfinished) {
    luaL_error(L_, "invalid capture index");
  }
  return index;
}

// ')' closes the capture that was opened last.
int Pattern::LastOpen() {
  for (int index = captures_ - 1; index >= 0; --index) {
    if (capture_[index].length == kUnfinished) return index;
  }
  return luaL_error(L_, "invalid pattern capture");
}

int Pattern::PushCaptures(const char* from, const char* to) {
  const int count = captures_ == 0 && from ? 1 : captures_;
  luaL_checkstack(L_, count, "too many captures");
  for (int i = 0; i < count; ++i) PushCapture(i, from, to);
  return count;
}

// A text, or the position of an empty capture "()".
void Pattern::PushCapture(int index, const char* from, const char* to) {
  if (index >= captures_) {
    if (index != 0) luaL_error(L_, "invalid capture index");
    return lua_pushlstring(L_, from, static_cast<size_t>(to - from));
  }
  const auto& [begin, length] = capture_[index];
  if (length == kUnfinished) luaL_error(L_, "unfinished capture");
  if (length == kPosition) return lua_pushinteger(L_, begin - text_ + 1);
  lua_pushlstring(L_, begin, static_cast<size_t>(length));
}

}  // namespace sluice
