// See journal_export.h.
#include "server/test_double/journal_export.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

// A request, or the answer to it.
struct Moment {
  uint64_t event;
  int64_t unix_ms;
  const JournalEntry* entry;
  bool is_answer;
};

std::vector<Moment> MomentsOf(const Journal& journal) {
  std::vector<Moment> moments;
  for (const JournalEntry& entry : journal.entries()) {
    moments.push_back({entry.event, entry.unix_ms, &entry, false});
    if (entry.answer_event != 0)
      moments.push_back({entry.answer_event, entry.answer_unix_ms, &entry, true});
  }
  std::ranges::sort(moments, {}, &Moment::event);
  return moments;
}

// Why it cannot be played, or empty.
std::string_view Hindrance(const JournalEntry& entry) {
  if (!entry.was_run) return "a fault kept it from running";
  if (entry.is_redacted) return "it has secrets";
  if (entry.is_cut) return "it is too long to be kept";
  return {};
}

bool IsPlainWord(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '\'' && c != '\\';
  });
}

std::string CommandLine(const JournalEntry& entry) {
  std::string line;
  for (const std::string& word : entry.words) {
    line.push_back(' ');
    line += IsPlainWord(word) ? word : QuotedWord(word);
  }
  return line;
}

class Writer {
 public:
  explicit Writer(const Journal& journal) : journal_(journal) {}

  std::string Write() {
    text_ =
        Concat("# A journal of ", journal_.entries().size(), " requests, exported.\n@ sluice\n");
    for (const Moment& moment : MomentsOf(journal_)) {
      const JournalEntry& entry = *moment.entry;
      const std::string_view hindrance = Hindrance(entry);
      if (!hindrance.empty()) {
        if (!moment.is_answer) AddRemark(entry, hindrance);
        continue;
      }
      AddWait(moment.unix_ms);
      const std::string client = ClientOf(entry);
      moment.is_answer ? AddAnswer(client, entry)
                       : ConcatTo(text_, client, ">", CommandLine(entry), "\n");
    }
    return std::move(text_);
  }

 private:
  void AddRemark(const JournalEntry& entry, std::string_view hindrance) {
    ConcatTo(text_, "# Left out, for ", hindrance, ":", CommandLine(entry), "\n");
  }

  void AddWait(int64_t unix_ms) {
    if (began_ && unix_ms > at_ms_) ConcatTo(text_, "+ ", unix_ms - at_ms_, "ms\n");
    began_ = true;
    at_ms_ = unix_ms;
  }

  // Its number in the transcript; on the first occasion it is brought to where it was.
  std::string ClientOf(const JournalEntry& entry) {
    const auto [found, is_new] = numbers_.try_emplace(entry.client, numbers_.size() + 1);
    const std::string number = found->second == 1 ? "" : Concat(found->second);
    if (!is_new) return number;
    if (entry.resp == 3) ConcatTo(text_, number, "> HELLO 3\n", number, "< *\n");
    if (entry.db != 0) ConcatTo(text_, number, "> SELECT ", entry.db, "\n", number, "< +OK\n");
    return number;
  }

  // A reader of transcripts takes spaces off a line's end, and one between slashes for a pattern.
  void AddAnswer(std::string_view client, const JournalEntry& entry) {
    std::string_view left = entry.answer;
    if ((entry.fault != 0 && entry.is_answer_changed) || entry.is_answer_cut) left = "*";
    while (!left.empty()) {
      const size_t end = std::min(left.find('\n'), left.size());
      const std::string_view line = left.substr(0, end);
      ConcatTo(text_, client, "< ", line.ends_with(' ') ? "*" : line, "\n");
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }

  const Journal& journal_;
  std::string text_;
  bool began_ = false;
  int64_t at_ms_ = 0;
  std::map<uint64_t, size_t> numbers_;  // of clients
};

}  // namespace

std::string Export(const Journal& journal) { return Writer(journal).Write(); }

}  // namespace sluice
