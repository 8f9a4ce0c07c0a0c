// Geo's scores are Redis's, and the ranges of a search cover its shape.
#include "storage/types/geo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sluice {
namespace {

TEST(Geo, ScoresAreThoseOfRedis) {
  const GeoPoint palermo{13.361389, 38.115556};
  EXPECT_EQ(ScoreOfPoint(palermo), 3479099956230698);
  EXPECT_EQ(GeohashText(PointOfScore(3479099956230698)), "sqc8b49rny0");
  EXPECT_EQ(ScoreOfPoint({-180, -85.05112878}), 0);
}

TEST(Geo, APointComesBackWithinHalfAMetre) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> longitude(-180, 180);
  std::uniform_real_distribution<double> latitude(-85, 85);
  for (int i = 0; i < 10000; ++i) {
    const GeoPoint point{longitude(random), latitude(random)};
    const GeoPoint back = PointOfScore(ScoreOfPoint(point));
    ASSERT_LT(DistanceMetres(point, back), 0.6);
    ASSERT_EQ(ScoreOfPoint(back), ScoreOfPoint(point));
  }
}

TEST(Geo, AnyScoreIsAPlaceOnTheMap) {
  for (const double score : {-1.0, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, 0.5, 4503599627370496.0}) {
    EXPECT_TRUE(PointOfScore(score).OnTheMap()) << score;
  }
}

// What a search looks through holds all that lies inside, but for shapes so large that nine cells
// cannot cover them.
TEST(Geo, TheRangesOfASearchCoverTheShape) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> longitude(-170, 170);
  std::uniform_real_distribution<double> latitude(-60, 60);
  std::uniform_real_distribution<double> near(-1, 1);
  int inside = 0;
  for (int i = 0; i < 20000; ++i) {
    GeoShape shape{.centre = {longitude(random), latitude(random)}};
    shape.is_box = i % 2 == 0;
    shape.unit_metres = i % 3 == 0 ? 1000 : 1;
    shape.radius = shape.height = shape.width =
        std::exp(near(random) * 4) * 3e5 / shape.unit_metres / 55;
    const double spread = shape.radius * shape.unit_metres / 100000;
    const GeoPoint point{shape.centre.longitude + near(random) * spread,
                         shape.centre.latitude + near(random) * spread};
    const double score = ScoreOfPoint(point);
    double metres = 0;
    if (!shape.Holds(PointOfScore(score), metres)) continue;
    ++inside;
    int found = 0;
    for (const ScoreRange& range : shape.Scores()) {
      found += !range.Below(score) && !range.Above(score);
    }
    ASSERT_EQ(found, 1) << i;
  }
  EXPECT_GT(inside, 5000);
}

}  // namespace
}  // namespace sluice
