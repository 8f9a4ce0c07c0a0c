// Dumps to be damaged, of each form of each type, and ways to damage them. The checksum is put
// right afterwards: only a value's own bytes stand between the damage and memory.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace sluice {

using DamageRandom = std::mt19937_64;

// Bodies of dumps: type and value, without version and checksum. Those that `server` makes by
// commands, and older forms that are only read. Few bytes each. The server is empty afterwards.
std::vector<std::string> DumpSamples(TestEngine& server);

// One to four changes: bits, bytes, pieces left out, put in, said twice or taken from another
// sample, lengths and counts that are extreme, another type.
std::string Damaged(const std::vector<std::string>& samples, DamageRandom& random);

// The dump of a body, with version and checksum.
std::string Sealed(std::string body);

}  // namespace sluice
