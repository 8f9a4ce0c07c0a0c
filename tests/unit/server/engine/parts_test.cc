// Parts are found by their types' ids: two types with one id would be taken for each other, so that
// a build with assertions ends where the second one is added.
#include "server/core/parts.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

struct First {
  static constexpr PartId kPartId = PartId::kClients;
};
struct Second {
  static constexpr PartId kPartId = PartId::kConfig;
};
struct TakenForFirst {
  static constexpr PartId kPartId = PartId::kClients;
};

TEST(Parts, AreFoundByType) {
  First first;
  Second second;
  Parts parts;
  parts.Add(first);
  parts.Add(second);
  EXPECT_EQ(&parts.Get<First>(), &first);
  EXPECT_EQ(&parts.Get<Second>(), &second);
}

#ifndef NDEBUG
TEST(Parts, HaveAnIdEach) {
  First first;
  TakenForFirst other;
  Parts parts;
  parts.Add(first);
  EXPECT_DEATH(parts.Add(other), "place == nullptr");
  EXPECT_DEATH(parts.Add(first), "place == nullptr");
  EXPECT_DEATH(parts.Get<Second>(), "part != nullptr");
}
#endif

}  // namespace
}  // namespace sluice
