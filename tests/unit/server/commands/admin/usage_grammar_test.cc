// Usage lines and the trees that come of them, written as
// name:type/TOKEN#key-spec@since!deprecated?+(children): ? optional, + multiple, ++ with its token.
#include "server/commands/admin/usage_grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "server/commands/families.h"
#include "server/dispatch/usage_words.h"

namespace sluice {
namespace {

std::string Show(const std::vector<UsageNode>& nodes);

std::string Show(const UsageNode& node) {
  std::string text = node.name + ':' + std::string(UsageTypeName(node.type));
  if (!node.token.empty()) text += '/' + std::string(node.token);
  if (node.key_spec_index >= 0) text += '#' + std::to_string(node.key_spec_index);
  if (!node.since.empty()) text += '@' + std::string(node.since);
  if (!node.deprecated_since.empty()) text += '!' + std::string(node.deprecated_since);
  if (node.optional) text += '?';
  if (node.multiple) text += node.multiple_token ? "++" : "+";
  if (!node.children.empty()) text += '(' + Show(node.children) + ')';
  return text;
}

std::string Show(const std::vector<UsageNode>& nodes) {
  std::string text;
  for (const UsageNode& node : nodes) text += (text.empty() ? "" : " ") + Show(node);
  return text;
}

std::string Tree(std::string_view usage, KeySpecs keys = {}) {
  return Show(ParseUsage(usage, keys));
}

TEST(UsageGrammar, Values) {
  EXPECT_EQ(Tree(""), "");
  EXPECT_EQ(Tree("seconds value"), "seconds:integer value:string");
  EXPECT_EQ(Tree("unix-time-seconds pattern"), "unix-time-seconds:unix-time pattern:pattern");
}

TEST(UsageGrammar, TypesAndRanges) {
  EXPECT_EQ(Tree("destkey:key ip:port ms:integer value:double"),
            "destkey:key ip:port:string ms:integer value:double");
  const std::vector<UsageNode> nodes =
      ParseUsage("owner:string(1..1024) [LEASE lease-ms:integer(1..2^46)] count");
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(Show(nodes), "owner:string lease-ms:integer/LEASE? count:integer");
  EXPECT_EQ(nodes[0].range, "1..1024");
  EXPECT_EQ(nodes[1].range, "1..2^46");
  EXPECT_EQ(nodes[2].range, "");
}

// What RowsAreSound refuses while the tables are compiled.
TEST(UsageGrammar, UnsoundLines) {
  for (const std::string_view usage :
       {"", "key [key ...]", "a [B | C] <d | *>", "x@6.2.0 [y]@-7.0.0", "index=[start end]",
        "change=CH [ip:port]", "n:integer(-1..2^53-1)", "[a ... | b]"}) {
    EXPECT_TRUE(UsageIsSound(usage)) << usage;
  }
  for (const std::string_view usage : {"[key",      "key]",
                                       "[key>",     "[]",
                                       "[a |]",     "| a",
                                       "a | | b",   "... a",
                                       "[... a]",   "a ... b",
                                       "@6.2.0 a",  "a@six",
                                       "Key",       "kEY",
                                       "key:keys",  "key:integer(1)",
                                       "key(1..2)", "key:integer(1..x)",
                                       "name= a",   "name=lower",
                                       "a,b"}) {
    EXPECT_FALSE(UsageIsSound(usage)) << usage;
  }
}

TEST(UsageGrammar, OptionsAndChoices) {
  EXPECT_EQ(Tree("[MATCH pattern] [REPLACE]"),
            "pattern:pattern/MATCH? replace:pure-token/REPLACE?");
  EXPECT_EQ(Tree("[NX | XX]"), "condition:oneof?(nx:pure-token/NX xx:pure-token/XX)");
  EXPECT_EQ(Tree("[EX seconds | KEEPTTL]"),
            "expiration:oneof?(seconds:integer/EX keepttl:pure-token/KEEPTTL)");
  EXPECT_EQ(Tree("ON | OFF"), "on_off:oneof(on:pure-token/ON off:pure-token/OFF)");
}

TEST(UsageGrammar, BlocksNest) {
  EXPECT_EQ(Tree("[start [end [BYTE | BIT]]]"),
            "start:block?(start:integer end:block?(end:integer "
            "byte_bit:oneof?(byte:pure-token/BYTE bit:pure-token/BIT)))");
  EXPECT_EQ(Tree("[protover [AUTH username password]]"),
            "protover:block?(protover:integer "
            "username_password:block/AUTH?(username:string password:string))");
}

TEST(UsageGrammar, Repetition) {
  EXPECT_EQ(Tree("key [key ...]"), "key:key+");
  EXPECT_EQ(Tree("operation key [key ...]"), "operation:string key:key+");
  EXPECT_EQ(Tree("key value [key value ...]"), "key_value:block+(key:key value:string)");
  EXPECT_EQ(Tree("[section [section ...]]"), "section:string?+");
  EXPECT_EQ(Tree("[section ...]"), "section:string?+");
  EXPECT_EQ(Tree("[GET encoding offset [GET encoding offset ...]]"),
            "encoding_offset:block/GET?++(encoding:string offset:integer)");
  EXPECT_EQ(Tree("[ID client-id [client-id ...]]"), "client-id:integer/ID?+");
  EXPECT_EQ(Tree("[A x | B y [A x | B y ...]]"), "x_y:oneof?+(x:string/A y:string/B)");
  EXPECT_EQ(Tree("[A x | B y ...]"), "x_y:oneof?+(x:string/A y:string/B)");
}

TEST(UsageGrammar, ATokenForAWholeChoice) {
  EXPECT_EQ(Tree("[OVERFLOW WRAP | SAT]"),
            "overflow:oneof/OVERFLOW?(wrap:pure-token/WRAP sat:pure-token/SAT)");
  EXPECT_EQ(Tree("[TYPE <A | B>]"), "a_b:oneof/TYPE?(a:pure-token/A b:pure-token/B)");
}

TEST(UsageGrammar, TypesOfTheirOwn) {
  EXPECT_EQ(Tree("increment:double value:integer ip:port"),
            "increment:double value:integer ip:port:string");
}

TEST(UsageGrammar, NamesOfTheirOwn) {
  EXPECT_EQ(Tree("index=[start end unit=[BYTE | BIT]]"),
            "index:block?(start:integer end:integer "
            "unit:oneof?(byte:pure-token/BYTE bit:pure-token/BIT))");
  EXPECT_EQ(Tree("enabled=<ON | OFF>"), "enabled:oneof(on:pure-token/ON off:pure-token/OFF)");
  EXPECT_EQ(Tree("name=<name ...>"), "name:block+(name:string)");
  EXPECT_EQ(Tree("[ID id=<client-id [client-id ...]>]"), "id:block/ID?(client-id:integer+)");
  EXPECT_EQ(Tree("IDX unit=[A | B]"),
            "idx:pure-token/IDX unit:oneof?(a:pure-token/A b:pure-token/B)");
}

TEST(UsageGrammar, Versions) {
  EXPECT_EQ(Tree("[NX | XX@2.0.0]@1.0.0 [EX seconds@3.0.0] [old@-4.0.0]"),
            "condition:oneof@1.0.0?(nx:pure-token/NX xx:pure-token/XX@2.0.0) "
            "seconds:integer/EX@3.0.0? old:string!4.0.0?");
  EXPECT_EQ(Tree("[TYPE <A | B>]@5.0.0"), "a_b:oneof/TYPE@5.0.0?(a:pure-token/A b:pure-token/B)");
}

TEST(UsageGrammar, NamesOfTokens) {
  EXPECT_EQ(Tree("[change=CH]@3.0.2"), "change:pure-token/CH@3.0.2?");
}

TEST(UsageGrammar, KeysKnowTheirSpecs) {
  EXPECT_EQ(Tree("key newkey", KeyAt(1, kKeyRw) + KeyAt(2, kKeyOw)), "key:key#0 newkey:key#1");
  EXPECT_EQ(Tree("key1 key2", KeyRange(1, 1, 1, kKeyRo)), "key1:key#0 key2:key#0");
  EXPECT_EQ(Tree("destkey key [key ...]", KeyAt(1, kKeyOw) + KeyRange(2, -1, 1, kKeyRo)),
            "destkey:key#0 key:key#1+");
}

// Brackets that do not match are our own mistake, and still end.
TEST(UsageGrammar, AnythingEnds) {
  for (const std::string_view usage :
       {"[",      "]",     "[]",       "|",     "...",  "[...]",    "A <",
        "[a ...", "> a",   "a [a ...", "[[[a]", "a | ", "[A B | ]", "A [ ...]",
        "a=",     "A a=[", "=[a]",     "@",     "@-",   "a@"}) {
    Tree(usage);
  }
}

void CheckRows(std::span<const CommandSpec> rows) {
  for (const CommandSpec& row : rows) {
    std::string tree = Show(ParseUsage(row));
    absl::StrReplaceAll({{"pure-token/=", "pure-token/equals"}}, &tree);  // XTRIM's MAXLEN = 3
    EXPECT_EQ(tree.find_first_of("[]|<>="), std::string::npos) << row.name << ": " << tree;
    EXPECT_EQ(tree.empty(), row.usage.empty()) << row.name;
    CheckRows(row.subcommands);
  }
}

TEST(UsageGrammar, EveryRowFollowsIt) {
  for (const CommandFamily& family : AllFamilies()) CheckRows(family.rows);
}

}  // namespace
}  // namespace sluice
