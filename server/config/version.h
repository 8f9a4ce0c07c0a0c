// Our own version, and that of the Redis whose words the server speaks.
#pragma once

#include <string_view>

namespace sluice {

inline constexpr std::string_view kSluiceVersion = "0.1.0";
inline constexpr std::string_view kRedisVersion = "7.0.15";

}  // namespace sluice
