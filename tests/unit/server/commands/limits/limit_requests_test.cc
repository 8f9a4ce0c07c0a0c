// A flood of requests that name themselves (ID).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "server/limits/request_ids.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using LimitRequests = EngineFixture;

TEST_F(LimitRequests, AFloodStaysInItsBound) {
  constexpr size_t kBytesMax = 100'000;
  constexpr int kRequests = 20'000;
  const RequestIds& ids = server().engine().part<RequestIds>();
  const auto take = [this](int number) {
    return Line("LIMIT.TAKE k WINDOW 1000000 3600000 ID request-" + std::to_string(number))
        .elements.at(2)
        .integer;
  };
  ASSERT_EQ(Line("CONFIG SET request-id-memory-max " + std::to_string(kBytesMax)).ToText(), "+OK");
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(take(i), 1'000'000 - 1 - i);
    ASSERT_LE(ids.remembered_bytes(), kBytesMax);
  }
  EXPECT_EQ(ids.remembered() + ids.evicted(), uint64_t{kRequests});
  EXPECT_GT(ids.remembered(), 1000u);
  // The newest count once, the oldest again.
  const int oldest = kRequests - static_cast<int>(ids.remembered());
  EXPECT_EQ(take(kRequests - 1), 1'000'000 - kRequests);
  EXPECT_EQ(take(oldest), 1'000'000 - 1 - oldest);
  EXPECT_EQ(ids.repeated(), 2u);
  EXPECT_EQ(take(oldest - 1), 1'000'000 - 1 - kRequests);
}

}  // namespace
}  // namespace sluice
