// Who may go on where it was: each row of Redis's masterTryPartialResynchronization, and what no
// honest replica asks.
#include "server/replication/replication_ids.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "protocol/text/letters.h"

namespace sluice {
namespace {

const std::string kFirst(ReplicationId::kBytes, 'a');
const std::string kOther(ReplicationId::kBytes, 'b');
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

class Resync : public testing::Test {
 protected:
  // The stream is at 100, of which the last 50 bytes are kept.
  Resync() : backlog_(0, 50), ids_(*ReplicationId::Of(kFirst)) {
    backlog_.Append(std::string(50, 'x'));
  }

  ResyncAnswer Ask(std::string_view id, int64_t offset) {
    return AnswerResync(ids_, &backlog_, backlog_.end(), id, offset);
  }

  Backlog backlog_;
  ReplicationIds ids_;
};

TEST_F(Resync, ContinuesWhereTheBacklogHasTheRest) {
  EXPECT_EQ(Ask(kFirst, 51), ResyncAnswer::kContinue);
  EXPECT_EQ(Ask(kFirst, 100), ResyncAnswer::kContinue);
  EXPECT_EQ(Ask(kFirst, 101), ResyncAnswer::kContinue);  // it has all
  EXPECT_EQ(Ask(kFirst, 50), ResyncAnswer::kNotInBacklog);
  EXPECT_EQ(Ask(kFirst, 102), ResyncAnswer::kAheadOfTheStream);
  EXPECT_EQ(Ask(UpperCase(kFirst), 101), ResyncAnswer::kContinue);  // as strcasecmp
}

TEST_F(Resync, AsksForAllWithAQuestionMark) {
  EXPECT_EQ(Ask("?", -1), ResyncAnswer::kAskedForAll);
  EXPECT_EQ(Ask("?anything", 100), ResyncAnswer::kAskedForAll);
}

TEST_F(Resync, ForeignIdsAreAnotherHistory) {
  EXPECT_EQ(Ask(kOther, 100), ResyncAnswer::kOtherHistory);
  EXPECT_EQ(Ask("", 100), ResyncAnswer::kOtherHistory);
  EXPECT_EQ(Ask(kFirst.substr(1), 100), ResyncAnswer::kOtherHistory);
  EXPECT_EQ(Ask(kFirst + "a", 100), ResyncAnswer::kOtherHistory);
  EXPECT_EQ(Ask(std::string(10 << 20, 'a'), 100), ResyncAnswer::kOtherHistory);
  EXPECT_EQ(Ask(std::string_view("\0", 1), 100), ResyncAnswer::kOtherHistory);
}

// Redis compares C strings.
TEST_F(Resync, AnIdEndsAtItsFirstNul) {
  EXPECT_EQ(Ask(kFirst + std::string("\0more", 5), 100), ResyncAnswer::kContinue);
}

TEST_F(Resync, OffsetsOfNoStream) {
  for (const int64_t offset : {kLeast, int64_t{-1}, int64_t{0}}) {
    EXPECT_EQ(Ask(kFirst, offset), ResyncAnswer::kNotInBacklog) << offset;
  }
  EXPECT_EQ(Ask(kFirst, kMost), ResyncAnswer::kAheadOfTheStream);
}

// A server that has parted from no history has a second id of zeros, with which nobody goes on.
TEST_F(Resync, TheIdOfNoneIsNobodys) {
  EXPECT_EQ(ids_.second().text(), std::string(ReplicationId::kBytes, '0'));
  EXPECT_EQ(ids_.second_end(), -1);
  EXPECT_EQ(Ask(ids_.second().text(), 100), ResyncAnswer::kBeyondSecond);
  EXPECT_EQ(Ask(ids_.second().text(), -1), ResyncAnswer::kNotInBacklog);
  EXPECT_EQ(Ask(ids_.second().text(), kLeast), ResyncAnswer::kNotInBacklog);
}

TEST_F(Resync, TheSecondIdIsGoodUntilTheHistoriesPart) {
  ids_.Part(*ReplicationId::Of(kOther), 80);
  EXPECT_EQ(ids_.id().text(), kOther);
  EXPECT_EQ(ids_.second().text(), kFirst);
  EXPECT_EQ(ids_.second_end(), 81);  // INFO's second_repl_offset
  EXPECT_EQ(Ask(kFirst, 80), ResyncAnswer::kContinue);
  EXPECT_EQ(Ask(kFirst, 81), ResyncAnswer::kContinue);
  EXPECT_EQ(Ask(kFirst, 82), ResyncAnswer::kBeyondSecond);
  EXPECT_EQ(Ask(kFirst, 50), ResyncAnswer::kNotInBacklog);
  EXPECT_EQ(Ask(kOther, 101), ResyncAnswer::kContinue);
  ids_.ForgetSecond();
  EXPECT_EQ(Ask(kFirst, 80), ResyncAnswer::kOtherHistory);
}

// A replica that is ahead of what the disk kept over a crash never goes on.
TEST_F(Resync, AfterACrashTheOldIdIsGoodForWhatTheDiskKept) {
  ReplicationIds ids(*ReplicationId::Of(kFirst));
  ids.Part(*ReplicationId::Of(kOther), 60);
  EXPECT_EQ(AnswerResync(ids, &backlog_, 100, kFirst, 61), ResyncAnswer::kContinue);
  EXPECT_EQ(AnswerResync(ids, &backlog_, 100, kFirst, 62), ResyncAnswer::kBeyondSecond);
}

TEST_F(Resync, WithoutABacklogNobodyGoesOn) {
  EXPECT_EQ(AnswerResync(ids_, nullptr, 100, kFirst, 100), ResyncAnswer::kNotInBacklog);
  EXPECT_EQ(AnswerResync(ids_, nullptr, 100, kFirst, 101), ResyncAnswer::kAheadOfTheStream);
  EXPECT_EQ(AnswerResync(ids_, nullptr, 100, "?", -1), ResyncAnswer::kAskedForAll);
}

TEST(ReplicationIdTest, IsWrittenAsFortyHexDigits) {
  uint8_t bytes[ReplicationId::kBytes / 2] = {0x00, 0x1f, 0xa2};
  bytes[19] = 0xff;
  EXPECT_EQ(ReplicationIdOf(bytes).text(), "001fa2" + std::string(32, '0') + "ff");
}

}  // namespace
}  // namespace sluice
