// How requests for locks are answered: LOCK.ACQUIRE's grant, LOCK.MACQUIRE's tokens, at once or at
// the end of a wait.
#pragma once

#include <cstdint>

#include "server/dispatch/command.h"
#include "storage/locks/locks.h"

namespace sluice {

void ReplyGrant(ReplySink& reply, const LockGrant& grant, int64_t waited_ms);
void ReplyTokens(ReplySink& reply, const LockGrants& grants);

}  // namespace sluice
