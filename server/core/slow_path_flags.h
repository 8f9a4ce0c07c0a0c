// SlowPathFlags: one word that says which of the rare things may be there that concern every
// touched key or every command, so that the way of a command asks one question instead of one for
// each of them.
//
// A part that brings such a thing raises its flag. A flag may stay raised when the last of them is
// gone: the engine, finding none, lowers it.
#pragma once

#include <cstdint>

namespace sluice {

class SlowPathFlags {
 public:
  enum Flag : uint32_t {
    kKeys = 1u << 0,        // a KeyListener has something to hear of: WATCH, waiters, tracking
    kServe = 1u << 1,       // waiters can be served, locks have to be caught up with
    kCommands = 1u << 2,    // a client is shown commands, or tracks what it reads
    kPaused = 1u << 3,      // CLIENT PAUSE
    kLateScript = 1u << 4,  // a script past its time runs
    kPending = 1u << 5,     // a command has invalidated what its own client has read
    kLog = 1u << 6,         // the append-only log is loaded, or cannot be written
    kSaving = 1u << 7,      // a snapshot is taken
    kHooked = 1u << 8,      // requests are shown to a RequestHook
    kReplicas = 1u << 9,    // there are too few for writes
    kFollowing = 1u << 10,  // the data are another server's
    kCluster = 1u << 11,    // keys of some slots are other servers'
    kSluices = 1u << 12,    // there are too few for grants (lock-min-replicas), or they are behind
    kGates = kPaused | kLateScript | kLog | kSaving | kHooked | kReplicas | kFollowing | kSluices,
  };

  bool Raised(Flag flag) const { return (flags_ & flag) != 0; }
  bool AnyRaised() const { return flags_ != 0; }
  void Raise(Flag flag) { flags_ |= flag; }
  void Lower(Flag flag) { flags_ &= ~static_cast<uint32_t>(flag); }

 private:
  uint32_t flags_ = 0;
};

}  // namespace sluice
