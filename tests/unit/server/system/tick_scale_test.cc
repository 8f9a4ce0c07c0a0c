// A counter's ticks as ns of a clock: close to the clock after a second, and never back.
#include "server/system/tick_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace sluice {
namespace {

constexpr int64_t kSecond = TickScale::kSecond;

// A counter of `rate` ticks a ns, as seen through a scale.
class Counter {
 public:
  explicit Counter(double rate) : rate_(rate) {}

  // Lets time pass, and asks as SystemClock does.
  int64_t After(int64_t ns) {
    now_ns_ += ns;
    ticks_ += static_cast<double>(ns) * rate_;
    const auto ticks = static_cast<uint64_t>(ticks_);
    if (!scale_.Covers(ticks)) scale_.Note({ticks, now_ns_});
    return scale_.is_known() ? scale_.Nanos(ticks) : scale_.FromClock(now_ns_);
  }
  void set_rate(double rate) { rate_ = rate; }
  void Sleep(int64_t ns) { ticks_ += static_cast<double>(ns) * rate_; }  // the clock stands still
  void BeginAgain() { ticks_ = 0; }
  int64_t now_ns() const { return now_ns_; }
  const TickScale& scale() const { return scale_; }

 private:
  double rate_;
  double ticks_ = 1e12;
  int64_t now_ns_ = 5 * kSecond;
  TickScale scale_;
};

TEST(TickScale, IsTheClockForASecondAndCloseToItFromThenOn) {
  for (const double rate : {0.024, 1.0, 2.1, 5.3}) {
    Counter counter(rate);
    const int64_t at_once = counter.After(0);
    EXPECT_EQ(at_once, counter.now_ns());
    const int64_t later = counter.After(kSecond - 1);
    EXPECT_EQ(later, counter.now_ns());
    EXPECT_FALSE(counter.scale().is_known());
    for (int i = 0; i < 300; ++i) {
      const int64_t answer = counter.After(kSecond / 10);
      EXPECT_LT(std::abs(answer - counter.now_ns()), 1000) << rate;
    }
    EXPECT_TRUE(counter.scale().is_known());
  }
}

// By what a clock is slewed, and what a reading is off.
TEST(TickScale, FollowsAClockThatDriftsAndNeverGoesBack) {
  std::mt19937_64 random(7);
  Counter counter(2.0);
  int64_t last = 0;
  for (int i = 0; i < 20'000; ++i) {
    counter.set_rate(2.0 + 0.0008 * std::sin(i / 500.0));
    const int64_t answer = counter.After(static_cast<int64_t>(random() % (kSecond / 50)));
    ASSERT_GE(answer, last);
    ASSERT_LT(std::abs(answer - counter.now_ns()), kSecond / 1000);
    last = answer;
  }
}

// The machine slept while the counter ran on, or was moved to another one: measured anew.
TEST(TickScale, MeasuresAnewWhereTheCounterIsAnother) {
  Counter counter(2.0);
  int64_t last = 0;
  const auto run = [&](int seconds) {
    for (int i = 0; i < seconds * 10; ++i) {
      const int64_t before = counter.now_ns();
      const int64_t answer = counter.After(kSecond / 10);
      ASSERT_GE(answer, last);
      if (i > 0) {
        EXPECT_LT(std::abs(answer - last - (counter.now_ns() - before)), kSecond / 1000);
      }
      last = answer;
    }
  };
  run(3);
  counter.Sleep(3600 * kSecond);
  run(5);
  counter.set_rate(3.0);
  counter.After(2 * kSecond);
  last = counter.After(0);
  run(5);
  counter.BeginAgain();
  last = counter.After(1);
  run(5);
}

}  // namespace
}  // namespace sluice
