// OutputBuffer against a plain string, over seeded histories; and what it owns when.
#include "protocol/output_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>

#include "tests/support/output_text.h"

namespace sluice {
namespace {

static_assert(sizeof(OutputBuffer) <= 96, "every session has one");

TEST(OutputBuffer, OwnsNothingUntilUsedAndAfterRelease) {
  OutputBuffer out;
  EXPECT_EQ(out.memory(), 0u);
  out.Append("");
  EXPECT_EQ(out.memory(), 0u);
  out.Append("+OK\r\n");
  EXPECT_LE(out.memory(), 1024u);
  out.ReleaseMemory();  // not while something is to be sent
  EXPECT_EQ(OutputText(out), "+OK\r\n");
  out.Consume(5);
  EXPECT_GT(out.memory(), 0u);  // the spare for the next turn
  out.ReleaseMemory();
  EXPECT_EQ(out.memory(), 0u);
}

// A turn's replies that nearly fill the first block would mostly end in a second one.
TEST(OutputBuffer, BeginsWithAsMuchAsWasNeeded) {
  OutputBuffer out;
  const auto send = [&out](size_t bytes) {
    out.Append(std::string(bytes, 'x'));
    const size_t memory = out.memory();
    out.Consume(out.bytes());
    out.ReleaseMemory();
    return memory;
  };
  EXPECT_LE(send(900), 1024u);
  for (int turn = 0; turn < 3; ++turn) {
    const size_t memory = send(OutputBuffer::kLargeFirstBlockBytes);
    EXPECT_GT(memory, OutputBuffer::kLargeFirstBlockBytes);
    EXPECT_LE(memory, 4096u) << "one block";
  }
  EXPECT_LE(send(5), 4096u);
  EXPECT_LE(send(5), 1024u) << "as small as before";
  EXPECT_LE(send(700), 1024u);
  EXPECT_LE(send(700), 1024u);
}

TEST(OutputBuffer, KeepsABlockOfUsualSizeOnly) {
  OutputBuffer out;
  for (int i = 0; i < 3000; ++i) out.Append("twenty bytes of text");
  out.Consume(out.bytes());
  EXPECT_GE(out.memory(), OutputBuffer::kBlockBytes);
  EXPECT_LE(out.memory(), 16u * 1024);
  const std::string large(1 << 20, 'x');
  out.Append(large);
  EXPECT_LE(out.memory(), large.size() + 17 * 1024);
  EXPECT_EQ(OutputText(out), large);
  out.Consume(out.bytes());
  EXPECT_EQ(out.memory(), 0u);
}

TEST(OutputBuffer, ASpareTooSmallIsReplaced) {
  OutputBuffer out;
  out.Append("a");
  out.Consume(1);
  out.Reserve(OutputBuffer::kBlockBytes);
  EXPECT_LE(out.memory(), 16u * 1024);
}

TEST(OutputBuffer, PeekFillsNoMoreThanAsked) {
  OutputBuffer out;
  for (int i = 0; i < 10000; ++i) out.Append("0123456789");
  iovec vectors[2];
  ASSERT_EQ(out.Peek(vectors, 0), 0u);
  ASSERT_EQ(out.Peek(vectors, 2), 2u);
  out.Consume(vectors[0].iov_len);
  iovec next;
  ASSERT_EQ(out.Peek(&next, 1), 1u);
  EXPECT_EQ(next.iov_base, vectors[1].iov_base);
}

TEST(OutputBuffer, ReservedButNotCommittedIsNotSent) {
  OutputBuffer out;
  out.Append(std::string(OutputBuffer::kFirstBlockBytes, 'a'));
  out.Reserve(100);
  iovec vectors[4];
  EXPECT_EQ(out.Peek(vectors, 4), 1u);
  out.Consume(out.bytes());
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.Peek(vectors, 4), 0u);
  out.Append("b");
  EXPECT_EQ(OutputText(out), "b");
}

TEST(OutputBuffer, AgreesWithAStringOverRandomHistories) {
  std::mt19937 random(1);
  OutputBuffer::Spares spares;
  spares.KeepFor(1);
  for (int history = 0; history < 200; ++history) {
    OutputBuffer out;
    std::string model;
    for (int step = 0; step < 100; ++step) {
      const size_t sizes[] = {random() % 8, random() % 300, random() % 5000, random() % 40000};
      const size_t size = sizes[random() % 4];
      const std::string bytes(size, static_cast<char>('a' + random() % 26));
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          out.Append(bytes);
          model += bytes;
          break;
        case 3: {
          const size_t reserved = std::min(size, OutputBuffer::kBlockBytes);
          const size_t written = reserved == 0 ? 0 : random() % (reserved + 1);
          char* const room = out.Reserve(reserved);
          std::copy_n(bytes.data(), written, room);
          out.Commit(written);
          model.append(bytes, 0, written);
          break;
        }
        case 4:
        case 5: {
          const size_t sent = std::min(size, model.size());
          out.Consume(sent);
          model.erase(0, sent);
          break;
        }
        case 6:
          out.Consume(out.bytes());
          model.clear();
          break;
        case 7:
          if (random() % 4 == 0) {
            out.Clear();
            model.clear();
            EXPECT_EQ(out.memory(), 0u);
          } else if (random() % 2 == 0) {
            out.ReleaseMemory();
          } else {
            random() % 2 == 0 ? out.GiveBack(spares) : out.ReleaseMemory(spares);
            out.Borrow(spares);
          }
          break;
      }
      ASSERT_TRUE(out.Sound());
      ASSERT_EQ(out.bytes(), model.size());
      ASSERT_EQ(out.empty(), model.empty());
      ASSERT_GE(out.memory(), out.bytes());
      ASSERT_EQ(OutputText(out), model);
    }
  }
}

// One of them has the block at a time: who has something to say borrows it, and gives it back when
// that is sent, or was nothing.
TEST(OutputBuffer, SmallBlocksGoRound) {
  OutputBuffer::Spares spares;
  spares.KeepFor(2);
  OutputBuffer first, second;
  first.Borrow(spares);
  EXPECT_EQ(first.memory(), 0u) << "there is none";
  first.Append("+OK\r\n");
  const char* const text = first.Reserve(0) - 5;
  first.ReleaseMemory(spares);
  EXPECT_EQ(spares.size(), 0u) << "its bytes wait";
  first.Consume(5);
  first.ReleaseMemory(spares);
  EXPECT_EQ(first.memory(), 0u);
  EXPECT_EQ(spares.size(), 1u);
  const size_t spared = spares.memory();
  EXPECT_GE(spared, OutputBuffer::kFirstBlockBytes);

  second.Borrow(spares);
  EXPECT_EQ(spares.size(), 0u);
  EXPECT_EQ(second.memory(), spared);
  EXPECT_EQ(spares.memory(), 0u);
  second.GiveBack(spares);
  EXPECT_EQ(second.memory(), 0u);
  second.Borrow(spares);
  second.Append("+PONG\r\n");
  EXPECT_EQ(second.Reserve(0) - 7, text) << "the same block";
  EXPECT_EQ(OutputText(second), "+PONG\r\n");
  second.GiveBack(spares);
  EXPECT_EQ(OutputText(second), "+PONG\r\n");
}

TEST(OutputBuffer, FewSmallBlocksAreSpared) {
  constexpr size_t kMost = OutputBuffer::Spares::kMax;
  OutputBuffer::Spares spares;
  spares.KeepFor(kMost + 1);
  const auto send = [&spares](OutputBuffer& out, size_t bytes) {
    out.Append(std::string(bytes, 'x'));
    out.Consume(out.bytes());
    out.ReleaseMemory(spares);
  };
  std::array<OutputBuffer, 2 * kMost> buffers;
  for (OutputBuffer& out : buffers) out.Append("x");
  for (OutputBuffer& out : buffers) send(out, 1);
  EXPECT_EQ(spares.size(), kMost);
  spares.KeepFor(3);
  EXPECT_EQ(spares.size(), 3u);
  spares.KeepFor(0);
  send(buffers[0], 1);
  EXPECT_EQ(spares.size(), 0u) << "for nobody";
  spares.KeepFor(2);
  // A large one is freed, and who needs one takes no small one.
  OutputBuffer large;
  send(large, OutputBuffer::kLargeFirstBlockBytes);
  EXPECT_EQ(spares.size(), 0u);
  send(buffers[0], 5);
  EXPECT_EQ(spares.size(), 1u);
  large.Borrow(spares);
  EXPECT_EQ(large.memory(), 0u);
}

TEST(OutputBuffer, SwallowsWhatGoesOverItsLimit) {
  OutputBuffer buffer;
  buffer.set_limit(100'000);
  const std::string piece(30'000, 'x');
  for (int i = 0; i < 3; ++i) buffer.Append(piece);
  EXPECT_FALSE(buffer.overflowed());
  EXPECT_EQ(buffer.bytes(), 90'000u);
  buffer.Append(piece);
  EXPECT_TRUE(buffer.overflowed());
  for (int i = 0; i < 100'000; ++i) {
    std::memset(buffer.Reserve(100), 'y', 100);
    buffer.Commit(100);
    EXPECT_LE(buffer.memory(), 3 * OutputBuffer::kBlockBytes);
  }
}

// In whatever pieces the bytes come, appended or written into reserved room that was larger.
TEST(OutputBuffer, ItsLimitIsExactToTheByte) {
  for (const size_t limit : {size_t{1}, size_t{100}, OutputBuffer::kFirstBlockBytes,
                             OutputBuffer::kFirstBlockBytes + 1, size_t{50'000}}) {
    for (uint32_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE("limit " + std::to_string(limit) + ", seed " + std::to_string(seed));
      std::mt19937 random(seed);
      OutputBuffer out;
      out.set_limit(limit);
      size_t waiting = 0;
      while (waiting <= limit) {
        ASSERT_FALSE(out.overflowed()) << waiting;
        ASSERT_EQ(out.bytes(), waiting);
        const size_t room = limit - waiting;
        const size_t n = random() % 4 == 0 ? room + random() % 2 : random() % (room + 20);
        if (random() % 2 == 0 || n > OutputBuffer::kBlockBytes) {
          out.Append(std::string(n, 'x'));
        } else {
          std::memset(out.Reserve(std::min(n + 30, OutputBuffer::kBlockBytes)), 'y', n);
          out.Commit(n);
        }
        waiting += n;
        if (waiting <= limit && random() % 5 == 0) {
          const size_t sent = random() % (waiting + 1);
          out.Consume(sent);
          waiting -= sent;
        }
      }
      EXPECT_TRUE(out.overflowed());
      EXPECT_TRUE(out.empty());
    }
  }
}

// The first bytes that a host would send now.
std::string Sendable(const OutputBuffer& out) {
  iovec vectors[64];
  std::string bytes;
  const size_t count = out.Peek(vectors, 64);
  for (size_t i = 0; i < count; ++i)
    bytes.append(static_cast<const char*>(vectors[i].iov_base), vectors[i].iov_len);
  return bytes;
}

TEST(OutputBuffer, ItsEndCanBeCopiedAndDropped) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    OutputBuffer out;
    std::string model;
    uint64_t appended = 0;
    for (int step = 0; step < 60; ++step) {
      const uint32_t kind = random() % 4;
      if (kind < 2) {
        const std::string bytes(random() % (step % 7 == 0 ? 20'000 : 600),
                                static_cast<char>('a' + step % 26));
        out.Append(bytes);
        model += bytes;
        appended += bytes.size();
      } else if (kind == 2) {
        const size_t sent = random() % (model.size() + 1);
        out.Consume(sent);
        model.erase(0, sent);
      } else {
        const size_t n = random() % (model.size() + 20);
        const size_t here = std::min(n, model.size());
        const size_t some = random() % (here + 1);
        EXPECT_EQ(out.CopyLast(n, SIZE_MAX), model.substr(model.size() - here));
        EXPECT_EQ(out.CopyLast(n, some), model.substr(model.size() - here, some));
        out.DropLast(n);
        model.erase(model.size() - here);
      }
      ASSERT_TRUE(out.Sound());
      ASSERT_EQ(out.bytes(), model.size());
      ASSERT_EQ(out.appended(), appended);
      ASSERT_EQ(out.CopyLast(SIZE_MAX, SIZE_MAX), model);
    }
  }
}

TEST(OutputBuffer, WhatIsHeldLeavesWhenBothWhoHoldItLetItGo) {
  OutputBuffer out;
  out.set_may_leave(0);
  out.Append("0123456789");
  out.HoldFrom(4);
  EXPECT_EQ(Sendable(out), "");
  out.set_may_leave(10);
  EXPECT_EQ(Sendable(out), "0123");
  out.HoldFrom(5);
  EXPECT_EQ(Sendable(out), "01234");
  out.set_may_leave(2);
  EXPECT_EQ(Sendable(out), "01");
  out.HoldFrom(OutputBuffer::kEverything);
  EXPECT_EQ(Sendable(out), "01");
  out.set_may_leave(OutputBuffer::kEverything);
  EXPECT_EQ(Sendable(out), "0123456789");
}

// A position that a log has noted must not come to stand for bytes that were appended later.
TEST(OutputBuffer, BytesBehindDroppedOnesWaitForTheirOwnTime) {
  OutputBuffer out;
  out.set_may_leave(0);
  out.Append("0123456789");
  out.DropLast(6);
  out.Append("later");
  out.set_may_leave(10);
  EXPECT_EQ(Sendable(out).find('l'), std::string::npos);
  out.set_may_leave(out.appended());
  EXPECT_EQ(Sendable(out), "0123later");
}

}  // namespace
}  // namespace sluice
