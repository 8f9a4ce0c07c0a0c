// Of many lines a second the first are written, and the next second says how many were not.
#include "server/core/log_limit.h"

#include <gtest/gtest.h>

#include <optional>

namespace sluice {
namespace {

int Admitted(LogLimit& limit, int64_t now_ms, int lines) {
  int admitted = 0;
  for (int i = 0; i < lines; ++i) admitted += limit.Admit(now_ms).has_value();
  return admitted;
}

TEST(LogLimit, TheFirstOfASecondAreWritten) {
  LogLimit limit;
  EXPECT_EQ(Admitted(limit, 5000, 1000), LogLimit::kLinesASecond);
  EXPECT_EQ(Admitted(limit, 5999, 1000), 0);
  EXPECT_EQ(limit.Admit(6000), 2000 - LogLimit::kLinesASecond);
  EXPECT_EQ(limit.Admit(6001), 0u);
}

TEST(LogLimit, AClockThatGoesBackSilencesNothing) {
  LogLimit limit;
  EXPECT_EQ(Admitted(limit, 1'000'000, 20), LogLimit::kLinesASecond);
  EXPECT_TRUE(limit.Admit(10));
}

}  // namespace
}  // namespace sluice
