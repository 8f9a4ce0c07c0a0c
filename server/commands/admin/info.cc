// INFO: the sections of server/figures, as a client asks for them.

#include "protocol/text/letters.h"
#include "server/commands/families.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/figures/sections.h"

namespace sluice {
namespace {

// ALL and EVERYTHING are the same here, as there are no modules. Unknown words choose nothing: INFO
// foo is an empty text and no error.
bool IsWanted(const FigureSection& section, Args words) {
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
  FigureSources sources(call.parts);
  for (const FigureSection& section : FigureSections()) {
    if (IsWanted(section, call.args.subspan(1))) section.Write(sources, text);
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

CommandFamily InfoFamily() { return {"info", kSpecsOf<kInfoRows>}; }

}  // namespace sluice
