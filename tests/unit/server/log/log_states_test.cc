// The tables of what the log can be doing: each pair of a state and an event has one entry or
// cannot be met, no state is a dead end, and one in which the worker has the file is left by what
// the worker answers, and by nothing that needs the file.
#include "server/log/log_states.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace sluice {
namespace {

template <typename State, typename Event, typename Row, size_t kRows>
void ExpectOneEntryEach(const Row (&rows)[kRows], size_t states, size_t events) {
  std::set<std::pair<State, Event>> seen;
  std::set<Event> events_met;
  for (const Row& row : rows) {
    EXPECT_TRUE(seen.emplace(row.state, row.event).second)
        << "state " << int(row.state) << ", event " << int(row.event) << " are there twice";
    EXPECT_LT(static_cast<size_t>(row.state), states);
    EXPECT_LT(static_cast<size_t>(row.event), events);
    events_met.insert(row.event);
    EXPECT_EQ(StepOf(row.state, row.event).next, row.next);
    EXPECT_EQ(StepOf(row.state, row.event).act, row.act);
  }
  EXPECT_EQ(events_met.size(), events);
}

// All states that can be reached from this one.
template <typename State, typename Row, size_t kRows>
std::set<State> ReachedFrom(const Row (&rows)[kRows], State from) {
  std::set<State> reached{from};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Row& row : rows) {
      if (reached.contains(row.state)) reached.insert(row.next);
    }
  }
  return reached;
}

TEST(LogStates, EachPairHasOneEntryOrCannotBe) {
  ExpectOneEntryEach<FileState, FileEvent>(file_table::kRows, kFileStates, kFileEvents);
  ExpectOneEntryEach<BaseState, BaseEvent>(base_table::kRows, kBaseStates, kBaseEvents);
}

TEST(LogStates, EachIsReachedAndLeft) {
  EXPECT_EQ(ReachedFrom(file_table::kRows, FileState::kOff).size(), kFileStates);
  EXPECT_EQ(ReachedFrom(base_table::kRows, BaseState::kNone).size(), kBaseStates);
  for (size_t i = 0; i < kFileStates; ++i) {
    const std::set<FileState> reached = ReachedFrom(file_table::kRows, static_cast<FileState>(i));
    EXPECT_TRUE(reached.contains(FileState::kOff)) << i;
    EXPECT_TRUE(reached.contains(FileState::kReady)) << i;
  }
  for (size_t i = 0; i < kBaseStates; ++i) {
    const std::set<BaseState> reached = ReachedFrom(base_table::kRows, static_cast<BaseState>(i));
    EXPECT_TRUE(reached.contains(BaseState::kNone)) << i;
  }
}

// Two jobs never share a file.
TEST(LogStates, WhileTheWorkerHasTheFileNothingElseBeginsWithIt) {
  for (size_t i = 0; i < kFileStates; ++i) {
    const auto state = static_cast<FileState>(i);
    for (const FileEvent event :
         {FileEvent::kOpened, FileEvent::kStart, FileEvent::kRotate, FileEvent::kClosed}) {
      const bool is_possible = StepOf(state, event).act != FileAct::kNever;
      EXPECT_TRUE(IsAtRest(state) || !is_possible) << i << " " << int(event);
      const bool is_given = event == FileEvent::kStart || event == FileEvent::kRotate;
      EXPECT_TRUE(!is_possible || is_given != IsAtRest(StepOf(state, event).next)) << i;
    }
    if (IsAtRest(state)) continue;
    for (const FileEvent event :
         {FileEvent::kDone, FileEvent::kWriteFailed, FileEvent::kSyncFailed}) {
      const FileStep step = StepOf(state, event);
      EXPECT_NE(step.act, FileAct::kNever) << i << " " << int(event);
      EXPECT_TRUE(IsAtRest(step.next)) << i << " " << int(event);
    }
  }
}

// Nothing but a new base ends a doubt, or the end of the log.
TEST(LogStates, ADoubtIsEndedByABaseAlone) {
  for (const FileRow& row : file_table::kRows) {
    if (!IsUnsure(row.state) || IsUnsure(row.next)) continue;
    EXPECT_TRUE(row.event == FileEvent::kStands || row.event == FileEvent::kClosed);
  }
  for (const FileRow& row : file_table::kRows) {
    const bool begins = row.event == FileEvent::kSyncFailed || row.event == FileEvent::kLost;
    EXPECT_TRUE(!begins || IsUnsure(row.next));
    EXPECT_TRUE(row.act != FileAct::kAccept || row.next == FileState::kReady);
  }
}

// And files that did not tell of all there is do so only when a base that was due is named.
TEST(LogStates, FilesTellOfAllAgainWhenAFirstBaseIsNamed) {
  for (const BaseRow& row : base_table::kRows) {
    if (DoFilesTell(row.state) || !DoFilesTell(row.next)) continue;
    EXPECT_TRUE(row.act == BaseAct::kStand || row.event == BaseEvent::kClosed)
        << int(row.state) << " " << int(row.event);
  }
}

}  // namespace
}  // namespace sluice
