// Grants that replicas must have before they are answered, as clients see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class GrantsKeptTest : public EngineFixture {
 protected:
  std::string Text(std::string_view line) { return Line(line).ToText(); }
};

TEST_F(GrantsKeptTest, OptionsAreCheckedAndOffUnlessSaidOtherwise) {
  EXPECT_EQ(Text("CONFIG GET lock-min-replicas"), R"(["lock-min-replicas", "0"])");
  EXPECT_EQ(Text("CONFIG GET lock-replicas-timeout"), R"(["lock-replicas-timeout", "1000"])");
  EXPECT_EQ(Text("CONFIG GET replicas-required"), R"(["replicas-required", "grants"])");
  EXPECT_THAT(Text("CONFIG SET lock-min-replicas -1"), HasSubstr("must be between 0 and"));
  EXPECT_THAT(Text("CONFIG SET lock-replicas-timeout 0"), HasSubstr("must be between 1 and"));
  EXPECT_THAT(Text("CONFIG SET replicas-required some"), HasSubstr("grants, all"));
}

}  // namespace
}  // namespace sluice
