// See calendars.h.
#include "server/limits/calendars.h"

#include <utility>

namespace sluice {

Calendars::Found Calendars::Find(const CalendarTerms& terms, std::string_view zone) {
  const ZoneRules* rules = nullptr;
  const ZoneFound found = ReadZone(zone, &rules);
  if (found != ZoneFound::kHere) return {found, nullptr};
  Calendar& calendar = Keep(terms, zone);
  if (!calendar.has_rules()) calendar.set_rules(rules);
  return {found, &calendar};
}

const Calendar* Calendars::Name(const CalendarTerms& terms, std::string_view zone) {
  return &Keep(terms, zone);
}

ZoneFound Calendars::ReadZone(std::string_view zone, const ZoneRules** rules) {
  if (zone.empty() || zone.size() > kZoneNameBytesMax) return ZoneFound::kNone;
  *rules = &utc_;
  if (zone == "UTC") return ZoneFound::kHere;
  const auto known = zones_.find(zone);
  if (known != zones_.end()) {
    *rules = known->second.get();
    return ZoneFound::kHere;
  }
  if (!source_) return ZoneFound::kNone;
  ZoneSource::Answer answer = source_->Read(zone);
  if (answer.found == ZoneFound::kHere)
    *rules = zones_.emplace(std::string(zone), std::move(answer.rules)).first->second.get();
  return answer.found;
}

Calendar& Calendars::Keep(const CalendarTerms& terms, std::string_view zone) {
  const auto place = calendars_.try_emplace({terms.unit, terms.starts, std::string(zone)}).first;
  std::unique_ptr<Calendar>& kept = place->second;
  if (!kept) kept = std::make_unique<Calendar>(terms, std::get<std::string>(place->first), nullptr);
  return *kept;
}

}  // namespace sluice
