// Parts are found by their types, and a build with assertions ends where one is added twice.
#include "server/core/parts.h"

#include <gtest/gtest.h>

#include <tuple>

namespace sluice {
namespace {

struct First {};
struct Second {};
struct Missing {};

TEST(Parts, AreFoundByType) {
  First first;
  const Second second;
  Parts parts;
  parts.Add(first);
  parts.Add(second);
  EXPECT_EQ(&parts.Get<First>(), &first);
  EXPECT_EQ(&parts.Get<const Second>(), &second);
  EXPECT_EQ(parts.Find<Missing>(), nullptr);
}

template <int kN>
struct Numbered {};

template <int... kNs>
void AddAll(Parts& parts, std::tuple<Numbered<kNs>...>& all) {
  (parts.Add(std::get<kNs>(all)), ...);
  EXPECT_TRUE(((&parts.Get<Numbered<kNs>>() == &std::get<kNs>(all)) && ...));
}

// In whatever order their types are first named.
TEST(Parts, AreFoundInAnyOrder) {
  std::tuple<Numbered<0>, Numbered<1>, Numbered<2>, Numbered<3>, Numbered<4>, Numbered<5>> all;
  Parts parts;
  AddAll(parts, all);
  EXPECT_EQ(parts.Find<Missing>(), nullptr);
}

#ifndef NDEBUG
TEST(Parts, AreAddedOnce) {
  First first;
  Parts parts;
  parts.Add(first);
  EXPECT_DEATH(parts.Add(first), "Find<Part>\\(\\) == nullptr");
  EXPECT_DEATH(parts.Get<Second>(), "part != nullptr");
}
#endif

}  // namespace
}  // namespace sluice
