// TurnWriter: effects as bytes of the append-only log. Redis's format, with lines between commands
// that Redis takes for annotations and skips:
//
//   #SLUICE:1 <boot> <digest>\r\n      from here on every turn ends with its mark
//   *2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n  commands; groups of them in MULTI and EXEC
//   #CLOCK:<offset> <shift>\r\n       the writer's clock, from the next command or mark on
//   #SKEW:<ms>\r\n                   of a server that shows its master's Unix time: by how much the
//                                      machine's own is later than that of #CLOCK, which precedes
//   #R\r\n                            the next command's deadline was a relative one
//   #TS:<unix seconds>\r\n             at most one a second, where aof-timestamp-enabled says so
//   #REPL:<id> <offset>\r\n           where the stream to replicas stood at the end of this turn
//   #M:<unix ms> <synced> <digest> <check>\r\n
//                                      ends a turn
//
// A mark's <digest> is XXH3 of all from the end of the mark before to the digest itself, seeded
// with the offset in the file where that begins: so no turn can be changed, left out or moved
// unseen. <synced> is how much of the file was known to be on disk, '-' where it is not known:
// damage before it is not what a crash leaves behind. <check>, and the <digest> of a header, are of
// the line alone, so that it can be believed where the turn is damaged. All are 16 hex digits.
// <boot> is the machine's boot.
//
// All deadlines are Unix times. A relative one (behind #R; of leases, limiters and buckets always)
// ends at a moment of engine time: the Unix time less <offset>, in ms, which is Unix time minus
// engine time when it was written. Engine time goes on from server to server (Clock::Shift):
// <shift> is how far it is ahead of the machine's own, which counts on while that has not booted.
// Where it has, the machine's Unix time tells what has passed: it is as wrong as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/args.h"
#include "storage/boot_id.h"
#include "storage/log/held_clock.h"
#include "storage/log/stream_position.h"

namespace sluice {

inline constexpr std::string_view kLogHeaderWord = "#SLUICE:";
inline constexpr std::string_view kLogHeader = "#SLUICE:1 ";
inline constexpr std::string_view kLogMark = "#M:";
inline constexpr std::string_view kLogClock = "#CLOCK:";
inline constexpr std::string_view kLogSkew = "#SKEW:";
inline constexpr std::string_view kLogRelative = "#R\r\n";
inline constexpr size_t kLogDigestBytes = 16;
inline constexpr uint64_t kSyncUnknown = UINT64_MAX;
// Redis reads annotations into 128 bytes; a longer one would be two lines to it.
inline constexpr size_t kLogLineBytesMax = 120;

// The writer's clock: engine time to Unix time, how far it is shifted, and by how much the
// machine's Unix time is later.
struct LogClock {
  int64_t unix_offset_ms = 0;
  int64_t shift_ms = 0;
  int64_t skew_ms = 0;
  bool operator==(const LogClock&) const = default;
};

// 16 hex digits.
std::string LogDigest(std::string_view bytes, uint64_t seed);
// Whether `digits` are those.
bool IsLogDigest(std::string_view digits, std::string_view bytes, uint64_t seed);
std::string LogHeaderLine(std::string_view boot);
// The end of a turn that begins at offset `at` of the file: appended to it.
void AppendLogMark(std::string& turn, int64_t unix_ms, uint64_t synced, uint64_t at);

// Bytes are gathered here until Take; nothing is written by itself. One writer has one file at a
// time.
class TurnWriter {
 public:
  void Effect(int db, Args command, bool is_relative = false);
  void GroupBegin();
  void GroupEnd();

  // Bytes of what may be written now: in a turn inside a script, only what came before its group.
  size_t ready() const { return open_group_at_ == kNone ? bytes_.size() : open_group_at_; }
  bool in_group() const { return open_group_at_ != kNone; }
  // Takes those bytes, with the mark behind them; an open group stays. They will stand at offset
  // `at` of the file. `stream`: where the stream to replicas stands with them; null: nothing is
  // said of it. Requires: ready() > 0, or a stream.
  std::string Take(int64_t unix_ms, uint64_t synced, uint64_t at,
                   const std::optional<StreamPosition>& stream = std::nullopt);
  // The next command begins a file, or follows another writer: a database is selected anew.
  // Requires: nothing is left.
  void Restart() {
    selected_ = -1;
    noted_clock_.reset();
  }
  // By which the effects that follow, and the end of the turn, are meant.
  void set_clock(const LogClock& clock) { clock_ = clock; }
  // From now on every new second is noted, at the begin of a turn or of a group.
  void set_timestamps(bool on) { timestamps_ = on; }
  void set_now_s(int64_t unix_s) { now_s_ = unix_s; }
  size_t memory() const { return bytes_.capacity(); }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void NoteTime();
  void NoteClock();

  std::string bytes_;
  size_t open_group_at_ = kNone;
  int selected_ = -1;
  LogClock clock_;
  std::optional<LogClock> noted_clock_;
  bool timestamps_ = false;
  int64_t now_s_ = 0;
  int64_t noted_s_ = -1;
};

}  // namespace sluice
