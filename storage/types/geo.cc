// See geo.h. The order of floating-point operations is Redis's (geohash.c, geohash_helper.c):
// another one gives other last bits.
#include "storage/types/geo.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "protocol/text/truncated.h"

namespace sluice {
namespace {

constexpr double kLongitudeMax = 180;
constexpr double kLatitudeMax = 85.05112878;
constexpr double kEarthRadiusMetres = 6372797.560856;
constexpr double kMercatorMax = 20037726.37;
constexpr int kStepsMax = 26;

double Radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }
double Degrees(double radians) { return radians / (std::numbers::pi / 180.0); }

// --- the grid

// The bits of a number at the even places of another one, by halving distances: 1011 -> 01000101.
// ("Interleave bits by Binary Magic Numbers" of the Bit Twiddling Hacks, as in Redis.)
uint64_t SpreadBits(uint32_t bits) {
  uint64_t spread = bits;
  spread = (spread | spread << 16) & 0x0000FFFF0000FFFF;
  spread = (spread | spread << 8) & 0x00FF00FF00FF00FF;
  spread = (spread | spread << 4) & 0x0F0F0F0F0F0F0F0F;
  spread = (spread | spread << 2) & 0x3333333333333333;
  return (spread | spread << 1) & 0x5555555555555555;
}

// The inverse: the bits at the even places, moved together.
uint32_t GatherBits(uint64_t spread) {
  spread &= 0x5555555555555555;
  spread = (spread | spread >> 1) & 0x3333333333333333;
  spread = (spread | spread >> 2) & 0x0F0F0F0F0F0F0F0F;
  spread = (spread | spread >> 4) & 0x00FF00FF00FF00FF;
  spread = (spread | spread >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<uint32_t>(spread | spread >> 16);
}

struct Interval {
  double min;
  double max;
};

// A cell of the grid that `steps` halvings make: where it stands along both axes.
struct Cell {
  uint32_t x = 0;
  uint32_t y = 0;
  int steps = 0;

  uint64_t bits() const { return SpreadBits(y) | SpreadBits(x) << 1; }
  bool operator==(const Cell&) const = default;

  // The one so many cells away, round the edges of the map.
  Cell Moved(int dx, int dy) const {
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << steps) - 1);
    Cell moved = *this;
    if (dx != 0) moved.x = (x + static_cast<uint32_t>(dx)) & mask;
    if (dy != 0) moved.y = (y + static_cast<uint32_t>(dy)) & mask;
    return moved;
  }
  Interval Along(uint32_t place, double limit) const {
    const auto cells = static_cast<double>(uint64_t{1} << steps);
    const double scale = limit - -limit;
    return {-limit + (place * 1.0 / cells) * scale,
            -limit + (static_cast<uint32_t>(place + 1) * 1.0 / cells) * scale};
  }
  Interval Longitudes() const { return Along(x, kLongitudeMax); }
  Interval Latitudes() const { return Along(y, kLatitudeMax); }
};

Cell CellOf(const GeoPoint& point, int steps, double latitude_max) {
  const auto cells = static_cast<double>(uint64_t{1} << steps);
  const double x = (point.longitude - -kLongitudeMax) / (kLongitudeMax - -kLongitudeMax);
  const double y = (point.latitude - -latitude_max) / (latitude_max - -latitude_max);
  return {static_cast<uint32_t>(x * cells), static_cast<uint32_t>(y * cells), steps};
}

double LatitudeDistance(double a, double b) {
  return kEarthRadiusMetres * std::fabs(Radians(b) - Radians(a));
}

// Makes of any double what a cast to an unsigned number does on x86-64, where Redis relies on it.
uint64_t BitsOfScore(double score) {
  constexpr double kTop = 0x1p63;
  if (score >= kTop) return score < 2 * kTop ? static_cast<uint64_t>(score) : 0;
  return static_cast<uint64_t>(Truncated<int64_t>(score));
}

}  // namespace

// --- places

bool GeoPoint::OnTheMap() const {
  return longitude >= -kLongitudeMax && longitude <= kLongitudeMax && latitude >= -kLatitudeMax &&
         latitude <= kLatitudeMax;
}

double ScoreOfPoint(const GeoPoint& point) {
  return static_cast<double>(CellOf(point, kStepsMax, kLatitudeMax).bits());
}

GeoPoint PointOfScore(double score) {
  const uint64_t bits = BitsOfScore(score);
  const Cell cell{GatherBits(bits >> 1), GatherBits(bits), kStepsMax};
  const Interval x = cell.Longitudes();
  const Interval y = cell.Latitudes();
  return {std::clamp((x.min + x.max) / 2, -kLongitudeMax, kLongitudeMax),
          std::clamp((y.min + y.max) / 2, -kLatitudeMax, kLatitudeMax)};
}

// Redis scores halve a map that ends at 85 degrees, geohashes one that ends at 90: so the place is
// put on that grid first, from its coordinates.
std::string GeohashText(const GeoPoint& point) {
  constexpr std::string_view kAlphabet = "0123456789bcdefghjkmnpqrstuvwxyz";
  constexpr int kCharacters = 10;  // of 5 bits; the rest are too few for one more
  const uint64_t bits = CellOf(point, kStepsMax, 90).bits();
  std::string text;
  for (int i = 1; i <= kCharacters; ++i) text += kAlphabet[bits >> (2 * kStepsMax - 5 * i) & 31];
  return text + kAlphabet[0];
}

// The haversine formula.
double DistanceMetres(const GeoPoint& a, const GeoPoint& b) {
  const double v = std::sin((Radians(b.longitude) - Radians(a.longitude)) / 2);
  if (v == 0) return LatitudeDistance(a.latitude, b.latitude);
  const double u = std::sin((Radians(b.latitude) - Radians(a.latitude)) / 2);
  const double root =
      std::sqrt(u * u + std::cos(Radians(a.latitude)) * std::cos(Radians(b.latitude)) * v * v);
  return 2.0 * kEarthRadiusMetres * std::asin(root);
}

// --- searching

bool GeoShape::Holds(const GeoPoint& point, double& metres) const {
  if (is_box) {
    if (LatitudeDistance(point.latitude, centre.latitude) > height * unit_metres / 2) return false;
    const GeoPoint beside{centre.longitude, point.latitude};
    if (DistanceMetres(point, beside) > width * unit_metres / 2) return false;
  }
  metres = DistanceMetres(centre, point);
  return is_box || !(metres > radius * unit_metres);
}

namespace {

// How fine the grid may be for a circle to lie within nine of its cells; finer cells are narrower
// towards the poles.
int StepsFor(double radius_metres, double latitude) {
  if (radius_metres == 0) return kStepsMax;
  int steps = 1;
  for (; radius_metres < kMercatorMax; radius_metres *= 2) ++steps;
  steps -= 2;
  if (std::fabs(latitude) > 66) --steps;
  if (std::fabs(latitude) > 80) --steps;
  return std::clamp(steps, 1, kStepsMax);
}

struct Bounds {
  Interval longitudes;
  Interval latitudes;
};

Bounds BoundsOf(const GeoShape& shape) {
  const double height = shape.unit_metres * (shape.is_box ? shape.height / 2 : shape.radius);
  const double width = shape.unit_metres * (shape.is_box ? shape.width / 2 : shape.radius);
  const double latitude = shape.centre.latitude;
  const double longitude = shape.centre.longitude;
  const double up = Degrees(height / kEarthRadiusMetres);
  // On the side of the nearer pole, where a metre is more degrees.
  const double widest = latitude < 0 ? latitude - up : latitude + up;
  const double aside = Degrees(width / kEarthRadiusMetres / std::cos(Radians(widest)));
  return {{longitude - aside, longitude + aside}, {latitude - up, latitude + up}};
}

// Cells of this size around the centre do not reach to the edges of the shape.
bool TooSmall(const Cell& centre, const Bounds& bounds) {
  return centre.Moved(0, 1).Latitudes().max < bounds.latitudes.max ||
         centre.Moved(0, -1).Latitudes().min > bounds.latitudes.min ||
         centre.Moved(1, 0).Longitudes().max < bounds.longitudes.max ||
         centre.Moved(-1, 0).Longitudes().min > bounds.longitudes.min;
}

// A score range: all places inside the cell.
ScoreRange ScoresOf(const Cell& cell) {
  const int finer = 2 * (kStepsMax - cell.steps);
  return {static_cast<double>(cell.bits() << finer),
          static_cast<double>((cell.bits() + 1) << finer), false, true};
}

}  // namespace

absl::InlinedVector<ScoreRange, 9> GeoShape::Scores() const {
  // As Redis searches (geohashCalculateAreasByShapeWGS84): a grid so coarse that the shape lies
  // within nine cells, then those of the nine that it can reach. Each cell is one range of scores.
  const double half_diagonal = std::sqrt((width / 2) * (width / 2) + (height / 2) * (height / 2));
  const double radius_metres = (is_box ? half_diagonal : radius) * unit_metres;
  const Bounds bounds = BoundsOf(*this);
  int steps = StepsFor(radius_metres, centre.latitude);
  Cell middle = CellOf(centre, steps, kLatitudeMax);
  if (steps > 1 && TooSmall(middle, bounds)) middle = CellOf(centre, --steps, kLatitudeMax);
  const Interval x = middle.Longitudes();
  const Interval y = middle.Latitudes();
  const bool coarse = steps < 2;  // then all nine are looked through
  const auto reaches = [&](int dx, int dy) {
    if (coarse) return true;
    return !(dy < 0 && y.min < bounds.latitudes.min) && !(dy > 0 && y.max > bounds.latitudes.max) &&
           !(dx < 0 && x.min < bounds.longitudes.min) && !(dx > 0 && x.max > bounds.longitudes.max);
  };
  constexpr struct {
    int dx, dy;
  } kOrder[] = {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
  absl::InlinedVector<ScoreRange, 9> ranges;
  // On a coarse grid neighbours are the same cell again; as Redis does, only one that equals the
  // one before it is left out, and that from the third on.
  std::optional<Cell> last;
  for (const auto& [dx, dy] : kOrder) {
    if (!reaches(dx, dy)) continue;
    const Cell cell = middle.Moved(dx, dy);
    if (last && cell == *last) continue;
    ranges.push_back(ScoresOf(cell));
    if (dx != 0 || dy != 0) last = cell;
  }
  return ranges;
}

}  // namespace sluice
