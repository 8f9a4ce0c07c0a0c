// See promotion_watch.h.
#include "server/replication/promotion_watch.h"

#include "protocol/text/concat.h"
#include "server/snapshots/snapshots.h"

namespace sluice {
namespace {

constexpr int64_t kWarnEveryMs = 60'000;

}  // namespace

// The last image for a redis-server has left something out, or the stream since has had something
// that it passes over.
bool PromotionWatch::AnyForSluiceAlone() const {
  return on_.replicas.stream().effects_for_sluice() > 0 || on_.snapshots.left_out().keys() > 0;
}

size_t PromotionWatch::promotable() const {
  if (on_.replicas.stream().is_relayed() || !AnyForSluiceAlone()) return 0;
  size_t redis_servers = 0;
  on_.replicas.VisitAll([&redis_servers](const Session&, const Replica& replica) {
    redis_servers += replica.phase == ReplicaPhase::kOnline && !replica.is_sluice &&
                     !replica.acknowledges_nothing() && replica.port > 0;
  });
  return redis_servers;
}

void PromotionWatch::EverySecond() {
  if (on_.clock.now().ms() < next_ms_) return;
  const size_t redis_servers = promotable();
  if (redis_servers == 0) return;
  next_ms_ = on_.clock.now().ms() + kWarnEveryMs;
  on_.host.Log(LogLevel::kWarning,
               Concat("redis-servers follow this one (", redis_servers,
                      ") and have none of its locks and limits: if one becomes the master, locks "
                      "that are held are handed out again. Set replica-priority 0 on each, so that "
                      "no Sentinel promotes it"));
}

}  // namespace sluice
