// Whole screens: keys and facts in, lines out, on a terminal of the usual size, a small and a large
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/program/top/drawing.h"
#include "tests/unit/program/top/made_facts.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAreArray;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A server with so many locks, of which the fourth is waited for; and a person at a screen.
class Sitting {
 public:
  Sitting(ScreenSize size, size_t locks) : size_(size), facts_(FactsOf()) {
    for (size_t i = 0; i < locks; ++i) {
      const std::string number = Concat(i < 10 ? "0" : "", i);
      facts_.locks.push_back(HeldBy(Concat("lock:", number), Concat("owner-", number), 60'000));
    }
    if (locks > 3) facts_.locks[3] = WaitedFor(facts_.locks[3], {{"patient", 12'100, 17'900}});
    Draw();
  }

  TopFacts& facts() { return facts_; }
  TopState& state() { return state_; }

  // The screen after these keys.
  std::vector<std::string> Type(std::string_view bytes) {
    KeyReader reader;
    std::vector<Key> keys = reader.Read(bytes);
    for (const Key& key : reader.End()) keys.push_back(key);
    for (const Key& key : keys) {
      Press(key, LocksInOrder(facts_.locks, state_.part), state_);
      Draw();
    }
    return Draw();
  }

 private:
  std::vector<std::string> Draw() {
    Follow(LocksInOrder(facts_.locks, state_.part), state_);
    TopPicture picture =
        sluice::Draw({.now = &facts_, .state = &state_}, size_, TerminalText::kUtf8);
    state_.window = picture.window;
    return LinesOf(picture.lines);
  }

  const ScreenSize size_;
  TopFacts facts_;
  TopState state_;
};

constexpr ScreenSize kUsual{80, 24}, kSmall{60, 10}, kLarge{200, 50};

TEST(Screen, OfTheUsualSize) {
  Sitting sitting(kUsual, 30);
  EXPECT_THAT(
      sitting.Type(""),
      ElementsAreArray({
          "sluice 0.1.0 (redis 7.0.15)   127.0.0.1:6379   up 2d04h",
          "clients  12, 3 blocked   15.2k commands/s   memory 1.0M, resident 2.0M",
          "turns    p99.9 800us, longest 3.2ms   expiry late p99.9 1ms, most 12ms",
          "disk     log ok, 10.0M, 0B to write   snapshot 1m40s ago, 33 changes since",
          "LIMITS   500 taken, 20 refused, 1 wait, 2 policies",
          "gcra     400 taken, 20 refused",
          "window   100 taken, 0 refused",
          "LOCKS    2 held, 1 wait, 1000 granted, 4 expired, 0 deadlocks",
          "  LOCK                       MODE       HOLDER           LEASE    WAIT   LONGEST",
          "> lock:03                    exclusive  owner-03         1m00s    1      12.1s",
          "    waits                               patient          12.1s, for 17.9s more",
          "  lock:00                    exclusive  owner-00         1m00s",
          "  lock:01                    exclusive  owner-01         1m00s",
          "  lock:02                    exclusive  owner-02         1m00s",
          "  lock:04                    exclusive  owner-04         1m00s",
          "  lock:05                    exclusive  owner-05         1m00s",
          "  lock:06                    exclusive  owner-06         1m00s",
          "  lock:07                    exclusive  owner-07         1m00s",
          "  lock:08                    exclusive  owner-08         1m00s",
          "  lock:09                    exclusive  owner-09         1m00s",
          "  lock:10                    exclusive  owner-10         1m00s",
          "  0 above, 19 below",
          "lock:03, held by owner-03",
          "q quits, / searches, b breaks a lock, ? shows the keys",
      }));
}

TEST(Screen, ASmallOneHasLocksAboveAll) {
  Sitting sitting(kSmall, 30);
  EXPECT_THAT(sitting.Type("jjjjjjj"),
              ElementsAreArray({
                  "sluice 0.1.0   127.0.0.1:6379   up 2d04h",
                  "LOCKS    2 held, 1 wait, 1000 granted, 4 expired",
                  "  LOCK                 HOLDER        LEASE    WAIT   LONGEST",
                  "  lock:04              owner-04      1m00s",
                  "  lock:05              owner-05      1m00s",
                  "  lock:06              owner-06      1m00s",
                  "> lock:07              owner-07      1m00s",
                  "  4 above, 22 below",
                  "lock:07, held by owner-07",
                  "q quits, / searches, b breaks a lock, ? shows the keys",
              }));
  EXPECT_THAT(sitting.Type("?"), ElementsAreArray({
                                     "sluice 0.1.0   127.0.0.1:6379   up 2d04h",
                                     " Up, k   Down, j   the lock above, below",
                                     " PgUp   PgDn       a page up, down",
                                     " g, Home   G, End  the first, the last",
                                     " /                 only names with a part; Esc shows all",
                                     " b                 breaks the selected lock, if you say y",
                                     " space             looks again at once",
                                     " q, Ctrl-C         quits; Ctrl-Z stops",
                                     "",
                                     "any key goes back",
                                 }));
  // Trouble stays in sight.
  sitting.facts().info.Add("aof_last_write_status:err\r\n");
  EXPECT_THAT(sitting.Type("x")[1], StartsWith("disk     log FAILED"));
  EXPECT_THAT(sitting.Type("")[3], StartsWith("  LOCK "));
}

TEST(Screen, ALargeOneShowsAll) {
  Sitting sitting(kLarge, 30);
  std::vector<std::string> lines = sitting.Type("");
  EXPECT_EQ(lines.size(), kLarge.rows);
  EXPECT_EQ(lines[8].size(), 200u);  // LONGEST ends in the last column
  EXPECT_EQ(lines[39], "  lock:29" + std::string(92, ' ') + "exclusive  owner-29" +
                           std::string(57, ' ') + "1m00s");
  EXPECT_THAT(lines, Each(Not(HasSubstr(" above"))));
  lines = sitting.Type("/2");
  EXPECT_THAT(lines[21], "  0 above, 0 below   12 with 2");
  EXPECT_EQ(lines[48], "/2_");
  EXPECT_EQ(lines[49], "Enter keeps it, Esc shows all again");
}

TEST(Screen, ScrollingTellsWhatIsHidden) {
  Sitting sitting(kUsual, 100);
  EXPECT_THAT(sitting.Type(""), Contains("  0 above, 89 below"));
  EXPECT_THAT(sitting.Type("\x1b[6~"), Contains("  10 above, 78 below"));
  EXPECT_THAT(sitting.Type("\x1b[6~"), Contains("  21 above, 67 below"));
  EXPECT_THAT(sitting.Type("G"), Contains("  88 above, 0 below"));
  EXPECT_THAT(sitting.Type(""), Contains(StartsWith("> lock:99")));
  EXPECT_THAT(sitting.Type("\x1b[5~"), Contains("  77 above, 11 below"));
  EXPECT_THAT(sitting.Type("g"), Contains(StartsWith("> lock:03")));
  // The help leaves the window where it was.
  sitting.Type("G?");
  EXPECT_THAT(sitting.Type("x"), Contains("  88 above, 0 below"));
  sitting.facts().has_all_locks = false;
  EXPECT_THAT(sitting.Type(""), Contains("  88 above, 0 below   100 listed, / finds others"));
  sitting.facts().is_listing = true;
  EXPECT_THAT(sitting.Type(""), Contains("  88 above, 0 below   100 listed so far"));
}

TEST(Screen, WaitedForLocksComeFirstWhateverTheirNumber) {
  Sitting sitting(kUsual, 0);
  for (int i = 0; i < 5'000; ++i)
    sitting.facts().locks.push_back({.name = Concat("w", i), .is_waited_for = i % 2 == 0});
  EXPECT_THAT(sitting.Type(""), Contains("> w0"));
  EXPECT_THAT(sitting.Type(""), Contains("  w2"));
  EXPECT_THAT(sitting.Type(""), Not(Contains("  w1")));
  EXPECT_THAT(sitting.Type(""), Contains("  0 above, 4988 below"));
}

TEST(Screen, LongNamesLoseTheirMiddleAndAreWholeBelow) {
  for (const ScreenSize size : {kUsual, kSmall, kLarge}) {
    Sitting sitting(size, 0);
    const std::string name = "lock:" + std::string(60, 'x') + ":17";
    sitting.facts().locks = {HeldBy(name, "worker-with-a-long-name-of-its-own-1234", 5'000)};
    const std::vector<std::string> lines = sitting.Type("");
    std::string below = lines[size.rows - 3] + lines[size.rows - 2];
    EXPECT_THAT(below, HasSubstr(name));
    EXPECT_THAT(below, HasSubstr("worker-with-a-long-name-of-its-own-1234"));
    if (size.columns < 100) {
      EXPECT_THAT(lines, Contains(AllOf(StartsWith("> lock:x"), HasSubstr("…"), HasSubstr("x:17 "),
                                        HasSubstr("worker"))));
    }
    EXPECT_THAT(lines, Each(Not(HasSubstr("~"))));
  }
}

// With all that may be said of a server, and figures as long as they get.
TEST(Screen, NothingIsCut) {
  for (const ScreenSize size : {kUsual, kLarge, ScreenSize{60, 40}}) {
    Sitting sitting(size, 6);
    sitting.facts().address = "cache-17.eu-central-1.internal.example.com:16379";
    sitting.facts().info.Add(
        "test_double:1\r\nuptime_in_seconds:99999999\r\nconnected_clients:9999999\r\n"
        "blocked_clients:9999999\r\ninstantaneous_ops_per_sec:9999999\r\n"
        "used_memory:999999999999\r\nused_memory_rss:999999999999\r\nmaxmemory:999999999999\r\n"
        "aof_rewrite_in_progress:1\r\naof_current_size:999999999999\r\n"
        "aof_buffer_length:999999999\r\nrdb_changes_since_last_save:999999999\r\n"
        "turn_cpu_us_max:999999\r\nexpiry_lateness_ms_max:9999999\r\n"
        "limits_taken:99999999999\r\nlimits_refused:99999999999\r\n"
        "locks_held:99999999\r\nlocks_waiting:99999999\r\nlocks_granted:99999999999\r\n");
    const std::vector<std::string> lines = sitting.Type("");
    EXPECT_THAT(lines, Each(Not(HasSubstr("~"))));
    for (size_t i = 1; i < lines.size(); ++i) EXPECT_THAT(lines[i], Not(HasSubstr("…")));
    EXPECT_THAT(lines[0], HasSubstr("test double"));
    EXPECT_THAT(lines, Contains(HasSubstr("log is being rewritten")));
    EXPECT_THAT(lines, Contains(HasSubstr("resident 931.3G")));
    EXPECT_THAT(lines, Contains(HasSubstr("1000.0M changes since")));
  }
}

TEST(Screen, AQuestionAndWhatCameOfIt) {
  Sitting sitting(kUsual, 5);
  EXPECT_EQ(sitting.Type("b")[22], "break lock:03 held by owner-03? y/n");
  EXPECT_EQ(sitting.Type("n")[22], "lock:03 was not broken");
  EXPECT_EQ(sitting.Type("k")[22], "lock:03, held by owner-03");
  sitting.state().message =
      "lock:03 was not broken: NOPERM this user has no permissions to run the 'lock.break' command";
  sitting.state().is_message_bad = true;
  const std::vector<std::string> lines = sitting.Type("");
  EXPECT_EQ(lines[21], "lock:03 was not broken: NOPERM this user has no permissions to run the");
  EXPECT_EQ(lines[22], "'lock.break' command");
  // However long the names are, the question can be read.
  sitting.facts().locks = {HeldBy(std::string(4'000, 'n'), std::string(1'000, 'o'), 5'000)};
  EXPECT_THAT(sitting.Type("b")[20], StartsWith("break nnnn"));
  EXPECT_THAT(sitting.Type("")[22], EndsWith("oooo? y/n"));
}

TEST(Screen, HostileNamesAreWrittenOut) {
  Sitting sitting(kUsual, 0);
  sitting.facts().locks = {HeldBy("a\x1b[2J\n", "\xe2\x80\xaeme", 5'000)};
  for (const char* const keys : {"", "b", "n", "/\xc2\x9b"}) {
    const std::vector<std::string> lines = sitting.Type(keys);
    EXPECT_THAT(lines, Each(Not(HasSubstr("\x1b")))) << keys;
    EXPECT_THAT(lines, Each(Not(HasSubstr("\xe2\x80\xae")))) << keys;
    EXPECT_THAT(lines, Each(Not(HasSubstr("\xc2\x9b")))) << keys;
  }
  sitting.Type("\x1b");
  EXPECT_EQ(sitting.Type("b")[22], "break a\\x1b[2J\\n held by \\u{202e}me? y/n");
}

}  // namespace
}  // namespace sluice
