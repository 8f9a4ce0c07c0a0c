// The sections of INFO, each with its figures: the one list of all that the server tells of itself.
// Redis's sections stand in its order, ours behind them. Ours are not shown by default, so that the
// text of INFO stays what tools expect.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/figures/figure.h"

namespace sluice {

// `by_default`: INFO without arguments shows it.
struct FigureSection {
  std::string_view name;  // as a client asks for it, lower case
  std::string_view title;
  bool by_default;
  std::span<const Figure> figures;

  void Write(From from, InfoText& text) const;  // for INFO
};
std::span<const FigureSection> FigureSections();

// All fields of INFO as a page of Markdown: a table for each section.
std::string InfoPage();

// --- figures of a section, or of a few that are read alike

// server_figures.cc: the process and its clients
std::span<const Figure> ServerFigures();
std::span<const Figure> ClientFigures();
std::span<const Figure> ReplicationFigures();
std::span<const Figure> CpuFigures();
std::span<const Figure> ClusterFigures();
// memory_figures.cc
std::span<const Figure> MemoryFigures();
// persistence_figures.cc: the log and snapshots
std::span<const Figure> PersistenceFigures();
// statistics_figures.cc: counters since the start or CONFIG RESETSTAT
std::span<const Figure> StatisticsFigures();
// counted_figures.cc: a line for each command, error or database
std::span<const Figure> CommandFigures();
std::span<const Figure> ErrorFigures();
std::span<const Figure> LatencyFigures();
std::span<const Figure> KeyspaceFigures();
// lock_figures.cc
std::span<const Figure> LockFigures();
// time_figures.cc: turns and timers
std::span<const Figure> TurnFigures();
std::span<const Figure> TimerFigures();
// limit_figures.cc
std::span<const Figure> LimitFigures();

}  // namespace sluice
