// The clock of a database that has no other: it goes by ticks most of the time.
#include "server/system/system_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice {
namespace {

TEST(SystemClock, GoesByTicksAndNeverBack) {
  SystemClock looks;
  SystemClock ticks(SystemClock::Reading::kByTicks);
  const int64_t apart_us = ticks.Sample().steady_us - looks.Sample().steady_us;
  int64_t last_us = 0, last_ns = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const int64_t now_us = ticks.Sample().steady_us;
    const int64_t now_ns = ticks.TickNanos();
    ASSERT_GE(now_us, last_us);
    ASSERT_GE(now_ns, last_ns);
    last_us = now_us;
    last_ns = now_ns;
  }
  const int64_t now_apart_us = ticks.Sample().steady_us - looks.Sample().steady_us;
  EXPECT_LT(std::abs(now_apart_us - apart_us), 500'000);
}

}  // namespace
}  // namespace sluice
