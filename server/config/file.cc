// Config's reading of redis.conf: lines, words and includes (file.h). A directive's meaning is in
// its row; the lines of users are kept as they are.
#include "server/config/file.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/config/config.h"
#include "server/config/options.h"
#include "storage/log/rdb_source.h"

namespace sluice {
std::string_view TrimLine(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t from = line.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(kBlank) - from + 1);
}

// --- loading

// The path is made absolute for CONFIG REWRITE, as `dir` may change the working directory.
Fault Config::LoadFile(const std::string& path) {
  file_ = disk_->Absolute(path);
  return LoadFile(path, 0);
}

// Included files come here too, with a depth above 0. REWRITE knows the first file alone.
Fault Config::LoadFile(const std::string& path, int depth) {
  std::string text;
  if (const int fault = disk_->Read(path, text); fault != 0) {
    return Concat("can't open the config file '", path, "': ", WhyUnopened(fault));
  }
  return LoadLines(text, {.source = path, .depth = depth});
}

// Standard input and the command line: nothing of them is rewritten.
Fault Config::LoadText(std::string_view text, std::string_view source) {
  return LoadLines(text, {.source = source});
}

// Stops at the first fault: a server does not start with half a configuration.
Fault Config::LoadLines(std::string_view text, Place place) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = TrimLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++place.line;
    if (line.empty() || line.front() == '#') continue;
    std::string fault = LoadLine(line, place);
    if (fault.empty()) continue;
    if (!gathers_faults_) return fault;
    faults_.push_back(std::move(fault));
  }
  return {};
}

// A fault comes back with file, line and text, a warning is kept with file and line. Options of the
// command line have no source.
Fault Config::LoadLine(std::string_view line, const Place& place) {
  const size_t warnings = warnings_.size();
  std::vector<std::string> words;
  const std::string fault = SplitWords(line, words) ? LoadDirective(words, place)
                                                    : "Unbalanced quotes in configuration line";
  const bool is_include = !words.empty() && LowerCase(words[0]) == "include";
  if (!place.source.empty() && !is_include) {
    for (size_t i = warnings; i < warnings_.size(); ++i)
      warnings_[i] = Concat(place.source, ", line ", place.line, ": ", warnings_[i]);
  }
  if (fault.empty()) return {};
  if (place.source.empty()) return Concat("--", line, ": ", fault);
  return Concat(place.source, ", line ", place.line, ": '", line, "': ", fault);
}

// Ignored words first, then what is refused, then `include`, then options.
Fault Config::LoadDirective(std::vector<std::string> words, const Place& place) {
  if (words.empty()) return {};
  const std::string name = LowerCase(words[0]);
  words.erase(words.begin());
  for (const std::string_view ignored : IgnoredDirectives()) {
    if (name == ignored && words.size() == 1) return {};
  }
  for (const CommandDirective& directive : CommandDirectives()) {
    if (name == directive.name) return KeepLine(directive, std::move(words), place);
  }
  for (const RefusedDirective& refused : RefusedDirectives()) {
    if (name == refused.name) return Concat("Sluice does not take this: ", refused.why);
  }
  if (name == "include" && words.size() == 1) return Include(words[0], place.depth);
  return SetAtStart(name, std::move(words));
}

Fault Config::KeepLine(const CommandDirective& directive, std::vector<std::string> words,
                       const Place& place) {
  if (words.size() < directive.words_min || words.size() > directive.words_max)
    return "Bad directive or wrong number of arguments";
  std::string where = place.source.empty() ? Concat("--", directive.name)
                                           : Concat(place.source, ", line ", place.line);
  directive_lines_.push_back({directive.name, std::move(words), std::move(where)});
  return {};
}

// A pattern includes what it matches, perhaps nothing; a plain path must be there.
Fault Config::Include(const std::string& pattern, int depth) {
  if (depth + 1 >= kIncludeDepthMax) return "includes go too deep: does a file include itself?";
  if (pattern.find_first_of("*?[") == std::string::npos) return LoadFile(pattern, depth + 1);
  std::string fault;
  for (const std::string& path : disk_->Match(pattern)) {
    if (fault.empty()) fault = LoadFile(path, depth + 1);
  }
  return fault;
}

}  // namespace sluice
