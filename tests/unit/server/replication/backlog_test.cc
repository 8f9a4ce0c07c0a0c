// The backlog against a plain string of all that was ever appended.
#include "server/replication/backlog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/hashing/random.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr size_t kBlock = Backlog::kBlockBytes;

std::string Bytes(size_t count, char first) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(first + static_cast<char>(i % 61));
  return bytes;
}

// All that the reader has not got yet, in pieces of at most `piece`.
std::string TakeAll(BacklogReader& reader, size_t piece) {
  std::string all;
  while (true) {
    const std::string_view bytes = reader.Take(piece);
    EXPECT_LE(bytes.size(), piece);
    if (bytes.empty()) return all;
    all += bytes;
  }
}

TEST(BacklogTest, OffsetsAreRedis) {
  Backlog backlog(0, 0);
  EXPECT_EQ(backlog.begin(), 1);  // INFO's repl_backlog_first_byte_offset of a new one
  EXPECT_EQ(backlog.end(), 0);
  EXPECT_EQ(backlog.bytes(), 0u);
  EXPECT_TRUE(backlog.Has(1));
  EXPECT_FALSE(backlog.Has(0));
  EXPECT_FALSE(backlog.Has(2));
  backlog.Append("abc");
  EXPECT_EQ(backlog.begin(), 1);
  EXPECT_EQ(backlog.end(), 3);
  EXPECT_EQ(backlog.bytes(), 3u);
  EXPECT_TRUE(backlog.Has(4));
  EXPECT_FALSE(backlog.Has(5));
  EXPECT_FALSE(backlog.Has(INT64_MAX));
  EXPECT_FALSE(backlog.Has(INT64_MIN));
  EXPECT_EQ(backlog.size(), Backlog::kSizeMin);
}

TEST(BacklogTest, BeginsWhereTheStreamIs) {
  Backlog backlog(0, 1000);
  backlog.Append("abc");
  BacklogReader reader(backlog, 1002);
  EXPECT_EQ(reader.behind(), 2u);
  EXPECT_EQ(reader.Take(100), "bc");
  EXPECT_EQ(reader.behind(), 0u);
  EXPECT_EQ(reader.next_offset(), 1004);
  EXPECT_EQ(reader.Take(100), "");
  backlog.Append("d");
  EXPECT_EQ(reader.Take(100), "d");
}

// What is over the size goes by whole blocks.
TEST(BacklogTest, KeepsItsSize) {
  Backlog backlog(3 * kBlock, 0);
  for (int i = 0; i < 100; ++i) backlog.Append(Bytes(kBlock, 'a'));
  EXPECT_EQ(backlog.bytes(), 3 * kBlock);
  EXPECT_EQ(backlog.begin(), static_cast<int64_t>(97 * kBlock) + 1);
  backlog.Append("x");
  EXPECT_EQ(backlog.bytes(), 3 * kBlock + 1);
  EXPECT_LE(backlog.memory(), 5 * kBlock);
  backlog.set_size(6 * kBlock);  // more is kept as it comes
  for (int i = 0; i < 10; ++i) backlog.Append(Bytes(kBlock, 'a'));
  EXPECT_EQ(backlog.bytes(), 6 * kBlock + 1);
  backlog.set_size(0);
  EXPECT_EQ(backlog.bytes(), kBlock + 1 + kBlock);
}

TEST(BacklogTest, KeepsWhatTheSlowestReaderLacks) {
  Backlog backlog(2 * kBlock, 0);
  auto slow = std::make_unique<BacklogReader>(backlog, 1);
  BacklogReader fast(backlog, 1);
  const std::string all = Bytes(1000 * kBlock, 'a');
  backlog.Append(all);
  EXPECT_EQ(backlog.begin(), 1);
  EXPECT_EQ(slow->behind(), 1000 * kBlock);
  EXPECT_TRUE(TakeAll(fast, 1 << 20) == all);
  EXPECT_EQ(backlog.bytes(), 1000 * kBlock);
  const size_t memory = backlog.memory();
  EXPECT_GE(memory, 1000 * kBlock);
  slow.reset();
  // A great deal goes by and by.
  EXPECT_TRUE(backlog.Trim());
  EXPECT_EQ(backlog.bytes(), (1000 - Backlog::kBlocksFreedAtOnce) * kBlock);
  while (backlog.Trim()) {
  }
  EXPECT_EQ(backlog.bytes(), 2 * kBlock);
  EXPECT_LT(backlog.memory(), 4 * kBlock);
}

// A reader goes on where another one was.
TEST(BacklogTest, ReadersMayBeginAnywhere) {
  Backlog backlog(10 * kBlock, 0);
  const std::string all = Bytes(5 * kBlock + 17, 'b');
  backlog.Append(all);
  for (const size_t from : {size_t{0}, size_t{1}, kBlock - 1, kBlock, kBlock + 1, 5 * kBlock,
                            all.size() - 1, all.size()}) {
    BacklogReader reader(backlog, static_cast<int64_t>(from) + 1);
    EXPECT_TRUE(TakeAll(reader, 1000) == all.substr(from)) << from;
  }
}

// --- any order of events

class RandomBacklog {
 public:
  explicit RandomBacklog(uint64_t seed)
      : random_(seed),
        start_(Below(1000)),
        size_(Below(8 * kBlock)),
        backlog_(size_, static_cast<int64_t>(start_)) {}
  ~RandomBacklog() { readers_.clear(); }

  void Step() {
    switch (Below(8)) {
      case 0:
        return Join();
      case 1:
        if (!readers_.empty()) readers_.erase(readers_.begin() + Pick());
        return;
      case 2:
        size_ = Below(8 * kBlock);
        return backlog_.set_size(size_);
      case 3:
      case 4:
        return Append();
      default:
        if (!readers_.empty()) Read(readers_[static_cast<size_t>(Pick())]);
    }
  }

  void Check() {
    ASSERT_EQ(backlog_.Audit(), nullptr) << backlog_.Audit();
    ASSERT_EQ(backlog_.end(), static_cast<int64_t>(start_ + all_.size()));
    // Of what was kept and what came, nothing goes that is within the size.
    ASSERT_GE(backlog_.bytes(), std::min(kept_, std::max(size_, Backlog::kSizeMin)));
    int64_t slowest = backlog_.end() + 1;
    for (const Follower& one : readers_) slowest = std::min(slowest, one.reader->next_offset());
    while (backlog_.Trim()) {
    }
    ASSERT_LE(backlog_.begin(), slowest);
    // No more than a block beyond what is needed, and one of a reader at a block's end.
    const auto lacks = static_cast<size_t>(backlog_.end() - slowest + 1);
    ASSERT_LE(backlog_.bytes(), std::max(lacks, std::max(size_, Backlog::kSizeMin)) + 2 * kBlock);
    kept_ = backlog_.bytes();
  }

 private:
  struct Follower {
    std::unique_ptr<BacklogReader> reader;
    size_t at;  // of all_
  };

  size_t Below(size_t bound) { return random_() % bound; }
  ptrdiff_t Pick() { return static_cast<ptrdiff_t>(Below(readers_.size())); }
  void Join() {
    if (readers_.size() > 6) return;
    const size_t at = all_.size() - Below(backlog_.bytes() + 1);
    readers_.push_back(
        {std::make_unique<BacklogReader>(backlog_, static_cast<int64_t>(start_ + at) + 1), at});
  }
  void Append() {
    const size_t most = Below(10) == 0 ? 5 * kBlock : 2000;
    const std::string bytes = Bytes(Below(most), static_cast<char>(Below(60)));
    backlog_.Append(bytes);
    all_ += bytes;
    kept_ += bytes.size();
  }
  void Read(Follower& follower) {
    const std::string_view bytes = follower.reader->Take(Below(2 * kBlock));
    ASSERT_TRUE(std::string_view(all_).substr(follower.at, bytes.size()) == bytes);
    follower.at += bytes.size();
    ASSERT_EQ(follower.reader->next_offset(), static_cast<int64_t>(start_ + follower.at) + 1);
  }

  Random random_;
  size_t start_;
  size_t size_;
  size_t kept_ = 0;  // at the check before, and what came since
  std::string all_;
  Backlog backlog_;
  std::vector<Follower> readers_;
};

TEST(BacklogTest, AnyOrderOfEvents) {
  for (uint64_t number = 0; number < 20 && !HasFatalFailure(); ++number) {
    SCOPED_TRACE(TestSeed(number));
    RandomBacklog backlog(TestSeed(number));
    for (int step = 0; step < 1000 && !HasFatalFailure(); ++step) {
      backlog.Step();
      backlog.Check();
    }
  }
}

}  // namespace
}  // namespace sluice
