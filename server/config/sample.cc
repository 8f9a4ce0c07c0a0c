// See sample.h.
#include "server/config/sample.h"

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/config/options.h"
#include "server/config/version.h"

namespace sluice {
namespace {

constexpr std::string_view kOpening =
    "# It has the syntax of redis.conf: an option a line, its name first. Values with spaces\n"
    "# stand in quotes. What stands here in comments are the defaults; CONFIG SET changes many\n"
    "# of them while the server runs, and CONFIG REWRITE writes what has changed into this file.\n";

// The end of a line: what a value may be.
std::string RangeOf(const OptionShape& shape) {
  switch (shape.kind) {
    case OptionShape::Kind::kYesNo:
      return "yes or no";
    case OptionShape::Kind::kInteger:
      return shape.high >= kLongMax ? Concat("from ", shape.low, " on")
                                    : Concat(shape.low, " to ", shape.high);
    case OptionShape::Kind::kMemory:
      return "bytes; or with a unit: 100mb, 1gb";
    case OptionShape::Kind::kMemoryOrPercent:
      return "bytes, or with a unit (100mb), or a part (10%)";
    case OptionShape::Kind::kOctal:
      return "a mode, as chmod takes it";
    case OptionShape::Kind::kWord: {
      std::string words = "one of:";
      for (const std::string_view word : shape.words)
        ConcatTo(words, word == shape.words.front() ? " " : ", ", word);
      return words;
    }
    case OptionShape::Kind::kText:
    case OptionShape::Kind::kList:
      return {};
  }
  return {};
}

// Options of Redis that are not served, in lines that no reader takes for one of ours:
//   #   io-threads: no effect: it runs in one thread
std::string UnservedLines() {
  std::string text = "\n# Options of Redis that Sluice does not serve, and why:\n";
  for (const Option& option : UnservedOptions()) {
    if (option.hidden) continue;
    const bool is_refused = option.stance == Option::Stance::kRefused;
    ConcatTo(text, "#   ", option.name, is_refused ? ": refused but for " : ": no effect: ");
    if (is_refused) ConcatTo(text, QuotedWord(option.value), ": ");
    ConcatTo(text, option.doc, '\n');
  }
  for (const RefusedDirective& refused : RefusedDirectives())
    ConcatTo(text, "#   ", refused.name, ": refused: ", refused.why, '\n');
  return text;
}

}  // namespace

// A list is written word by word, as a line has it; an empty one is an empty word.
std::string SampleConfiguration(const Config& defaults) {
  std::string text = Concat("# Sluice ", kSluiceVersion, ": every option.\n#\n", kOpening);
  for (const Option& option : ServedOptions()) {
    if (option.hidden) continue;
    const Config::Pairs found = defaults.Get({&option.name, 1});
    const std::string value = found.empty() ? std::string() : found.front().second;
    const bool is_plain = option.is_list() && !value.empty();
    ConcatTo(text, "\n# ", option.name, ": ", option.doc, '\n');
    const std::string range = RangeOf(option.shape);
    const std::string_view when = option.immutable ? "only at the start" : "";
    if (!range.empty() || !when.empty()) {
      ConcatTo(text, "#   ", range, range.empty() || when.empty() ? "" : "; ", when, '\n');
    }
    ConcatTo(text, "# ", option.name, ' ', is_plain ? value : QuotedWord(value), '\n');
  }
  return text + UnservedLines();
}

}  // namespace sluice
