// Options read from a table: which words are options, and which fault is the first.
#include "server/commands/shared/option_table.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

enum class Order : uint8_t { kNone, kUp, kDown };

struct Options {
  bool stores = false;  // STORE is an option
  bool raised = false;
  Order order = Order::kNone;
  int64_t count = -1;
  std::string_view store;
  bool operator==(const Options&) const = default;
};

constexpr OptionRow<Options> kOptions[] = {
    {"RAISE", kRaise<&Options::raised>},
    {"UP", kAssign<&Options::order, Order::kUp>, 0,
     [](const Options& before) { return before.order == Order::kNone; }},
    {"DOWN", kAssign<&Options::order, Order::kDown>},
    {"COUNT",
     [](ArgReader& args, Options& options) {
       options.count = args.Int();
       if (options.count < 1) args.Fail("ERR too few");
     },
     1},
    {"STORE", kTakeBytes<&Options::store>, 1,
     [](const Options& options) { return options.stores; }},
    {"LONGESTOFALL", kAssign<&Options::order, Order::kUp>},
};

using Read = void (*)(ArgReader&, Options&);
constexpr Read kAny = [](ArgReader& args, Options& options) {
  ReadOptions(args, kOptions, options);
};
constexpr Read kOnce = [](ArgReader& args, Options& options) {
  ReadOptionsOnce(args, kOptions, options);
};
constexpr Read kAnyKnown = [](ArgReader& args, Options& options) {
  ReadOptions<kOptions>(args, options);
};
constexpr Read kOnceKnown = [](ArgReader& args, Options& options) {
  ReadOptionsOnce<kOptions>(args, options);
};

// The error, or empty.
std::string OptionFault(const std::vector<std::string_view>& words, Options& options,
                        Read read = kAny) {
  ArgReader args(words, 0);
  read(args, options);
  return args.failed() ? std::string(args.error()) : "";
}
std::string OptionFault(const std::vector<std::string_view>& words, Read read = kAny) {
  Options options;
  return OptionFault(words, options, read);
}

constexpr std::string_view kSyntaxFault = "ERR syntax error";

TEST(OptionTable, TakesOptionsInAnyOrderAndCase) {
  Options options{.stores = true};
  EXPECT_EQ(OptionFault({"store", "count", "COUNT", "7", "Raise", "down"}, options), "");
  EXPECT_TRUE(options.raised);
  EXPECT_EQ(options.order, Order::kDown);
  EXPECT_EQ(options.count, 7);
  EXPECT_EQ(options.store, "count");
  EXPECT_EQ(OptionFault({}), "");
}

TEST(OptionTable, WhatIsNoOptionHereIsASyntaxError) {
  EXPECT_EQ(OptionFault({"RAIS"}), kSyntaxFault);
  EXPECT_EQ(OptionFault({"COUNT"}), kSyntaxFault);       // without its value
  EXPECT_EQ(OptionFault({"STORE", "k"}), kSyntaxFault);  // not of this command
  EXPECT_EQ(OptionFault({"UP"}), "");
  EXPECT_EQ(OptionFault({"DOWN", "UP"}), kSyntaxFault);  // not behind the other
}

TEST(OptionTable, TheFirstFaultCounts) {
  EXPECT_EQ(OptionFault({"COUNT", "0", "WHAT"}), "ERR too few");
  EXPECT_EQ(OptionFault({"COUNT", "x", "COUNT", "0"}),
            "ERR value is not an integer or out of range");
  EXPECT_EQ(OptionFault({"WHAT", "COUNT", "0"}), kSyntaxFault);
}

TEST(OptionTable, OfTwoTheLastCountsUnlessOnceIsEnough) {
  Options options;
  EXPECT_EQ(OptionFault({"COUNT", "1", "COUNT", "2"}, options), "");
  EXPECT_EQ(options.count, 2);
  EXPECT_EQ(OptionFault({"COUNT", "1", "RAISE"}, kOnce), "");
  EXPECT_EQ(OptionFault({"COUNT", "1", "COUNT", "2"}, kOnce), kSyntaxFault);
  EXPECT_EQ(OptionFault({"COUNT", "1", "COUNT", "0"}, kOnce), kSyntaxFault);
}

// A table that the compiler knows is read as any other.
TEST(OptionTable, ReadsAKnownTableAlike) {
  const std::vector<std::vector<std::string_view>> kRequests = {
      {"store", "count", "COUNT", "7", "Raise", "down"},
      {},
      {"RAIS"},
      {"RAISED"},
      {"R@ISE"},
      {"rAISe"},
      {""},
      {"COUNT"},
      {"cOUNT", "5"},
      {"STORE", "k"},
      {"up"},
      {std::string_view("UP\0", 3)},
      {"U\x10"},
      {"DOWN", "UP"},
      {"longestofall", "UP"},
      {"LONGESTOFALL"},
      {"LONGESTOFALX"},
      {"COUNT", "0", "WHAT"},
      {"COUNT", "1", "COUNT", "2"},
      {"COUNT", "1", "COUNT", "0"},
  };
  for (const auto& words : kRequests) {
    for (const bool stores : {false, true}) {
      Options any{.stores = stores}, known = any;
      EXPECT_EQ(OptionFault(words, any), OptionFault(words, known, kAnyKnown));
      EXPECT_EQ(any, known);
      Options once{.stores = stores}, known_once = once;
      EXPECT_EQ(OptionFault(words, once, kOnce), OptionFault(words, known_once, kOnceKnown));
      EXPECT_EQ(once, known_once);
    }
  }
}

}  // namespace
}  // namespace sluice
