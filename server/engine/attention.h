// Attention: one word that says which of the rare things may be there that concern every touched
// key or every command, so that the way of a command asks one question instead of one for each of
// them.
//
// Whoever brings such a thing raises its cause. A cause may stay raised when the last of them is
// gone: the engine, finding nobody, lowers it.
#pragma once

#include <cstdint>

namespace sluice {

class Attention {
 public:
  enum Cause : uint32_t {
    kKeys = 1u << 0,      // somebody wants to hear of touched keys: WATCH, waiters, tracking
    kServe = 1u << 1,     // waiters can be served, locks have to be caught up with
    kCommands = 1u << 2,  // somebody is shown commands, or tracks what it reads
    kGates = 1u << 3,     // CLIENT PAUSE, or a script past its time
    kPending = 1u << 4,   // a command has invalidated what its own client has read
  };

  bool Raised(Cause cause) const { return (causes_ & cause) != 0; }
  void Raise(Cause cause) { causes_ |= cause; }
  void Lower(Cause cause) { causes_ &= ~static_cast<uint32_t>(cause); }

 private:
  uint32_t causes_ = 0;
};

}  // namespace sluice
