// See geo_args.h.
#include "server/commands/geo/geo_args.h"

#include <charconv>
#include <string>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// printf's %.<digits>f.
std::string FixedText(double value, int digits) {
  // Room for the largest double, 309 digits, with its digits behind the point.
  char text[400];
  const auto [end, fault] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return std::string(text, end);
}

}  // namespace

// Longitude first: the order of GEOADD, which is not that of most maps.
GeoPoint TakePoint(ArgReader& args) {
  GeoPoint point;
  point.longitude = args.Double();
  point.latitude = args.Double();
  if (args.failed() || point.OnTheMap()) return point;
  args.Fail(Concat("ERR invalid longitude,latitude pair ", FixedText(point.longitude, 6), ",",
                   FixedText(point.latitude, 6)));
  return {};
}

// The mile is 1609.34 m and the foot 0.3048 m, as in Redis. The rounding of the mile is Redis's.
double TakeUnit(ArgReader& args) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"M", 1}, {"KM", 1000}, {"FT", 0.3048}, {"MI", 1609.34}};
  for (const auto& [word, metres] : kUnits) {
    if (args.TakeWord(word)) return metres;
  }
  args.Fail("ERR unsupported unit provided. please use M, KM, FT, MI");
  return 1;
}

// Any score is some place; that of a member which GEOADD has not put in makes little sense, but no
// fault.
std::optional<GeoPoint> PointOfMember(const SortedSet& set, std::string_view name) {
  const std::optional<double> score = set.Score(name);
  return score ? std::optional(PointOfScore(*score)) : std::nullopt;
}

// Text even in RESP3, as Redis answers it.
void ReplyDistance(ReplySink& reply, double distance) { reply.Bulk(FixedText(distance, 4)); }

// Doubles in RESP3, in RESP2 text with as many digits as they need.
void ReplyPoint(ReplySink& reply, const GeoPoint& point) {
  reply.Array(2);
  reply.PlainDouble(point.longitude);
  reply.PlainDouble(point.latitude);
}

}  // namespace sluice
