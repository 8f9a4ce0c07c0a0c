// See sections.h.
#include "server/figures/sections.h"

namespace sluice {
namespace {

constexpr std::string_view kOpening =
    "# Fields of INFO\n\n"
    "Made from the rows in `server/figures/` by `tools/info_fields`: change it there.\n"
    "`sluice --print-info` prints it. Names and order are Redis 7.0's where Redis has a field; "
    "monitors read them,\n"
    "so that a field stays even where Sluice has nothing to count. INFO shows all sections but "
    "Commandstats,\n"
    "Latencystats, Locks, Turns, Timers and Limits, which are asked for by name or by `INFO "
    "everything`.\n"
    "Where no unit stands a field counts things, or is a word.\n";

}  // namespace

std::span<const FigureSection> FigureSections() {
  static const FigureSection kSections[] = {
      {"server", "Server", true, ServerFigures()},
      {"clients", "Clients", true, ClientFigures()},
      {"memory", "Memory", true, MemoryFigures()},
      {"persistence", "Persistence", true, PersistenceFigures()},
      {"stats", "Stats", true, StatisticsFigures()},
      {"replication", "Replication", true, ReplicationFigures()},
      {"cpu", "CPU", true, CpuFigures()},
      // An empty section still has its title. Modules of Redis that Sluice has built in are not
      // listed: MODULE LIST is empty too.
      {"modules", "Modules", true, {}},
      {"commandstats", "Commandstats", false, CommandFigures()},
      {"errorstats", "Errorstats", true, ErrorFigures()},
      {"latencystats", "Latencystats", false, LatencyFigures()},
      {"cluster", "Cluster", true, ClusterFigures()},
      {"keyspace", "Keyspace", true, KeyspaceFigures()},
      // Ours.
      {"locks", "Locks", false, LockFigures()},
      {"turns", "Turns", false, TurnFigures()},
      {"timers", "Timers", false, TimerFigures()},
      {"limits", "Limits", false, LimitFigures()},
  };
  return kSections;
}

void FigureSection::Write(From from, InfoText& text) const {
  text.Title(title);
  for (const Figure& figure : figures) figure.WriteField(from, text);
}

std::string InfoPage() {
  std::string page(kOpening);
  for (const FigureSection& section : FigureSections()) {
    if (section.figures.empty()) continue;
    ConcatTo(page, "\n## ", section.title, "\n\n| Field | Unit | What it tells |\n|---|---|---|\n");
    for (const Figure& figure : section.figures) {
      if (figure.name.empty()) continue;
      ConcatTo(page, "| `", figure.name, "` | ", figure.unit, " | ", figure.meaning, " |\n");
    }
  }
  return page;
}

}  // namespace sluice
