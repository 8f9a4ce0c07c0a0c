// ZoneSource: where the rules of time zones come from. The engine reads no files: the program
// around it does, when a zone is named for the first time, and never for longer than the loop can
// stand still: a zone of a slow disk is there a little later.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "storage/limits/calendar.h"

namespace sluice {

inline constexpr size_t kZoneNameBytesMax = 64;

enum class ZoneFound : uint8_t {
  kHere,
  kNone,    // there is no zone of this name
  kNotYet,  // it is being read: ask again
};

class ZoneSource {
 public:
  struct Answer {
    ZoneFound found = ZoneFound::kNone;
    std::unique_ptr<ZoneRules> rules;  // where it is kHere
  };

  virtual ~ZoneSource() = default;
  // The name has 1 to kZoneNameBytesMax bytes, of any kind.
  virtual Answer Read(std::string_view name) = 0;
};

}  // namespace sluice
