#include "server/commands/families.h"

namespace sluice {

std::span<const CommandFamily> AllFamilies() {
  // clang-format off
  static const CommandFamily kFamilies[] = {
      BitFieldFamily(),
      BitsFamily(),
      ClientFamily(),
      CommandInfoFamily(),
      CompareFamily(),
      ConfigFamily(),
      ConnectionFamily(),
      CountersFamily(),
      DatabasesFamily(),
      DebugFamily(),
      ExpiryFamily(),
      FunctionsFamily(),
      GeoFamily(),
      GeoSearchFamily(),
      IncrExFamily(),
      InfoFamily(),
      KeyWalkFamily(),
      KeysFamily(),
      LcsFamily(),
      ObjectFamily(),
      PubSubFamily(),
      ServerFamily(),
      ScriptsFamily(),
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
      StringsFamily(),
      StringsManyFamily(),
      SubstringsFamily(),
      TransactionsFamily(),
  };
  // clang-format on
  return kFamilies;
}

}  // namespace sluice
