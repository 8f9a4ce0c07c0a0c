// See calendar.h.
#include "storage/limits/calendar.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "protocol/text/letters.h"

namespace sluice {
namespace {

constexpr std::string_view kUnitNames[] = {"MINUTE", "HOUR", "DAY", "WEEK", "MONTH"};
constexpr int64_t kPeriodsS[] = {60, 3600, 86'400, 604'800, 2'592'000};
constexpr CalendarStarts kStarts[] = {{1, 0}, {1, 0}, {0, 23}, {1, 7}, {1, 31}};

// Where Unix time begins.
constexpr absl::CivilSecond kEpoch(1970, 1, 1);

// The begin of the window of the month that starts on that day, or on its last one.
absl::CivilDay BeginIn(absl::CivilMonth month, int64_t day) {
  const absl::CivilDay last = absl::CivilDay(month + 1) - 1;
  return std::min(absl::CivilDay(month) + (day - 1), last);
}

// 1 to 7, from Monday on.
int64_t WeekdayOf(absl::CivilDay day) { return static_cast<int64_t>(absl::GetWeekday(day)) + 1; }

}  // namespace

std::string_view CalendarUnitName(CalendarUnit unit) {
  return kUnitNames[static_cast<size_t>(unit)];
}

bool ParseCalendarUnit(std::string_view text, CalendarUnit* unit) {
  for (size_t i = 0; i < std::size(kUnitNames); ++i) {
    if (text.size() != kUnitNames[i].size() || UpperCase(text) != kUnitNames[i]) continue;
    *unit = static_cast<CalendarUnit>(i);
    return true;
  }
  return false;
}

int64_t CalendarPeriodMs(CalendarUnit unit) { return kPeriodsS[static_cast<size_t>(unit)] * 1000; }

CalendarUnit CalendarUnitOf(int64_t period_ms) {
  const auto* const found = std::ranges::find(kPeriodsS, period_ms / 1000);
  return static_cast<CalendarUnit>(std::min<ptrdiff_t>(found - kPeriodsS, 4));
}

CalendarStarts CalendarStartsOf(CalendarUnit unit) { return kStarts[static_cast<size_t>(unit)]; }

absl::CivilSecond UtcRules::LocalAt(int64_t unix_s) const { return kEpoch + unix_s; }

int64_t UtcRules::FirstAt(absl::CivilSecond local) const { return local - kEpoch; }

int64_t Calendar::EndMs(int64_t unix_ms) const {
  assert(has_rules());
  // Rounded down, also before 1970: windows begin at whole seconds.
  const int64_t unix_s = unix_ms / 1000 - (unix_ms % 1000 < 0 ? 1 : 0);
  if (terms_.unit <= CalendarUnit::kHour) return EndOfClock(unix_s) * 1000;
  absl::CivilSecond begin = NextBegin(rules_->LocalAt(unix_s));
  int64_t end_s = rules_->FirstAt(begin);
  // Clocks that were set back may show a time before a begin that was already: then its window
  // runs.
  while (end_s <= unix_s) {
    begin = NextBegin(begin);
    end_s = rules_->FirstAt(begin);
  }
  return end_s * 1000;
}

// Minutes and hours: up to the next whole one that clocks show, or to where they are set into
// another.
int64_t Calendar::EndOfClock(int64_t unix_s) const {
  const int64_t whole_s = kPeriodsS[static_cast<size_t>(terms_.unit)];
  const auto number_at = [&](int64_t at_s) {
    const int64_t local_s = rules_->LocalAt(at_s) - kEpoch;
    return local_s / whole_s - (local_s % whole_s < 0 ? 1 : 0);
  };
  for (int64_t from_s = unix_s;;) {
    const int64_t number = number_at(from_s);
    const int64_t left_s = (number + 1) * whole_s - (rules_->LocalAt(from_s) - kEpoch);
    const std::optional<int64_t> change_s = rules_->NextChange(from_s);
    if (!change_s || *change_s >= from_s + left_s) return from_s + left_s;
    if (number_at(*change_s) != number) return *change_s;
    from_s = *change_s;
  }
}

// The first begin of a window after what clocks show.
absl::CivilSecond Calendar::NextBegin(absl::CivilSecond local) const {
  const absl::CivilDay today(local);
  if (terms_.unit == CalendarUnit::kDay) {
    const absl::CivilSecond begin = absl::CivilSecond(today) + terms_.starts * 3600;
    return local < begin ? begin : absl::CivilSecond(today + 1) + terms_.starts * 3600;
  }
  if (terms_.unit == CalendarUnit::kWeek) {
    const int64_t days = (terms_.starts - WeekdayOf(today) + 6) % 7 + 1;
    return absl::CivilSecond(today + days);
  }
  const absl::CivilMonth month(local);
  const absl::CivilDay begin = BeginIn(month, terms_.starts);
  return absl::CivilSecond(today < begin ? begin : BeginIn(month + 1, terms_.starts));
}

}  // namespace sluice
