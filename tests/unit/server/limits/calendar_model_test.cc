// CALENDAR limiters as keys, a million random requests over daylight saving, leap days, months,
// set clocks and hand-overs, against two numbers a key: the end of its window and what is used.
// Another server hears of each request that takes as the log tells it, without any zone, and has
// another clock since its start; now and then it takes over, as after a restart.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/limits/calendars.h"
#include "server/system/zone_files.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/limiter_key.h"
#include "tests/support/manual_clock.h"
#include "tests/support/null_observer.h"
#include "tests/support/seed.h"
#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

constexpr int kRequests = 1'000'000;
constexpr int64_t kMax = 7;
constexpr int64_t kBeginMs = 1'700'000'000'000;  // 14 November 2023
constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kUnused = INT64_MIN;

constexpr std::pair<CalendarTerms, const char*> kCalendars[] = {
    {{CalendarUnit::kMinute, 0}, "UTC"},
    {{CalendarUnit::kHour, 0}, "Australia/Lord_Howe"},
    {{CalendarUnit::kHour, 0}, "Asia/Kathmandu"},
    {{CalendarUnit::kDay, 0}, "Europe/Berlin"},
    {{CalendarUnit::kDay, 2}, "America/New_York"},
    {{CalendarUnit::kDay, 23}, "America/Havana"},
    {{CalendarUnit::kWeek, 1}, "Africa/Casablanca"},
    {{CalendarUnit::kWeek, 7}, "Asia/Beirut"},
    {{CalendarUnit::kMonth, 1}, "America/St_Johns"},
    {{CalendarUnit::kMonth, 29}, "UTC"},
    {{CalendarUnit::kMonth, 31}, "Pacific/Apia"},
};
constexpr size_t kKeys = std::size(kCalendars);

// A server that was started at its own moment.
class Place {
 public:
  explicit Place(int64_t started_ms) : clock_(kBeginMs - started_ms), wheel_(started_ms) {
    clock_.Advance(started_ms);
  }
  Now now() { return clock_.Sample(); }
  LimiterKey At(size_t key) { return {keyspace_.db(0), keyspace_.Hash(names_.at(key)), now()}; }
  void Move(int64_t ms) {
    clock_.Advance(ms);
    RunTimers();
  }
  void Set(int64_t ms) {
    clock_.StepWall(ms);
    keyspace_.WallStepped();
    while (keyspace_.RearmSlice(now(), kKeys)) {
    }
    RunTimers();
  }
  std::string Audit() { return keyspace_.Audit(now()); }

 private:
  static std::vector<std::string> NamesOfKeys() {
    std::vector<std::string> names;
    for (size_t key = 0; key < kKeys; ++key) names.push_back(Concat("key:", key));
    return names;
  }
  void RunTimers() {
    wheel_.Advance(now().ms(), SIZE_MAX,
                   [this](TimerNode& node) { keyspace_.TimerFired(node, now()); });
  }

  ManualClock clock_;
  NullObserver observer_;
  TimerWheel wheel_;
  Keyspace keyspace_{2, SipKey{7}, wheel_, observer_};
  const std::vector<std::string> names_ = NamesOfKeys();  // views of them are handed out
};

class CalendarModel {
 public:
  CalendarModel() {
    for (size_t i = 0; i < kKeys; ++i) {
      const CalendarUnit unit = kCalendars[i].first.unit;
      configs_[i] = Config(LimitAlgorithm::kCalendar, kMax, CalendarPeriodMs(unit));
      configs_[i].calendar = calendars_.Find(kCalendars[i].first, kCalendars[i].second).calendar;
    }
  }

  // One step of each kind, by chance.
  void Step() {
    const size_t key = static_cast<size_t>(dice_.In(0, kKeys - 1));
    const int64_t kind = dice_.In(1, 100);
    if (kind <= 70) return Take(key, dice_.In(1, kMax + 1));
    if (kind <= 80) return Refund(key, dice_.In(0, kMax + 1));
    if (kind <= 97) return Move();
    if (kind == 98) Set(dice_.OneIn(2) ? dice_.In(-3'600'000, 3'600'000) : dice_.In(-3, 3));
    if (dice_.OneIn(100)) Set(dice_.In(-3 * kDayMs, 3 * kDayMs));
    if (dice_.OneIn(50)) HandOver();
  }

  bool all_read() const {
    return std::ranges::all_of(configs_, [](const LimitConfig& config) { return config.calendar; });
  }
  int allowed() const { return allowed_; }
  int refused() const { return refused_; }
  int64_t unix_ms() { return leader_->now().unix_ms(); }

 private:
  struct Window {
    int64_t end_ms = kUnused;  // none is open
    int64_t used = 0;
  };

  void Take(size_t key, int64_t cost) {
    const int64_t at_ms = unix_ms();
    Window& window = windows_[key];
    const bool fits = window.used + cost <= kMax;
    const LimitVerdict peeked = leader_->At(key).Peek(configs_[key], cost);
    const LimitVerdict verdict = leader_->At(key).Take({configs_[key], cost});
    ASSERT_EQ(peeked.allowed, fits);
    ASSERT_EQ(verdict.allowed, fits) << key << " at " << at_ms;
    (fits ? allowed_ : refused_) += 1;
    if (fits) Tell(key, cost, at_ms);
    ASSERT_EQ(verdict.remaining, kMax - window.used);
    if (window.end_ms == kUnused) return;
    ASSERT_EQ(verdict.reset_at_ms, window.end_ms) << key << " at " << at_ms;
    ASSERT_EQ(verdict.reset_ms, window.end_ms - at_ms);
    const int64_t retry_ms = fits ? 0 : cost > kMax ? -1 : window.end_ms - at_ms;
    ASSERT_EQ(verdict.retry_ms, retry_ms);
  }

  // What the log says of a request that has taken.
  void Tell(size_t key, int64_t cost, int64_t at_ms) {
    Window& window = windows_[key];
    LimitConfig logged = configs_[key];
    logged.calendar = nullptr;
    logged.window_end_ms = configs_[key].calendar->EndMs(at_ms);
    if (window.end_ms == kUnused) window.end_ms = logged.window_end_ms;
    window.used += cost;
    ASSERT_TRUE(follower_->At(key).Take({logged, cost}).allowed);
  }

  void Refund(size_t key, int64_t units) {
    for (Place* const place : {leader_.get(), follower_.get()}) {
      LimiterKey limiter = place->At(key);
      ASSERT_EQ(limiter.exists(), windows_[key].end_ms != kUnused) << key;
      if (limiter.exists()) limiter.Refund(units);
    }
    Window& window = windows_[key];
    window.used -= std::min(units, window.used);
  }

  // By ms, minutes or days, and half of the longer ones up to about the end of a window.
  void Move() {
    constexpr int64_t kSpans[] = {100, 100'000, 2 * kDayMs};
    int64_t ms = dice_.In(0, kSpans[dice_.OneIn(200) ? 2 : dice_.In(0, 1)]);
    const Window& window = windows_[static_cast<size_t>(dice_.In(0, kKeys - 1))];
    if (dice_.OneIn(20) && window.end_ms != kUnused)
      ms = std::max<int64_t>(0, window.end_ms - unix_ms() - dice_.In(0, 2));
    leader_->Move(ms);
    follower_->Move(ms);
    EndWindows();
  }

  void Set(int64_t ms) {
    leader_->Set(ms);
    follower_->Set(ms);
    EndWindows();
  }

  void EndWindows() {
    for (Window& window : windows_)
      if (window.end_ms <= unix_ms()) window = {};
  }

  void HandOver() {
    for (size_t key = 0; key < kKeys; ++key) {
      const LimiterKey here = leader_->At(key);
      const LimiterKey there = follower_->At(key);
      ASSERT_EQ(here.exists(), windows_[key].end_ms != kUnused) << key;
      ASSERT_EQ(there.exists(), here.exists()) << key;
      if (!here.exists()) continue;
      ASSERT_EQ(there.Info().used, windows_[key].used);
      ASSERT_EQ(there.Info().reset_at_ms, windows_[key].end_ms);
    }
    ASSERT_EQ(leader_->Audit(), "");
    ASSERT_EQ(follower_->Audit(), "");
    std::swap(leader_, follower_);
  }

  Dice dice_{TestSeed(42)};
  ZoneFiles files_{std::chrono::seconds(60)};
  Calendars calendars_{&files_};
  std::array<LimitConfig, kKeys> configs_;
  std::array<Window, kKeys> windows_;
  std::unique_ptr<Place> leader_ = std::make_unique<Place>(0);
  std::unique_ptr<Place> follower_ = std::make_unique<Place>(987'654'321);
  int allowed_ = 0, refused_ = 0;
};

TEST(CalendarModel, AgreesOverAMillionRequests) {
  CalendarModel model;
  ASSERT_TRUE(model.all_read());
  for (int i = 0; i < kRequests; ++i) {
    model.Step();
    if (HasFatalFailure()) FAIL() << "step " << i;
  }
  EXPECT_GT(model.allowed(), kRequests / 10);
  EXPECT_GT(model.refused(), kRequests / 10);
  EXPECT_GT(model.unix_ms(), kBeginMs + 800 * kDayMs) << "too few years to see a leap day";
}

}  // namespace
}  // namespace sluice
