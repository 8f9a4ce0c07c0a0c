// LogReader: one file of the append-only log (turn_writer.h has its format), read in pieces and
// given out turn by turn: what a mark has proved whole. Where there are no marks (Redis writes
// none, nor the files that Redis wrote before us) a turn is a command, or a MULTI with all up to
// its EXEC. SELECT, MULTI and EXEC are not given out: a command comes with its database.
//
//   LogReader reader(file, bytes);
//   while (reader.Next() == LogReader::Step::kTurn) {
//     for (size_t i = 0; i < reader.commands(); ++i) Play(reader.db(i), reader.Words(i));
//   }
//
// The file is input like any other: a fault is a sentence and an offset, and at no time is more in
// memory than one turn and some pieces. A fault at the end may be what a crash leaves (IsTorn), any
// other is damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "storage/disk.h"
#include "storage/log/stream_position.h"
#include "storage/log/turn_writer.h"

namespace sluice {

// Words are views into the window: they are void with the next call of Next or NextTurns. A fault
// is final.
class LogReader {
 public:
  static constexpr size_t kWordsMax = 16 * 1024 * 1024;       // of a command
  static constexpr int64_t kWordBytesMax = int64_t{1} << 32;  // of one of them
  static constexpr size_t kPieceBytes = 256 * 1024;
  static constexpr uint64_t kExaminedBytesMax = 256UL << 20;  // behind a fault
  static constexpr int kDatabasesMax = 256;

  enum class Step : uint8_t {
    kTurn,   // one more
    kEnd,    // the file is over
    kFault,  // see fault()
  };

  // `bytes`: its size; `begin`: where commands begin, behind an RDB file (older servers' logs have
  // one in front); `piece_bytes`: how much is read at once. The file outlives the reader.
  LogReader(DiskFile& file, uint64_t bytes, uint64_t begin = 0, size_t piece_bytes = kPieceBytes)
      : file_(file),
        bytes_(bytes),
        piece_bytes_(piece_bytes),
        window_at_(begin),
        turn_begin_(begin) {}

  Step Next() { return NextTurns(1); }
  // Several small turns at once, until they have so many commands or are as many: each of them
  // proved by its mark. One with a fault is left out, and the next call tells of that. Turns of one
  // run have one boot.
  Step NextTurns(size_t most);

  // --- of the turns that have just been read; times and boot are of the last
  size_t commands() const { return commands_.size(); }
  int db(size_t command) const { return commands_[command].db; }
  uint64_t offset(size_t command) const { return commands_[command].offset; }
  // Under which clock it was written; null: not known.
  const std::optional<LogClock>& clock(size_t command) const { return commands_[command].clock; }
  // By which the last turn's mark is meant; null: not known.
  const std::optional<LogClock>& clock() const { return clock_; }
  bool is_relative(size_t command) const { return commands_[command].is_relative; }
  Args Words(size_t command);  // until the next call
  size_t words(size_t command) const { return commands_[command].words; }
  std::string_view Word(size_t command, size_t word) const {
    return WordAt(commands_[command].first_word + word);
  }
  int64_t unix_ms() const { return unix_ms_; }  // when it ended; 0: not known
  // Where the stream to replicas stood at its end; null: the turn does not say.
  const std::optional<StreamPosition>& stream() const { return stream_; }

  // --- of the file so far
  // All before it is whole turns; a fault is in the one that begins here.
  uint64_t whole() const { return turn_begin_; }
  bool is_marked() const { return marked_; }         // its last turns end with marks
  const std::string& boot() const { return boot_; }  // under which the last of it was written
  // After kFault: what is wrong, at whole() or behind it; and whether it is no more than what a
  // crash leaves: the last turn not whole, several of which none was known to be on disk, or zeros.
  const std::string& fault() const { return fault_; }
  // `is_ours`: the files before it have marks, so one that begins with zeros has lost its header.
  bool IsTorn(bool is_ours = false);

 private:
  enum class Item : uint8_t { kCommand, kLine, kMore, kFault };
  struct WordPlace {
    size_t begin, bytes;  // in window_
  };
  struct Command {
    size_t first_word, words;
    int db;
    uint64_t offset;
    std::optional<LogClock> clock;
    bool is_relative;
  };
  struct Mark {
    int64_t unix_ms = 0;
    uint64_t synced = 0;
    std::string_view digest;
  };

  static bool ReadHeader(std::string_view line, std::string_view& boot);
  static bool ReadClock(std::string_view line, LogClock& clock);
  bool TakeSkew(std::string_view line);
  static bool ReadMark(std::string_view line, Mark& mark);

  Step ReadTurn();
  bool MayGoOn() const;
  void DropRead();
  Item ReadItem();
  Item ReadCommand();
  Item ReadCount(char sign, int64_t max, size_t& at, int64_t& count);
  bool TakeLine();
  bool TakeHeader(std::string_view line);
  bool TakeClock(std::string_view line);
  bool TakeStream(std::string_view line);
  bool TakeMark(std::string_view line);
  bool TakeCommand();
  bool Fill();
  Step Fault(std::string_view what);
  Item Broken(std::string_view what);
  std::string_view WordAt(size_t index) const {
    return std::string_view(window_).substr(words_[index].begin, words_[index].bytes);
  }
  uint64_t At(size_t position) const { return window_at_ + position; }
  bool WasOnDisk(uint64_t offset);
  bool EndsWithZeros(uint64_t offset);
  bool ReadRest(uint64_t offset, std::string& rest);

  DiskFile& file_;
  const uint64_t bytes_;
  const size_t piece_bytes_;
  std::string window_;  // from window_at_ on; holds the turns that are being read
  uint64_t window_at_ = 0;
  size_t cursor_ = 0;  // in window_: up to here it has been understood
  size_t item_begin_ = 0;
  uint64_t turn_begin_ = 0;
  std::vector<WordPlace> words_;
  std::vector<Command> commands_;
  std::vector<std::string_view> args_;
  int db_ = 0;
  bool in_group_ = false;
  bool turn_ended_ = false;
  bool marked_ = false;
  bool cut_short_ = false;    // the fault: the file ends too soon
  bool is_relative_ = false;  // the next command
  std::optional<LogClock> clock_;
  int64_t unix_ms_ = 0;
  std::optional<StreamPosition> stream_;
  std::string boot_;
  std::string fault_;
};

}  // namespace sluice
