// How requests for locks are answered, at once or at the end of a wait: LOCK.ACQUIRE's grant,
// LOCK.MACQUIRE's tokens, and what is refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/dispatch/command.h"
#include "storage/locks/locks.h"

namespace sluice {

// An owner that has lost its lock must learn it, so this is an error and never a 0.
inline constexpr std::string_view kNotHeld = "NOTHELD this owner does not hold the lock";

// Outcomes that waiting would not mend, as errors. Empty for the others.
std::string_view RefusalText(AcquireOutcome outcome);

void ReplyGrant(ReplySink& reply, const LockGrant& grant, int64_t waited_ms);
void ReplyTokens(ReplySink& reply, const LockGrants& grants);

}  // namespace sluice
