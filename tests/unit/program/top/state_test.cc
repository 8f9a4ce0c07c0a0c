// What each key does to what a person has done so far.
#include "server/program/top/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/program/top/made_facts.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using Mode = TopState::Mode;

// Locks a, b, c ..., of which so many are in view.
class StateTest : public testing::Test {
 protected:
  StateTest() {
    for (const char* const name : {"a", "b", "c", "d", "e", "f"})
      locks_.push_back(HeldBy(name, "owner", 1'000));
    for (LockFacts& lock : locks_) lock.token = 7;
    state_.window = {0, 3};
  }

  TopWish Type(std::string_view bytes) {
    TopWish wish = TopWish::kNothing;
    KeyReader reader;
    std::vector<Key> keys = reader.Read(bytes);
    for (const Key& key : reader.End()) keys.push_back(key);
    for (const Key& key : keys) wish = Press(key, List(), state_);
    Follow(List(), state_);
    return wish;
  }
  LockList List() const { return LocksInOrder(locks_, state_.part); }
  std::string Selected() const { return List()[state_.selected_at]->name; }

  std::vector<LockFacts> locks_;
  TopState state_;
};

TEST_F(StateTest, Moves) {
  const struct {
    std::string_view keys;
    std::string_view selected;
  } rows[] = {{"j", "b"},
              {"\x1b[B", "c"},
              {"k", "b"},
              {"\x1b[A\x1b[A\x1b[A", "a"},
              {"\x1b[6~", "c"},
              {"\x1b[6~", "e"},
              {"jjjjj", "f"},
              {"\x1b[5~", "d"},
              {"\x1b[5~\x1b[5~", "a"},
              {"G", "f"},
              {"g", "a"},
              {"\x1b[F", "f"},
              {"\x1b[H", "a"}};
  for (const auto& row : rows) {
    EXPECT_EQ(Type(row.keys), TopWish::kSee);
    EXPECT_EQ(Selected(), row.selected) << testing::PrintToString(row.keys);
  }
}

TEST_F(StateTest, ALockStaysSelectedWhereverItMoves) {
  Type("jj");
  locks_.insert(locks_.begin(), HeldBy("0", "owner", 10));
  Follow(List(), state_);
  EXPECT_EQ(Selected(), "c");
  // When it is gone the one that has taken its place is selected.
  locks_.erase(locks_.begin() + 3);
  Follow(List(), state_);
  EXPECT_EQ(Selected(), "d");
  locks_.resize(2);
  Follow(List(), state_);
  EXPECT_EQ(Selected(), "a");
  // Whoever has not moved sees what comes first.
  Type("g");
  locks_.insert(locks_.begin(), HeldBy("00", "owner", 1));
  Follow(List(), state_);
  EXPECT_EQ(Selected(), "00");
}

TEST_F(StateTest, TheListMayBeEmpty) {
  locks_.clear();
  EXPECT_EQ(Type("jkG\x1b[5~\x1b[6~g"), TopWish::kSee);
  EXPECT_EQ(Type("b"), TopWish::kNothing);
  EXPECT_EQ(state_.mode, Mode::kBrowse);
  EXPECT_EQ(state_.message, "no lock is selected");
}

TEST_F(StateTest, SearchNarrowsWithEachLetter) {
  locks_.push_back(HeldBy("b\xc3\xbc", "owner", 2'000));
  EXPECT_EQ(Type("/"), TopWish::kNothing);
  EXPECT_EQ(Type("b"), TopWish::kLook);
  EXPECT_EQ(List().size(), 2u);
  EXPECT_EQ(Type("\xc3\xbc"), TopWish::kLook);
  EXPECT_EQ(Selected(), "b\xc3\xbc");
  EXPECT_EQ(Type("q"), TopWish::kLook);  // a letter like others
  EXPECT_EQ(state_.part, "b\xc3\xbcq");
  EXPECT_EQ(Type("\x7f\x7f"), TopWish::kLook);
  EXPECT_EQ(state_.part, "b");
  EXPECT_EQ(Type("\r"), TopWish::kNothing);
  EXPECT_EQ(state_.mode, Mode::kBrowse);
  EXPECT_EQ(state_.part, "b");
  Type("j");
  EXPECT_EQ(Selected(), "b\xc3\xbc");
  EXPECT_EQ(Type("\x1b"), TopWish::kLook);
  EXPECT_EQ(state_.part, "");
  EXPECT_EQ(Selected(), "b\xc3\xbc");
  EXPECT_EQ(Type("\x1b"), TopWish::kNothing);
}

TEST_F(StateTest, SearchIsLeft) {
  Type("/ab\x1b");
  EXPECT_EQ(state_.mode, Mode::kBrowse);
  EXPECT_EQ(state_.part, "");
  Type("/a\x7f");
  EXPECT_EQ(state_.mode, Mode::kSearch);
  Type("\x7f");
  EXPECT_EQ(state_.mode, Mode::kBrowse);
  Type(std::string("/") + std::string(1'000, 'x'));
  EXPECT_EQ(state_.part.size(), TopState::kPartBytesMax);
}

TEST_F(StateTest, BreakAsksFirst) {
  locks_[1].label = "nightly";
  EXPECT_EQ(Type("jb"), TopWish::kNothing);
  EXPECT_EQ(state_.mode, Mode::kQuestion);
  EXPECT_EQ(QuestionText(state_.order), "break b held by owner (nightly)? y/n");
  for (const char* const key : {"n", "\x1b", "\r", "j", "q"}) {
    EXPECT_EQ(Type(key), TopWish::kNothing);
    EXPECT_EQ(state_.mode, Mode::kBrowse);
    EXPECT_EQ(state_.message, "b was not broken");
    Type("b");
  }
  EXPECT_EQ(Type("y"), TopWish::kBreak);
  EXPECT_EQ(state_.order.name, "b");
  EXPECT_EQ(state_.order.token, 7);
  Type("k");
  EXPECT_EQ(state_.message, "");
}

TEST_F(StateTest, TheQuestionNamesWhoeverLosesTheLock) {
  locks_[0].holders = 3;
  Type("b");
  EXPECT_EQ(QuestionText(state_.order), "break a held by owner and 2 others? y/n");
  EXPECT_EQ(state_.order.token, 0);
  Type("n");
  locks_[0].holders = 2;
  Type("b");
  EXPECT_EQ(QuestionText(state_.order), "break a held by owner and 1 other? y/n");
  Type("n");
  locks_[0].holders = 0;
  Type("b");
  EXPECT_EQ(QuestionText(state_.order), "break a, held by nobody? y/n");
}

TEST_F(StateTest, WhatIsNotKnownIsNotBroken) {
  locks_ = {{.name = "x"}, {.name = "y", .obstacle = "NOPERM"}};
  Type("b");
  EXPECT_EQ(state_.message, "x cannot be broken from here: it has not been looked at yet");
  Type("jb");
  EXPECT_EQ(state_.message, "y cannot be broken from here: NOPERM");
  EXPECT_TRUE(state_.is_message_bad);
  EXPECT_EQ(state_.mode, Mode::kBrowse);
}

TEST_F(StateTest, OtherKeys) {
  EXPECT_EQ(Type("q"), TopWish::kQuit);
  EXPECT_EQ(Type(" "), TopWish::kLook);
  EXPECT_EQ(Type("\x0c"), TopWish::kLook);
  EXPECT_EQ(Type("x"), TopWish::kNothing);
  EXPECT_EQ(Type("?"), TopWish::kNothing);
  EXPECT_EQ(state_.mode, Mode::kHelp);
  EXPECT_EQ(Type("q"), TopWish::kNothing);
  EXPECT_EQ(state_.mode, Mode::kBrowse);
  // Of all modes.
  for (const char* const mode : {"", "/", "b", "?"}) {
    Type(mode);
    EXPECT_EQ(Type("\x1a"), TopWish::kStop);
    EXPECT_EQ(Type("\x03"), TopWish::kQuit);
    state_.mode = Mode::kBrowse;
  }
}

}  // namespace
}  // namespace sluice
