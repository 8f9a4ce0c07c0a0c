// Names are found in any case and nothing else is found: look-up compares images of names, so every
// name is tried with each of its bytes changed.
#include "server/dispatch/command_table.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "server/commands/families.h"

namespace sluice {
namespace {

std::string Spelled(std::string_view name, int (*spell)(int)) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(spell(c));
  return text;
}

TEST(CommandTable, FindsEveryRowInAnyCase) {
  const CommandTable table(AllFamilies());
  ASSERT_GT(table.size(), 50u);
  for (const Command* command : table.all()) {
    const std::string upper(command->spec->name);
    const std::string lower = Spelled(upper, std::tolower);
    std::string mixed = lower;
    mixed[0] = upper[0];
    EXPECT_EQ(table.Find(upper), command) << upper;
    EXPECT_EQ(table.Find(lower), command) << upper;
    EXPECT_EQ(table.Find(mixed), command) << upper;
    EXPECT_EQ(table.FindFull(command->full_name), command) << upper;
    for (const Command* sub : command->subcommands) {
      EXPECT_EQ(table.FindFull(sub->full_name), sub) << sub->full_name;
      EXPECT_EQ(sub->container, command);
    }
  }
}

TEST(CommandTable, AChangedByteIsAnotherName) {
  const CommandTable table(AllFamilies());
  for (const Command* command : table.all()) {
    const std::string name(command->spec->name);
    for (size_t at = 0; at < name.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string other = name;
        other[at] = static_cast<char>(byte);
        const Command* found = table.Find(other);
        if (found == nullptr) continue;
        EXPECT_EQ(Spelled(found->spec->name, std::toupper), Spelled(other, std::toupper)) << byte;
      }
    }
    EXPECT_EQ(table.Find(name + "."), nullptr) << name;
    EXPECT_NE(table.Find(name.substr(1)), command) << name;
  }
  EXPECT_EQ(table.Find(""), nullptr);
  EXPECT_EQ(table.Find(std::string(100'000, 'G')), nullptr);
}

}  // namespace
}  // namespace sluice
