// Spools by themselves: each reader gets all bytes, at whatever pace; memory has its bound and the
// file is gone afterwards, however it ends.
#include "server/snapshots/snapshot_spool.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/memory_disk.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr size_t kBlock = 256 * 1024;

// Jobs wait until they are run.
class SlowBackground final : public Background {
 public:
  uint64_t Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) override {
    EXPECT_EQ(lane, WorkerLane::kSnapshot);
    jobs_.emplace_back(std::move(work), std::move(done));
    return 0;
  }
  bool RunOne() {
    if (jobs_.empty()) return false;
    auto [work, done] = std::move(jobs_.front());
    jobs_.pop_front();
    work();
    work = nullptr;
    done();
    return true;
  }
  void RunAll() {
    while (RunOne()) continue;
  }
  size_t waiting() const { return jobs_.size(); }

 private:
  std::deque<std::pair<std::function<void()>, std::function<void()>>> jobs_;
};

std::string Bytes(size_t count, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() { settings_.snapshot_memory_max = 4 * kBlock; }
  ~SpoolTest() override {
    EXPECT_EQ(memory_.taken(), 0u);
    background_.RunAll();
    EXPECT_TRUE(disk_.files.empty());
    EXPECT_EQ(disk_.nameless(), 0u);
  }

  std::unique_ptr<SnapshotSpool> NewSpool() {
    return std::make_unique<SnapshotSpool>(disk_, background_, "/temp", memory_);
  }
  // Pieces as RdbFileWriter hands them out. False: they are taken no more.
  static bool Write(SnapshotSpool& spool, std::string_view bytes) {
    constexpr size_t kPiece = 16 * 1024;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size())))
      if (!spool.Write(bytes.substr(0, kPiece))) return false;
    return true;
  }
  static std::optional<int> Finish(SnapshotSpool& spool, const std::function<void()>& wait = {}) {
    std::optional<int> outcome;
    spool.Finish([&outcome](int fault) { outcome = fault; });
    if (!outcome && wait) wait();
    return outcome;
  }
  // All that can be read without a worker.
  static std::string ReadNow(SpoolReader& reader) {
    std::string bytes;
    for (std::string_view seen; !(seen = reader.Peek()).empty(); reader.Consume(seen.size()))
      bytes += seen;
    return bytes;
  }
  std::string ReadAll(SpoolReader& reader) {
    std::string bytes = ReadNow(reader);
    while (background_.RunOne()) bytes += ReadNow(reader);
    return bytes;
  }

  MemoryDisk disk_;
  SlowBackground background_;
  Settings settings_;
  SpoolMemory memory_{settings_};
};

TEST_F(SpoolTest, WhatIsReadAsItIsWrittenNeedsNoFile) {
  const auto spool = NewSpool();
  const auto reader = spool->NewReader();
  const std::string bytes = Bytes(10 * kBlock + 77);
  std::string read;
  for (size_t at = 0; at < bytes.size(); at += 5000) {
    ASSERT_TRUE(Write(*spool, std::string_view(bytes).substr(at, 5000)));
    read += ReadNow(*reader);
    ASSERT_LE(memory_.taken(), kBlock);
  }
  EXPECT_FALSE(reader->total());
  EXPECT_EQ(Finish(*spool), 0);
  EXPECT_EQ(reader->total(), bytes.size());
  EXPECT_TRUE(reader->is_at_end());
  EXPECT_TRUE(read == bytes);
  EXPECT_EQ(background_.waiting(), 0u);
}

TEST_F(SpoolTest, BeyondTheBoundAFileWithoutANameHasTheRest) {
  auto spool = NewSpool();
  const auto reader = spool->NewReader();
  const std::string bytes = Bytes(9 * kBlock + 77);
  ASSERT_TRUE(Write(*spool, bytes));
  EXPECT_EQ(memory_.taken(), 2 * kBlock);
  EXPECT_EQ(spool->waiting_bytes(), 7 * kBlock + 77) << "the disk is waited for";
  EXPECT_EQ(Finish(*spool, [&] { background_.RunAll(); }), 0);
  EXPECT_EQ(spool->waiting_bytes(), 0u);
  EXPECT_TRUE(disk_.files.empty());
  EXPECT_EQ(disk_.nameless(), 1u);
  spool.reset();
  EXPECT_EQ(reader->total(), bytes.size());
  EXPECT_TRUE(ReadAll(*reader) == bytes);
  EXPECT_TRUE(reader->is_at_end());
  EXPECT_EQ(memory_.taken(), 0u) << "all have passed it";
}

// Several readers, of which some leave early; a disk that is slow, or quick.
TEST_F(SpoolTest, EachReaderGetsAllBytesAtItsOwnPace) {
  for (uint64_t run = 0; run < 60; ++run) {
    const uint64_t seed = TestSeed(run);
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string bytes = Bytes(random() % (12 * kBlock), seed);
    struct Peer {
      std::unique_ptr<SpoolReader> reader;
      uint64_t pace;  // 0: it never reads
      std::string read;
    };
    auto spool = NewSpool();
    std::vector<Peer> peers(1 + random() % 4);
    for (Peer& peer : peers) peer = {spool->NewReader(), random() % 3 * (random() % 60'000), {}};
    const uint64_t jobs = 1 + random() % 20;  // one in so many steps
    std::optional<int> outcome;
    size_t written = 0;
    const auto step = [&] {
      if (random() % jobs == 0) background_.RunOne();
      for (Peer& peer : peers) {
        if (!peer.reader) continue;
        const std::string_view seen = peer.reader->Peek().substr(0, peer.pace);
        peer.read += seen;
        peer.reader->Consume(seen.size());
        ASSERT_EQ(peer.reader->place(), peer.read.size());
        ASSERT_LE(peer.read.size(), written);
      }
      ASSERT_LE(memory_.taken(), 2 * kBlock);
    };
    while (written < bytes.size()) {
      const size_t some = std::min<size_t>(1 + random() % 16'384, bytes.size() - written);
      ASSERT_TRUE(spool->Write(std::string_view(bytes).substr(written, some)));
      written += some;
      step();
      if (peers.size() > 1 && random() % 100 == 0) peers.pop_back();
    }
    spool->Finish([&](int fault) {
      outcome = fault;
      spool.reset();
    });
    for (Peer& peer : peers) peer.pace = kBlock;
    for (int i = 0; i < 10'000 && !peers.front().reader->is_at_end(); ++i) step();
    background_.RunAll();
    EXPECT_EQ(outcome, 0);
    for (Peer& peer : peers) {
      peer.read += ReadAll(*peer.reader);
      EXPECT_TRUE(peer.reader->is_at_end());
      EXPECT_EQ(peer.reader->fault(), 0);
      EXPECT_TRUE(peer.read == bytes);
    }
    peers.clear();
    background_.RunAll();
    ASSERT_EQ(disk_.nameless(), 0u);
    ASSERT_EQ(memory_.taken(), 0u);
  }
}

TEST_F(SpoolTest, ThoseOfBeforeTakeTheirShareOfTheMemory) {
  const auto first = NewSpool(), second = NewSpool();
  const auto slow = first->NewReader(), other = second->NewReader();
  ASSERT_TRUE(Write(*first, Bytes(3 * kBlock)));
  ASSERT_TRUE(Write(*second, Bytes(kBlock)));
  EXPECT_EQ(memory_.taken(), 2 * kBlock);
  background_.RunAll();
  EXPECT_EQ(ReadAll(*other).size(), kBlock) << "from its file";
}

// --- it ends early

TEST_F(SpoolTest, AFullDiskIsAFaultToImageAndReaders) {
  for (const size_t room : {size_t{0}, size_t{1}, kBlock + 1, 4 * kBlock - 1}) {
    disk_.room = room;
    const auto spool = NewSpool();
    const auto reader = spool->NewReader(), other = spool->NewReader();
    ReadNow(*other);
    ASSERT_TRUE(Write(*spool, Bytes(6 * kBlock)));
    while (background_.RunOne()) Write(*spool, Bytes(100));
    EXPECT_EQ(spool->fault(), ENOSPC);
    EXPECT_FALSE(spool->Write("x"));
    EXPECT_EQ(spool->waiting_bytes(), 0u);
    EXPECT_EQ(memory_.taken(), 0u);
    EXPECT_EQ(disk_.nameless(), 0u) << "the room is free before the readers have left";
    EXPECT_EQ(reader->fault(), ENOSPC);
    EXPECT_EQ(other->fault(), ENOSPC);
    EXPECT_EQ(reader->Peek(), "");
    EXPECT_EQ(Finish(*spool), ENOSPC);
    EXPECT_FALSE(reader->is_at_end());
  }
}

TEST_F(SpoolTest, AFileThatCannotBeMadeIsAFault) {
  disk_.trouble = [](MemoryDisk::Call call, const std::string&) {
    return call == MemoryDisk::Call::kOpen ? EACCES : 0;
  };
  const auto spool = NewSpool();
  const auto reader = spool->NewReader();
  ASSERT_TRUE(Write(*spool, Bytes(3 * kBlock)));
  EXPECT_EQ(Finish(*spool, [&] { background_.RunAll(); }), EACCES);
  EXPECT_EQ(reader->fault(), EACCES);
}

// A crash leaves a file of the same name, if it comes between making it and taking the name away.
TEST_F(SpoolTest, WhatAFileOfThatNameHeldIsNotRead) {
  disk_.files["/temp"] = "leftovers";
  const auto spool = NewSpool();
  const auto reader = spool->NewReader();
  const std::string bytes = Bytes(3 * kBlock);
  ASSERT_TRUE(Write(*spool, bytes));
  EXPECT_EQ(Finish(*spool, [&] { background_.RunAll(); }), 0);
  EXPECT_TRUE(ReadAll(*reader) == bytes);
}

TEST_F(SpoolTest, OneThatIsGivenUpIsAFaultToItsReaders) {
  auto spool = NewSpool();
  const auto reader = spool->NewReader();
  ASSERT_TRUE(Write(*spool, Bytes(5 * kBlock)));
  ASSERT_TRUE(background_.RunOne());
  ReadNow(*reader);  // and more is asked for, from the file
  spool->Finish([](int) { ADD_FAILURE() << "it is gone by then"; });
  spool.reset();
  EXPECT_EQ(reader->fault(), ECANCELED);
  EXPECT_EQ(reader->Peek(), "");
  background_.RunAll();
  EXPECT_EQ(reader->fault(), ECANCELED);
  EXPECT_EQ(disk_.nameless(), 0u);
}

TEST_F(SpoolTest, TheLastReaderThatLeavesEndsIt) {
  const auto spool = NewSpool();
  auto reader = spool->NewReader(), other = spool->NewReader();
  ASSERT_TRUE(Write(*spool, Bytes(5 * kBlock)));
  reader.reset();
  EXPECT_FALSE(spool->is_deserted());
  ASSERT_TRUE(Write(*spool, Bytes(kBlock)));
  other.reset();
  EXPECT_TRUE(spool->is_deserted());
  EXPECT_EQ(spool->fault(), ECANCELED);
  EXPECT_FALSE(spool->Write("x"));
  EXPECT_EQ(spool->waiting_bytes(), 0u) << "nothing keeps the image from ending";
  EXPECT_EQ(memory_.taken(), 0u);
  EXPECT_EQ(Finish(*spool), ECANCELED);
}

TEST_F(SpoolTest, TheLastReaderThatLeavesBehindTheImageEndsItAtOnce) {
  auto spool = NewSpool();
  auto reader = spool->NewReader();
  ASSERT_TRUE(Write(*spool, Bytes(5 * kBlock)));
  std::optional<int> outcome;
  spool->Finish([&](int fault) {
    outcome = fault;
    spool.reset();
  });
  EXPECT_FALSE(outcome) << "the worker has the end of it";
  reader.reset();
  EXPECT_EQ(outcome, ECANCELED);
}

TEST_F(SpoolTest, AReaderThatLeavesWhileItIsFetchedForHarmsNone) {
  const auto spool = NewSpool();
  auto reader = spool->NewReader();
  const auto other = spool->NewReader();
  const std::string bytes = Bytes(5 * kBlock);
  ASSERT_TRUE(Write(*spool, bytes));
  EXPECT_EQ(Finish(*spool, [&] { background_.RunAll(); }), 0);
  ReadNow(*reader);
  EXPECT_EQ(background_.waiting(), 1u);
  reader.reset();
  EXPECT_TRUE(ReadAll(*other) == bytes);
}

}  // namespace
}  // namespace sluice
