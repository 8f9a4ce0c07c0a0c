// Users: passwords, selectors in parentheses, files with one bad line.
#include "server/access/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/text/concat.h"
#include "server/access/access_log.h"
#include "server/access/password.h"
#include "tests/unit/server/access/small_catalogue.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class UsersTest : public testing::Test {
 protected:
  User Make(std::string_view rules) {
    User user("bob", users_.context());
    for (const std::string_view rule : Words(rules)) {
      EXPECT_EQ(user.Apply(rule, users_.context()), RuleFault::kNone) << rule;
    }
    return user;
  }
  RuleFault FaultOf(std::string_view rule) {
    User user("bob", users_.context());
    return user.Apply(rule, users_.context());
  }

  const CommandCatalogue catalogue_ = SmallCatalogue();
  Users users_{catalogue_};
};

TEST_F(UsersTest, ThereIsAlwaysADefault) {
  EXPECT_THAT(users_.Lines(), ElementsAre("user default on nopass ~* &* +@all"));
  EXPECT_TRUE(users_.default_user().AllowsEverything());
  users_.SetDefaultPassword("foo");
  EXPECT_TRUE(users_.default_user().MayLogIn("foo"));
  EXPECT_FALSE(users_.default_user().MayLogIn("bar"));
  users_.SetDefaultPassword("");
  EXPECT_TRUE(users_.default_user().MayLogIn("bar"));
}

TEST_F(UsersTest, Passwords) {
  User user = Make("on >pw >other");
  EXPECT_TRUE(user.MayLogIn("pw"));
  EXPECT_TRUE(user.MayLogIn("other"));
  EXPECT_FALSE(user.MayLogIn(""));
  EXPECT_FALSE(user.MayLogIn("PW"));
  const std::string digest = PasswordDigest("pw");
  EXPECT_EQ(digest, "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4");
  EXPECT_EQ(user.Apply("<pw", users_.context()), RuleFault::kNone);
  EXPECT_FALSE(user.MayLogIn("pw"));
  EXPECT_EQ(user.Apply("<pw", users_.context()), RuleFault::kNoSuchPassword);
  EXPECT_EQ(user.Apply("#" + digest, users_.context()), RuleFault::kNone);
  EXPECT_TRUE(user.MayLogIn("pw"));
  EXPECT_FALSE(user.MayLogIn(digest));
  EXPECT_EQ(user.Apply("off", users_.context()), RuleFault::kNone);
  EXPECT_FALSE(user.MayLogIn("pw"));
  EXPECT_EQ(FaultOf("#abc"), RuleFault::kBadDigest);
  EXPECT_EQ(FaultOf("!" + std::string(64, 'A')), RuleFault::kBadDigest);
}

TEST_F(UsersTest, APasswordMayHoldAnyByte) {
  User user("bob", users_.context());
  const std::string rule(">a\0b", 4);
  ASSERT_EQ(user.Apply(rule, users_.context()), RuleFault::kNone);
  user.Apply("on", users_.context());
  EXPECT_TRUE(user.MayLogIn(std::string_view("a\0b", 3)));
  EXPECT_FALSE(user.MayLogIn("a"));
}

TEST_F(UsersTest, SelectorsAddRights) {
  const User user = Make("on nopass");
  User with = user;
  ASSERT_EQ(with.Apply("(+@write  ~x*)", users_.context()), RuleFault::kNone);
  ASSERT_EQ(with.Apply("()", users_.context()), RuleFault::kNone);
  EXPECT_EQ(
      with.Describe(catalogue_),
      "on nopass resetchannels -@all (~x* resetchannels -@all +@write) (resetchannels -@all)");
  EXPECT_EQ(with.Apply("(foo)", users_.context()), RuleFault::kSyntax);
  EXPECT_EQ(with.Apply("(on)", users_.context()), RuleFault::kSyntax);
  EXPECT_EQ(with.Apply("clearselectors", users_.context()), RuleFault::kNone);
  EXPECT_EQ(with.Describe(catalogue_), user.Describe(catalogue_));
}

// Rights of two selectors are not put together for one request.
TEST_F(UsersTest, OneSelectorHasToAllowAllOfARequest) {
  User user("bob", users_.context());
  user.Apply("(+get ~a)", users_.context());
  user.Apply("(+set ~b)", users_.context());
  const auto ask = [&](std::string_view command, std::string_view key) {
    const std::string_view args[] = {command, key};
    const AccessedKey keys[] = {{1, kReads}};
    const auto found = [&] { return std::span<const AccessedKey>(keys); };
    return user.Check({.command = *catalogue_.Find(command), .args = args, .keys = found}).denial;
  };
  EXPECT_EQ(ask("get", "a"), Denial::kNone);
  EXPECT_EQ(ask("set", "b"), Denial::kNone);
  EXPECT_EQ(ask("get", "b"), Denial::kKey);
  EXPECT_EQ(ask("set", "a"), Denial::kKey);
  EXPECT_EQ(ask("del", "a"), Denial::kCommand);
}

TEST_F(UsersTest, ResetTakesAllAway) {
  User user = Make("on >x ~a &b +@all skip-sanitize-payload");
  ASSERT_EQ(user.Apply("(+get ~z)", users_.context()), RuleFault::kNone);
  ASSERT_EQ(user.Apply("RESET", users_.context()), RuleFault::kNone);
  EXPECT_EQ(user.Describe(catalogue_), "off sanitize-payload resetchannels -@all");
}

TEST_F(UsersTest, SelectorsOverSeveralWords) {
  const std::string_view rules[] = {"on", "(+get", "~a)", "~b"};
  size_t unmatched = 0;
  EXPECT_THAT(*JoinSelectors(rules, unmatched), ElementsAre("on", "(+get ~a)", "~b"));
  EXPECT_EQ(JoinSelectors(std::span(rules).first(2), unmatched), std::nullopt);
  EXPECT_EQ(unmatched, 1u);
}

// As in Redis, which forgets the one before.
TEST_F(UsersTest, ASelectorThatOpensInAnotherBeginsAnew) {
  const std::string_view rules[] = {"(+get", "~a", "(+set", "~b)"};
  size_t unmatched = 0;
  EXPECT_THAT(*JoinSelectors(rules, unmatched), ElementsAre("(+set ~b)"));
  EXPECT_EQ(JoinSelectors(std::span(rules).first(3), unmatched), std::nullopt);
  EXPECT_EQ(unmatched, 2u);
}

TEST_F(UsersTest, AFileIsReadWholeOrNotAtAll) {
  const Users::Loaded good =
      users_.Read("user bob on >x ~a* (+get ~b)\n\n  user default off\r\n", "u.acl");
  EXPECT_EQ(good.faults, "");
  ASSERT_EQ(good.users.size(), 2u);
  EXPECT_EQ(good.users[1].Describe(catalogue_), "off resetchannels -@all");

  const Users::Loaded bad = users_.Read("user bob +nosuch foo +x\nbad line\nuser al (a\n", "u.acl");
  EXPECT_TRUE(bad.users.empty());
  EXPECT_EQ(
      bad.faults,
      "u.acl:1: Error in applying operation '+nosuch': Unknown command or category name in "
      "ACL. u.acl:1: Syntax error. u.acl:1: Error in applying operation '+x': Unknown command "
      "or category name in ACL. u.acl:2 should start with user keyword followed by the "
      "username. u.acl:3: Unmatched parenthesis in selector definition. WARNING: ACL errors "
      "detected, no change to the previously active ACL rules was performed");
  EXPECT_THAT(users_.Read("user bob on\nuser bob off\n", "u").faults,
              HasSubstr("WARNING: Duplicate user 'bob' found on line 2. "));
  EXPECT_THAT(users_.Read("user bob >secret >other foo\n", "u").faults,
              testing::Not(HasSubstr("secret")));
}

// A file of faults alone is told of in part.
TEST_F(UsersTest, FaultsAreBounded) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "nonsense\n";
  EXPECT_LT(users_.Read(text, "u").faults.size(), 32u * 1024);
}

TEST_F(UsersTest, WhatIsWrittenIsReadBack) {
  std::string text;
  for (const std::string_view rules :
       {"on nopass +@all ~* &*", "off", "on >a >b ~x %R~y %W~z &c +@all -@dangerous -get",
        "on +config|get +select|0 -@write +@read"}) {
    User user("u" + std::to_string(text.size()), users_.context());
    for (const std::string_view rule : Words(rules)) user.Apply(rule, users_.context());
    user.Apply("(+get ~q &r)", users_.context());
    users_.Set(user);
    text += "x";
  }
  text.clear();
  for (const std::string& line : users_.Lines()) text += line + "\n";
  const Users::Loaded loaded = users_.Read(text, "u");
  ASSERT_EQ(loaded.faults, "");
  Users again(catalogue_);
  for (const User& user : loaded.users) again.Set(user);
  EXPECT_EQ(again.Lines(), users_.Lines());
}

TEST_F(UsersTest, TenThousandUsersOfAHundredRules) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) {
    text += "user u" + std::to_string(i) + " on";
    for (int k = 0; k < 98; ++k) text += " ~app:" + std::to_string(k) + ":*";
    text += " +@read\n";
  }
  const Users::Loaded loaded = users_.Read(text, "u");
  ASSERT_EQ(loaded.faults, "");
  EXPECT_EQ(loaded.users.size(), 10'001u);
}

TEST(AccessLogTest, AlikeEntriesAreOne) {
  AccessLog log;
  const auto add = [&](std::string object, int64_t at_ms) {
    log.Add({.object = std::move(object),
             .user = "bob",
             .client = Concat("at ", at_ms),
             .at_ms = at_ms});
  };
  add("get", 0);
  add("set", 1);
  add("get", 2);
  ASSERT_EQ(log.entries().size(), 2u);
  EXPECT_EQ(log.entries()[0].object, "get");
  EXPECT_EQ(log.entries()[0].count, 2u);
  EXPECT_EQ(log.entries()[0].client, "at 2");
  add("get", 60'003);
  EXPECT_EQ(log.entries().size(), 3u);
}

TEST(AccessLogTest, IsBounded) {
  AccessLog log;
  for (int i = 0; i < 1000; ++i) log.Add({.object = std::to_string(i)});
  EXPECT_EQ(log.entries().size(), 128u);
  log.Add({.object = std::string(1 << 20, 'x'), .user = std::string(1 << 20, 'y')});
  EXPECT_EQ(log.entries()[0].object.size(), AccessLog::kWordBytesMax);
  EXPECT_EQ(log.entries()[0].user.size(), AccessLog::kWordBytesMax);
  log.set_entries_max(0);
  log.Add({.object = "more"});
  EXPECT_TRUE(log.entries().empty());
}

}  // namespace
}  // namespace sluice
