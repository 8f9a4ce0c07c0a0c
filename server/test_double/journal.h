// Journal: what clients sent to a test double and what they got, while SLUICE.JOURNAL records. A
// ring: the oldest entries go when there are more than entries_max() or kBytesMax of them. A long
// text is cut, and says so.
//
// An entry is there from the moment at which its request comes; its answer is filled in when that
// is known. `events` number both, so that what happened between them can be told
// (journal_export.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "server/clients/session.h"
#include "server/core/lazy_deque.h"
#include "server/dispatch/command.h"

namespace sluice {

struct JournalEntry {
  uint64_t number = 0;  // from 1, without gaps
  uint64_t event = 0;
  int64_t unix_ms = 0;  // of the double's clock
  uint64_t client = 0;
  std::string name;  // of the client
  int resp = 2;      // what the client spoke, and its database, before
  int db = 0;
  std::vector<std::string> words;
  bool is_cut = false;       // some of it is missing
  bool is_redacted = false;  // some of it is secret
  bool is_sub = false;       // words[1] names a subcommand

  uint64_t answer_event = 0;  // 0: no answer yet
  int64_t answer_unix_ms = 0;
  std::string answer;  // a line for each reply, as Reply::ToText has them; empty: none came
  bool is_answer_cut = false;
  uint64_t fault = 0;  // the rule that has hit it; 0: none
  bool was_run = true;
  bool is_answer_changed = false;  // by the fault

  size_t bytes = 0;  // what it takes
  // The request as one line, the command's name (and a subcommand's) in upper case.
  std::string Line() const;
};

class Journal {
 public:
  static constexpr size_t kEntriesDefault = 10'000;
  static constexpr size_t kEntriesMax = 1'000'000;
  static constexpr size_t kBytesMax = 64 << 20;
  static constexpr size_t kWordsMax = 128;
  static constexpr size_t kWordBytesMax = 1024;
  static constexpr size_t kAnswerBytesMax = 4096;

  // --- for handlers
  void Start(size_t entries_max);
  void Stop() { is_on_ = false; }
  void Clear();
  bool is_on() const { return is_on_; }
  const LazyDeque<JournalEntry>& entries() const { return entries_; }
  // How many there were since the start, or since Clear: more than there are when some fell out.
  uint64_t recorded() const { return last_ - cleared_; }

  // --- for the code that sees requests
  // A request has come, at this Unix time. Its number. A request that may hold secrets is kept by
  // its name alone until Words says which words are none.
  uint64_t Add(const Session& session, const Command* command, Args args, int64_t unix_ms);
  void Words(uint64_t number, Args args, std::span<const size_t> secret);
  // Its answer, as bytes of RESP, of which `left_out` more are missing; no bytes: it has none. Kept
  // as text where replies are whole, else as bytes.
  void Answer(uint64_t number, std::string_view bytes, size_t left_out, int64_t unix_ms);
  // A fault has hit it.
  struct Fault {
    uint64_t rule;
    bool was_run;
    bool changes_answer;
  };
  void Hit(uint64_t number, const Fault& fault);

 private:
  JournalEntry* Find(uint64_t number);
  void Account(JournalEntry& entry);
  void Trim();

  bool is_on_ = false;
  size_t entries_max_ = kEntriesDefault;
  LazyDeque<JournalEntry> entries_;
  size_t bytes_ = 0;
  uint64_t last_ = 0;     // number
  uint64_t cleared_ = 0;  // the last number before Clear
  uint64_t events_ = 0;
};

}  // namespace sluice
