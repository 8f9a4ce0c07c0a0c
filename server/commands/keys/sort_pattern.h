// The patterns of SORT's BY and GET: "weight_*" is the string of such a key, '*' being the element;
// "object_*->field" is a field of such a hash; "#" is the element itself.
//
// Such a look-up counts as a keyspace hit or miss and may remove an expired key, so no entry that
// was found before it may be used after it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/dispatch/command.h"

namespace sluice {

// Whether what the pattern leads to depends on the element.
bool HasPlaceholder(std::string_view pattern);
// Null when there is nothing.
std::optional<std::string> LookUpPattern(CommandCall& call, std::string_view pattern,
                                         std::string_view element);

}  // namespace sluice
