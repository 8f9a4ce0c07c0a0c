// HttpFigures: what the HTTP port counts of itself, for /metrics.
#pragma once

#include <cstdint>

#include "server/observe/histogram.h"

namespace sluice {

struct HttpFigures {
  uint64_t connections = 0;   // that came
  uint64_t closed_early = 0;  // because there were too many, or for their silence
  uint64_t requests = 0;
  Histogram page_us;  // from a request to its answer
};

}  // namespace sluice
