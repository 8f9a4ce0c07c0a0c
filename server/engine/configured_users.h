// The users that a configuration's lines describe ("user bob on >word ~app:* +@read"), each read by
// itself, so that all faults can be told at once.
#pragma once

#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "server/access/users.h"
#include "server/config/config.h"

namespace sluice {

struct ConfiguredUsers {
  std::vector<User> users;          // of lines without a fault, in their order
  std::vector<std::string> faults;  // a sentence each, with the place of its line
};

// Nothing is changed: `context` tells what rules may name. A configuration that names an ACL file
// has its users there: then each line is a fault.
ConfiguredUsers ReadConfiguredUsers(const Config& config, const Users& context);

// The rules of one line for `user`, who has its name: the fault with its place, or empty. The
// default user's line says all of it.
Fault ReadConfiguredUser(const Config::DirectiveLine& line, const Users& context, User& user);

}  // namespace sluice
