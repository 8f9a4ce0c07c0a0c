// LIMIT.TAKE for a host program, without words and without a command around it: what is stored and
// counted is the same. Reading and writing words, and what surrounds a command in case that
// somebody is to hear of it, are half of what one in a program takes.
//
// It is for sessions that Engine::DirectSession has let pass, and for requests that LIMIT.TAKE has
// read and checked.
#pragma once

#include <optional>
#include <string_view>

#include "protocol/args.h"
#include "server/clients/session.h"
#include "server/core/parts.h"
#include "server/dispatch/command.h"
#include "storage/limits/limiter_state.h"

namespace sluice {

// What LIMIT.TAKE was asked for last, if these were its words behind the key. None: other words, or
// more than a plain request.
std::optional<LimitRequest> LastTake(const Parts& parts, Args words);

// None: the key holds something else, and nothing has happened. `command`: LIMIT.TAKE's row.
std::optional<LimitVerdict> TakeDirectly(const Parts& parts, Session& session,
                                         const Command& command, std::string_view key,
                                         const LimitRequest& request);

}  // namespace sluice
