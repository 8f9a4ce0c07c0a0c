// A configuration file with every option that Sluice serves: what it is for, which values it takes,
// and its default, each in a comment of its own. Made from the rows, so nothing is missing there.
//
//   # loglevel: how much is logged
//   #   one of: debug, verbose, notice, warning
//   # loglevel notice
#pragma once

#include <string>

#include "server/config/config.h"

namespace sluice {

// `defaults` is a configuration in which nothing has been set.
std::string SampleConfiguration(const Config& defaults);

}  // namespace sluice
