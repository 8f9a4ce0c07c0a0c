// Names are found in any case and nothing else is found: look-up compares images of names, so every
// name is tried with each of its bytes changed.
#include "server/dispatch/command_table.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "server/commands/families.h"
#include "server/dispatch/categories.h"

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

// --- rename-command and scripting-enabled

TEST(CommandTable, ARenamedCommandIsFoundByThatNameAlone) {
  CommandTable table(AllFamilies());
  const Command* const config = table.Find("config");
  const size_t before = table.size();
  EXPECT_EQ(table.Rename("Config", "a-Name-of-its-own-that-is-long"), "");
  EXPECT_EQ(table.Find("CONFIG"), nullptr);
  EXPECT_EQ(table.Find("A-NAME-of-its-own-that-is-LONG"), config);
  EXPECT_EQ(table.FindFull("a-name-of-its-own-that-is-long|get")->spec->name, "GET");
  EXPECT_EQ(table.FindLogged("config"), config);
  EXPECT_EQ(table.size(), before);
  EXPECT_EQ(table.Rename("a-name-of-its-own-that-is-long", ""), "");
  EXPECT_EQ(table.Find("a-name-of-its-own-that-is-long"), nullptr);
  EXPECT_EQ(table.FindLogged("config"), config);
  EXPECT_EQ(table.size(), before - 1);
}

// Two may change their names: a log means the commands' own.
TEST(CommandTable, ALogMeansTheCommandsOwnNames) {
  CommandTable table(AllFamilies());
  const Command* const get = table.Find("GET");
  const Command* const del = table.Find("DEL");
  EXPECT_EQ(table.Rename("get", "fetch"), "");
  EXPECT_EQ(table.Rename("del", "get"), "");
  EXPECT_EQ(table.Find("GET"), del);
  EXPECT_EQ(table.FindLogged("GET"), get);
  EXPECT_EQ(table.FindLogged("del"), del);
}

TEST(CommandTable, RefusesNamesThatAreTaken) {
  CommandTable table(AllFamilies());
  EXPECT_EQ(table.Rename("nosuch", "x"), "No such command in rename-command");
  EXPECT_EQ(table.Rename("config|get", ""), "No such command in rename-command");
  EXPECT_EQ(table.Rename("get", "SET"), "Target command name already exists");
  EXPECT_NE(table.Find("get"), nullptr);
  EXPECT_EQ(table.Rename("get", "GET"), "");
  EXPECT_NE(table.Find("get"), nullptr);
}

TEST(CommandTable, ACategoryIsTurnedOff) {
  CommandTable table(AllFamilies());
  table.TurnOff(kCatScripting, "no scripts");
  for (const std::string_view name : {"eval", "EVALSHA_RO", "fcall", "function", "script"}) {
    EXPECT_EQ(table.Find(name), nullptr) << name;
    EXPECT_EQ(table.WhyOff(name), "no scripts") << name;
    EXPECT_NE(table.FindLogged(name), nullptr) << name;
  }
  EXPECT_EQ(table.WhyOff("get"), "");
  EXPECT_NE(table.Find("get"), nullptr);
}

}  // namespace
}  // namespace sluice
