// MetricsOf: what a scrape of /metrics gets. Figures are those of INFO, under the names that
// redis_exporter gives them (redis_*) where it knows them, and our own (sluice_*) beside them.
//
// It reads counters: O(commands that were called + policies + databases), whatever the keys are.
// Rows are in metrics_redis.cc and metrics_own.cc. Bounded: some 100 KB.
#pragma once

#include <string>

#include "server/core/parts.h"
#include "server/figures/metric_text.h"
#include "server/http/figures.h"

namespace sluice {

std::string MetricsOf(const Parts& parts, const HttpFigures& figures, MetricText::Form form);

// --- its two halves
void WriteRedisMetrics(const Parts& parts, MetricText& text);
void WriteOwnMetrics(const Parts& parts, const HttpFigures& figures, MetricText& text);

}  // namespace sluice
