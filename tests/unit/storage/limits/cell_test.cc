// CL.THROTTLE's arithmetic: known answers of redis-cell, its own words in plain 128-bit sums as a
// model, and the numbers at which the module wraps around.
#include "storage/limits/cell.h"

#include <gtest/gtest.h>

#include "tests/unit/storage/limits/limit_model.h"

namespace sluice {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

// A key, as the handler keeps one.
struct Key {
  CellAnswer Take(const CellRequest& request, int64_t now_ns) {
    CellAnswer answer;
    if (tat.has_value() && now_ns >= gone_at) tat.reset();
    EXPECT_EQ(TakeCell(request, tat, now_ns, &answer), CellFault::kNone);
    if (answer.stored) {
      tat = answer.new_tat_ns;
      gone_at = now_ns + answer.ttl_ms * 1'000'000;
      if (answer.ttl_ms <= 0) tat.reset();
    }
    return answer;
  }
  std::optional<int64_t> tat;
  int64_t gone_at = 0;
};

void ExpectAnswer(const CellAnswer& answer, bool limited, int64_t limit, int64_t remaining,
                  int64_t retry, int64_t reset) {
  EXPECT_EQ(answer.limited, limited);
  EXPECT_EQ(answer.limit, limit);
  EXPECT_EQ(answer.remaining, remaining);
  EXPECT_EQ(answer.retry_after_s, retry);
  EXPECT_EQ(answer.reset_after_s, reset);
}

TEST(Cell, AnswersAsTheModuleDoes) {
  Key key;
  const CellRequest request{15, 30, CellPeriodNs(60), 1};  // the example of its README
  ExpectAnswer(key.Take(request, kNow), false, 16, 15, -1, 2);
  for (int i = 0; i < 15; ++i) EXPECT_FALSE(key.Take(request, kNow).limited);
  ExpectAnswer(key.Take(request, kNow), true, 16, 0, 2, 32);
  ExpectAnswer(key.Take(request, kNow + kSecond), true, 16, 0, 1, 31);
  ExpectAnswer(key.Take(request, kNow + 2 * kSecond), false, 16, 0, -1, 32);
  CellRequest peek = request;
  peek.quantity = 0;
  ExpectAnswer(key.Take(peek, kNow + 2 * kSecond), false, 16, 0, -1, 32);
  CellRequest back = request;
  back.quantity = -4;
  ExpectAnswer(key.Take(back, kNow + 2 * kSecond), false, 16, 4, -1, 24);
  CellRequest never = request;
  never.quantity = 17;
  ExpectAnswer(key.Take(never, kNow + 2 * kSecond), true, 16, 4, -1, 24);
}

TEST(Cell, RefusesOrDeniesOddNumbers) {
  CellAnswer answer;
  EXPECT_EQ(TakeCell({1, 0, CellPeriodNs(1), 1}, {}, kNow, &answer), CellFault::kZeroRate);
  EXPECT_EQ(TakeCell({1, 1, 0, 1}, {}, kNow, &answer), CellFault::kZeroRate);
  EXPECT_EQ(TakeCell({1, 2 * kSecond, CellPeriodNs(1), 1}, {}, kNow, &answer), CellFault::kTooFast);
  for (const CellRequest& request :
       {CellRequest{-5, 1, CellPeriodNs(1), 1}, CellRequest{-5, -1, CellPeriodNs(1), 1},
        CellRequest{-5, 1, CellPeriodNs(-1), 1}}) {
    ASSERT_EQ(TakeCell(request, {}, kNow, &answer), CellFault::kNone);
    ExpectAnswer(answer, true, -4, 0, -1, 0);
    EXPECT_FALSE(answer.stored);
  }
  // 10^9 a second is the fastest; its numbers are exact.
  ASSERT_EQ(TakeCell({0, kSecond, CellPeriodNs(1), 1}, {}, kNow, &answer), CellFault::kNone);
  EXPECT_EQ(answer.new_tat_ns, kNow + 1);
  // Where 64 bits would wrap: exact where the answer fits, an error where it does not.
  ASSERT_EQ(TakeCell({kInt64Max - 1, 1, CellPeriodNs(1), 1}, {}, kNow, &answer), CellFault::kNone);
  EXPECT_EQ(answer.remaining, kInt64Max - 1);
  EXPECT_EQ(TakeCell({kInt64Max - 1, 1, CellPeriodNs(1), kInt64Max}, {}, kNow, &answer),
            CellFault::kOverflow);
  EXPECT_EQ(TakeCell({kInt64Max, 1, CellPeriodNs(1), 1}, {}, kNow, &answer), CellFault::kOverflow);
  EXPECT_EQ(TakeCell({kInt64Max - 1, 1, CellPeriodNs(kInt64Max), 1}, {}, kNow, &answer),
            CellFault::kOverflow);
  ASSERT_EQ(TakeCell({1, 1, CellPeriodNs(1), kInt64Max}, {}, kNow, &answer), CellFault::kNone);
  ExpectAnswer(answer, true, 2, 2, -1, 0);
  EXPECT_EQ(
      TakeCell({0, 1, CellPeriodNs(1), std::numeric_limits<int64_t>::min()}, {}, kNow, &answer),
      CellFault::kOverflow);
}

// The module's source, line by line, with nothing that could wrap.
TEST(Cell, AgreesWithTheModulesSource) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    Key key;
    const CellRequest rule{dice.In(0, 20), dice.In(1, 200), CellPeriodNs(dice.In(1, 100)), 1};
    const __int128 e = rule.period_ns / rule.count;
    const __int128 tolerance = e * (rule.max_burst + 1);
    int64_t now = kNow;
    for (int step = 0; step < 25'000; ++step) {
      now += dice.In(0, static_cast<int64_t>(3 * e));
      CellRequest request = rule;
      request.quantity = dice.In(-1, 4);
      __int128 tat = now;
      if (key.tat.has_value() && now < key.gone_at) tat = *key.tat;
      const __int128 increment = e * request.quantity;
      const __int128 allow_at = std::max<__int128>(now, tat) + increment - tolerance;
      const bool limited = now < allow_at;
      const __int128 ttl = limited ? tat - now : allow_at + tolerance - now;
      const CellAnswer answer = key.Take(request, now);
      ASSERT_EQ(answer.limited, limited);
      ASSERT_EQ(answer.remaining, tolerance - ttl > -e ? int64_t((tolerance - ttl) / e) : 0);
      const int64_t wait_ms = static_cast<int64_t>((allow_at - now) / 1'000'000);
      ASSERT_EQ(answer.retry_after_s,
                limited && increment <= tolerance ? (wait_ms + 999) / 1000 : -1);
      if (limited && increment <= tolerance) {  // a peek at that moment: it would be allowed
        CellAnswer later;
        ASSERT_EQ(TakeCell(request, key.tat, int64_t(allow_at), &later), CellFault::kNone);
        ASSERT_FALSE(later.limited);
        ASSERT_EQ(TakeCell(request, key.tat, int64_t(allow_at) - 1, &later), CellFault::kNone);
        ASSERT_TRUE(later.limited);
      }
    }
  }
}

TEST(Cell, ReadsFractionalPeriods) {
  const struct {
    std::string_view text;
    int64_t ns;
  } kCases[] = {{"1", kSecond},        {"1.0", kSecond}, {"1.5", 1'500'000'000},
                {"0.25", 250'000'000}, {"-1", -kSecond}, {"2.1234567899", 2'123'456'789}};
  for (const auto& [text, ns] : kCases) {
    const auto parsed = ParseCellPeriodNs(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(int64_t(*parsed), ns) << text;
  }
  for (const std::string_view text :
       {"", ".", "1.", ".5", "1e3", " 1", "1 ", "1.5x", "nan", "inf", "+1", "9223372036854775808"})
    EXPECT_FALSE(ParseCellPeriodNs(text).has_value()) << text;
}

}  // namespace
}  // namespace sluice
