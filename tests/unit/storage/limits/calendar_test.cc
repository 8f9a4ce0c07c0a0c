// Windows of a calendar against rules of zones that are made up here: what the zone files of a
// machine say is tested with those (tests/unit/server/limits/calendars_test.cc).
#include "storage/limits/calendar.h"

#include <gtest/gtest.h>

#include "storage/limits/limiter.h"
#include "tests/support/manual_clock.h"

namespace sluice {
namespace {

using enum CalendarUnit;

const UtcRules kUtc;

int64_t At(absl::CivilSecond utc, int64_t ms = 0) { return kUtc.FirstAt(utc) * 1000 + ms; }

absl::CivilSecond EndOf(const CalendarTerms& terms, absl::CivilSecond utc, int64_t ms = 0) {
  const Calendar calendar(terms, "UTC", &kUtc);
  const int64_t end_ms = calendar.EndMs(At(utc, ms));
  EXPECT_EQ(end_ms % 1000, 0);
  EXPECT_GT(end_ms, At(utc, ms));
  return kUtc.LocalAt(end_ms / 1000);
}

TEST(Calendar, EndsWithItsUnit) {
  const absl::CivilSecond at(2024, 2, 28, 23, 59, 59);
  EXPECT_EQ(EndOf({kMinute}, at, 999), absl::CivilSecond(2024, 2, 29));
  EXPECT_EQ(EndOf({kMinute}, at + 1), absl::CivilSecond(2024, 2, 29, 0, 1, 0));
  EXPECT_EQ(EndOf({kHour}, at - 60), absl::CivilSecond(2024, 2, 29));
  EXPECT_EQ(EndOf({kDay, 0}, at), absl::CivilSecond(2024, 2, 29));
  EXPECT_EQ(EndOf({kDay, 0}, at + 1), absl::CivilSecond(2024, 3, 1));
  EXPECT_EQ(EndOf({kDay, 6}, at), absl::CivilSecond(2024, 2, 29, 6, 0, 0));
  EXPECT_EQ(EndOf({kDay, 23}, at), absl::CivilSecond(2024, 2, 29, 23, 0, 0));
}

// The 28th of February 2024 was a Wednesday.
TEST(Calendar, WeeksBeginOnAnyDay) {
  const absl::CivilSecond at(2024, 2, 28, 12, 0, 0);
  for (int64_t day = 1; day <= 7; ++day) {
    const int64_t days = day > 3 ? day - 3 : day + 4;
    EXPECT_EQ(EndOf({kWeek, day}, at), absl::CivilSecond(absl::CivilDay(at) + days)) << day;
  }
}

TEST(Calendar, MonthsHaveTheirLengths) {
  EXPECT_EQ(EndOf({kMonth, 1}, absl::CivilSecond(2024, 2, 29, 23, 59, 59)),
            absl::CivilSecond(2024, 3, 1));
  EXPECT_EQ(EndOf({kMonth, 1}, absl::CivilSecond(2023, 12, 31, 23, 59, 59)),
            absl::CivilSecond(2024, 1, 1));
  EXPECT_EQ(EndOf({kMonth, 15}, absl::CivilSecond(2024, 2, 14, 0, 0, 0)),
            absl::CivilSecond(2024, 2, 15));
  EXPECT_EQ(EndOf({kMonth, 15}, absl::CivilSecond(2024, 2, 15, 0, 0, 0)),
            absl::CivilSecond(2024, 3, 15));
  // The 31st is the last day where there is none.
  EXPECT_EQ(EndOf({kMonth, 31}, absl::CivilSecond(2024, 1, 31, 0, 0, 0)),
            absl::CivilSecond(2024, 2, 29));
  EXPECT_EQ(EndOf({kMonth, 31}, absl::CivilSecond(2023, 1, 31, 0, 0, 0)),
            absl::CivilSecond(2023, 2, 28));
  EXPECT_EQ(EndOf({kMonth, 31}, absl::CivilSecond(2023, 2, 28, 0, 0, 0)),
            absl::CivilSecond(2023, 3, 31));
  EXPECT_EQ(EndOf({kMonth, 31}, absl::CivilSecond(2023, 3, 31, 5, 0, 0)),
            absl::CivilSecond(2023, 4, 30));
  EXPECT_EQ(EndOf({kMonth, 1}, absl::CivilSecond(2100, 2, 28, 12, 0, 0)),
            absl::CivilSecond(2100, 3, 1));
  EXPECT_EQ(EndOf({kMonth, 1}, absl::CivilSecond(1969, 12, 31, 23, 0, 0)),
            absl::CivilSecond(1970, 1, 1));
}

TEST(Calendar, UnitsHaveNamesAndRanges) {
  CalendarUnit unit = kMinute;
  EXPECT_TRUE(ParseCalendarUnit("month", &unit));
  EXPECT_EQ(unit, kMonth);
  EXPECT_FALSE(ParseCalendarUnit("YEAR", &unit));
  EXPECT_FALSE(ParseCalendarUnit("", &unit));
  for (const CalendarUnit each : {kMinute, kHour, kDay, kWeek, kMonth}) {
    EXPECT_TRUE(ParseCalendarUnit(CalendarUnitName(each), &unit));
    EXPECT_EQ(unit, each);
    EXPECT_EQ(CalendarUnitOf(CalendarPeriodMs(each)), each);
  }
  EXPECT_GT(CalendarStartsOf(kHour).low, CalendarStartsOf(kHour).high);
}

// A limit of 3 a day, over a clock that is set forward and back.
TEST(Calendar, ALimitFollowsTheWallClock) {
  const Calendar days({kDay, 0}, "UTC", &kUtc);
  ManualClock clock(At(absl::CivilSecond(2024, 2, 28, 20, 0, 0)));
  LimitConfig config;
  ASSERT_EQ(
      MakeLimitConfig(LimitAlgorithm::kCalendar, 3, CalendarPeriodMs(kDay), kNotGiven, &config),
      LimitFault::kNone);
  config.calendar = &days;
  Limiter limiter(config);
  constexpr int64_t kHourMs = 3'600'000;
  LimitVerdict verdict = limiter.Take({config, 2}, clock.Sample());
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.reset_ms, 4 * kHourMs);
  EXPECT_EQ(verdict.reset_at_ms, At(absl::CivilSecond(2024, 2, 29, 0, 0, 0)));
  EXPECT_EQ(limiter.EndsAtMs(clock.Sample()), clock.Sample().ms() + 4 * kHourMs);
  // Set back it waits for the same moment; set forward it is there sooner.
  clock.StepWall(-kHourMs);
  verdict = limiter.Take({config, 2}, clock.Sample());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.retry_ms, 5 * kHourMs);
  EXPECT_EQ(verdict.reset_at_ms, At(absl::CivilSecond(2024, 2, 29, 0, 0, 0)));
  clock.StepWall(3 * kHourMs);
  EXPECT_EQ(limiter.Peek(config, 2, clock.Sample()).retry_ms, 2 * kHourMs);
  clock.Advance(2 * kHourMs - 1);
  EXPECT_FALSE(limiter.Peek(config, 2, clock.Sample()).allowed);
  clock.Advance(1);
  verdict = limiter.Take({config, 2}, clock.Sample());
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.reset_at_ms, At(absl::CivilSecond(2024, 3, 1, 0, 0, 0)));
  // A ban ends by the same clock.
  verdict = limiter.Take({config, 2, 30 * kHourMs}, clock.Sample());
  EXPECT_EQ(verdict.retry_ms, 30 * kHourMs);
  clock.StepWall(29 * kHourMs);
  EXPECT_EQ(limiter.Peek(config, 2, clock.Sample()).retry_ms, kHourMs);
  EXPECT_EQ(limiter.Audit(), "");
  char packed[kPackedLimiterMax];
  EXPECT_EQ(limiter.Pack(packed, sizeof packed), kWideLimiterBytes);
}

TEST(Calendar, ALoggedRequestBringsTheEndOfItsWindow) {
  ManualClock clock;
  LimitConfig config;
  ASSERT_EQ(
      MakeLimitConfig(LimitAlgorithm::kCalendar, 3, CalendarPeriodMs(kDay), kNotGiven, &config),
      LimitFault::kNone);
  config.window_end_ms = clock.Sample().unix_ms() + 777;
  Limiter limiter(config);
  EXPECT_EQ(limiter.Take({config, 1}, clock.Sample()).reset_ms, 777);
  clock.Advance(777);
  // A window that is over already lasts for a ms.
  EXPECT_EQ(limiter.Take({config, 1}, clock.Sample()).reset_ms, 1);
}

}  // namespace
}  // namespace sluice
