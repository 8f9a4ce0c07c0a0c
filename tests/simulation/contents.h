// All that a server holds, as text that can be compared: keys, values, groups of streams,
// deadlines.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tests/support/engine_fixture.h"

namespace sluice {

using Contents = std::map<std::pair<int, std::string>, std::string>;  // by database and key

Contents ContentsOf(TestEngine& server);

}  // namespace sluice
