// Numbers as a person reads them at a glance: in a few characters, the same for all magnitudes.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

std::string CountText(int64_t count);     // 7, 9999, 15.2k, 3.1M
std::string BytesText(int64_t bytes);     // 512B, 1.5K, 12.3M
std::string DurationText(int64_t ms);     // 40ms, 12.1s, 4m05s, 3h20m, 2d04h
std::string MicrosText(int64_t micros);   // 120us, 3.2ms, 1.5s
std::string RateText(double per_second);  // 0, 0.4, 12, 15.2k

}  // namespace sluice
