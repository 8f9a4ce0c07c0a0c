// See turn_writer.h. While a group is open (a script that is slow lets others be served) a
// turn takes what stands before it: no half of a group is ever in the file.
#include "storage/log/turn_writer.h"

#include <array>
#include <cassert>
#include <utility>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "xxhash.h"

namespace sluice {
namespace {

constexpr size_t kBytesKept = 256 * 1024;

using Digits = std::array<char, kLogDigestBytes>;

// XXH3 of 64 bits, the highest digit first. Each small turn has two of them, so no string is made.
Digits DigestOf(std::string_view bytes, uint64_t seed) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  uint64_t hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
  Digits digits;
  for (size_t at = digits.size(); at-- > 0; hash >>= 4) digits[at] = kDigits[hash & 15];
  return digits;
}

void AppendDigest(std::string& turn, std::string_view bytes, uint64_t seed) {
  const Digits digits = DigestOf(bytes, seed);
  turn.append(digits.data(), digits.size());
}

}  // namespace

// --- lines

std::string LogDigest(std::string_view bytes, uint64_t seed) {
  const Digits digits = DigestOf(bytes, seed);
  return {digits.data(), digits.size()};
}

bool IsLogDigest(std::string_view digits, std::string_view bytes, uint64_t seed) {
  const Digits right = DigestOf(bytes, seed);
  return digits == std::string_view(right.data(), right.size());
}

std::string LogHeaderLine(std::string_view boot) {
  std::string line = Concat(kLogHeader, boot, " ");
  line += Concat(LogDigest(line, 0), "\r\n");
  return line;
}

// The digest covers the mark's own numbers, the check the whole line up to itself.
void AppendLogMark(std::string& turn, int64_t unix_ms, uint64_t synced, uint64_t at) {
  const size_t begin = turn.size();
  ConcatTo(turn, kLogMark, unix_ms, " ");
  if (synced == kSyncUnknown) {
    turn += "- ";
  } else {
    ConcatTo(turn, synced, " ");
  }
  AppendDigest(turn, turn, at);
  turn += ' ';
  AppendDigest(turn, std::string_view(turn).substr(begin), 0);
  turn += "\r\n";
}

// --- the turn

// At most once a second, and not within a group: there it stands before the MULTI.
void TurnWriter::NoteTime() {
  if (!timestamps_ || open_group_at_ != kNone || now_s_ == noted_s_) return;
  noted_s_ = now_s_;
  ConcatTo(bytes_, "#TS:", now_s_, "\r\n");
}

// Once a file, and again when the clock was shifted or the wall clock stepped.
void TurnWriter::NoteClock() {
  if (noted_clock_ == clock_) return;
  noted_clock_ = clock_;
  ConcatTo(bytes_, kLogClock, clock_.unix_offset_ms, " ", clock_.shift_ms, "\r\n");
  if (clock_.skew_ms != 0) ConcatTo(bytes_, kLogSkew, clock_.skew_ms, "\r\n");
}

// SELECT stands before an effect where the database changes, and at the begin of every file.
void TurnWriter::Effect(int db, Args command, bool is_relative) {
  NoteTime();
  NoteClock();
  if (db != selected_) {
    selected_ = db;
    const std::string index = Int64Text(db);
    const std::string_view select[] = {"SELECT", index};
    AppendRequest(bytes_, select);
  }
  if (is_relative) bytes_ += kLogRelative;
  AppendRequest(bytes_, command);
}

// Begins a group, one transaction to a reader of the log: all of it, or nothing.
void TurnWriter::GroupBegin() {
  assert(open_group_at_ == kNone);
  NoteTime();
  NoteClock();
  open_group_at_ = bytes_.size();
  const std::string_view multi[] = {"MULTI"};
  AppendRequest(bytes_, multi);
}

void TurnWriter::GroupEnd() {
  assert(open_group_at_ != kNone);
  const std::string_view exec[] = {"EXEC"};
  AppendRequest(bytes_, exec);
  open_group_at_ = kNone;
}

std::string TurnWriter::Take(int64_t unix_ms, uint64_t synced, uint64_t at,
                             const std::optional<StreamPosition>& stream) {
  assert(ready() > 0 || stream);
  if (open_group_at_ == kNone) NoteClock();  // the mark's moment is by that clock
  const size_t size = ready();
  std::string turn;
  if (size == bytes_.size()) {  // the usual turn: no copy
    turn = std::exchange(bytes_, {});
    // The next turn is likely to be as long; a rare long one leaves no room behind.
    if (turn.capacity() <= kBytesKept) bytes_.reserve(turn.size());
  } else {
    turn = bytes_.substr(0, size);
    bytes_.erase(0, size);
    open_group_at_ = 0;
  }
  if (stream) turn += StreamLine(*stream);
  AppendLogMark(turn, unix_ms, synced, at);
  return turn;
}

}  // namespace sluice
