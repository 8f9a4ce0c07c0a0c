// See lock_effect.h.
#include "server/locks/lock_effect.h"

#include "protocol/text/number_text.h"

namespace sluice {

// -1 stands for no lease and no MINHOLD; the session is a flag, as its connection means nothing to
// others.
void TellHolder(LockNameView name, const Lock& lock, const LockHolder& holder, const Now& now,
                absl::FunctionRef<void(Args)> tell) {
  // Absolute Unix ms, as the log is read at another time.
  const bool leased = holder.has_lease();
  const int64_t minhold_ms = holder.minhold_until_ms();
  const std::string token = Int64Text(holder.token);
  const std::string permits = Int64Text(holder.permits());
  const std::string of = Int64Text(lock.permits_of());
  const std::string holds = Int64Text(holder.holds);
  const std::string lease = Int64Text(leased ? holder.lease_until_ms + now.unix_offset_ms : -1);
  const std::string since = Int64Text(holder.since_ms + now.unix_offset_ms);
  const std::string whole = Int64Text(holder.lease_ms);
  const std::string minhold = Int64Text(minhold_ms == 0 ? -1 : minhold_ms + now.unix_offset_ms);
  const std::string_view words[] = {"LOCK.RESTORE",
                                    name.key,
                                    token,
                                    holder.owner,
                                    kLockModeWords[static_cast<size_t>(lock.mode())],
                                    permits,
                                    of,
                                    holds,
                                    lease,
                                    minhold,
                                    holder.sessions().empty() ? "0" : "1",
                                    holder.label(),
                                    since,
                                    whole};
  tell(words);
}

}  // namespace sluice
