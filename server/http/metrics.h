// MetricsOf: what a scrape of /metrics gets. Figures are those of server/figures, under the names
// that redis_exporter gives them (redis_*) where it knows them, and our own (sluice_*) beside them.
// Left out are those that Sluice has nothing to count for (forks, replicas, defragmentation), and
// those whose names `promtool check metrics` objects to.
//
// It reads counters: O(commands that were called + policies + databases + clients), whatever the
// keys are. Bounded: some 100 KB.
#pragma once

#include <string>

#include "server/core/parts.h"
#include "server/figures/metric_text.h"
#include "server/http/figures.h"

namespace sluice {

std::string MetricsOf(const Parts& parts, const HttpFigures& figures, MetricText::Form form);

}  // namespace sluice
