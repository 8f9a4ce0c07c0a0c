// The service (lock_service.h) after a start, and after a replica was made the master: whether
// grants may be missing, and for how long names without a known owner are held back then.
#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/planted_faults.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

// The end of the last lease that was given under a token up to `last_token`, in engine ms.
// O(holders).
int64_t LastLeaseMs(HeldLocks& held, int databases, int64_t last_token) {
  int64_t last_ms = INT64_MIN;
  for (int db = 0; db < databases; ++db) {
    held.List(db, 0, SIZE_MAX, [&](const Lock& lock) {
      for (const LockHolder& holder : lock.holders()) {
        const int64_t ends_ms = holder.EndsAtMs();
        if (holder.token <= last_token && ends_ms != kNoDeadline)
          last_ms = std::max(last_ms, ends_ms);
      }
    });
  }
  return last_ms;
}

// In words, of a server that holds names back.
std::string_view WhenOf(GraceReason reason) {
  switch (reason) {
    case GraceReason::kLinkWasDown:
      return "to this server, which was promoted while the link to its master was down";
    case GraceReason::kGrantsDidNotWait:
      return "to this server, which was promoted, and the grants of its master did not wait for it";
    case GraceReason::kDataNotWhole:
      return "to this server, which was promoted without all data of its master";
    default:
      return "after this start";
  }
}

}  // namespace

// --- restarts

void LockService::Started(bool has_data, bool has_all_grants, int64_t last_unix_ms) {
  if (has_data || horizon_.is_on()) reservation_.Open();
  if (has_data) reservation_.Loaded();
  if (!horizon_.is_on()) return;
  // A wall clock that is behind what is known was set back since.
  const int64_t unix_ms = std::max(on_.clock.now().unix_ms(), last_unix_ms);
  int64_t until_unix_ms = reservation_.held_back_until_unix_ms();
  const bool goes_on = until_unix_ms != 0;
  // Where every answer waited for the disk, and after a clean stop, the file names no horizon.
  const bool was_ahead = !has_all_grants && reservation_.found_horizon_unix_ms() > 0;
  const bool may_lack_grants = was_ahead || on_.log.is_unsure;
  if (may_lack_grants)
    until_unix_ms = std::max(until_unix_ms, reservation_.found_horizon_unix_ms());
  int64_t left_ms = until_unix_ms - unix_ms;
  RestartGrace::Terms terms = {.goes_on = goes_on};
  if (may_lack_grants || goes_on) {
    const int64_t last_token = may_lack_grants ? INT64_MAX : memory_.doubted();
    // Known leases count, too. Where the clock was set back, or the time without a server does not
    // count, they last longer than the file says, and each may be of a lock that is another's by
    // now. So do those of a grace that no server has seen to its end.
    const int64_t last_ms = LastLeaseMs(held_, on_.keyspace.databases(), last_token);
    terms.is_of_held = !may_lack_grants && left_ms <= 0;
    if (last_ms > on_.clock.now().ms()) left_ms = std::max(left_ms, last_ms - on_.clock.now().ms());
  }
  left_ms = std::min(left_ms, on_.config.settings().lock_restart_grace_max);
  if (may_lack_grants || left_ms > 0) memory_.DoubtUpTo(tokens_.last());
  if (left_ms > GraceLeftMs() && !IsPlanted(PlantedFault::kNoGrace)) {
    HoldBack(left_ms, terms, GraceReason::kStart);
  } else if (may_lack_grants && (memory_.size() > 0 || held_.size() > 0)) {
    NoteDoubt(0);
  } else {
    reservation_.HoldBackNoMore();
  }
}

// Said on disk first: another start may follow at once, which would miss the same grants.
void LockService::NoteDoubt(int64_t held_back_until_unix_ms) {
  if (const int fault = reservation_.HoldBackUntil(held_back_until_unix_ms))
    on_.host.Log(
        LogLevel::kWarning,
        Concat("another restart would not know which locks are in doubt: ", std::strerror(fault)));
}

void LockService::HoldBack(int64_t left_ms, RestartGrace::Terms terms, GraceReason reason) {
  grace_reason_ = reason;
  const Now now = on_.clock.now();
  NoteDoubt(now.unix_ms() + left_ms);
  terms.last_token = tokens_.last();
  grace_.Begin(now.ms(), now.ms() + left_ms, terms);
  locks_.set_holders_may_be_missing(true);
  on_.timers.Arm(grace_ends_, now.ms() + left_ms);
  on_.host.Log(LogLevel::kWarning,
               terms.is_of_held
                   ? Concat("locks that are known may be another owner's by now: those whose owner "
                            "does not prove itself are in doubt for ",
                            left_ms, " ms (lock-restart-grace)")
                   : Concat("locks may be held that are not known ", WhenOf(reason),
                            ": those without a known owner are held back for ", left_ms,
                            " ms (lock-restart-grace)"));
}

// --- a replica that becomes the master

void LockService::MasterHasSaid(const MasterReserve& reserve) {
  // Marks of a stream that was followed before stay true: tokens never go back.
  reservation_.MasterHas(reserve.token_mark);
  master_has_.horizon_ms = std::max(master_has_.horizon_ms, reserve.horizon_ms);
  master_has_.is_complete = reserve.is_complete;
}

GraceReason LockService::ReasonAfter(const PromotedReplica& was) const {
  if (!was.may_lack_locks) return GraceReason::kNone;
  if (!was.is_whole) return GraceReason::kDataNotWhole;
  if (!was.is_link_up) return GraceReason::kLinkWasDown;
  return master_has_.is_complete ? GraceReason::kNone : GraceReason::kGrantsDidNotWait;
}

void LockService::Promoted(const PromotedReplica& was) {
  const GraceReason reason = ReasonAfter(was);
  const MasterReserve had = std::exchange(master_has_, {});
  switch (reason) {
    case GraceReason::kDataNotWhole:
      reservation_.PromotedUntold(kTokenStartAhead);
      break;
    case GraceReason::kLinkWasDown:
      reservation_.PromotedUntold(2 * kTokenMarkAhead);
      break;
    default:
      reservation_.Promoted();
  }
  if (reason == GraceReason::kNone || !MayHoldBack()) return;
  memory_.DoubtUpTo(tokens_.last());
  // A master that never said how long its leases last may have given any.
  const int64_t most_ms = on_.config.settings().lock_restart_grace_max;
  const bool is_known = was.is_whole && had.horizon_ms > 0;
  const int64_t left_ms =
      is_known ? std::min(most_ms, had.horizon_ms - on_.clock.now().ms()) : most_ms;
  if (left_ms > 0 && !IsPlanted(PlantedFault::kNoPromotedGrace)) HoldBack(left_ms, {}, reason);
}

// A promoted server has its data without a log, too.
bool LockService::MayHoldBack() const { return on_.config.settings().lock_restart_grace != "no"; }

void LockService::GraceBoundChanged() {
  if (!grace_.is_on()) return;
  const Now now = on_.clock.now();
  const bool is_of_start = grace_reason_ == GraceReason::kStart;
  const bool goes_on = is_of_start ? horizon_.is_on() : MayHoldBack();
  const int64_t most_ms = goes_on ? on_.config.settings().lock_restart_grace_max : 0;
  const int64_t left_ms = grace_.begun_ms() + most_ms - now.ms();
  if (left_ms >= grace_.LeftMs(now)) return;
  if (left_ms <= 0) {
    on_.timers.Disarm(grace_ends_);
    return EndGrace();
  }
  grace_.Shorten(now.ms() + left_ms);
  on_.timers.Arm(grace_ends_, now.ms() + left_ms);
}

// Until here a stand-in held the names back, so all names with waiters are looked at again.
void LockService::EndGrace() {
  grace_.End();
  reservation_.HoldBackNoMore();
  locks_.set_holders_may_be_missing(false);
  on_.host.Log(LogLevel::kNotice, "locks are no longer held back");
  for (int db = 0; db < on_.keyspace.databases(); ++db) locks_.LookAgain(db, on_.clock.now());
}

}  // namespace sluice
