// See families.h.
#include "server/commands/families.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/commands/test_double/families.h"
#include "server/dispatch/categories.h"

namespace sluice {

// Made on the first call and never changed; rows are constants that live as long as the program.
std::span<const CommandFamily> AllFamilies() {
  // clang-format off
  static const CommandFamily kFamilies[] = {
      AclFamily(),
      BitFieldFamily(),
      BitsFamily(),
      RedisCellFamily(),
      ClientFamily(),
      ClusterFamily(),
      CommandInfoFamily(),
      CompareAndSetFamily(),
      ConfigFamily(),
      ConnectionFamily(),
      CountersFamily(),
      DatabasesFamily(),
      DebugFamily(),
      DumpFamily(),
      MigrateFamily(),
      ExpiryFamily(),
      FencedFamily(),
      FunctionsFamily(),
      GeoFamily(),
      GeoSearchFamily(),
      HashExpiryFamily(),
      HashFieldsFamily(),
      HashScanFamily(),
      HashesFamily(),
      HyperLogLogsFamily(),
      IncrExFamily(),
      InfoFamily(),
      KeyScanFamily(),
      KeysFamily(),
      LatencyFamily(),
      LcsFamily(),
      LeakyBucketsFamily(),
      LimitAllFamily(),
      LimitsFamily(),
      LimitPoliciesFamily(),
      LimitViewsFamily(),
      ListItemsFamily(),
      ListMovesFamily(),
      ListMovesManyFamily(),
      ListWaitsFamily(),
      ListsFamily(),
      RequestRememberFamily(),
      LockAcquireFamily(),
      LockModesFamily(),
      LockReleaseFamily(),
      LockRestoreFamily(),
      LockViewsFamily(),
      MemoryFamily(),
      ModulesFamily(),
      ObjectFamily(),
      PersistenceFamily(),
      PubSubFamily(),
      ReplicationFamily(),
      ScriptsFamily(),
      ServerFamily(),
      SlowLogFamily(),
      SortFamily(),
      SortedSetAlgebraFamily(),
      SortedSetPopsFamily(),
      SortedSetRangesFamily(),
      SortedSetScanFamily(),
      SortedSetsFamily(),
      StreamClaimsFamily(),
      StreamDeletionsFamily(),
      StreamGroupsFamily(),
      StreamInfoFamily(),
      StreamNacksFamily(),
      StreamPendingFamily(),
      StreamReadFamily(),
      StreamsFamily(),
      SetAlgebraFamily(),
      SetsFamily(),
      StringsFamily(),
      StringsManyFamily(),
      SyncFamily(),
      SubstringsFamily(),
      TransactionsFamily(),
  };
  // clang-format on
  return kFamilies;
}

std::span<const CommandFamily> FamiliesOfTestDouble() {
  static const std::vector<CommandFamily> kFamilies = [] {
    std::vector<CommandFamily> families(AllFamilies().begin(), AllFamilies().end());
    families.push_back(ClockFamily());
    families.push_back(SpacesFamily());
    families.push_back(FaultsFamily());
    families.push_back(JournalFamily());
    return families;
  }();
  return kFamilies;
}

const CommandTable& AllCommands() {
  static const CommandTable kCommands(AllFamilies());
  return kCommands;
}

const CommandTable& CommandsOfTestDouble() {
  static const CommandTable kCommands(FamiliesOfTestDouble());
  return kCommands;
}

namespace {

// Commands of Redis 7.0 that are not there. Files that harden a server rename them away, and a
// command that is not there is as good as renamed.
constexpr std::string_view kNotServed[] = {"failover", "psync", "replconf", "sync"};

// Renames what the lines name, and returns a sentence for each that it cannot.
std::vector<std::string> RenameAll(CommandTable& table,
                                   std::span<const Config::DirectiveLine> lines) {
  std::vector<std::string> faults;
  for (const Config::DirectiveLine& line : lines) {
    if (std::ranges::find(kNotServed, LowerCase(line.words[0])) != std::end(kNotServed)) continue;
    const std::string wrong = table.Rename(line.words[0], line.words[1]);
    if (!wrong.empty()) faults.push_back(Concat(line.place, ": ", line.words[0], ": ", wrong));
  }
  return faults;
}

}  // namespace

std::unique_ptr<const CommandTable> OwnCommands(const Config& config,
                                                std::vector<std::string>& faults) {
  const Settings& settings = config.settings();
  const std::vector<Config::DirectiveLine> renames = config.LinesOf("rename-command");
  if (renames.empty() && settings.scripting_enabled) return nullptr;
  auto table =
      std::make_unique<CommandTable>(settings.test_double ? FamiliesOfTestDouble() : AllFamilies());
  faults = RenameAll(*table, renames);
  if (!settings.scripting_enabled)
    table->TurnOff(kCatScripting, "scripting is turned off (scripting-enabled no)");
  return table;
}

}  // namespace sluice
