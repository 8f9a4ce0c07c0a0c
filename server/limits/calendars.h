// Calendars: the calendars that requests and policies have named, each made once and kept, so that
// they can be pointed at. Zones are read when they are named first (ZoneSource); there are as many
// as the machine has, and few calendars of each, so this is bounded. Replayed commands read none:
// their zones are read when a client needs them, and may be unknown until then.
//
//   const Calendars::Found found = calendars.Find({CalendarUnit::kMonth, 1}, "Europe/Berlin");
//   if (found.zone == ZoneFound::kHere) found.calendar->EndMs(now.unix_ms());
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "server/core/zone_source.h"
#include "storage/limits/calendar.h"

namespace sluice {

class Calendars {
 public:
  // Null: there is no zone but UTC.
  explicit Calendars(ZoneSource* source) : source_(source) {}

  struct Found {
    ZoneFound zone = ZoneFound::kNone;
    const Calendar* calendar = nullptr;  // with its rules, where the zone is kHere
  };
  // Requires of both: `starts` is in its range.
  Found Find(const CalendarTerms& terms, std::string_view zone);
  // For what a log tells: of a zone that was not read, it has no rules until Find is asked for it.
  const Calendar* Name(const CalendarTerms& terms, std::string_view zone);

 private:
  using Key = std::tuple<CalendarUnit, int64_t, std::string>;

  ZoneFound ReadZone(std::string_view zone, const ZoneRules** rules);
  Calendar& Keep(const CalendarTerms& terms, std::string_view zone);

  ZoneSource* const source_;
  const UtcRules utc_;
  std::map<std::string, std::unique_ptr<ZoneRules>, std::less<>> zones_;
  std::map<Key, std::unique_ptr<Calendar>> calendars_;
};

}  // namespace sluice
