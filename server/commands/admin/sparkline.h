// A row of values as a picture of characters: four rows high, `columns` values wide (further ones
// in further pictures below), each with its label written downwards below it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice {

// `label` is written a byte a line, so it should be short and ASCII.
struct SparkPoint {
  double value = 0;
  std::string label;
};

// Every line ends with a line end. No points: an empty text. O(points * rows).
std::string DrawSparkline(std::span<const SparkPoint> points, size_t columns);

}  // namespace sluice
