// See figures.h.
#include "server/program/top/figures.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// One digit behind the point.
std::string Tenths(double value) {
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 1);
  return std::string(text, end.ptr);
}

// The largest unit that leaves at least one; the first letter is that of `step`.
std::string Scaled(double value, double step, std::string_view letters) {
  size_t unit = 0;
  value /= step;
  for (; value >= step && unit + 1 < letters.size(); ++unit) value /= step;
  return Concat(Tenths(value), letters.substr(unit, 1));
}

std::string TwoDigits(int64_t value) { return Concat(value < 10 ? "0" : "", value); }

}  // namespace

std::string CountText(int64_t count) {
  constexpr int64_t kWholeMax = 9'999;
  if (count <= kWholeMax) return Concat(count);
  return Scaled(static_cast<double>(count), 1000, "kMGTPE");
}

std::string BytesText(int64_t bytes) {
  if (bytes < 1024) return Concat(bytes, 'B');
  return Scaled(static_cast<double>(bytes), 1024, "KMGTPE");
}

std::string DurationText(int64_t ms) {
  const int64_t seconds = ms / 1000, minutes = seconds / 60, hours = minutes / 60;
  if (ms < 1000) return Concat(ms, "ms");
  if (seconds < 60) return Concat(seconds, '.', ms / 100 % 10, 's');
  if (minutes < 60) return Concat(minutes, 'm', TwoDigits(seconds % 60), 's');
  if (hours < 24) return Concat(hours, 'h', TwoDigits(minutes % 60), 'm');
  return Concat(hours / 24, 'd', TwoDigits(hours % 24), 'h');
}

std::string MicrosText(int64_t micros) {
  if (micros < 1000) return Concat(micros, "us");
  if (micros < 1'000'000) return Concat(Tenths(static_cast<double>(micros) / 1e3), "ms");
  return Concat(Tenths(static_cast<double>(micros) / 1e6), 's');
}

std::string RateText(double per_second) {
  constexpr double kTenthsMax = 10;
  if (per_second <= 0) return "0";
  if (per_second < kTenthsMax) return Tenths(per_second);
  return CountText(static_cast<int64_t>(std::min(per_second + 0.5, 9e18)));
}

}  // namespace sluice
