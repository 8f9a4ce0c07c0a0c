// Shared by the geo commands: reading points and units, answering with distances.
//
// Distances are in metres inside; a unit matters only where one is read or answered.
#pragma once

#include <optional>
#include <string_view>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "storage/types/geo.h"
#include "storage/types/sorted_set.h"

namespace sluice {

// Takes a longitude and a latitude; the fault is kept in `args`.
GeoPoint TakePoint(ArgReader& args);
// Takes "m", "km", "ft" or "mi": how many metres it has.
double TakeUnit(ArgReader& args);
// Null when the member is missing.
std::optional<GeoPoint> PointOfMember(const SortedSet& set, std::string_view name);
// With four digits behind the point.
void ReplyDistance(ReplySink& reply, double distance);
// Two coordinates.
void ReplyPoint(ReplySink& reply, const GeoPoint& point);

}  // namespace sluice
