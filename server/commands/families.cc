#include "server/commands/families.h"

namespace sluice {

std::span<const CommandFamily> AllFamilies() {
  static const CommandFamily kFamilies[] = {
      StringsFamily(), StringsManyFamily(), SubstringsFamily(), CountersFamily(), IncrExFamily(),
      LcsFamily(),     CompareFamily(),     BitsFamily(),       BitFieldFamily(),
      BitsFamily(),
      CompareFamily(),
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
  return kFamilies;
}

}  // namespace sluice
