#include "server/commands/families.h"

namespace sluice {

std::span<const CommandFamily> AllFamilies() {
  // clang-format off
  static const CommandFamily kFamilies[] = {
      BitFieldFamily(),
      BitsFamily(),
      CellsFamily(),
      ClientFamily(),
      CommandInfoFamily(),
      CompareFamily(),
      ConfigFamily(),
      ConnectionFamily(),
      CountersFamily(),
      DatabasesFamily(),
      DebugFamily(),
      DumpFamily(),
      ExpiryFamily(),
      FunctionsFamily(),
      GeoFamily(),
      GeoSearchFamily(),
      HashExpiryFamily(),
      HashWalkFamily(),
      HashesFamily(),
      HyperLogLogsFamily(),
      IncrExFamily(),
      InfoFamily(),
      KeyWalkFamily(),
      KeysFamily(),
      LcsFamily(),
      LeakyBucketsFamily(),
      LimitsFamily(),
      ListItemsFamily(),
      ListMovesFamily(),
      ListWaitsFamily(),
      ListsFamily(),
      ObjectFamily(),
      PubSubFamily(),
      ScriptsFamily(),
      ServerFamily(),
      SortFamily(),
      SortedSetAlgebraFamily(),
      SortedSetPopsFamily(),
      SortedSetRangesFamily(),
      SortedSetWalkFamily(),
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

}  // namespace sluice
