// See journal_expect.h. Each pattern needs a request of its own. In any order that is a matching in
// a bipartite graph, found by augmenting paths; of the requests that a pattern matches as many as
// there are patterns are enough.
#include "server/test_double/journal_expect.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr size_t kShownLast = 5;        // requests
constexpr size_t kShownBytesMax = 200;  // of each

constexpr size_t kNone = SIZE_MAX;

std::string UpperWords(std::string_view text, int words) {
  std::string upper(text);
  for (char& c : upper) {
    if (c == ' ' && --words == 0) break;
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

std::vector<std::string> Lines(const Journal& journal) {
  std::vector<std::string> lines;
  lines.reserve(journal.entries().size());
  for (const JournalEntry& entry : journal.entries()) {
    lines.push_back(entry.Line());
    if (lines.back().size() > RequestGlob::kLineBytesMax)
      lines.back().resize(RequestGlob::kLineBytesMax);
  }
  return lines;
}

std::string Shown(const JournalEntry& entry, std::string_view line) {
  const bool is_long = line.size() > kShownBytesMax;
  std::string text =
      Concat("#", entry.number, " ", line.substr(0, kShownBytesMax), is_long ? "..." : "");
  ConcatTo(text, " (client ", entry.client, entry.name.empty() ? "" : " ", entry.name);
  if (entry.fault != 0) ConcatTo(text, ", hit by fault ", entry.fault);
  text.push_back(')');
  return text;
}

// How much of a pattern a line begins with: words that match, one by one; the command's name most.
size_t Likeness(std::string_view pattern, std::string_view line) {
  size_t likeness = 0;
  for (size_t word = 0; !pattern.empty() && !line.empty(); ++word) {
    const size_t end = std::min(pattern.find(' '), pattern.size());
    const size_t line_end = std::min(line.find(' '), line.size());
    const bool same = GlobMatches(pattern.substr(0, end), line.substr(0, line_end), word == 0);
    if (same) likeness += word == 0 ? 1000 : 1;
    if (!same && word == 0) return 0;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
    line.remove_prefix(std::min(line_end + 1, line.size()));
  }
  return likeness;
}

class Search {
 public:
  Search(const Journal& journal, Args patterns)
      : journal_(journal), patterns_(patterns), lines_(Lines(journal)) {
    for (const std::string_view pattern : patterns) globs_.emplace_back(pattern);
  }

  // The number of the first pattern for which there is no request, or kNone.
  size_t InOrder() {
    size_t at = 0;
    for (size_t i = 0; i < globs_.size(); ++i) {
      while (at < lines_.size() && !Matches(i, at)) ++at;
      if (at == lines_.size()) return i;
      ++at;
    }
    return kNone;
  }

  size_t InAnyOrder() {
    candidates_.resize(globs_.size());
    for (size_t i = 0; i < globs_.size(); ++i) {
      for (size_t at = 0; at < lines_.size() && candidates_[i].size() < globs_.size(); ++at) {
        if (Matches(i, at)) candidates_[i].push_back(at);
      }
    }
    for (size_t i = 0; i < globs_.size(); ++i) {
      tried_.clear();
      if (!Place(i)) return i;
    }
    return kNone;
  }

  std::string Sentence(size_t missing, bool in_order) const {
    std::string text = Concat("ERR expected ", patterns_[missing], " (", missing + 1, " of ",
                              patterns_.size(), ")");
    const size_t found = CountOf(missing);
    if (found == 0) {
      ConcatTo(text, ", which no request matched");
    } else if (in_order) {
      ConcatTo(text, ", which no request matched behind those before it; ", found, " did earlier");
    } else {
      ConcatTo(text, ", but the ", found, " that matched are taken by other patterns");
    }
    AddClosest(text, missing, found);
    AddLast(text);
    return text;
  }

 private:
  bool Matches(size_t pattern, size_t at) const {
    return globs_[pattern].Matches(journal_.entries()[at], lines_[at]);
  }

  bool Place(size_t pattern) {
    for (const size_t at : candidates_[pattern]) {
      if (std::ranges::find(tried_, at) != tried_.end()) continue;
      tried_.push_back(at);
      const auto taken = std::ranges::find(taken_, at, &std::pair<size_t, size_t>::first);
      if (taken == taken_.end()) {
        taken_.emplace_back(at, pattern);
        return true;
      }
      const size_t place = static_cast<size_t>(taken - taken_.begin());
      if (Place(taken->second)) {
        taken_[place].second = pattern;
        return true;
      }
    }
    return false;
  }

  size_t CountOf(size_t pattern) const {
    size_t count = 0;
    for (size_t at = 0; at < lines_.size(); ++at) count += Matches(pattern, at);
    return count;
  }

  void AddClosest(std::string& text, size_t missing, size_t found) const {
    if (found > 0) return;
    size_t best = 0;
    size_t closest = kNone;
    for (size_t at = 0; at < lines_.size(); ++at) {
      const size_t likeness = Likeness(patterns_[missing], lines_[at]);
      if (likeness <= best) continue;
      best = likeness;
      closest = at;
    }
    if (closest != kNone)
      ConcatTo(text, "; closest: ", Shown(journal_.entries()[closest], lines_[closest]));
  }

  void AddLast(std::string& text) const {
    if (lines_.empty()) {
      ConcatTo(text, journal_.is_on() ? "; no request has come since the start"
                                      : "; the journal is empty, and is not recording");
      return;
    }
    const size_t shown = std::min(kShownLast, lines_.size());
    ConcatTo(text, "; the last ", shown, " of ", journal_.recorded(), " requests:");
    for (size_t at = lines_.size() - shown; at < lines_.size(); ++at) {
      ConcatTo(text, at + shown == lines_.size() ? " " : ", ",
               Shown(journal_.entries()[at], lines_[at]));
    }
    if (journal_.recorded() > lines_.size())
      ConcatTo(text, "; ", journal_.recorded() - lines_.size(), " older ones are not kept");
  }

  const Journal& journal_;
  const Args patterns_;
  const std::vector<std::string> lines_;
  std::vector<RequestGlob> globs_;
  std::vector<std::vector<size_t>> candidates_;
  std::vector<std::pair<size_t, size_t>> taken_;  // request, pattern
  std::vector<size_t> tried_;
};

}  // namespace

RequestGlob::RequestGlob(std::string_view pattern)
    : of_command_(UpperWords(pattern, 1)), of_subcommand_(UpperWords(pattern, 2)) {}

bool RequestGlob::Matches(const JournalEntry& entry, std::string_view line) const {
  line = line.substr(0, kLineBytesMax);
  return (entry.is_sub ? of_subcommand_ : of_command_).Matches(line);
}

std::string Expect(const Journal& journal, Args patterns, bool in_order) {
  Search search(journal, patterns);
  const size_t missing = in_order ? search.InOrder() : search.InAnyOrder();
  return missing == kNone ? std::string() : search.Sentence(missing, in_order);
}

}  // namespace sluice
