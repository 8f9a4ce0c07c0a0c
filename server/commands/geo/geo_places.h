// GeoPlaces: gathers the places that a search asks for. With COUNT they are the first ones of its
// order, and no more than twice as many are kept, however many there are to choose from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/types/geo.h"

namespace sluice {

// By distance from the centre. kNone: as they are found, unless COUNT without ANY asks for the
// nearest.
enum class GeoOrder : uint8_t { kNone, kNearestFirst, kFarthestFirst };

// A place that was found, with a copy of its name: the set may be changed before it is answered.
struct GeoPlace {
  std::string name;
  double score;
  GeoPoint point;
  double distance;  // metres
  size_t found;     // how many were found before it
};

class GeoPlaces {
 public:
  struct Wanted {
    GeoOrder order = GeoOrder::kNone;
    int64_t count = 0;  // 0: all
    bool any = false;   // the first that are found
  };

  // One object serves one search.
  explicit GeoPlaces(const Wanted& wanted);

  // No more are wanted.
  bool complete() const { return any_ && places_.size() >= count_; }
  // `distance` is in metres and not negative. Copies the name if it keeps the place. Amortised
  // O(1).
  void Add(std::string_view name, double score, const GeoPoint& point, double distance);
  // The end: in the wanted order, at most as many as wanted.
  std::vector<GeoPlace> Take() &&;

 private:
  bool Before(double a, double b) const;
  bool Before(const GeoPlace& a, const GeoPlace& b) const;
  // O(n): keeps the first count_, in no order yet. Requires: there are more.
  void Cut();

  const bool farthest_first_;
  const size_t count_;
  const bool any_;
  const bool sorted_;
  size_t found_ = 0;
  std::optional<double> last_kept_;  // of count_ that were kept
  std::vector<GeoPlace> places_;
};

}  // namespace sluice
