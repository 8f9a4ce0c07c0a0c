// FenceMark: keeps fencing tokens growing over restarts. The mark stands in the file
// fence-mark-file in the working directory, written and synced ahead of the tokens that are given:
// a kill -9 and a restored backup cost numbers, not safety. With no file named the wall clock has
// to do.
//
//   <mark> <XXH3 of its digits, 16 hex digits>\n
//
// A file without a checksum is believed only if its number has the 16 digits of tokens that were
// microseconds. One that is damaged is refused; a missing one means a start far ahead of the clock.
#pragma once

#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "storage/locks/fence.h"

namespace sluice {

class FenceMark {
 public:
  FenceMark(const Config& config, Host& host, const TurnClock& clock, FenceTokens& tokens,
            FenceMemory& memory)
      : config_(config), host_(host), clock_(clock), tokens_(tokens), memory_(memory) {}

  // Sees to it that more tokens can be issued than one turn hands out. Reads the file before the
  // first; a mark that cannot be read or written is logged, and then there are none to give.
  void Ensure();

 private:
  void Load();

  const Config& config_;
  Host& host_;
  const TurnClock& clock_;
  FenceTokens& tokens_;
  FenceMemory& memory_;
  bool loaded_ = false;
  bool damaged_ = false;
};

}  // namespace sluice
