// See standstill.h.
#include "server/core/standstill.h"

#include "storage/keyspace/keyspace.h"

namespace sluice {

void Standstill::Begin(Reason reason, const Now& now) {
  if (reasons_ == 0) began_ms_ = now.ms();
  reasons_ |= reason;
  keyspace_.set_expiry_allowed(!is_on());
}

void Standstill::End(Reason reason) {
  const bool was_on = is_on();
  reasons_ &= ~uint32_t{reason};
  if (!was_on || is_on()) return;
  keyspace_.set_expiry_allowed(true);
  flags_.Raise(SlowPathFlags::kServe);  // those that waited for a limit
}

}  // namespace sluice
