#include "server/commands/families.h"

namespace sluice {

std::span<const CommandFamily> AllFamilies() {
  static const CommandFamily kFamilies[] = {
      StringsFamily(), StringsManyFamily(), SubstringsFamily(), CountersFamily(), IncrExFamily(),
      LcsFamily(),     CompareFamily(),     BitsFamily(),       BitFieldFamily(),
  };
  return kFamilies;
}

}  // namespace sluice
