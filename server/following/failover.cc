// See failover.h.
#include "server/following/failover.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// For ever, as no clock comes there.
constexpr int64_t kTimeoutMsMax = int64_t{1} << 40;

}  // namespace

Failover::Failover(const Uses& uses) : on_(uses) {
  on_.following.set_take_over_listener([this](std::string_view refusal) { TakenOver(refusal); });
}

Fault Failover::Begin(Request request) {
  if (state_ != State::kNone) return "ERR FAILOVER already in progress.";
  if (on_.following.is_on()) return "ERR FAILOVER is not valid when server is a replica.";
  if (on_.replicas.count() == 0) return "ERR FAILOVER requires connected replicas.";
  if (request.is_forced && (request.timeout_ms == 0 || !request.to)) {
    return "ERR FAILOVER with force option requires both a timeout and target HOST and IP.";
  }
  if (request.to) {
    const Replica* const target = on_.replicas.Find(request.to->host, request.to->port);
    if (!target) return "ERR FAILOVER target HOST and PORT is not a replica.";
    if (target->phase != ReplicaPhase::kOnline) return "ERR FAILOVER target replica is not online.";
  }
  request_ = std::move(request);
  until_ms_ = request_.timeout_ms > 0
                  ? on_.clock.now().ms() + std::min(request_.timeout_ms, kTimeoutMsMax)
                  : 0;
  state_ = State::kWaitsForSync;
  on_.pause.HoldWrites(Pause::Cause::kFailover);
  on_.replicas.set_quiet(true);
  on_.host.Log(LogLevel::kNotice, Concat("FAILOVER requested to ", TargetText(), "."));
  return {};
}

Fault Failover::Abort() {
  if (state_ == State::kNone) return "ERR No failover in progress.";
  GiveUp("Failover manually aborted");
  return {};
}

std::string Failover::TargetText() const {
  return request_.to ? Concat(request_.to->host, ":", request_.to->port) : "any replica";
}

void Failover::LookForSync() {
  if (until_ms_ > 0 && on_.clock.now().ms() >= until_ms_) {
    if (request_.is_forced)
      return HandOver(Concat("FAILOVER to ", TargetText(), " time out exceeded, failing over."));
    return GiveUp("Replica never caught up before timeout");
  }
  std::optional<Target> ready;
  on_.replicas.VisitAll([&](const Session& session, const Replica& replica) {
    const Target target{on_.replicas.IpOf(session), replica.port};
    const bool is_wanted =
        !request_.to || (request_.to->host == target.host && request_.to->port == target.port);
    const bool has_all =
        replica.phase == ReplicaPhase::kOnline && replica.acked == on_.replicas.stream().end();
    if (is_wanted && has_all && !ready) ready = target;
  });
  if (!ready) return;
  request_.to = std::move(ready);
  HandOver(Concat("Failover target ", TargetText(), " is synced, failing over."));
}

void Failover::HandOver(std::string_view why) {
  on_.host.Log(LogLevel::kNotice, why);
  state_ = State::kInProgress;
  on_.following.HandOverTo(request_.to->host, request_.to->port);
}

// It follows the target now; or that one does not want to be the master.
void Failover::TakenOver(std::string_view refusal) {
  if (state_ != State::kInProgress) return;
  refusal.empty() ? End() : GiveUp(refusal);
}

void Failover::GiveUp(std::string_view why) {
  on_.host.Log(LogLevel::kNotice, Concat("FAILOVER to ", TargetText(), " aborted: ", why));
  if (state_ == State::kInProgress) on_.following.BeMaster();
  End();
}

void Failover::End() {
  state_ = State::kNone;
  request_ = {};
  until_ms_ = 0;
  on_.replicas.set_quiet(false);
  on_.pause.LetWrites(Pause::Cause::kFailover);
}

}  // namespace sluice
