// Numbers against tables taken from redis-server 7.0.15, and against libc over random texts.
#include "protocol/text/number_text.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cfloat>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace sluice {
namespace {

using namespace std::string_view_literals;

TEST(ParseInt64, Table) {
  const struct {
    std::string_view text;
    std::optional<int64_t> value;
  } rows[] = {
      {"0", 0},
      {"1", 1},
      {"-1", -1},
      {"10", 10},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775808", std::nullopt},
      {"-9223372036854775809", std::nullopt},
      {"9999999999999999999", std::nullopt},
      {"18446744073709551617", std::nullopt},
      {"99999999999999999999", std::nullopt},
      {"", std::nullopt},
      {"-", std::nullopt},
      {"-0", std::nullopt},
      {"00", std::nullopt},
      {"01", std::nullopt},
      {"-01", std::nullopt},
      {"+1", std::nullopt},
      {" 1", std::nullopt},
      {"1 ", std::nullopt},
      {"1\0"sv, std::nullopt},
      {"1a", std::nullopt},
      {"--1", std::nullopt},
      {"0x1", std::nullopt},
      {"1.0", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(ParseInt64(row.text), row.value) << row.text;
}

TEST(ParseUint64, Table) {
  const struct {
    std::string_view text;
    std::optional<uint64_t> value, cursor;
  } rows[] = {
      {"0", 0, 0},
      {"", std::nullopt, 0},
      {" 0", 0, std::nullopt},
      {"+0", 0, 0},
      {"00", 0, 0},
      {"0 ", std::nullopt, std::nullopt},
      {"-", std::nullopt, std::nullopt},
      {"+", std::nullopt, std::nullopt},
      {"+-1", std::nullopt, std::nullopt},
      {"-1", std::nullopt, UINT64_MAX},
      {"-01", UINT64_MAX, UINT64_MAX},
      {"18446744073709551615", UINT64_MAX, UINT64_MAX},
      {"18446744073709551616", std::nullopt, std::nullopt},
      {"-18446744073709551616", std::nullopt, std::nullopt},
      {"7\0a"sv, 7, 7},
      {"0000000000000000000000000000000000000007", 7, 7},
      {"7a", std::nullopt, std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ParseUint64(row.text), row.value) << row.text;
    EXPECT_EQ(ParseCursor(row.text), row.cursor) << row.text;
  }
}

TEST(ParseDouble, Table) {
  const double inf = std::numeric_limits<double>::infinity();
  const struct {
    std::string_view text;
    std::optional<double> value;
  } rows[] = {
      {"0", 0.0},
      {"-0", -0.0},
      {"3.25", 3.25},
      {"+5", 5.0},
      {".5", 0.5},
      {"5.", 5.0},
      {"1e3", 1000.0},
      {"1E+3", 1000.0},
      {"0x10", 16.0},
      {"-0X1.8p1", -3.0},
      {"5e-324", 5e-324},
      {"1e-310", 1e-310},
      {"inf", inf},
      {"+inf", inf},
      {"-INF", -inf},
      {"Infinity", inf},
      {"1e400", std::nullopt},
      {"-1e400", std::nullopt},
      {"1e-400", std::nullopt},
      {"", std::nullopt},
      {".", std::nullopt},
      {"-", std::nullopt},
      {"nan", std::nullopt},
      {"-nan", std::nullopt},
      {"nan(1)", std::nullopt},
      {" 1", std::nullopt},
      {"1 ", std::nullopt},
      {"1\0"sv, std::nullopt},
      {"1e", std::nullopt},
      {"0x", std::nullopt},
      {"0x-1", std::nullopt},
      {"0xinf", std::nullopt},
      {"0x0x1", std::nullopt},
      {"--1", std::nullopt},
      {"+-1", std::nullopt},
      {"-+1", std::nullopt},
      {"infinit", std::nullopt},
      {"1_0", std::nullopt},
      {"1,5", std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ParseDouble(row.text), row.value) << row.text;
    if (row.text.find("e-") == std::string_view::npos && row.text.find("e4") == row.text.npos) {
      EXPECT_EQ(ParseLongDouble(row.text).has_value(), row.value.has_value()) << row.text;
    }
  }
  EXPECT_TRUE(std::signbit(*ParseDouble("-0")));
  EXPECT_EQ(ParseLongDouble("1e400"), 1e400L);
  EXPECT_EQ(ParseLongDouble(std::string(kLongDoubleTextMax - 1, '0')), 0.0L);
  EXPECT_FALSE(ParseLongDouble(std::string(kLongDoubleTextMax, '0')));
  EXPECT_FALSE(ParseLongDouble(std::string(5000, '9')));  // beyond a long double
}

// string2d as Redis writes it, for texts that strtod ends with a NUL.
std::optional<double> RedisString2d(const std::string& text) {
  char* end;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || std::isspace(text[0]) ||
      static_cast<size_t>(end - text.c_str()) != text.size() ||
      (errno == ERANGE && (std::isinf(value) || value == 0)) || std::isnan(value)) {
    return std::nullopt;
  }
  return value;
}

TEST(ParseStrtod, TakesWhatStrtodTakesToTheEnd) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ParseStrtod(""), 0);
  EXPECT_EQ(ParseStrtod("  1.5"), 1.5);
  EXPECT_EQ(ParseStrtod("+inf"), kInf);
  EXPECT_EQ(ParseStrtod("1e400"), kInf);
  EXPECT_EQ(ParseStrtod("-1e400"), -kInf);
  EXPECT_EQ(ParseStrtod("1e-400"), 0);
  EXPECT_EQ(ParseStrtod("0x10"), 16);
  EXPECT_EQ(ParseStrtod(std::string_view("1\0x", 3)), 1);
  for (const std::string_view text : {"nan", " ", "1 ", "(1", "1x", "--1", "-"}) {
    EXPECT_EQ(ParseStrtod(text), std::nullopt) << text;
  }
}

TEST(ParseDouble, AgreesWithStrtodOnRandomTexts) {
  std::mt19937_64 random(1);
  constexpr std::string_view kPieces[] = {"1",  "0", "9", "23", ".",   "e",   "E1", "-",   "+",
                                          "0x", "p", "a", " ",  "inf", "nan", "17", "308", "324"};
  int valid = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string text;
    for (size_t n = random() % 6; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    const std::optional<double> expected = RedisString2d(text);
    valid += expected.has_value();
    ASSERT_EQ(ParseDouble(text), expected) << text;
  }
  EXPECT_GT(valid, 10000);
}

TEST(FormatDouble, AgreesWithPrintf) {
  const auto expect_same = [](double value) {
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.17g", value);
    ASSERT_EQ(DoubleText(value), expected);
    ASSERT_EQ(ParseDouble(DoubleText(value)), value);
  };
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             9.0,
                             10.0,
                             3.3,
                             0.1,
                             1e15,
                             1e16,
                             1e17,
                             1e21,
                             9007199254740992.0,
                             9007199254740994.0,
                             -9007199254740993.0,
                             5e-324,
                             DBL_MAX,
                             -DBL_MAX,
                             DBL_MIN,
                             1e-5,
                             1e-4,
                             123456789.125,
                             static_cast<double>(INFINITY),
                             -static_cast<double>(INFINITY)}) {
    expect_same(value);
  }
  EXPECT_EQ(DoubleText(NAN), "nan");
  EXPECT_EQ(DoubleText(-NAN), "-nan");
  std::mt19937_64 random(2);
  for (int round = 0; round < 50000; ++round) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isnan(value)) expect_same(value);
    expect_same(static_cast<double>(static_cast<int64_t>(bits >> (bits % 64))));
    expect_same(static_cast<double>(static_cast<int64_t>(bits % 100000000)) / 1000);
  }
}

TEST(FormatInt64, AgreesWithParse) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50000; ++round) {
    const auto value = static_cast<int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(Int64Text(value), std::to_string(value));
    ASSERT_EQ(ParseInt64(Int64Text(value)), value);
  }
  EXPECT_EQ(Int64Text(INT64_MIN).size(), kInt64TextMax);
}

// Every length, both ways, against the standard library's.
TEST(FormatInt64, AgreesWithToChars) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300'000; ++i) {
    auto value = static_cast<int64_t>(random() >> (random() % 64));
    if (i % 3 == 0) value = -value;
    char expected[32];
    const std::string_view text(expected, std::to_chars(expected, std::end(expected), value).ptr);
    char written[32];
    ASSERT_EQ(std::string_view(written, FormatInt64(written, value)), text);
    ASSERT_EQ(ParseInt64(text), value);
  }
}

// Short texts are read as one word: none of their bytes may be overlooked.
TEST(ParseInt64, RefusesAnyByteThatIsNoDigit) {
  for (size_t length = 1; length <= 9; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, '7');
        text[at] = static_cast<char>(byte);
        const bool zero_first = text[0] == '0' && length > 1;
        const bool minus_first = text[0] == '-' && length > 1;
        const bool valid = (byte >= '0' && byte <= '9' && !zero_first) || (at == 0 && minus_first);
        ASSERT_EQ(ParseInt64(text).has_value(), valid) << length << " " << at << " " << byte;
      }
    }
  }
}

TEST(HumanLongDoubleText, Table) {
  const struct {
    long double value;
    std::string_view text;
  } rows[] = {
      {0.0L, "0"},
      {-0.0L, "0"},
      {3.0L, "3"},
      {3.10L, "3.1"},
      {-5000.5L, "-5000.5"},
      {1e-20L, "0"},
      {-1e-20L, "0"},
      {10000.0L, "10000"},
      {0.00000000000000001L, "0.00000000000000001"},
      {10.6L, "10.6"},
      {1e20L, "100000000000000000000"},
  };
  for (const auto& row : rows) EXPECT_EQ(HumanLongDoubleText(row.value), row.text);
  EXPECT_EQ(HumanLongDoubleText(INFINITY), "inf");
  EXPECT_EQ(HumanLongDoubleText(-INFINITY), "-inf");
  EXPECT_EQ(HumanLongDoubleText(NAN), "nan");
  EXPECT_EQ(HumanLongDoubleText(LDBL_MAX).size(), 4933u);
}

// ld2string as Redis writes it.
TEST(HumanLongDoubleText, AgreesWithPrintf) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20000; ++round) {
    const long double value =
        std::ldexp(static_cast<long double>(static_cast<int64_t>(random())), random() % 200 - 130);
    char buffer[kLongDoubleTextMax];
    std::string expected(buffer, std::snprintf(buffer, sizeof buffer, "%.17Lf", value));
    while (expected.back() == '0') expected.pop_back();
    if (expected.back() == '.') expected.pop_back();
    ASSERT_EQ(HumanLongDoubleText(value), expected == "-0" ? "0" : expected);
  }
}

}  // namespace
}  // namespace sluice
