// See event_classes.h.
#include "server/config/event_classes.h"

namespace sluice {
namespace {

// A letter and its bits; "A" has several, and is looked at by itself.
struct ClassLetter {
  char letter;
  uint32_t classes;
};
constexpr uint32_t kAll = kNotifyGeneric | kNotifyString | kNotifyList | kNotifySet | kNotifyHash |
                          kNotifySortedSet | kNotifyExpired | kNotifyEvicted | kNotifyStream |
                          kNotifyModule;
// In the order in which they are shown. As in Redis, "A" hides an "n".
constexpr ClassLetter kSingleLetters[] = {
    {'g', kNotifyGeneric}, {'$', kNotifyString},    {'l', kNotifyList},    {'s', kNotifySet},
    {'h', kNotifyHash},    {'z', kNotifySortedSet}, {'x', kNotifyExpired}, {'e', kNotifyEvicted},
    {'t', kNotifyStream},  {'d', kNotifyModule},    {'n', kNotifyNew},
};
constexpr ClassLetter kLastLetters[] = {
    {'K', kNotifyKeyspace},
    {'E', kNotifyKeyevent},
    {'m', kNotifyKeyMiss},
    {'L', kNotifyLock},
};

// 0: no such letter.
uint32_t ClassesOf(char letter) {
  if (letter == 'A') return kAll;
  for (const ClassLetter& row : kSingleLetters) {
    if (row.letter == letter) return row.classes;
  }
  for (const ClassLetter& row : kLastLetters) {
    if (row.letter == letter) return row.classes;
  }
  return 0;
}

}  // namespace

// A letter may come twice. The empty text is 0: no events.
std::optional<uint32_t> ParseEventClasses(std::string_view letters) {
  uint32_t classes = 0;
  for (const char letter : letters) {
    const uint32_t added = ClassesOf(letter);
    if (added == 0) return std::nullopt;
    classes |= added;
  }
  return classes;
}

// K and E come behind the classes; without a class or without both of these no event is sent.
std::string EventClassLetters(uint32_t classes) {
  std::string letters;
  if ((classes & kAll) == kAll) {
    letters.push_back('A');
  } else {
    for (const ClassLetter& row : kSingleLetters) {
      if (classes & row.classes) letters.push_back(row.letter);
    }
  }
  for (const ClassLetter& row : kLastLetters) {
    if (classes & row.classes) letters.push_back(row.letter);
  }
  return letters;
}

}  // namespace sluice
