// The texts of LATENCY GRAPH and LATENCY DOCTOR: pictures and advice made of the latency monitor's
// series.
#pragma once

#include <cstdint>
#include <string>

#include "server/observe/latency_monitor.h"

namespace sluice {

struct Settings;

// Requires: the event has samples.
std::string DrawLatencyGraph(const LatencyMonitor& monitor, LatencyEvent event, int64_t unix_s);
// Both texts end with a line end. `unix_s` is now, which ages are counted from.
std::string LatencyDoctorReport(const LatencyMonitor& monitor, const Settings& settings,
                                int64_t unix_s);

}  // namespace sluice
