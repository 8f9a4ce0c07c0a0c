// The classes of keyspace events, and their letters in notify-keyspace-events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

enum NotifyClass : uint32_t {
  kNotifyKeyspace = 1u << 0,   // K: on __keyspace@<db>__:<key>
  kNotifyKeyevent = 1u << 1,   // E: on __keyevent@<db>__:<event>
  kNotifyGeneric = 1u << 2,    // g: DEL, EXPIRE, RENAME ...
  kNotifyString = 1u << 3,     // $
  kNotifyList = 1u << 4,       // l
  kNotifySet = 1u << 5,        // s
  kNotifyHash = 1u << 6,       // h
  kNotifySortedSet = 1u << 7,  // z
  kNotifyExpired = 1u << 8,    // x
  kNotifyEvicted = 1u << 9,    // e
  kNotifyStream = 1u << 10,    // t
  kNotifyKeyMiss = 1u << 11,   // m: a read found nothing; not in A
  kNotifyModule = 1u << 12,    // d: limiters and buckets
  kNotifyNew = 1u << 13,       // n: a key was created; not in A
  kNotifyLock = 1u << 14,      // L: locks; ours, and not in A
};

// "KEA" as bits; null when a letter is unknown.
std::optional<uint32_t> ParseEventClasses(std::string_view letters);
// The letters in Redis's order, "A" for all of its classes.
std::string EventClassLetters(uint32_t classes);

}  // namespace sluice
