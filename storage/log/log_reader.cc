// See log_reader.h. No caller sees a byte before the mark behind its turn has proved it: a turn is
// gathered whole, and its words are found by offset, as the window moves.
#include "storage/log/log_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr std::string_view kTooShort = "it ends in the middle of a turn";

// Bounded, so that sums of moments stay within 64 bits.
bool IsMoment(const std::optional<int64_t>& ms) {
  return ms && *ms >= -kLogMomentMsMax && *ms <= kLogMomentMsMax;
}

// "<sign><up to four digits>\r\n", as nearly every length is. Returns how many bytes that are; 0:
// it is something else. Requires: kShortCountBytes to read.
constexpr size_t kShortCountBytes = 7;
inline size_t ReadShortCount(const char* line, char sign, int64_t& count) {
  const auto digit = [line](size_t at) { return static_cast<unsigned char>(line[at] - '0'); };
  if (line[0] != sign || digit(1) > 9) return 0;
  int64_t number = digit(1);
  size_t end = 2;
  for (; end < 5 && number > 0 && digit(end) <= 9; ++end) number = 10 * number + digit(end);
  if (line[end] != '\r' || line[end + 1] != '\n') return 0;
  count = number;
  return end + 2;
}

}  // namespace

LogReader::Step LogReader::NextTurns(size_t most) {
  if (!fault_.empty()) return Step::kFault;
  DropRead();
  words_.clear();
  commands_.clear();
  for (size_t turns = 0;; ++turns) {
    const size_t whole = commands_.size();
    const std::optional<StreamPosition> stream = stream_;
    const Step step = ReadTurn();
    if (step != Step::kTurn) {
      if (turns > 0) stream_ = stream;
      commands_.erase(commands_.begin() + static_cast<ptrdiff_t>(whole), commands_.end());
      return turns > 0 ? Step::kTurn : step;
    }
    if (turns + 1 >= most || commands_.size() >= most || !MayGoOn()) return Step::kTurn;
  }
}

// Takes what has been read out of the window, once that is most of it: so a byte is moved once,
// however many turns are in a window.
void LogReader::DropRead() {
  if (cursor_ < window_.size() - cursor_) return;
  window_.erase(0, cursor_);
  window_at_ += cursor_;
  cursor_ = 0;
}

// Whether another turn may follow in a run: a header, with which another boot begins, is the first
// of its own.
bool LogReader::MayGoOn() const {
  return window_.size() - cursor_ > 1 && !(window_[cursor_] == '#' && window_[cursor_ + 1] == 'S');
}

// A turn is a run of items: commands, and lines that begin with '#'. When one is not whole in the
// window more is read behind it, and the item is begun anew.
LogReader::Step LogReader::ReadTurn() {
  turn_begin_ = At(cursor_);
  turn_ended_ = false;
  is_relative_ = false;
  stream_.reset();
  while (!turn_ended_) {
    switch (ReadItem()) {
      case Item::kMore:
        if (Fill()) break;
        if (!fault_.empty()) return Step::kFault;
        if (At(cursor_) == turn_begin_ && cursor_ == window_.size()) return Step::kEnd;
        cut_short_ = true;
        return Fault(kTooShort);
      case Item::kCommand:
        if (!TakeCommand()) return Step::kFault;
        break;
      case Item::kLine:
        if (!TakeLine()) return Step::kFault;
        break;
      case Item::kFault:
        return Step::kFault;
    }
  }
  return Step::kTurn;
}

// Made of offsets at each call: the window may have moved since they were noted.
Args LogReader::Words(size_t command) {
  const Command& which = commands_[command];
  args_.clear();
  for (size_t i = 0; i < which.words; ++i) args_.push_back(WordAt(which.first_word + i));
  return args_;
}

// False at the end of the file, or with a fault.
bool LogReader::Fill() {
  const uint64_t left = bytes_ - At(window_.size());
  if (left == 0) return false;
  const size_t held = window_.size();
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(left, piece_bytes_));
  window_.resize(held + wanted);
  size_t got = 0;
  const int fault = file_.ReadAt(At(held), {window_.data() + held, wanted}, got);
  window_.resize(held + got);
  if (fault != 0) Fault(Concat("it cannot be read: ", std::strerror(fault)));
  return fault == 0 && got > 0;
}

// --- one command, or one line that begins with '#'

LogReader::Item LogReader::Broken(std::string_view what) {
  Fault(what);
  return Item::kFault;
}

LogReader::Step LogReader::Fault(std::string_view what) {
  fault_ = what;
  return Step::kFault;
}

// The first byte says which: '*' a command, '#' a line. Lines are short, so an endless one is
// refused early.
LogReader::Item LogReader::ReadItem() {
  item_begin_ = cursor_;
  if (cursor_ == window_.size()) return Item::kMore;
  if (window_[cursor_] == '*') return ReadCommand();
  if (window_[cursor_] != '#') return Broken("a command begins with neither '*' nor '#'");
  const size_t end = window_.find('\n', cursor_);
  const size_t bytes = (end == std::string::npos ? window_.size() : end) - cursor_;
  if (bytes > kLogLineBytesMax) return Broken("a line is too long");
  if (end == std::string::npos) return Item::kMore;
  cursor_ = end + 1;
  return Item::kLine;
}

// "<sign><count>\r\n" at `at`, which moves behind it.
LogReader::Item LogReader::ReadCount(char sign, int64_t max, size_t& at, int64_t& count) {
  constexpr size_t kLineMax = 24;
  if (window_.size() - at >= kShortCountBytes) {
    if (const size_t bytes = ReadShortCount(window_.data() + at, sign, count)) {
      at += bytes;
      return Item::kCommand;
    }
  }
  if (at == window_.size()) return Item::kMore;
  if (window_[at] != sign) return Broken(Concat("there is no '", sign, "' where one has to be"));
  const std::string_view line = std::string_view(window_).substr(at + 1, kLineMax);
  const size_t end = line.find('\r');
  if (end == line.npos && line.size() < kLineMax) return Item::kMore;
  const std::optional<int64_t> number = ParseInt64(line.substr(0, end));
  if (!number || *number < 0 || *number > max) return Broken("a length is no length");
  if (end + 1 >= line.size()) return Item::kMore;
  if (line[end + 1] != '\n') return Broken("a length does not end its line");
  count = *number;
  at += end + 3;
  return Item::kCommand;
}

// Reserves nothing for words that are only announced. Notes words as offsets while it walks them,
// since the window's memory moves when it grows.
LogReader::Item LogReader::ReadCommand() {
  const size_t first_word = words_.size();
  size_t at = cursor_;
  int64_t count = 0;
  Item item = ReadCount('*', static_cast<int64_t>(kWordsMax), at, count);
  if (item == Item::kCommand && count == 0) return Broken("a command has no words");
  for (int64_t i = 0; i < count && item == Item::kCommand; ++i) {
    int64_t bytes = 0;
    item = ReadCount('$', kWordBytesMax, at, bytes);
    if (item != Item::kCommand) break;
    const size_t end = at + static_cast<size_t>(bytes);
    // The file is known to end before the word does: said at once, instead of after reading all of
    // it.
    if (At(end) + 2 > bytes_) {
      cut_short_ = true;
      return Broken(kTooShort);
    }
    words_.push_back({at, static_cast<size_t>(bytes)});
    at = end + 2;
    if (at > window_.size()) {
      item = Item::kMore;
    } else if (window_[end] != '\r' || window_[end + 1] != '\n') {
      return Broken("a word is longer than its length");
    }
  }
  if (item != Item::kCommand) {
    words_.resize(first_word);
    if (item == Item::kFault || at <= window_.size()) return item;
    // It is begun anew once all of the word is there, not with every piece.
    while (at > window_.size() && Fill()) {
    }
    return at > window_.size() ? item : ReadCommand();
  }
  commands_.push_back({first_word, words_.size() - first_word, db_, At(item_begin_), clock_,
                       std::exchange(is_relative_, false)});
  cursor_ = at;
  return item;
}

// --- what it means

// With marks a turn ends at its mark; without, at a command that stands alone or at EXEC. SELECT
// says the database of what follows, in either case.
bool LogReader::TakeCommand() {
  const Command& command = commands_.back();
  const std::string_view name = WordAt(command.first_word);
  const auto is = [&](std::string_view word, size_t words) {
    return command.words == words && IsSameInAnyCase(word, name);
  };
  bool given_out = false;
  if (is("multi", 1)) {
    if (in_group_) return Fault("a MULTI stands in another one"), false;
    in_group_ = true;
  } else if (is("exec", 1)) {
    if (!in_group_) return Fault("there is an EXEC without its MULTI"), false;
    in_group_ = false;
    turn_ended_ = !marked_;
  } else if (is("select", 2)) {
    const std::optional<int64_t> db = ParseInt64(WordAt(command.first_word + 1));
    if (!db || *db < 0 || *db >= kDatabasesMax) return Fault("it selects no database"), false;
    db_ = static_cast<int>(*db);
  } else {
    given_out = true;
    turn_ended_ = !marked_ && !in_group_;
  }
  if (!given_out) commands_.pop_back();
  return true;
}

// A line that is not ours (#TS: of Redis, a comment) is skipped, but counts in the digest.
bool LogReader::TakeLine() {
  std::string_view line = std::string_view(window_).substr(item_begin_, cursor_ - item_begin_);
  if (line.starts_with(kLogHeaderWord)) return TakeHeader(line);
  if (line.starts_with(kLogMark)) return TakeMark(line);
  if (line.starts_with(kLogClock)) return TakeClock(line);
  if (line.starts_with(kLogSkew)) return TakeSkew(line);
  if (line.starts_with(kLogStream)) return TakeStream(line);
  if (line == kLogRelative) is_relative_ = marked_;
  return true;
}

// #CLOCK:<offset> <shift>\r\n
bool LogReader::ReadClock(std::string_view line, LogClock& clock) {
  if (!line.ends_with("\r\n")) return false;
  const std::string_view numbers =
      line.substr(kLogClock.size(), line.size() - kLogClock.size() - 2);
  const size_t space = numbers.find(' ');
  if (space == numbers.npos) return false;
  const auto offset_ms = ParseInt64(numbers.substr(0, space));
  const auto shift_ms = ParseInt64(numbers.substr(space + 1));
  if (!IsMoment(offset_ms) || !IsMoment(shift_ms)) return false;
  clock = {.unix_offset_ms = *offset_ms, .shift_ms = *shift_ms};
  return true;
}

// A line that no mark proves may be anything.
bool LogReader::TakeClock(std::string_view line) {
  LogClock clock;
  if (!marked_) return true;
  if (!ReadClock(line, clock)) return Fault("what it says of its clock is damaged"), false;
  clock_ = clock;
  return true;
}

// Likewise.
bool LogReader::TakeSkew(std::string_view line) {
  if (!marked_) return true;
  const std::string_view number = line.substr(kLogSkew.size());
  const auto skew_ms = ParseInt64(number.substr(0, number.find('\r')));
  if (!clock_ || !number.ends_with("\r\n") || !IsMoment(skew_ms))
    return Fault("what it says of its clock is damaged"), false;
  clock_->skew_ms = *skew_ms;
  return true;
}

// Likewise.
bool LogReader::TakeStream(std::string_view line) {
  if (!marked_) return true;
  stream_ = ReadStreamLine(line);
  return stream_ || (Fault("what it says of the stream to replicas is damaged"), false);
}

// A header may stand in the middle of a file: another server has appended to it. All that was said
// before (database, clock) is of the former writer.
bool LogReader::TakeHeader(std::string_view line) {
  if (!line.starts_with(kLogHeader)) {
    if (ParseInt64(line.substr(kLogHeaderWord.size(), 1)))
      return Fault("it is of a newer format: read it with the Sluice that wrote it"), false;
    return Fault("a header is damaged"), false;
  }
  if (At(item_begin_) != turn_begin_ || in_group_) return Fault("a header stands in a turn"), false;
  std::string_view boot;
  if (!ReadHeader(line, boot)) return Fault("a header is damaged"), false;
  boot_ = boot;
  marked_ = true;
  db_ = 0;
  clock_.reset();
  is_relative_ = false;
  turn_begin_ = At(cursor_);
  return true;
}

// The line is made anew from its boot id and compared: that checks its digest, too.
bool LogReader::ReadHeader(std::string_view line, std::string_view& boot) {
  if (!line.starts_with(kLogHeader)) return false;
  boot = line.substr(kLogHeader.size());
  boot = boot.substr(0, boot.find(' '));
  return line == LogHeaderLine(boot);
}

// From the end of the line backwards, as both digests have a fixed width:
//
//   #M:<unix ms> <synced> <digest 16> <check 16>\r\n
bool LogReader::ReadMark(std::string_view line, Mark& mark) {
  constexpr size_t kDigestsBytes = 2 * kLogDigestBytes + 1;
  if (!line.starts_with(kLogMark) || !line.ends_with("\r\n")) return false;
  const std::string_view all = line.substr(0, line.size() - 2);
  if (all.size() < kLogMark.size() + kDigestsBytes + 2) return false;
  const std::string_view checked = all.substr(0, all.size() - kLogDigestBytes);
  if (!IsLogDigest(all.substr(checked.size()), checked, 0)) return false;
  const std::string_view numbers =
      all.substr(kLogMark.size(), all.size() - kLogMark.size() - kDigestsBytes - 1);
  const size_t space = numbers.find(' ');
  if (space == numbers.npos) return false;
  const auto unix_ms = ParseInt64(numbers.substr(0, space));
  const std::string_view synced_text = numbers.substr(space + 1);
  const auto synced = synced_text == "-" ? 0 : ParseInt64(synced_text);
  if (!IsMoment(unix_ms) || !synced || *synced < 0) return false;
  mark.unix_ms = *unix_ms;
  mark.synced = synced_text == "-" ? kSyncUnknown : static_cast<uint64_t>(*synced);
  mark.digest = all.substr(all.size() - kDigestsBytes, kLogDigestBytes);
  return true;
}

// The digest covers the bytes from the turn's begin up to itself, so the numbers of the mark as
// well, under the offset as seed: a turn that was moved within the file does not match.
bool LogReader::TakeMark(std::string_view line) {
  Mark mark;
  if (!marked_) return Fault("a turn ends with a mark, but no header says so"), false;
  if (!ReadMark(line, mark)) return Fault("a mark is damaged"), false;
  const size_t begin = static_cast<size_t>(turn_begin_ - window_at_);
  const size_t bytes = static_cast<size_t>(mark.digest.data() - window_.data()) - begin;
  if (!IsLogDigest(mark.digest, std::string_view(window_).substr(begin, bytes), turn_begin_))
    return Fault("a turn is not what its mark says"), false;
  if (in_group_) return Fault("a turn ends inside a MULTI"), false;
  unix_ms_ = mark.unix_ms;
  turn_ended_ = true;
  return true;
}

// --- what a fault means
// A crash may leave the last turn half written, or several of them, or zeros: all of it was never
// confirmed to be on disk. Damage within what a later mark calls synced is something else.

bool LogReader::IsTorn(bool is_ours) {
  if (marked_) return !WasOnDisk(turn_begin_);
  if (cut_short_ || EndsWithZeros(At(item_begin_))) return true;
  const bool lacks_header = At(item_begin_) == 0 && window_.starts_with('\0');
  return is_ours && lacks_header && !WasOnDisk(0);
}

// False when it is too much to be thrown away unseen.
bool LogReader::ReadRest(uint64_t offset, std::string& rest) {
  const uint64_t left = bytes_ - offset;
  if (left > kExaminedBytesMax) return false;
  rest.resize(static_cast<size_t>(left));
  size_t got = 0;
  if (file_.ReadAt(offset, rest, got) != 0) return false;
  rest.resize(got);
  return true;
}

// As a file system leaves what was appended, but never written: a header, in a file without marks.
bool LogReader::EndsWithZeros(uint64_t offset) {
  std::string rest;
  return ReadRest(offset, rest) && rest.find_first_not_of('\0') == rest.npos;
}

// Whether a line behind the fault says that what is before `offset` was on disk when it was
// written, or cannot tell.
bool LogReader::WasOnDisk(uint64_t offset) {
  std::string rest;
  if (!ReadRest(offset, rest)) return true;
  const std::string_view text = rest;
  for (size_t at = text.find('#'); at != text.npos; at = text.find('#', at + 1)) {
    const std::string_view here = text.substr(at, kLogLineBytesMax + 1);
    const std::string_view line = here.substr(0, here.find('\n') + 1);
    std::string_view boot;
    if (ReadHeader(line, boot)) return true;
    Mark mark;
    if (ReadMark(line, mark) && mark.synced > offset) return true;
  }
  return false;
}

}  // namespace sluice
