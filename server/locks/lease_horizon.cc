// See lease_horizon.h.
#include "server/locks/lease_horizon.h"

#include <algorithm>
#include <cstdlib>

namespace sluice {
namespace {

// It is written so far ahead of a lease's end, or as far as the lease is long: with leases of 30 s
// once in 15 s.
constexpr int64_t kAheadMs = 5000;
// The file names a moment of the wall clock, which drifts; beyond that it is written anew.
constexpr int64_t kDriftMs = 500;

}  // namespace

bool LeaseHorizon::is_on() const {
  if (settings_.lock_restart_grace == "no" || settings_.fence_mark_file.empty()) return false;
  // "auto" asks for a log as well.
  return settings_.appendonly || settings_.lock_restart_grace == "yes";
}

// The latest of lease, MINHOLD and the grace of a session, in engine ms.
int64_t LeaseHorizon::EndOf(const LockHolder& holder, const Now& now) const {
  const int64_t lease_ms = holder.has_lease() ? int64_t{holder.lease_until_ms} : 0;
  const int64_t ends_ms = std::max(lease_ms, holder.minhold_until_ms());
  if (holder.sessions().empty()) return ends_ms;
  return std::max(ends_ms, now.ms() + settings_.session_grace_ms);
}

bool LeaseHorizon::Cover(int64_t hold_ms, int64_t ends_ms) {
  if (answers_wait() || hold_ms <= 0) return true;
  if (IsTooLong(hold_ms)) return false;
  Reach(hold_ms, ends_ms, wanted_ms_);
  return ends_ms <= written_ms_;
}

// In steps, so that a renewal every few seconds does not write each time.
void LeaseHorizon::Reach(int64_t hold_ms, int64_t ends_ms, int64_t& wanted_ms) {
  if (hold_ms <= 0) return;
  const int64_t ahead_ms = std::max(hold_ms, kAheadMs);
  if (ends_ms + ahead_ms / 2 > wanted_ms) wanted_ms = ends_ms + ahead_ms;
}

bool LeaseHorizon::IsBehind(const Now& now) const {
  if (wanted_ms_ > written_ms_) return true;
  return written_ms_ > now.ms() && std::abs(now.unix_offset_ms - written_offset_ms_) > kDriftMs;
}

void LeaseHorizon::Written(int64_t horizon_ms, int64_t unix_offset_ms) {
  written_ms_ = horizon_ms;
  wanted_ms_ = std::max(wanted_ms_, horizon_ms);
  written_offset_ms_ = unix_offset_ms;
}

}  // namespace sluice
