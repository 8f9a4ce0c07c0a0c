// What `sluice top` draws: tables of facts, and the lines that come of them.
#include "server/program/top/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"
#include "tests/unit/program/top/made_facts.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr TerminalText kUtf8 = TerminalText::kUtf8;

std::vector<std::string> Drawn(const TopView& view, ScreenSize size = {}) {
  return LinesOf(Draw(view, size, kUtf8).lines);
}

// The tone of the first line with this text.
Tone ToneOf(const std::vector<ScreenLine>& lines, std::string_view text) {
  for (const ScreenLine& line : lines) {
    if (line.text.find(text) != std::string::npos) return line.tone;
  }
  ADD_FAILURE() << "no line has " << text;
  return Tone::kPlain;
}

TEST(Drawing, AServerWithLocksAndLimits) {
  TopFacts facts = FactsOf();
  facts.locks = {HeldBy("deploy", "ci-7", 4'250),
                 WaitedFor(HeldBy("build", "worker-1", 29'800),
                           {{"worker-2", 12'100, 17'900}, {"worker-3", 300, 700}})};
  facts.slow = {{1'699'999'950, 25'300, {"KEYS", "*"}}};
  EXPECT_THAT(
      Drawn({.now = &facts}),
      ElementsAre(
          "sluice 0.1.0 (redis 7.0.15)   127.0.0.1:6379   up 2d04h",
          "clients  12, 3 blocked   15.2k commands/s   memory 1.0M, resident 2.0M",
          "turns    p99.9 800us, longest 3.2ms   expiry late p99.9 1ms, most 12ms",
          "disk     log ok, 10.0M, 0B to write   snapshot 1m40s ago, 33 changes since",
          "LIMITS   500 taken, 20 refused, 1 wait, 2 policies",
          "gcra     400 taken, 20 refused",  //
          "window   100 taken, 0 refused",   //
          "LOCKS    2 held, 1 wait, 1000 granted, 4 expired, 0 deadlocks",
          "LOCK                        MODE       HOLDER            LEASE    WAIT   LONGEST",
          "build                       exclusive  worker-1          29.8s    2      12.1s",
          "  waits                                worker-2          12.1s, for 17.9s more",
          "  waits                                worker-3          300ms, for 700ms more",
          "deploy                      exclusive  ci-7              4.2s",
          "SLOW     what took longest, newest first",  //
          "25.3ms   2m30s ago  KEYS *"));
}

TEST(Drawing, RatesOnceTwoLooksAreKnown) {
  const TopFacts facts = FactsOf();
  TopFacts before = FactsOf();
  before.at_ms = 3'000;
  before.info.Add(
      "limits_taken:400\r\nlimits_refused:20\r\nlocks_granted:999\r\n"
      "limits_gcra:taken=300,refused=10\r\n");
  const std::vector<std::string> lines = Drawn({.now = &facts, .before = &before});
  EXPECT_THAT(lines, testing::Contains("LIMITS   50 taken/s, 0 refused/s, 1 wait, 2 policies"));
  EXPECT_THAT(lines, testing::Contains("gcra     50 taken/s, 5.0 refused/s"));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("0.5 granted/s")));
  // Counters that begin anew have no rate.
  before.info.Add("limits_taken:900\r\n");
  EXPECT_THAT(Drawn({.now = &facts, .before = &before}),
              testing::Contains(StartsWith("LIMITS   500 taken, 0 refused/s")));
}

TEST(Drawing, RedisHasNoLocks) {
  const TopFacts facts = FactsOf(
      "redis_version:7.0.15\r\nuptime_in_seconds:5\r\nconnected_clients:1\r\naof_enabled:0\r\n"
      "rdb_saves:0\r\n");
  EXPECT_THAT(Drawn({.now = &facts}),
              ElementsAre("redis 7.0.15   127.0.0.1:6379   up 5.0s",
                          "clients  1, 0 blocked   0 commands/s   memory 0B, resident 0B",
                          "disk     log off   no snapshot yet, 0 changes since the start",
                          "         This server has no locks and limiters of its own."));
}

TEST(Drawing, TonesTellWhatIsWrong) {
  struct Row {
    std::string_view info;
    std::string_view text;
    Tone tone;
  };
  constexpr Row kRows[] = {
      {"", "disk", Tone::kPlain},
      {"aof_last_write_status:err\r\n", "log FAILED", Tone::kBad},
      {"rdb_last_bgsave_status:err\r\n", "snapshot FAILED", Tone::kBad},
      {"rdb_bgsave_in_progress:1\r\ncurrent_save_keys_processed:5\r\ncurrent_save_keys_total:9\r\n",
       "snapshot runs, 5 of 9 keys", Tone::kPlain},
      {"loading:1\r\nloading_loaded_perc:35.00\r\nloading_total_bytes:1048576\r\n"
       "loading_eta_seconds:3\r\n",
       "LOADING its data: 35.00% of 1.0M, some 3.0s left", Tone::kWarning},
      {"maxmemory:1048576\r\n", "1.0M of 1.0M", Tone::kWarning},
      {"maxmemory:2097152\r\n", "1.0M of 2.0M", Tone::kPlain},
      {"turn_cpu_us_p999:20000\r\n", "p99.9 20.0ms", Tone::kWarning},
      {"expiry_lateness_ms_p999:150\r\n", "late p99.9 150ms", Tone::kWarning},
      {"locks_restart_grace:1\r\nlocks_restart_grace_left_ms:9000\r\n", "held back for 9.0s",
       Tone::kWarning},
  };
  for (const Row& row : kRows) {
    TopFacts facts = FactsOf();
    facts.info.Add(row.info);
    EXPECT_EQ(ToneOf(Draw({.now = &facts}, {100, 24}, kUtf8).lines, row.text), row.tone)
        << row.text;
  }
}

TEST(Drawing, LocksThatMatterComeFirst) {
  TopFacts facts = FactsOf();
  LockFacts crowd = HeldBy("pool", "a", 100);
  crowd.holders = 3;
  crowd.label = "nightly";
  facts.locks = {HeldBy("by-session", "s", -1),
                 HeldBy("late", "x", 60'000),
                 HeldBy("soon", "x", 900),
                 {.name = std::string(5'000, 'n'), .obstacle = "5000 bytes long"},
                 WaitedFor(HeldBy("short", "x", 500), {{"y", 100, 900}}),
                 WaitedFor(HeldBy("long", "x", 50'000), {{"y", 20'000, 900}}),
                 crowd};
  const std::vector<ScreenLine> lines = Draw({.now = &facts}, {100, 40}, kUtf8).lines;
  std::vector<std::string> names;
  for (const std::string& text : LinesOf(lines)) names.push_back(text.substr(0, text.find(' ')));
  names.erase(names.begin(), std::ranges::find(names, "LOCK") + 1);
  EXPECT_THAT(names, ElementsAre("long", "", "short", "", "pool", "soon", "late", "by-session",
                                 StartsWith("nnnn")));
  EXPECT_EQ(ToneOf(lines, "long "), Tone::kWarning);
  EXPECT_EQ(ToneOf(lines, "short "), Tone::kWarning);
  EXPECT_EQ(ToneOf(lines, "soon "), Tone::kPlain);
  EXPECT_THAT(LinesOf(lines),
              testing::Contains(AllOf(StartsWith("pool "), HasSubstr("a (nightly) and 2 others"))));
  EXPECT_THAT(LinesOf(lines),
              testing::Contains(AllOf(StartsWith("by-session "), HasSubstr("session"))));
  EXPECT_THAT(LinesOf(lines), testing::Contains(HasSubstr("5000 bytes long")));
}

TEST(Drawing, TroubleIsSaidAndWhatWasKnownIsFaint) {
  const TopFacts facts = FactsOf();
  const std::vector<ScreenLine> lines =
      Draw({.now = &facts, .trouble = "10.0.0.1:6379: gone; trying again"}, {}, kUtf8).lines;
  EXPECT_EQ(lines.back(), (ScreenLine{"10.0.0.1:6379: gone; trying again", Tone::kBad}));
  EXPECT_EQ(ToneOf(lines, "clients"), Tone::kFaint);
  EXPECT_EQ(lines.front().tone, Tone::kTitle);

  EXPECT_THAT(Drawn({.trouble = "x: gone"}), ElementsAre("sluice top", "x: gone"));
  TopFacts noted = FactsOf();
  noted.note = "LOCK.LIST: NOPERM";
  EXPECT_THAT(Drawn({.now = &noted}).back(), "LOCK.LIST: NOPERM");
  EXPECT_THAT(Drawn({}), ElementsAre("sluice top"));
}

TEST(Drawing, HostileTextsAreWrittenOut) {
  TopFacts facts = FactsOf();
  facts.info.Add("sluice_version:\x1b[31m\r\nredis_version:\xff\r\n");
  facts.locks = {WaitedFor(HeldBy("a\x1b[2J\nb", "\xe2\x80\xaeowner", 500), {{"w\x07", 1, 2}})};
  facts.slow = {{0, 1, {"SET\x1b", "\r\n"}}};
  facts.note = "LOCK\x9b";
  std::string all;
  for (const std::string& line : Drawn({.now = &facts}, {200, 24})) all += line + '\n';
  for (const char* const text : {"a\\x1b[2J\\nb", "\\u{202e}owner", "w\\x07", "SET\\x1b \\r\\n",
                                 "LOCK\\x9b", "sluice \\x1b[31m", "redis \\xff"})
    EXPECT_THAT(all, HasSubstr(text));
  for (const char* const text : {"\x1b", "\xe2\x80\xae", "\x07", "\r"})
    EXPECT_THAT(all, Not(HasSubstr(text)));
}

// Whatever is known, and however small the screen is, nothing goes beyond it.
TEST(Drawing, AnySizeIsKept) {
  std::mt19937_64 random(TestSeed(2));
  for (int round = 0; round < 500; ++round) {
    TopFacts facts = FactsOf();
    for (size_t i = random() % 30; i > 0; --i) {
      LockFacts lock = HeldBy(std::string(random() % 40, static_cast<char>(random())),
                              std::string(random() % 40, static_cast<char>(random())),
                              static_cast<int64_t>(random() % 100'000) - 1);
      if (random() % 2) lock = WaitedFor(lock, {{"w", 5, 5}, {"v", 4, 4}});
      facts.locks.push_back(lock);
    }
    for (size_t i = random() % 6; i > 0; --i)
      facts.slow.push_back({0, 1, {"GET", std::string(random() % 200, 'x')}});
    const ScreenSize size{ScreenSize::kColumnsLeast + random() % 200,
                          ScreenSize::kRowsLeast + random() % 60};
    TopState state;
    if (random() % 2) state.message = std::string(random() % 300, 'm');
    state.mode = static_cast<TopState::Mode>(random() % 4);
    state.order.name = std::string(random() % 300, '\x01');
    state.selected_at = random() % 40;
    state.window.first = random() % 40;
    TopView view{.now = &facts, .state = random() % 4 ? &state : nullptr};
    if (random() % 4 == 0) view.trouble = std::string(random() % 300, 't');
    const std::vector<ScreenLine> lines = Draw(view, size, kUtf8).lines;
    EXPECT_LE(lines.size(), size.rows);
    for (const ScreenLine& line : lines) {
      // Of these texts a column is at most one character, whatever its bytes are.
      const auto is_first = [](char byte) { return (static_cast<uint8_t>(byte) & 0xc0) != 0x80; };
      EXPECT_LE(std::ranges::count_if(line.text, is_first), size.columns) << line.text;
    }
  }
}

TEST(Drawing, TooSmallAScreenCountsAsTheLeast) {
  const TopFacts facts = FactsOf();
  const ScreenSize least{ScreenSize::kColumnsLeast, ScreenSize::kRowsLeast};
  EXPECT_EQ(Draw({.now = &facts}, {0, 0}, kUtf8).lines, Draw({.now = &facts}, least, kUtf8).lines);
}

}  // namespace
}  // namespace sluice
