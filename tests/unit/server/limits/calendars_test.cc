// Windows by the zone files of this machine, against a walk from minute to minute over what their
// clocks show: with daylight saving in both directions, zones of half and quarter hours, a zone
// that skipped a day, and one whose clocks are set by half an hour.
#include "server/limits/calendars.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <tuple>

#include "server/system/zone_files.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr CalendarTerms kDays{CalendarUnit::kDay, 0};
// A machine under test may be slow.
constexpr std::chrono::seconds kPatience(60);

constexpr const char* kZones[] = {"UTC",
                                  "Europe/Berlin",
                                  "America/New_York",
                                  "America/Sao_Paulo",
                                  "Asia/Kolkata",
                                  "Asia/Kathmandu",
                                  "Pacific/Apia",
                                  "Australia/Lord_Howe",
                                  "Africa/Casablanca",
                                  "America/Havana",
                                  "Asia/Beirut",
                                  "America/St_Johns"};

// A number that grows from window to window: of the day, week or month that the clocks show.
int64_t NumberOf(const CalendarTerms& terms, absl::CivilSecond local) {
  const absl::CivilDay epoch(1970, 1, 5);  // a Monday
  const absl::CivilDay day(local);
  if (terms.unit == CalendarUnit::kDay) return absl::CivilDay(local - terms.starts * 3600) - epoch;
  if (terms.unit == CalendarUnit::kWeek) {
    const int64_t days = day - epoch - (terms.starts - 1);
    return days >= 0 ? days / 7 : (days - 6) / 7;
  }
  const absl::CivilMonth month(local);
  const int64_t last = (absl::CivilDay(month + 1) - 1).day();
  const bool has_begun = local.day() >= std::min(terms.starts, last);
  return (month - absl::CivilMonth(1970, 1)) - (has_begun ? 0 : 1);
}

// The first minute at which the clocks show a later window than they ever did.
int64_t WalkToEnd(const CalendarTerms& terms, const ZoneRules& rules, int64_t unix_s) {
  int64_t newest = INT64_MIN;
  for (int64_t at = unix_s - 2 * 86'400; at <= unix_s; at += 60)
    newest = std::max(newest, NumberOf(terms, rules.LocalAt(at)));
  newest = std::max(newest, NumberOf(terms, rules.LocalAt(unix_s)));
  int64_t at = unix_s - unix_s % 60 + 60;
  while (NumberOf(terms, rules.LocalAt(at)) <= newest) at += 60;
  return at;
}

TEST(Calendars, AgreeWithAWalkOverTheClocks) {
  std::mt19937_64 random(17);
  ZoneFiles files(kPatience);
  Calendars calendars(&files);
  const UtcRules utc;
  for (const std::string zone : kZones) {
    const std::unique_ptr<ZoneRules> read = zone == "UTC" ? nullptr : files.Read(zone).rules;
    ASSERT_TRUE(zone == "UTC" || read) << zone;
    const ZoneRules& rules = read ? *read : static_cast<const ZoneRules&>(utc);
    for (int i = 0; i < (kSanitized ? 50 : 300); ++i) {
      CalendarTerms terms{static_cast<CalendarUnit>(2 + random() % 3)};
      const CalendarStarts range = CalendarStartsOf(terms.unit);
      const auto spread = static_cast<uint64_t>(range.high - range.low + 1);
      terms.starts = range.low + static_cast<int64_t>(random() % spread);
      // 1990 to 2037; half of them within two days of a change of the clocks.
      int64_t unix_s = 631'152'000 + static_cast<int64_t>(random() % 1'500'000'000);
      const std::optional<int64_t> change = rules.NextChange(unix_s);
      if (change && random() % 2 == 0)
        unix_s = *change - 172'800 + static_cast<int64_t>(random() % 345'600);
      const Calendar* const calendar = calendars.Find(terms, zone).calendar;
      ASSERT_NE(calendar, nullptr);
      ASSERT_EQ(calendar->EndMs(unix_s * 1000) / 1000, WalkToEnd(terms, rules, unix_s))
          << zone << " " << CalendarUnitName(terms.unit) << " " << terms.starts << " at " << unix_s;
    }
  }
}

// Hours and minutes: the first moment that is whole by the clocks as they went before it, or at
// which they are set into another one.
TEST(Calendars, HoursAreThoseThatClocksShow) {
  std::mt19937_64 random(18);
  ZoneFiles files(kPatience);
  Calendars calendars(&files);
  for (const std::string zone : kZones) {
    if (zone == "UTC") continue;
    const std::unique_ptr<ZoneRules> rules = files.Read(zone).rules;
    const auto local_s = [&](int64_t at) {
      return rules->LocalAt(at) - absl::CivilSecond(1970, 1, 1);
    };
    for (int i = 0; i < 300; ++i) {
      const bool by_hour = random() % 2 == 0;
      const int64_t whole = by_hour ? 3600 : 60;
      int64_t unix_s = 631'152'000 + static_cast<int64_t>(random() % 1'500'000'000);
      const std::optional<int64_t> change = rules->NextChange(unix_s);
      if (change && random() % 2 == 0)
        unix_s = *change - 7'200 + static_cast<int64_t>(random() % 14'400);
      int64_t at = unix_s + 1;
      const auto ends = [&] {
        const int64_t before = local_s(at - 1);
        if ((before + 1) % whole == 0) return true;
        return local_s(at) != before + 1 && local_s(at) / whole != before / whole;
      };
      while (!ends()) ++at;
      const Calendar* const calendar =
          calendars.Find({by_hour ? CalendarUnit::kHour : CalendarUnit::kMinute}, zone).calendar;
      ASSERT_EQ(calendar->EndMs(unix_s * 1000) / 1000, at) << zone << " at " << unix_s;
    }
  }
}

TEST(Calendars, KnowTheDaysOfBerlin) {
  ZoneFiles files(kPatience);
  Calendars calendars(&files);
  const Calendar& days = *calendars.Find({CalendarUnit::kDay, 0}, "Europe/Berlin").calendar;
  const auto hours = [&](int64_t begin_s) {
    return (days.EndMs(begin_s * 1000) / 1000 - begin_s) / 3600;
  };
  EXPECT_EQ(hours(1'711'839'600), 23);  // 31 March 2024
  EXPECT_EQ(hours(1'729'980'000), 25);  // 27 October 2024
  EXPECT_EQ(hours(1'718'402'400), 24);
  // 02:00 is skipped in March: the day begins when clocks go over it.
  const Calendar& from_two = *calendars.Find({CalendarUnit::kDay, 2}, "Europe/Berlin").calendar;
  EXPECT_EQ(from_two.EndMs(1'711'839'600'000), 1'711'846'800'000);
  // And shown twice in October: the day begins with the first.
  EXPECT_EQ(from_two.EndMs(1'729'980'000'000), 1'729'987'200'000);
  EXPECT_EQ(from_two.EndMs(1'729'987'200'000), 1'729'987'200'000 + 25 * 3'600'000);
}

TEST(Calendars, AreMissingForZonesThatAreMissing) {
  ZoneFiles files(kPatience);
  Calendars calendars(&files);
  for (const std::string& zone :
       {std::string("Mars/Olympus"), std::string(""), std::string("../../../etc/passwd"),
        std::string("/usr/share/zoneinfo/Europe/Berlin"), std::string("Europe"),
        std::string("Europe/Berlin/"), std::string("tzdata.zi"), std::string("libc:localtime"),
        std::string("Fixed/UTC+01:00:00"), std::string("Europe/Berlin\0x", 15),
        std::string(1 << 20, 'E')}) {
    EXPECT_EQ(calendars.Find(kDays, zone).zone, ZoneFound::kNone) << zone.substr(0, 80);
  }
  Calendars without(nullptr);
  EXPECT_EQ(without.Find(kDays, "Europe/Berlin").zone, ZoneFound::kNone);
  EXPECT_EQ(without.Find(kDays, "UTC").zone, ZoneFound::kHere);
}

// Gives what it is told to, and counts how often it was asked.
class GivenZones final : public ZoneSource {
 public:
  Answer Read(std::string_view) override {
    ++asked;
    if (found != ZoneFound::kHere) return {found, nullptr};
    return {found, std::make_unique<UtcRules>()};
  }
  ZoneFound found = ZoneFound::kNotYet;
  int asked = 0;
};

TEST(Calendars, ZonesAreReadOnceAndAskedForUntilThen) {
  GivenZones zones;
  Calendars calendars(&zones);
  EXPECT_EQ(calendars.Find(kDays, "Slow/Disk").zone, ZoneFound::kNotYet);
  EXPECT_EQ(calendars.Find(kDays, "Slow/Disk").calendar, nullptr);
  zones.found = ZoneFound::kHere;
  const Calendar* const calendar = calendars.Find(kDays, "Slow/Disk").calendar;
  ASSERT_NE(calendar, nullptr);
  EXPECT_EQ(calendars.Find(kDays, "Slow/Disk").calendar, calendar);
  EXPECT_EQ(zones.asked, 3);
}

// A log may tell of zones of another machine. No file is read for it, and a client hears the truth.
TEST(Calendars, OfALogHaveNoRulesUntilTheyAreAskedFor) {
  GivenZones zones;
  Calendars calendars(&zones);
  const Calendar* const calendar = calendars.Name(kDays, "Slow/Disk");
  EXPECT_FALSE(calendar->has_rules());
  EXPECT_EQ(zones.asked, 0);
  EXPECT_EQ(calendars.Find(kDays, "Slow/Disk").zone, ZoneFound::kNotYet);
  EXPECT_FALSE(calendar->has_rules());
  zones.found = ZoneFound::kHere;
  EXPECT_EQ(calendars.Find(kDays, "Slow/Disk").calendar, calendar);
  EXPECT_TRUE(calendar->has_rules());
}

}  // namespace
}  // namespace sluice
