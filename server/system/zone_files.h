// ZoneFiles: the time zones of the machine, from its folder of them (TZDIR, /usr/share/zoneinfo),
// as abseil reads them. A zone's rules are those that its file had when it was named first: abseil
// keeps them as long as the process lives, so a newer tzdata counts from the next start on.
//
// A file is read by a thread of its own, for which Read waits no longer than its patience; one that
// takes longer (a disk that is gone) is read further, alone, and asked for again. A file counts if
// it is a plain one of kZoneFileBytesMax at most, with the bytes that its header promises.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "server/core/zone_source.h"

namespace sluice {

inline constexpr size_t kZoneFileBytesMax = 65'536;  // the largest of tzdata has some 4,000
// A thread and a file that is in memory take 0.1 ms, one of a busy disk some ms.
inline constexpr std::chrono::milliseconds kZonePatience{20};
// Of a test double, and of a database whose time is moved by hand: what they answer is not to
// depend on how busy the machine is.
inline constexpr std::chrono::milliseconds kZonePatienceOfDoubles{60'000};

class ZoneFiles final : public ZoneSource {
 public:
  explicit ZoneFiles(std::chrono::milliseconds patience = kZonePatience) : patience_(patience) {}

  Answer Read(std::string_view name) override;

 private:
  class Reading;  // shared with its thread, which may outlive this

  const std::chrono::milliseconds patience_;
  std::shared_ptr<Reading> reading_;  // the one that was not awaited; null: there is none
};

}  // namespace sluice
