// FenceMark: keeps fencing tokens growing over restarts. The mark stands in the file
// fence-mark-file in the working directory, written and synced ahead of the tokens that are given:
// a kill -9 and a restored backup cost numbers, not safety. With no file named the wall clock has
// to do.
//
//   <mark> <XXH3 of its digits, 16 hex digits>\n
//
// A file without a checksum is believed only if its number has the 16 digits of tokens that were
// microseconds. One that is damaged is refused; a missing one means a start far ahead of the clock.
//
// A worker writes it, between turns and long before the tokens are spent, and after the first time
// only where locks are taken: a server without locks writes once, and gets along where it cannot.
// The first turn begins that first writing and does not wait for it, so a server is there at once;
// a caller who wants a lock within those few ms waits. No other command waits for the disk.
#pragma once

#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "storage/disk_worker.h"
#include "storage/locks/fence.h"

namespace sluice {

class FenceMark {
 public:
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    DiskWorker& worker;
  };
  FenceMark(const Uses& uses, FenceTokens& tokens, FenceMemory& memory)
      : on_(uses), tokens_(tokens), memory_(memory) {}

  // Between turns: takes in what the worker has written, and has more written when less than half
  // of what is reserved is left. Before the first turn it reads the file and begins to reserve. A
  // mark that cannot be read or written is logged; it is written again while tokens are wanted.
  void LookAhead();
  // A token was looked for and not there.
  void Want();

 private:
  void Open();
  void Load();
  void Reserve();
  void TakeOutcome();
  void Written(int64_t mark, int fault);
  const std::string& path() const { return on_.config.settings().fence_mark_file; }

  const Uses on_;
  FenceTokens& tokens_;
  FenceMemory& memory_;
  bool opened_ = false;
  bool damaged_ = false;
  bool wanted_ = false;
  bool is_first_ = false;     // the job reserves the first tokens
  int64_t unused_since_ = 0;  // the last token when some were reserved last
  int64_t retry_ms_ = 0;      // not written again before
  uint64_t job_ = 0;          // the worker's, 0: none
  int64_t job_mark_ = 0;      // what it writes
  int logged_fault_ = 0;
  bool logged_spent_ = false;
};

}  // namespace sluice
