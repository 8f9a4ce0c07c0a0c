// The system's id of this boot: what another one wrote was not written by a process that is merely
// gone.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "storage/disk.h"

namespace sluice {

inline constexpr std::string_view kUnknownBoot = "unknown";

// kUnknownBoot where the system tells none. Bounded: the file is read as any other, and may be odd.
inline std::string BootIdOf(Disk& disk) {
  constexpr size_t kBytesMax = 40;
  std::string boot;
  if (disk.Read("/proc/sys/kernel/random/boot_id", boot) != 0) return std::string(kUnknownBoot);
  return boot.substr(0, std::min(boot.find_first_of(" \r\n"), kBytesMax));
}

}  // namespace sluice
