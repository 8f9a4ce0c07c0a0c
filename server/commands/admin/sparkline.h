// A row of values as a picture of characters: four rows high, `columns` values wide (further ones
// in further pictures below), each with its label written downwards below it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice {

struct SparkPoint {
  double value = 0;
  std::string label;
};

std::string DrawSparkline(std::span<const SparkPoint> points, size_t columns);

}  // namespace sluice
