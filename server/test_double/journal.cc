// See journal.h.
#include "server/test_double/journal.h"

#include <algorithm>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

constexpr std::string_view kRedacted = "(redacted)";

std::string CutWord(std::string_view word, bool& is_cut) {
  if (word.size() <= Journal::kWordBytesMax) return std::string(word);
  is_cut = true;
  const size_t left_out = word.size() - Journal::kWordBytesMax;
  return Concat(word.substr(0, Journal::kWordBytesMax), "... (", left_out, " more bytes)");
}

void SetWords(JournalEntry& entry, Args args, auto&& is_secret) {
  const bool too_many = args.size() > Journal::kWordsMax;
  const size_t shown = too_many ? Journal::kWordsMax - 1 : args.size();
  entry.words.clear();
  entry.is_cut = too_many;
  entry.is_redacted = false;
  for (size_t i = 0; i < shown; ++i) {
    const bool secret = is_secret(i);
    entry.is_redacted |= secret;
    entry.words.push_back(secret ? std::string(kRedacted) : CutWord(args[i], entry.is_cut));
  }
  if (too_many) entry.words.push_back(Concat("... (", args.size() - shown, " more arguments)"));
}

// Commands that log in, or set options, may name a password. In which words, only the command
// itself knows when it runs.
bool MayHoldSecrets(const Command* command) {
  return command && (command->spec->flags & (kNoAuth | kAdmin)) != 0;
}

}  // namespace

std::string JournalEntry::Line() const {
  std::string line = UpperCase(words[0]);
  for (size_t i = 1; i < words.size(); ++i) {
    line.push_back(' ');
    line += i == 1 && is_sub ? UpperCase(words[i]) : words[i];
  }
  return line;
}

void Journal::Start(size_t entries_max) {
  is_on_ = true;
  entries_max_ = entries_max;
  Trim();
}

void Journal::Clear() {
  entries_.clear();
  bytes_ = 0;
  cleared_ = last_;
}

uint64_t Journal::Add(const Session& session, const Command* command, Args args, int64_t unix_ms) {
  JournalEntry entry;
  entry.number = ++last_;
  entry.event = ++events_;
  entry.unix_ms = unix_ms;
  entry.client = session.client_id;
  bool is_name_cut = false;
  entry.name = CutWord(session.name, is_name_cut);
  entry.resp = session.resp();
  entry.db = session.db;
  entry.is_sub = command && command->container;
  const size_t names = entry.is_sub ? 2 : 1;
  const bool hides = MayHoldSecrets(command);
  SetWords(entry, args, [&](size_t i) { return hides && i >= names; });
  entries_.push_back(std::move(entry));
  Account(entries_.back());
  Trim();
  return last_;
}

void Journal::Words(uint64_t number, Args args, std::span<const size_t> secret) {
  JournalEntry* const entry = Find(number);
  if (!entry || !entry->is_redacted) return;
  SetWords(*entry, args, [&](size_t i) { return std::ranges::find(secret, i) != secret.end(); });
  Account(*entry);
}

void Journal::Answer(uint64_t number, std::string_view bytes, size_t left_out, int64_t unix_ms) {
  JournalEntry* const entry = Find(number);
  if (!entry) return;
  entry->answer_event = ++events_;
  entry->answer_unix_ms = unix_ms;
  entry->is_answer_cut = left_out > 0;
  std::string text, pushes;
  while (!bytes.empty() && left_out == 0) {
    ReplyReader reader;
    const std::optional<Reply> reply = reader.Read(bytes);
    if (!reply) break;
    bytes.remove_prefix(reader.consumed());
    std::string& lines = reply->kind == Reply::Kind::kPush ? pushes : text;
    if (!lines.empty()) lines.push_back('\n');
    lines += reply->ToText();
  }
  if (text.empty()) text = std::move(pushes);  // SUBSCRIBE is answered by pushes
  if (!bytes.empty() || left_out > 0) {
    entry->is_answer_cut = true;
    ConcatTo(text, text.empty() ? "" : "\n", QuotedWord(bytes), "... (", left_out, " more bytes)");
  }
  entry->answer = std::move(text);
  Account(*entry);
  Trim();
}

void Journal::Hit(uint64_t number, const Fault& fault) {
  JournalEntry* const entry = Find(number);
  if (!entry) return;
  entry->fault = fault.rule;
  entry->was_run = fault.was_run;
  entry->is_answer_changed = fault.changes_answer;
}

JournalEntry* Journal::Find(uint64_t number) {
  if (entries_.empty() || number < entries_.front().number) return nullptr;
  const uint64_t at = number - entries_.front().number;
  return at < entries_.size() ? &entries_[at] : nullptr;
}

void Journal::Account(JournalEntry& entry) {
  bytes_ -= entry.bytes;
  entry.bytes = sizeof(entry) + entry.name.size() + entry.answer.size();
  for (const std::string& word : entry.words) entry.bytes += sizeof(word) + word.size();
  bytes_ += entry.bytes;
}

void Journal::Trim() {
  while (!entries_.empty() && (entries_.size() > entries_max_ || bytes_ > kBytesMax)) {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  }
}

}  // namespace sluice
