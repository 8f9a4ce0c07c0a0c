// Gates: what may keep a known, well-formed command from running. Each is a small named function;
// their order, which is Redis's and visible in its error texts, stands in one array in gates.cc. A
// session with no condition on a server with none skips them all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/engine/command_table.h"
#include "server/engine/session.h"

namespace sluice {

class Engine;

// The answer to a client that sends what only a log may say.
inline constexpr std::string_view kOnlyReplayedText =
    "ERR only a log that is replayed may say this, not a client";

// The sentence why not, or empty.
std::string AskGates(Engine& engine, Session& session, const Command& command);

}  // namespace sluice
