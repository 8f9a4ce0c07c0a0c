// See figure_sources.h.
#include "server/figures/figure_sources.h"

#include <algorithm>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/core/turn_clock.h"
#include "server/engine/facts.h"
#include "server/limits/limit_service.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

int64_t FigureSources::uptime_ms() const {
  return Get<TurnClock>().now().ms() - Get<Facts>().started_ms();
}

uint64_t FigureSources::dataset() const { return Get<Keyspace>().memory_bytes(); }

const ProcessUsage& FigureSources::usage() {
  if (!usage_) usage_ = Get<Host>().process().Usage();
  return *usage_;
}

const AllocatorUsage& FigureSources::allocator() {
  if (!allocator_) allocator_ = Get<Host>().process().Allocator();
  return *allocator_;
}

uint64_t FigureSources::used_memory() {
  if (!used_memory_) used_memory_ = Get<Facts>().UsedMemory();
  return *used_memory_;
}

uint64_t FigureSources::peak_memory() {
  return std::max<uint64_t>(Get<Facts>().memory_peak(), used_memory());
}

const ClientSums& FigureSources::sums() {
  if (!sums_) {
    sums_.emplace();
    Get<Clients>().ForEach([this](Session& session) {
      sums_->paused += session.paused;
      sums_->input_max = std::max(sums_->input_max, session.pending.size());
      sums_->output_max = std::max(sums_->output_max, session.output.bytes());
    });
  }
  return *sums_;
}

const LimitStatistics::Decided& FigureSources::decided() {
  if (!decided_) decided_ = Get<LimitService>().statistics().All();
  return *decided_;
}

}  // namespace sluice
