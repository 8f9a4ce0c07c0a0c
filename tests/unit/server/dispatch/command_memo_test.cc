// A memo finds what its table finds, whatever was asked before: names in any spelling, ones that
// differ in a byte, ones that nothing is found by.
#include "server/dispatch/command_memo.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/commands/families.h"
#include "storage/hashing/random.h"

namespace sluice {
namespace {

TEST(CommandMemo, FindsWhatItsTableFindsInAnyOrder) {
  const CommandTable table(AllFamilies());
  std::vector<std::string> names = {"",
                                    "G",
                                    "no-such-command",
                                    std::string(24, 'x'),
                                    std::string(25, 'x'),
                                    std::string("GET\0", 4)};
  for (const Command* command : table.all()) {
    names.emplace_back(command->spec->name);
    names.push_back(names.back());
    names.back().back() ^= 0x20;  // of a letter: in another case
    names.push_back(names.back());
    names.back()[names.back().size() / 2] ^= 1;  // mostly no command's
  }
  Random random(1);
  CommandMemo<2> two(table);
  CommandMemo<4> four(table);
  // Some few in turn, so that they are known, and others in between.
  for (int round = 0; round < 3'000; ++round) {
    const std::string* few[3];
    for (const std::string*& name : few) name = &names[random() % names.size()];
    for (int i = 0; i < 20; ++i) {
      const std::string& name = *few[random() % 3];
      EXPECT_EQ(two.Find(name), table.Find(name)) << name;
      EXPECT_EQ(four.Find(name), table.Find(name)) << name;
    }
  }
}

// The bytes of a name may go when it has been looked for.
TEST(CommandMemo, KeepsNoViewOfAName) {
  const CommandTable table(AllFamilies());
  CommandMemo<2> memo(table);
  std::string name = "LOCK.ACQUIRE";
  const Command* const acquire = memo.Find(name);
  ASSERT_NE(acquire, nullptr);
  name = "LOCK.ABSENT!";
  EXPECT_EQ(memo.Find(name), nullptr);
  EXPECT_EQ(memo.Find("LOCK.ACQUIRE"), acquire);
}

}  // namespace
}  // namespace sluice
