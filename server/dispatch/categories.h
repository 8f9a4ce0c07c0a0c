// The categories of a command, for the rules of users, ACL CAT and COMMAND INFO: a row names some,
// and its flags imply others. Their names are access/catalogue's.
#pragma once

#include <cstdint>

#include "server/dispatch/command.h"

namespace sluice {

// Bit i stands for the i-th of AccessCategoryNames().
uint32_t CategoriesOf(const CommandSpec& spec);

}  // namespace sluice
