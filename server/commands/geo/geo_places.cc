// See geo_places.h.
#include "server/commands/geo/geo_places.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice {
namespace {

// A cut costs O(kept), so it pays only when at least so many new places came since the last.
constexpr size_t kCutFrom = 32;  // fewer are not worth it

}  // namespace

GeoPlaces::GeoPlaces(const Wanted& wanted)
    : farthest_first_(wanted.order == GeoOrder::kFarthestFirst),
      count_(wanted.count > 0 ? static_cast<size_t>(wanted.count) : SIZE_MAX),
      any_(wanted.any),
      sorted_(wanted.order != GeoOrder::kNone || (wanted.count > 0 && !wanted.any)) {}

void GeoPlaces::Add(std::string_view name, double score, const GeoPoint& point, double distance) {
  const size_t found = found_++;
  // There are enough that are nearer: after the first cut this drops most places, uncopied.
  if (last_kept_ && !Before(distance, *last_kept_)) return;
  places_.push_back({std::string(name), score, point, distance, found});
  // Every count_ additions pay for one cut of twice as many.
  if (!any_ && places_.size() / 2 >= std::max(count_, kCutFrom)) Cut();
}

std::vector<GeoPlace> GeoPlaces::Take() && {
  if (places_.size() > count_) Cut();
  const auto before = [this](const GeoPlace& a, const GeoPlace& b) { return Before(a, b); };
  if (sorted_) std::ranges::sort(places_, before);
  return std::move(places_);
}

// Distances are not negative: their bits are in the same order, and so is a NaN, which rounding
// makes of two ends of the earth.
bool GeoPlaces::Before(double a, double b) const {
  const auto a_bits = std::bit_cast<uint64_t>(a);
  const auto b_bits = std::bit_cast<uint64_t>(b);
  return farthest_first_ ? a_bits > b_bits : a_bits < b_bits;
}

// Places at the same distance keep the order in which they were found: the outcome is one.
bool GeoPlaces::Before(const GeoPlace& a, const GeoPlace& b) const {
  if (Before(a.distance, b.distance)) return true;
  return !Before(b.distance, a.distance) && a.found < b.found;
}

void GeoPlaces::Cut() {
  const auto last = places_.begin() + static_cast<ptrdiff_t>(count_ - 1);
  const auto before = [this](const GeoPlace& a, const GeoPlace& b) { return Before(a, b); };
  std::ranges::nth_element(places_, last, before);
  last_kept_ = last->distance;
  places_.erase(last + 1, places_.end());
}

}  // namespace sluice
