// Rules of one selector against a small table of commands: what they allow, and how they are
// written down again.
#include "server/access/selector.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/access/small_catalogue.h"

namespace sluice {
namespace {

class Selectors : public testing::Test {
 protected:
  RuleFault Apply(std::string_view rules) {
    for (const std::string_view rule : Words(rules)) {
      const RuleFault fault = selector_.Apply(rule, catalogue_);
      if (fault != RuleFault::kNone) return fault;
    }
    return RuleFault::kNone;
  }
  std::string Commands(std::string_view rules) {
    selector_ = Selector(false);
    EXPECT_EQ(Apply(rules), RuleFault::kNone) << rules;
    return selector_.DescribeCommands(catalogue_);
  }
  Denial Ask(std::string_view request, std::vector<AccessedKey> accessed = {}) const {
    const std::vector<std::string_view> words = Words(request);
    const size_t number = *catalogue_.Find(words[0]);
    const auto keys = [&] { return std::span<const AccessedKey>(accessed); };
    std::span<const AccessedKey> found;
    bool known = false;
    return selector_.Check({.command = number, .args = words, .keys = keys}, found, known).denial;
  }

  const CommandCatalogue catalogue_ = SmallCatalogue();
  Selector selector_{false};
};

TEST_F(Selectors, BeginWithNothing) {
  EXPECT_EQ(Ask("get a"), Denial::kCommand);
  EXPECT_EQ(selector_.Describe(catalogue_), "resetchannels -@all");
  EXPECT_EQ(Selector(true).Describe(catalogue_), "&* -@all");
}

TEST_F(Selectors, CommandsAndCategories) {
  ASSERT_EQ(Apply("+GET +@write -del"), RuleFault::kNone);
  EXPECT_EQ(Ask("get"), Denial::kNone);
  EXPECT_EQ(Ask("set"), Denial::kNone);
  EXPECT_EQ(Ask("del"), Denial::kCommand);
  EXPECT_EQ(Ask("config|get"), Denial::kCommand);
}

TEST_F(Selectors, AContainerStandsForItsSubcommands) {
  ASSERT_EQ(Apply("+config -config|set"), RuleFault::kNone);
  EXPECT_EQ(Ask("config|get"), Denial::kNone);
  EXPECT_EQ(Ask("config|set"), Denial::kCommand);
}

TEST_F(Selectors, AFirstArgumentCanBeAllowed) {
  ASSERT_EQ(Apply("+select|0 +select|1"), RuleFault::kNone);
  EXPECT_EQ(Ask("select 0"), Denial::kNone);
  EXPECT_EQ(Ask("select 2"), Denial::kCommand);
  EXPECT_EQ(Ask("select"), Denial::kCommand);
  EXPECT_EQ(selector_.DescribeCommands(catalogue_), "-@all +select|0 +select|1");
  ASSERT_EQ(Apply("-select"), RuleFault::kNone);
  EXPECT_EQ(Ask("select 0"), Denial::kCommand);
}

TEST_F(Selectors, FaultsOfRules) {
  const std::pair<std::string_view, RuleFault> cases[] = {
      {"+nosuch", RuleFault::kUnknownName},
      {"-get|x", RuleFault::kUnknownName},
      {"+@nosuch", RuleFault::kUnknownName},
      {"+config|nosuch", RuleFault::kUnknownName},
      {"+config|get|x", RuleFault::kArgumentOfSubcommand},
      {"+get|", RuleFault::kSyntax},
      {"+", RuleFault::kUnknownName},
      {"foo", RuleFault::kSyntax},
      {"%X~a", RuleFault::kSyntax},
      {"%~a", RuleFault::kSyntax},
      {"%", RuleFault::kSyntax},
      {"%RR~a", RuleFault::kSyntax},
      {std::string_view("~a\0b", 4), RuleFault::kSyntax},
      {"~a\tb", RuleFault::kSyntax},
  };
  for (const auto& [rule, fault] : cases) {
    EXPECT_EQ(selector_.Apply(rule, catalogue_), fault) << rule;
  }
  EXPECT_EQ(selector_.Describe(catalogue_), "resetchannels -@all");
  ASSERT_EQ(Apply("~* &*"), RuleFault::kNone);
  EXPECT_EQ(Apply("~a"), RuleFault::kKeysAreAll);
  EXPECT_EQ(Apply("&a"), RuleFault::kChannelsAreAll);
}

TEST_F(Selectors, KeysByWhatIsDoneToThem) {
  ASSERT_EQ(Apply("+@all ~both* %R~read* %w~write*"), RuleFault::kNone);
  const auto ask = [&](std::string_view key, uint8_t access) {
    const std::string request = std::string("get ") + std::string(key);
    return Ask(request, {{1, access}}) == Denial::kNone;
  };
  EXPECT_TRUE(ask("both1", kReadsAndWrites));
  EXPECT_TRUE(ask("read1", kReads));
  EXPECT_FALSE(ask("read1", kWrites));
  EXPECT_FALSE(ask("read1", kReadsAndWrites));
  EXPECT_TRUE(ask("write1", kWrites));
  EXPECT_FALSE(ask("write1", kReads));
  EXPECT_TRUE(ask("write1", 0));  // whether it is there: any rule for it allows that
  EXPECT_FALSE(ask("other", 0));
  EXPECT_EQ(selector_.DescribeKeys(), "~both* %R~read* %W~write*");
  ASSERT_EQ(Apply("%R~write* resetkeys"), RuleFault::kNone);
  EXPECT_EQ(selector_.DescribeKeys(), "");
}

// The first bytes of patterns are compared before the rest.
TEST_F(Selectors, ShortKeysAndShortPatterns) {
  ASSERT_EQ(Apply("+@all ~ab ~longer-than-eight* ~x?z ~[pq]r ~\\*s"), RuleFault::kNone);
  const auto ask = [&](std::string_view key) {
    const std::string request = std::string("get ") + std::string(key);
    return Ask(request, {{1, kReads}}) == Denial::kNone;
  };
  for (const std::string_view key :
       {"ab", "longer-than-eight", "longer-than-eight!", "xyz", "pr", "qr", "*s"}) {
    EXPECT_TRUE(ask(key)) << key;
  }
  for (const std::string_view key : {"a", "abc", "longer-t", "longer-than-eigh", "xz", "rr", "s"}) {
    EXPECT_FALSE(ask(key)) << key;
  }
  EXPECT_FALSE(selector_.AllowsEverything());
  const std::vector<std::string_view> words = {"get", std::string_view("ab\0", 3)};
  const std::vector<AccessedKey> accessed = {{1, kReads}};
  const auto keys = [&] { return std::span<const AccessedKey>(accessed); };
  std::span<const AccessedKey> found;
  bool known = false;
  EXPECT_EQ(selector_.Check({.command = 0, .args = words, .keys = keys}, found, known).denial,
            Denial::kKey);
}

TEST_F(Selectors, APatternTwiceAddsUp) {
  ASSERT_EQ(Apply("%R~a %W~a"), RuleFault::kNone);
  EXPECT_EQ(selector_.DescribeKeys(), "~a");
}

TEST_F(Selectors, ChannelsAndTheirPatterns) {
  ASSERT_EQ(Apply("&news.*"), RuleFault::kNone);
  EXPECT_TRUE(selector_.AllowsChannel("news.x", false));
  EXPECT_FALSE(selector_.AllowsChannel("other", false));
  EXPECT_TRUE(selector_.AllowsChannel("news.*", true));
  EXPECT_FALSE(selector_.AllowsChannel("news.x*", true));
}

// As redis-server 7.0.15 writes them.
TEST_F(Selectors, CommandsAreDescribedAsRedisDoes) {
  EXPECT_EQ(Commands("+@all"), "+@all");
  EXPECT_EQ(Commands("+@all -@all"), "-@all");
  EXPECT_EQ(Commands("+@read"), "-@all +@read");
  EXPECT_EQ(Commands("+@all -@dangerous"), "+@all -@dangerous");
  EXPECT_EQ(Commands("+@read -get"), "-@all +keys");
  EXPECT_EQ(Commands("+@all -config +config|get"), "+@all -config +config|get");
  EXPECT_EQ(Commands("+@all -get +get|a"), "+@all -get +get|a");
  EXPECT_EQ(Commands("+@all +get|a"), "+@all");
  // Our own commands do not change which of Redis's categories are the best.
  EXPECT_EQ(Commands("+@write"), "-@all +@write");
  EXPECT_EQ(Commands("+set +del"), "-@all +@write -lock.acquire -lock.break");
  EXPECT_EQ(Commands("+@lock -@dangerous"), "-@all +lock.acquire");
}

// A glob that would take for ever: a match is given up, and is none.
TEST_F(Selectors, GlobsThatExplodeEnd) {
  std::string rule = "~";
  for (int i = 0; i < 4000; ++i) rule += "a*";
  ASSERT_EQ(selector_.Apply(rule + "b", catalogue_), RuleFault::kNone);
  ASSERT_EQ(Apply("+@all"), RuleFault::kNone);
  EXPECT_EQ(Ask("get " + std::string(100'000, 'a'), {{1, kReads}}), Denial::kKey);
}

TEST_F(Selectors, AMegabyteOfRules) {
  const std::string pattern = "~" + std::string(1 << 20, 'x');
  EXPECT_EQ(selector_.Apply(pattern, catalogue_), RuleFault::kNone);
  RuleFault fault = RuleFault::kNone;
  for (size_t i = 1; i <= Selector::kPatternsMax; ++i) {
    fault = selector_.Apply("~" + std::to_string(i), catalogue_);
  }
  EXPECT_EQ(fault, RuleFault::kTooMany);
}

}  // namespace
}  // namespace sluice
