// Every limiter algorithm against an exact model, over millions of seeded steps: never one unit too
// many, never one refused that fits, and the announced moments are the true ones.
#include <gtest/gtest.h>

#include "storage/limits/limiter_state.h"
#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

// The announced moments, asked of the state itself: the cost does not fit a moment before, it does
// at that moment; the limiter is not whole a moment before, it is then.
template <typename State>
void CheckMoments(const State& state, const LimitConfig& config, int64_t now_us, int64_t cost,
                  int64_t grain_us) {
  const LimitAnswer answer = state.Ask(config, now_us, cost);
  ASSERT_GE(answer.remaining, 0);
  ASSERT_LE(answer.remaining, config.Capacity());
  ASSERT_EQ(answer.fits, cost <= answer.remaining);
  if (answer.fits) {
    ASSERT_EQ(answer.fits_at_us, now_us);
  } else if (cost > config.Capacity()) {
    ASSERT_EQ(answer.fits_at_us, kNeverUs);
  } else {
    ASSERT_GT(answer.fits_at_us, now_us);
    ASSERT_TRUE(state.Ask(config, answer.fits_at_us, cost).fits);
    if (answer.fits_at_us - grain_us > now_us) {
      ASSERT_FALSE(state.Ask(config, answer.fits_at_us - grain_us, cost).fits);
    }
  }
  if (answer.whole_at_us > now_us) {
    ASSERT_EQ(state.Ask(config, answer.whole_at_us, 1).remaining, config.Capacity());
    ASSERT_LE(state.Ask(config, answer.whole_at_us, 1).whole_at_us, answer.whole_at_us);
    // It does not wobble: asked halfway, the same moment.
    const int64_t halfway = now_us + (answer.whole_at_us - now_us) / 2;
    ASSERT_EQ(state.Ask(config, halfway, 1).whole_at_us, answer.whole_at_us);
  } else {
    ASSERT_EQ(answer.remaining, config.Capacity());
  }
}

constexpr int64_t kTick = 1000;

// `Model` has Remaining(now_us), Admit(now_us, cost) and Refund(now_us, units).
template <typename State, typename Model>
void Compare(const LimitConfig& config, uint64_t seed, int steps, int64_t grain_us) {
  SCOPED_TRACE(testing::Message() << LimitAlgorithmName(config.algorithm) << " max " << config.max
                                  << " period " << config.period_ms << " seed " << seed);
  Dice dice(seed);
  State state{};
  Model model(config);
  int64_t now_us = dice.In(0, 10'000'000);
  int admitted = 0;
  const int64_t pace_us = std::max<int64_t>(1, 2 * config.PeriodUs() / config.max);
  for (int step = 0; step < steps; ++step) {
    if (!dice.OneIn(4)) now_us += dice.In(0, pace_us);
    if (dice.OneIn(50)) now_us += dice.In(0, 3 * config.PeriodUs());
    const int64_t cost =
        dice.OneIn(5) ? dice.In(1, config.Capacity() + 1) : std::min<int64_t>(2, dice.In(1, 3));
    const int64_t remaining = model.Remaining(now_us);
    if (step % 8 == 0) {
      CheckMoments(state, config, now_us, cost, grain_us);
      if (testing::Test::HasFatalFailure()) return;
    }
    if (dice.OneIn(40)) {
      const int64_t units = dice.In(0, config.Capacity() + 3);
      state.Refund(config, now_us, units);
      model.Refund(now_us, units);
      continue;
    }
    const LimitAnswer answer = TakeFrom(state, config, now_us, cost);
    ASSERT_EQ(answer.fits, cost <= remaining) << "step " << step;
    ASSERT_EQ(answer.remaining, remaining - (answer.fits ? cost : 0)) << "step " << step;
    if (answer.fits) model.Admit(now_us, cost);
    admitted += answer.fits ? 1 : 0;
  }
  // Both happened a lot: nothing was proved by an idle limiter.
  ASSERT_GT(admitted, steps / 20);
  ASSERT_LT(admitted, steps - steps / 20);
}

struct WindowModel {
  explicit WindowModel(const LimitConfig& config) : config(config) {}
  bool Open(int64_t now_us) const {
    return opened >= 0 && TickOf(now_us) < opened + config.period_ms;
  }
  int64_t Remaining(int64_t now_us) const { return config.max - (Open(now_us) ? used : 0); }
  void Admit(int64_t now_us, int64_t cost) {
    if (!Open(now_us)) {
      opened = TickOf(now_us);
      used = 0;
    }
    used += cost;
  }
  void Refund(int64_t now_us, int64_t units) {
    if (Open(now_us)) used = std::max<int64_t>(0, used - units);
  }
  LimitConfig config;
  int64_t opened = -1;
  int64_t used = 0;
};

// All admitted requests by window, windows counted from the first one of an unbroken series.
struct SlidingModel {
  explicit SlidingModel(const LimitConfig& config) : config(config) {}
  struct Request {
    int64_t tick;
    int64_t cost;
  };
  void Settle(int64_t now_us) {
    const int64_t tick = TickOf(now_us);
    if (requests.empty()) return;
    const int64_t current = (tick - origin) / config.period_ms;
    const int64_t last = (requests.back().tick - origin) / config.period_ms;
    if (current > last + 1) requests.clear();
  }
  int64_t InWindow(int64_t window) const {
    int64_t sum = 0;
    for (size_t i = requests.size(); i > 0; --i) {
      const int64_t of = (requests[i - 1].tick - origin) / config.period_ms;
      if (of < window) break;
      if (of == window) sum += requests[i - 1].cost;
    }
    return sum;
  }
  int64_t Remaining(int64_t now_us) {
    Settle(now_us);
    if (requests.empty()) return config.max;
    const int64_t elapsed = (TickOf(now_us) - origin) % config.period_ms;
    const int64_t window = (TickOf(now_us) - origin) / config.period_ms;
    // The largest n with previous x (T - e) + (current + n) x T <= max x T.
    const __int128 room =
        static_cast<__int128>(config.max - InWindow(window)) * config.period_ms -
        static_cast<__int128>(InWindow(window - 1)) * (config.period_ms - elapsed);
    return room < 0 ? 0 : static_cast<int64_t>(room / config.period_ms);
  }
  void Admit(int64_t now_us, int64_t cost) {
    if (requests.empty()) origin = TickOf(now_us);
    requests.push_back({TickOf(now_us), cost});
  }
  void Refund(int64_t now_us, int64_t units) {
    Settle(now_us);
    if (requests.empty()) return;
    const int64_t window = (TickOf(now_us) - origin) / config.period_ms;
    while (units > 0 && !requests.empty() &&
           (requests.back().tick - origin) / config.period_ms >= window - 1) {
      const int64_t back = std::min(units, requests.back().cost);
      units -= back;
      requests.back().cost -= back;
      if (requests.back().cost == 0) requests.pop_back();
    }
    if (InWindow(window) == 0 && InWindow(window - 1) == 0) requests.clear();
  }
  LimitConfig config;
  int64_t origin = 0;
  std::vector<Request> requests;
};

// What comes within a tick counts from its end on.
struct LogModel {
  explicit LogModel(const LimitConfig& config) : config(config) {}
  int64_t Remaining(int64_t now_us) const {
    const int64_t tick = TickOf(now_us);
    int64_t sum = 0;
    for (size_t i = units.size(); i > 0 && units[i - 1] > tick - config.period_ms; --i) ++sum;
    return config.max - sum;
  }
  void Admit(int64_t now_us, int64_t cost) {
    units.insert(units.end(), static_cast<size_t>(cost), (now_us + 999) / 1000);
  }
  void Refund(int64_t now_us, int64_t n) {
    for (; n > 0 && !units.empty() && units.back() > TickOf(now_us) - config.period_ms; --n)
      units.pop_back();
  }
  LimitConfig config;
  std::vector<int64_t> units;  // the tick of each single one
};

struct DripModel {
  explicit DripModel(const LimitConfig& config) : tokens(config) {}
  int64_t Remaining(int64_t now_us) {
    tokens.AdvanceTo(now_us);
    return tokens.Remaining();
  }
  void Admit(int64_t, int64_t cost) { ASSERT_TRUE(tokens.Take(cost)); }
  void Refund(int64_t, int64_t units) { tokens.Refund(units); }
  TokenModel tokens;
};

constexpr struct {
  int64_t max, period_ms;
} kRates[] = {{1, 1},  {1, 1000}, {7, 1000},     {10, 60'000},   {100, 1000},
              {3, 10}, {11, 97},  {997, 60'000}, {5, 86'400'000}};

TEST(LimitAlgorithms, WindowAgreesWithItsModel) {
  for (const auto& rate : kRates)
    Compare<WindowState, WindowModel>(Config(LimitAlgorithm::kWindow, rate.max, rate.period_ms),
                                      static_cast<uint64_t>(rate.max), 200'000, kTick);
}

TEST(LimitAlgorithms, SlidingAgreesWithItsModel) {
  for (const auto& rate : kRates)
    Compare<SlidingWindowState, SlidingModel>(
        Config(LimitAlgorithm::kSliding, rate.max, rate.period_ms), static_cast<uint64_t>(rate.max),
        50'000, kTick);
}

TEST(LimitAlgorithms, LogAgreesWithItsModel) {
  for (const auto& rate : kRates)
    Compare<RequestLog, LogModel>(Config(LimitAlgorithm::kLog, rate.max, rate.period_ms),
                                  static_cast<uint64_t>(rate.max), 50'000, kTick);
}

TEST(LimitAlgorithms, RollingAgreesWithItsModel) {
  for (const auto& rate : kRates)
    for (const int64_t burst : {kNotGiven, int64_t{1}, int64_t{20}})
      Compare<RollingState, DripModel>(
          Config(LimitAlgorithm::kRolling, rate.max, rate.period_ms, burst),
          static_cast<uint64_t>(rate.max), 100'000, 1);
  // A thousand million a second, and rates at which the units have 120 bits.
  Compare<RollingState, DripModel>(Config(LimitAlgorithm::kRolling, 1'000'000'000, 1000), 1,
                                   100'000, 1);
  Compare<RollingState, DripModel>(
      Config(LimitAlgorithm::kRolling, kUnitsMax - 3, int64_t{1} << 40), 2, 100'000, 1);
}

TEST(LimitAlgorithms, GcraAgreesWithItsModel) {
  for (const auto& rate : kRates)
    for (const int64_t burst : {kNotGiven, int64_t{1}, int64_t{15}})
      Compare<GcraState, DripModel>(Config(LimitAlgorithm::kGcra, rate.max, rate.period_ms, burst),
                                    static_cast<uint64_t>(rate.max), 100'000, 1);
}

// A bucket that is never full gives the n-th unit beyond its capacity at ceil(n / 7 s), be it the
// seven millionth: not one µs is lost or won on the way.
TEST(LimitAlgorithms, SevenASecondStaysExactForEver) {
  const LimitConfig config = Config(LimitAlgorithm::kRolling, 7, 1000);
  RollingState state;
  ASSERT_TRUE(TakeFrom(state, config, 0, 7).fits);
  int64_t now_us = 0;
  for (int64_t n = 1; n <= 3'000'000; ++n) {
    const LimitAnswer refused = TakeFrom(state, config, now_us, 1);
    ASSERT_FALSE(refused.fits);
    ASSERT_EQ(refused.fits_at_us, (n * 1'000'000 + 6) / 7);
    now_us = refused.fits_at_us;
    ASSERT_TRUE(TakeFrom(state, config, now_us, 1).fits);
  }
}

}  // namespace
}  // namespace sluice
