// See sparkline.h.
#include "server/commands/admin/sparkline.h"

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

// Redis's: four rows of three heights each, so twelve steps from the lowest value to the highest.
constexpr int kSparklineRows = 4;
constexpr std::string_view kTops = "_o#";  // how a column ends: low, in the middle, high
constexpr char kColumn = '|';
constexpr int kStepsPerRow = static_cast<int>(kTops.size());
constexpr int kSteps = kSparklineRows * kStepsPerRow;

// Where the lowest value is drawn, and how much there is up to the highest. A flat series has the
// width 1.
struct Range {
  double low = 0;
  double width = 1;
};

// O(points).
Range RangeOf(std::span<const SparkPoint> points) {
  if (points.empty()) return {};
  const auto [low, high] = std::ranges::minmax_element(points, {}, &SparkPoint::value);
  const double width = high->value - low->value;
  return {low->value, width == 0 ? 1 : width};
}

// The character of a value in that row, the topmost being 0.
char CellOf(double value, const Range& range, int row) {
  const int step =
      std::clamp(static_cast<int>((value - range.low) * kSteps / range.width), 0, kSteps - 1);
  // How many steps of the column lie in this row or above it.
  const int above = step - (kSparklineRows - row - 1) * kStepsPerRow;
  if (above < 0) return ' ';
  return above < kStepsPerRow ? kTops[static_cast<size_t>(above)] : kColumn;
}

// Downwards, a letter in each line; shorter labels end in blanks.
void DrawLabels(std::span<const SparkPoint> points, std::string& picture) {
  size_t longest = 0;
  for (const SparkPoint& point : points) longest = std::max(longest, point.label.size());
  for (size_t at = 0; at < longest; ++at) {
    for (const SparkPoint& point : points) {
      picture += at < point.label.size() ? point.label[at] : ' ';
    }
    picture += '\n';
  }
}

}  // namespace

// The range is that of all points, so that pictures below each other can be compared.
std::string DrawSparkline(std::span<const SparkPoint> points, size_t columns) {
  const Range range = RangeOf(points);
  std::string picture;
  while (!points.empty()) {
    if (!picture.empty()) picture += '\n';
    const auto part = points.first(std::min(columns, points.size()));
    points = points.subspan(part.size());
    for (int row = 0; row < kSparklineRows; ++row) {
      for (const SparkPoint& point : part) picture += CellOf(point.value, range, row);
      picture += '\n';
    }
    picture.append(part.size(), ' ');
    picture += '\n';
    DrawLabels(part, picture);
  }
  return picture;
}

}  // namespace sluice
