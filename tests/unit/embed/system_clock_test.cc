// The clock of a database that has no other: it goes by ticks most of the time.
#include "server/system/system_clock.h"

#include <gtest/gtest.h>

#include <chrono>
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

// Ticks against the steady clock, from the start and over the second in which they are measured.
// Each time of the clock was read between two times by ticks, so that a thread which is kept off
// the processor does no harm.
TEST(SystemClock, TicksAreThoseOfTheSteadyClock) {
  const auto steady_ns = [] {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  };
  SystemClock clock;
  const int64_t from_before_ns = clock.TickNanos();
  const int64_t from_ns = steady_ns();
  const int64_t from_after_ns = clock.TickNanos();
  int64_t passed_ns = 0;
  while (passed_ns < 2'000'000'000) {
    const int64_t before_ns = clock.TickNanos();
    passed_ns = steady_ns() - from_ns;
    const int64_t after_ns = clock.TickNanos();
    const int64_t off_ns = passed_ns / 1000 + 100'000;  // a thousandth, and a first reading
    ASSERT_LE(before_ns - from_after_ns, passed_ns + off_ns);
    ASSERT_GE(after_ns - from_before_ns, passed_ns - off_ns);
  }
}

}  // namespace
}  // namespace sluice
