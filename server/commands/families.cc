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
      IncrExFamily(),
      InfoFamily(),
      KeyWalkFamily(),
      KeysFamily(),
      LcsFamily(),
      ListItemsFamily(),
      ListMovesFamily(),
      ListWaitsFamily(),
      ListsFamily(),
      ObjectFamily(),
      PubSubFamily(),
      ServerFamily(),
      ScriptsFamily(),
      SortFamily(),
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
