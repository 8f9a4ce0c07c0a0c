#include "server/commands/families.h"

namespace sluice {

std::span<const CommandFamily> AllFamilies() {
  // clang-format off
  static const CommandFamily kFamilies[] = {
      BitFieldFamily(),
      BitsFamily(),
      ClientFamily(),
      CompareFamily(),
      ConfigFamily(),
      ConnectionFamily(),
      CountersFamily(),
      DatabasesFamily(),
      ExpiryFamily(),
      IncrExFamily(),
      KeysFamily(),
      LcsFamily(),
      StringsFamily(),
      StringsManyFamily(),
      SubstringsFamily(),
      TransactionsFamily(),
  };
  // clang-format on
  return kFamilies;
}

}  // namespace sluice
