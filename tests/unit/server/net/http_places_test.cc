// Who has a place at the HTTP port: histories of crowds beside somebody who works.
#include "server/net/http/http_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

using Kind = HttpKind;

std::vector<HttpPlace> Crowd(Kind kind, size_t count, int64_t progressed_ns) {
  return std::vector<HttpPlace>(count, {.kind = kind, .progressed_ns = progressed_ns});
}

TEST(HttpPlaces, EachKindHasItsOwn) {
  for (const Kind full : {Kind::kNew, Kind::kProbe, Kind::kPage}) {
    const std::vector<HttpPlace> places = Crowd(full, HttpPlacesOf(full), 1);
    for (const Kind wanted : {Kind::kNew, Kind::kProbe, Kind::kPage})
      EXPECT_EQ(WhoGoes(places, wanted).has_value(), wanted == full);
  }
}

TEST(HttpPlaces, TheOneWithoutProgressForTheLongestGoes) {
  std::vector<HttpPlace> places = Crowd(Kind::kNew, HttpPlacesOf(Kind::kNew), 100);
  places[7].progressed_ns = 50;
  places[9].progressed_ns = 40;
  places.push_back({.kind = Kind::kProbe, .progressed_ns = 1});
  EXPECT_EQ(WhoGoes(places, Kind::kNew), 9U);
  places[30].is_over = true;
  EXPECT_EQ(WhoGoes(places, Kind::kNew), 30U) << "it has what it came for";
}

TEST(HttpPlaces, WhoeverGoesOnStaysBesideSilentNewcomers) {
  std::vector<HttpPlace> places = {{.kind = Kind::kNew, .progressed_ns = 0}};
  for (int64_t now = 1; now < 1000; ++now) {
    if (now % 60 == 0) places[0].progressed_ns = now;  // a step of its handshake
    if (const auto goes = WhoGoes(places, Kind::kNew)) {
      ASSERT_NE(*goes, 0U) << now;
      places.erase(places.begin() + static_cast<ptrdiff_t>(*goes));
    }
    places.push_back({.kind = Kind::kNew, .progressed_ns = now});
    ASSERT_LE(places.size(), HttpPlacesOf(Kind::kNew));
  }
}

}  // namespace
}  // namespace sluice
