// Calendar: the minutes, hours, days, weeks or months of a time zone, as windows of a limit
// (CALENDAR): where the window ends that a moment is in. Exact over daylight saving, leap days and
// months of 28 to 31 days.
//
//   const Calendar calendar({CalendarUnit::kMonth, 15}, rules);
//   calendar.EndMs(now.unix_ms())     // the next 15th, 00:00 in the zone
//
// A DAY begins at the hour `starts` (0), a WEEK at the day `starts` (1, Monday), a MONTH at the day
// `starts` (1), or at its last one if it has fewer. Where clocks go forward over such a begin, it
// is the moment at which they do; where they show it twice, the first. Hours and minutes are those
// that clocks show; an hour that they show twice is two.
//
// The rules of zones come through an interface: nothing here reads a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/civil_time.h"

namespace sluice {

enum class CalendarUnit : uint8_t { kMinute, kHour, kDay, kWeek, kMonth };

// "MINUTE", "HOUR" ...
std::string_view CalendarUnitName(CalendarUnit unit);
// In any case; false for anything else.
bool ParseCalendarUnit(std::string_view text, CalendarUnit* unit);
// The whole of a usual one, for a month 30 days: what replies call the period.
int64_t CalendarPeriodMs(CalendarUnit unit);
// The unit that has this period.
CalendarUnit CalendarUnitOf(int64_t period_ms);
// The range of STARTS; low above high: it has none.
struct CalendarStarts {
  int64_t low;
  int64_t high;
};
CalendarStarts CalendarStartsOf(CalendarUnit unit);

// The clocks of a zone. Times are Unix seconds.
class ZoneRules {
 public:
  virtual ~ZoneRules() = default;
  virtual absl::CivilSecond LocalAt(int64_t unix_s) const = 0;
  // When clocks show this first, or go over it.
  virtual int64_t FirstAt(absl::CivilSecond local) const = 0;
  // The next moment at which they are set; none: there is no other.
  virtual std::optional<int64_t> NextChange(int64_t unix_s) const = 0;
};

// Coordinated Universal Time, whose clocks are never set.
class UtcRules final : public ZoneRules {
 public:
  absl::CivilSecond LocalAt(int64_t unix_s) const override;
  int64_t FirstAt(absl::CivilSecond local) const override;
  std::optional<int64_t> NextChange(int64_t) const override { return std::nullopt; }
};

struct CalendarTerms {
  CalendarUnit unit = CalendarUnit::kDay;
  int64_t starts = 0;  // within CalendarStartsOf; 0 where there is none
};

class Calendar {
 public:
  // The zone's name and rules outlive it. Null: the rules come later (set_rules).
  Calendar(const CalendarTerms& terms, std::string_view zone, const ZoneRules* rules)
      : terms_(terms), zone_(zone), rules_(rules) {}

  const CalendarTerms& terms() const { return terms_; }
  std::string_view zone() const { return zone_; }
  bool has_rules() const { return rules_ != nullptr; }
  void set_rules(const ZoneRules* rules) { rules_ = rules; }
  // The end of the window in which this moment is; later than it. Both are Unix ms. Requires:
  // has_rules().
  int64_t EndMs(int64_t unix_ms) const;

 private:
  int64_t EndOfClock(int64_t unix_s) const;
  absl::CivilSecond NextBegin(absl::CivilSecond local) const;

  const CalendarTerms terms_;
  const std::string_view zone_;
  const ZoneRules* rules_;
};

}  // namespace sluice
