// The names that requests give themselves (ID): giants are refused, and nobody reads them.
#include "server/limits/request_ids.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <string_view>

#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// Its bytes are in memory that may not be touched.
TEST(RequestId, OfHalfAGigabyteIsRefusedUnread) {
  constexpr size_t kBytes = size_t{512} << 20;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::string_view words[] = {"LIMIT.TAKE", {static_cast<const char*>(memory), kBytes}};
  ArgReader args{Args(words)};
  EXPECT_TRUE(ReadRequestId(args).empty());
  EXPECT_TRUE(args.failed());
  EXPECT_EQ(args.error(), "ERR the ID is longer than 1024 bytes");
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace sluice
