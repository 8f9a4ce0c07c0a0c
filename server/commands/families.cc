#include "server/commands/families.h"

namespace sluice {

std::span<const CommandFamily> AllFamilies() {
  static const CommandFamily kFamilies[] = {
      CountersFamily(),
      StringsFamily(),
  };
  return kFamilies;
}

}  // namespace sluice
