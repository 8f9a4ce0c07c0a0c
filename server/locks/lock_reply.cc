// See lock_reply.h.
#include "server/locks/lock_reply.h"

#include "server/dispatch/reply_fields.h"

namespace sluice {

std::string_view RefusalText(AcquireOutcome outcome) {
  switch (outcome) {
    case AcquireOutcome::kDeadlock:
      return "DEADLOCK the owners would wait for each other in a circle";
    case AcquireOutcome::kLockMode:
      return "LOCKMODE this owner holds the lock in another mode";
    case AcquireOutcome::kOtherPermits:
      return "ERR the semaphore has another number of permits";
    case AcquireOutcome::kNoTokens:
      return "ERR no fencing token can be given, see the log";
    case AcquireOutcome::kNotHeld:
      return kNotHeld;
    default:
      return {};
  }
}

// `waited_ms` is 0 for a grant without a wait.
void ReplyGrant(ReplySink& reply, const LockGrant& grant, int64_t waited_ms) {
  if (reply.version() == 2) [[likely]] {  // as below, in one piece
    const int64_t values[] = {grant.token, grant.lease_ms, grant.holds, waited_ms};
    return reply.Integers(values);
  }
  ReplyFields fields(reply, 4);
  fields.Integer("token", grant.token);
  fields.Integer("lease_ms", grant.lease_ms);
  fields.Integer("holds", grant.holds);
  fields.Integer("waited_ms", waited_ms);
}

void ReplyTokens(ReplySink& reply, const LockGrants& grants) {
  reply.Array(grants.size());
  for (const LockGrant& grant : grants) reply.Integer(grant.token);
}

}  // namespace sluice
