// See families.h.
#include "server/commands/families.h"

#include <vector>

#include "server/commands/test_double/families.h"
#include "server/dispatch/command_table.h"

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
      LimitsFamily(),
      LimitPoliciesFamily(),
      ListItemsFamily(),
      ListMovesFamily(),
      ListWaitsFamily(),
      ListsFamily(),
      LockAcquireFamily(),
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
      StreamGroupsFamily(),
      StreamInfoFamily(),
      StreamPendingFamily(),
      StreamReadFamily(),
      StreamsFamily(),
      SetAlgebraFamily(),
      SetsFamily(),
      StringsFamily(),
      StringsManyFamily(),
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

}  // namespace sluice
