// See transcript.h.
#include "tests/transcripts/transcript.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>

#include "tests/support/command_line.h"

namespace sluice {
namespace {

std::string Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return std::string(text);
}

// Whether brackets are still open at the end; those inside quotes do not count.
bool IsOpen(std::string_view text) {
  if (text.empty() || std::string_view("[{~>|").find(text[0]) == std::string_view::npos)
    return false;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '[' || text[i] == '{'))
      ++depth;
    else if (!quoted && (text[i] == ']' || text[i] == '}'))
      --depth;
  }
  return depth > 0;
}

// Reads a file line by line into cases; the first fault is kept.
class Reader {
 public:
  explicit Reader(Transcript& out) : out_(out) {}

  void Line(const std::string& line) {
    ++line_;
    const std::string text = Trimmed(line);
    if (text.empty()) return EndCase();
    if (case_.line == 0) case_.line = line_;
    if (text[0] == '#') {
      case_.why += (case_.why.empty() ? "" : " ") + Trimmed(std::string_view(text).substr(1));
    } else if (text[0] == '@') {
      Condition(Trimmed(std::string_view(text).substr(1)));
    } else if (text[0] == '+') {
      Wait(Trimmed(std::string_view(text).substr(1)));
    } else {
      Exchange(text);
    }
  }

  void EndCase() {
    if (!case_.steps.empty()) out_.cases.push_back(std::move(case_));
    case_ = {};
  }

 private:
  void Condition(const std::string& text) {
    const auto words = SplitCommandLine(text).value_or(std::vector<std::string>());
    if (text == "sluice") {
      case_.sluice_only = true;
    } else if (text == "resp3") {
      case_.resp3 = true;
    } else if (text == "replays") {
      case_.sluice_only = case_.replays = true;
    } else if (words.size() >= 2 && words[0] == "config") {
      const size_t value = text.find(words[1]) + words[1].size();
      case_.config.emplace_back(words[1], Trimmed(std::string_view(text).substr(value)));
    } else {
      Fault("no such condition: @ " + text);
    }
  }

  void Wait(std::string_view text) {
    TranscriptStep step{.kind = TranscriptStep::Kind::kWait, .line = line_};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step.wait_ms);
    const std::string_view unit(end, text.data() + text.size() - end);
    if (error != std::errc() || unit != "ms") Fault("a wait is written '+ 1001ms'");
    case_.steps.push_back(std::move(step));
  }

  void Exchange(std::string_view text) {
    TranscriptStep step{.line = line_};
    if (std::isdigit(static_cast<unsigned char>(text[0]))) {
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), step.client);
      if (error != std::errc()) return Fault("no such client");
      text.remove_prefix(static_cast<size_t>(end - text.data()));
    }
    if (text.empty() || (text[0] != '>' && text[0] != '<')) return Fault("neither '>' nor '<'");
    step.text = Trimmed(text.substr(1));
    if (text[0] == '<') return AddReply(std::move(step));
    const auto arguments = SplitCommandLine(step.text);
    if (!arguments || arguments->empty())
      return Fault("quotes do not match, or there is no command");
    step.arguments = *arguments;
    case_.steps.push_back(std::move(step));
  }

  void AddReply(TranscriptStep step) {
    step.kind = TranscriptStep::Kind::kReply;
    TranscriptStep* last = case_.steps.empty() ? nullptr : &case_.steps.back();
    if (last && last->kind == step.kind && last->client == step.client && IsOpen(last->text)) {
      last->text += (last->text.back() == '[' || last->text.back() == '{' ? "" : " ") + step.text;
      return;
    }
    case_.steps.push_back(std::move(step));
  }

  void Fault(const std::string& sentence) {
    if (out_.error.empty()) out_.error = "line " + std::to_string(line_) + ": " + sentence;
  }

  Transcript& out_;
  TranscriptCase case_;
  int line_ = 0;
};

}  // namespace

int64_t TranscriptCase::WaitMs() const {
  int64_t sum = 0;
  for (const TranscriptStep& step : steps) sum += step.wait_ms;
  return sum;
}

bool TranscriptCase::LeavesTraces() const {
  return !config.empty() || std::any_of(steps.begin(), steps.end(), [](const TranscriptStep& step) {
    if (step.arguments.empty()) return false;
    std::string name = step.arguments[0];
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name == "CONFIG" || name == "DEBUG" || name == "INFO" || name == "SHUTDOWN" ||
           name == "CLIENT" || name == "SWAPDB" || name == "SCRIPT" || name == "FUNCTION" ||
           name == "SLOWLOG" || name == "LATENCY";
  });
}

Transcript ReadTranscript(const std::string& path) {
  std::ifstream file(path);
  const bool is_there = !file.fail();
  Transcript transcript = ReadTranscript(std::filesystem::path(path).stem().string(), file);
  if (!is_there) transcript.error = "cannot be read";
  return transcript;
}

Transcript ReadTranscript(std::string name, std::istream& lines) {
  Transcript transcript;
  transcript.name = std::move(name);
  Reader reader(transcript);
  for (std::string line; std::getline(lines, line);) reader.Line(line);
  reader.EndCase();
  return transcript;
}

std::vector<Transcript> ReadTranscripts(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Transcript> transcripts;
  for (const std::string& path : paths) transcripts.push_back(ReadTranscript(path));
  return transcripts;
}

bool ReplyMatches(std::string_view expected, const std::string& reply) {
  if (expected == "*") return true;
  if (expected.size() >= 2 && expected.front() == '/' && expected.back() == '/') {
    const std::string pattern(expected.substr(1, expected.size() - 2));
    return std::regex_search(reply, std::regex(pattern));
  }
  return expected == reply;
}

}  // namespace sluice
