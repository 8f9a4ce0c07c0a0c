// See info.h.
#include "server/commands/admin/info.h"

#include <charconv>

#include "protocol/text/letters.h"
#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// Redis's sections in its order, ours behind them. Ours are not shown by default, so that the text
// of INFO stays what tools expect.
constexpr InfoSection kSections[] = {
    {"server", "Server", true, WriteServer},
    {"clients", "Clients", true, WriteClients},
    {"memory", "Memory", true, WriteMemory},
    {"persistence", "Persistence", true, WritePersistence},
    {"stats", "Stats", true, WriteStats},
    {"replication", "Replication", true, WriteReplication},
    {"cpu", "CPU", true, WriteCpu},
    {"modules", "Modules", true, WriteModules},
    {"commandstats", "Commandstats", false, WriteCommandStats},
    {"errorstats", "Errorstats", true, WriteErrorStats},
    {"latencystats", "Latencystats", false, WriteLatencyStats},
    {"cluster", "Cluster", true, WriteCluster},
    {"keyspace", "Keyspace", true, WriteKeyspace},
    // Ours.
    {"locks", "Locks", false, WriteLocks},
    {"turns", "Turns", false, WriteTurns},
    {"timers", "Timers", false, WriteTimers},
    {"limits", "Limits", false, WriteLimits},
};

// ALL and EVERYTHING are the same here, as there are no modules. Unknown words choose nothing: INFO
// foo is an empty text and no error.
bool IsWanted(const InfoSection& section, Args words) {
  if (words.empty()) return section.by_default;
  for (const std::string_view word : words) {
    if (IsSameInAnyCase(section.name, word) || IsWord(word, "ALL") || IsWord(word, "EVERYTHING")) {
      return true;
    }
    if (section.by_default && IsWord(word, "DEFAULT")) return true;
  }
  return false;
}

// In the order of the table, whatever order the words have, and each section once.
//   INFO nothing  → ""
void Info(CommandCall& call) {
  InfoText text;
  for (const InfoSection& section : kSections) {
    if (!IsWanted(section, call.args.subspan(1))) continue;
    text.Title(section.title);
    section.write(call.parts, text);
  }
  call.reply.Verbatim(text.text(), "txt");
}

constexpr CommandRow kInfoRows[] = {
    {.name = "INFO",
     .arity = -1,
     .flags = kLoading | kStale,
     .categories = kCatDangerous,
     .run = Info,
     .group = "server",
     .since = "1.0.0",
     .complexity = "O(1)",
     .usage = "[section [section ...]]",
     .summary = "Facts and counters about the server.",
     .history = "7.0.0 Several sections at once.",
     .tips = "nondeterministic_output,request_policy:all_shards,response_policy:special"},
};

}  // namespace

// The buffer is for the numbers of INFO, which are far below 10^50.
std::string FixedText(double value, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return std::string(text, end.ptr);
}

void InfoText::Human(std::string_view name, uint64_t bytes) {
  constexpr char kUnits[] = "KMGTP";
  std::string human = Concat(bytes, 'B');
  double scaled = static_cast<double>(bytes);
  for (int unit = 0; scaled >= 1024 && kUnits[unit]; ++unit) {
    scaled /= 1024;
    human = Concat(FixedText(scaled, 2), kUnits[unit]);
  }
  Field(Concat(name, "_human"), human);
}

CommandFamily InfoFamily() { return {"info", kSpecsOf<kInfoRows>}; }

}  // namespace sluice
