// Names and bounds of limiter configurations. See limit.h.
#include "storage/limits/limit.h"

#include <iterator>

namespace sluice {
namespace {

constexpr std::string_view kAlgorithmNames[] = {"WINDOW", "ROLLING", "SLIDING", "LOG",
                                                "GCRA",   "LEAKY",   "CALENDAR"};

constexpr std::string_view kEncodings[] = {"window", "rolling", "sliding", "log",
                                           "gcra",   "leaky",   "calendar"};

// ASCII alone: the names have no other letters.
bool EqualsInAnyCase(std::string_view text, std::string_view upper) {
  if (text.size() != upper.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 32) : text[i];
    if (c != upper[i]) return false;
  }
  return true;
}

}  // namespace

std::string_view LimitAlgorithmName(LimitAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<size_t>(algorithm)];
}

std::string_view LimitEncoding(LimitAlgorithm algorithm) {
  return kEncodings[static_cast<size_t>(algorithm)];
}

bool ParseLimitAlgorithm(std::string_view text, LimitAlgorithm* algorithm) {
  for (size_t i = 0; i < std::size(kAlgorithmNames); ++i) {
    if (text.size() != kAlgorithmNames[i].size() || (text[0] & ~0x20) != kAlgorithmNames[i][0])
      continue;
    if (!EqualsInAnyCase(text, kAlgorithmNames[i])) continue;
    *algorithm = static_cast<LimitAlgorithm>(i);
    return true;
  }
  return false;
}

// The bounds make sure that no product of the algorithms goes beyond 126 bits.
LimitFault MakeLimitConfig(LimitAlgorithm algorithm, int64_t max, int64_t period_ms, int64_t burst,
                           LimitConfig* config) {
  if (max < 1 || max > kUnitsMax) return LimitFault::kMax;
  if (period_ms < 1 || period_ms > kPeriodMsMax) return LimitFault::kPeriod;
  if (burst != kNotGiven && !HasBurst(algorithm)) return LimitFault::kBurstUnknown;
  const bool rolling = algorithm == LimitAlgorithm::kRolling;
  if (burst == kNotGiven) burst = rolling ? max : 0;
  if (burst < (rolling ? 1 : 0) || burst > kUnitsMax) return LimitFault::kBurst;
  const LimitConfig made{algorithm, max, period_ms, burst};
  // Without a burst it takes a period.
  if (HasBurst(algorithm) &&
      DivideUp(Product(made.Capacity(), made.PeriodUs()), static_cast<Wide>(max)) > kRefillUsMax)
    return LimitFault::kRefill;
  *config = made;
  return LimitFault::kNone;
}

}  // namespace sluice
