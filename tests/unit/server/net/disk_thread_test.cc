// DiskThread: jobs are done elsewhere, in their order, and each outcome is told once.
#include "server/net/disk_thread.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <semaphore>
#include <thread>

#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

// Its Replace waits until it may go on.
class HeldDisk final : public MemoryDisk {
 public:
  int Replace(const std::string& path, std::string_view bytes) override {
    begun.release();
    go.acquire();
    thread = std::this_thread::get_id();
    return MemoryDisk::Replace(path, bytes);
  }

  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> go{0};
  std::thread::id thread;
};

class DiskThreadTest : public testing::Test {
 protected:
  HeldDisk disk_;
  std::counting_semaphore<> done_{0};
  DiskThread worker_{disk_, [this] { done_.release(); }};
};

TEST_F(DiskThreadTest, WritesElsewhereWhileItsCallerGoesOn) {
  const uint64_t job = worker_.ReplaceLater("file", "bytes");
  EXPECT_NE(job, 0u);
  EXPECT_EQ(worker_.TakeOutcome(job), std::nullopt);
  disk_.go.release();
  done_.acquire();
  EXPECT_EQ(disk_.files["/file"], "bytes");
  EXPECT_NE(disk_.thread, std::this_thread::get_id());
  EXPECT_EQ(worker_.TakeOutcome(job), 0);
  EXPECT_EQ(worker_.TakeOutcome(job), std::nullopt);
}

TEST_F(DiskThreadTest, AwaitsAJob) {
  const uint64_t job = worker_.ReplaceLater("file", "bytes");
  disk_.go.release();
  EXPECT_EQ(worker_.Await(job), 0);
  EXPECT_EQ(disk_.files["/file"], "bytes");
  EXPECT_EQ(worker_.TakeOutcome(job), std::nullopt);
}

TEST_F(DiskThreadTest, KeepsTheOrderAndTellsEachFault) {
  const uint64_t first = worker_.ReplaceLater("file", "old");
  const uint64_t second = worker_.ReplaceLater("file", "new");
  disk_.go.release();
  done_.acquire();
  EXPECT_EQ(disk_.files["/file"], "old");
  EXPECT_EQ(worker_.TakeOutcome(second), std::nullopt);
  disk_.write_fault = ENOSPC;
  disk_.go.release();
  done_.acquire();
  EXPECT_EQ(worker_.TakeOutcome(second), ENOSPC);
  EXPECT_EQ(worker_.TakeOutcome(first), 0);
}

TEST_F(DiskThreadTest, EndsBehindTheJobThatIsBeingDone) {
  {
    DiskThread ending(disk_, [] {});
    ending.ReplaceLater("file", "bytes");
    disk_.begun.acquire();
    disk_.go.release();
  }
  EXPECT_EQ(disk_.files["/file"], "bytes");
}

}  // namespace
}  // namespace sluice
