// See metrics.h.
#include "server/http/metrics.h"

#include <algorithm>
#include <vector>

#include "server/figures/sections.h"
#include "server/http/readiness_report.h"

namespace sluice {
namespace {

using Kind = MetricText::Kind;

// Figures that these pages find out themselves.
constexpr Figure kHttpRows[] = {
    {.read = [](From from) { return ReasonsNotReady(from.parts()).empty(); },
     .metric = Gauge("sluice_ready", "1: /readyz says that the server is ready.")},
    {.read = [](From from) { return LogLagBytes(from.parts()); },
     .metric = Gauge("sluice_log_lag_bytes", "Of them those that wait for the disk.")},
};

// redis_exporter's names first; both in the order of INFO, then those of this port.
std::vector<const Figure*> AllMetrics() {
  std::vector<const Figure*> all;
  const auto add = [&all](std::span<const Figure> figures) {
    for (const Figure& figure : figures) {
      if (!figure.metric.name.empty()) all.push_back(&figure);
    }
  };
  for (const FigureSection& section : FigureSections()) add(section.figures);
  add(kHttpRows);
  std::stable_partition(all.begin(), all.end(), [](const Figure* figure) {
    return figure->metric.name.starts_with("redis_");
  });
  return all;
}

void WriteHttp(const HttpFigures& figures, MetricText& text) {
  text.Begin("sluice_http_connections", Kind::kCounter, "Connections to this port.");
  text.Value(static_cast<double>(figures.connections));
  text.Begin("sluice_http_closed_early", Kind::kCounter,
             "Of them those that were closed for their silence or their number.");
  text.Value(static_cast<double>(figures.closed_early));
  text.Begin("sluice_http_requests", Kind::kCounter, "Requests of this port.");
  text.Value(static_cast<double>(figures.requests));
  text.Begin("sluice_http_page_seconds", Kind::kHistogram,
             "From a request of this port to its answer.");
  text.Value(figures.page_us, kShortBoundsUs, kMicro);
}

}  // namespace

std::string MetricsOf(const Parts& parts, const HttpFigures& figures, MetricText::Form form) {
  static const std::vector<const Figure*> kMetrics = AllMetrics();
  MetricText text(form);
  FigureSources sources(parts);
  for (const Figure* figure : kMetrics) figure->WriteMetric(sources, text);
  WriteHttp(figures, text);
  return text.Finish();
}

}  // namespace sluice
