// Places on the earth as scores of a sorted set, and what lies near them.
//
// The surface between the latitudes +-85.05112878 (where the web's map projection ends) is cut in
// two 26 times along longitude and latitude; the numbers of the halves, bit by bit in turn, make a
// score of 52 bits. So places that share their leading bits lie in the same cell of a grid, and a
// search looks through the cell around its centre and the eight about it: nine ranges of scores.
//
// A place near Palermo, 13.361389 E 38.115556 N, is the score 3479099956230698; the members of one
// cell of the grid after n halvings each way are the scores that share their 2n leading bits:
//
//   first halving:  longitude above 0 -> 1, latitude above 0 -> 1           11...
//   second halving: longitude below 90 -> 0, latitude below 42.5 -> 0       1100...
//
// The earth is a ball here, and distances, cells and their order are those of Redis to the last
// bit.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <string>

#include "storage/types/score_range.h"

namespace sluice {

// In degrees.
struct GeoPoint {
  double longitude = 0;
  double latitude = 0;

  bool OnTheMap() const;
};

// Requires: OnTheMap().
double ScoreOfPoint(const GeoPoint& point);
// The middle of the score's cell, less than 0.6 m from the place that made it.
GeoPoint PointOfScore(double score);  // any score
// The standard geohash of 11 characters, of which the last is always '0'.
std::string GeohashText(const GeoPoint& point);
// Along a great circle.
double DistanceMetres(const GeoPoint& a, const GeoPoint& b);

// A circle, or a box whose sides run along the meridian and the parallel of its centre.
struct GeoShape {
  GeoPoint centre;
  bool is_box = false;
  double unit_metres = 1;  // of the sizes
  double radius = 0;
  double width = 0;
  double height = 0;

  // Whether it holds the point; then `metres` is how far that is from the centre.
  bool Holds(const GeoPoint& point, double& metres) const;
  // Ranges that together hold the scores of all points inside, in the order of the search; points
  // outside, which they hold too, are for Holds. At most nine; O(1), whatever the set holds.
  absl::InlinedVector<ScoreRange, 9> Scores() const;
};

}  // namespace sluice
