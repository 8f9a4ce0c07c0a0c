// The backlog's last bytes go through a file, once, and never to another place of a stream.
#include "server/replication/backlog_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

constexpr char kPath[] = "/backlog.handed-over";

StreamPosition Place(char digit, int64_t offset) {
  return {.id = *ReplicationId::Of(std::string(ReplicationId::kBytes, digit)), .offset = offset};
}

class BacklogFileTest : public testing::Test {
 protected:
  BacklogFileTest() : backlog_(64 * 1024, 1'000) {}

  int Write(const std::string& bytes) {
    backlog_.Append(bytes);
    return WriteBacklogFile(disk_, kPath, Place('a', backlog_.end()), backlog_);
  }
  std::optional<std::string> Take(char digit, int64_t offset) {
    return TakeBacklogFile(disk_, kPath, Place(digit, offset));
  }
  std::string& File() { return disk_.files.begin()->second; }

  MemoryDisk disk_;
  Backlog backlog_;
};

TEST_F(BacklogFileTest, ComesBackOnce) {
  const std::string bytes = "*1\r\n$4\r\nPING\r\n" + std::string(40'000, 'x') + "\r\n\r\n";
  ASSERT_EQ(Write(bytes), 0);
  EXPECT_EQ(Take('a', backlog_.end()), bytes);
  EXPECT_TRUE(disk_.files.empty());
  EXPECT_EQ(Take('a', backlog_.end()), std::nullopt);
}

TEST_F(BacklogFileTest, AnEmptyBacklogIsOneToo) {
  ASSERT_EQ(Write(""), 0);
  EXPECT_EQ(Take('a', 1'000), "");
}

TEST_F(BacklogFileTest, IsOfOnePlaceAlone) {
  ASSERT_EQ(Write("abc"), 0);
  EXPECT_EQ(Take('b', 1'003), std::nullopt);
  EXPECT_TRUE(disk_.files.empty()) << "what is not of these data must not be found later";
  ASSERT_EQ(Write("def"), 0);
  EXPECT_EQ(Take('a', 1'003), std::nullopt);
}

TEST_F(BacklogFileTest, ADamagedFileIsNone) {
  ASSERT_EQ(Write("abcdef"), 0);
  const std::string whole = File();
  for (size_t i = 0; i < whole.size(); ++i) {
    disk_.files.begin()->second[i] ^= 1;
    EXPECT_EQ(Take('a', 1'006), std::nullopt) << "byte " << i;
    ASSERT_EQ(WriteBacklogFile(disk_, kPath, Place('a', 1'006), backlog_), 0);
    disk_.files.begin()->second = whole.substr(0, i);
    EXPECT_EQ(Take('a', 1'006), std::nullopt) << "cut at " << i;
    ASSERT_EQ(WriteBacklogFile(disk_, kPath, Place('a', 1'006), backlog_), 0);
  }
  EXPECT_EQ(Take('a', 1'006), "abcdef");
}

TEST_F(BacklogFileTest, AFileThatStaysIsNotUsed) {
  ASSERT_EQ(Write("abc"), 0);
  disk_.trouble = [](MemoryDisk::Call call, const std::string&) {
    return call == MemoryDisk::Call::kRemove ? EROFS : 0;
  };
  EXPECT_EQ(Take('a', 1'003), std::nullopt);
}

TEST_F(BacklogFileTest, OfALargeBacklogTheLastBytesGo) {
  Backlog large(kBacklogFileBytesMax * 2, 0);
  large.Append(std::string(kBacklogFileBytesMax, 'a') + std::string(1'000, 'b'));
  ASSERT_EQ(WriteBacklogFile(disk_, kPath, Place('a', large.end()), large), 0);
  const auto bytes = Take('a', large.end());
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), kBacklogFileBytesMax);
  EXPECT_TRUE(bytes->ends_with(std::string(1'000, 'b')));
}

}  // namespace
}  // namespace sluice
