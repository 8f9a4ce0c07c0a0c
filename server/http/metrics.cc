// See metrics.h.
#include "server/http/metrics.h"

namespace sluice {

std::string MetricsOf(const Parts& parts, const HttpFigures& figures, MetricText::Form form) {
  MetricText text(form);
  WriteRedisMetrics(parts, text);
  WriteOwnMetrics(parts, figures, text);
  return text.Finish();
}

}  // namespace sluice
