// MasterTime: the time of a server that follows another one. Its engine time is its master's, and
// its Unix time too, as the two differ by the same there; TIME alone tells the machine's own.
//
// From where it is known:
//   a full sync    the file names the master's clock, and the loader makes it this server's
//   C in a stream  the master's Unix time has another offset since; it is not said again, and
//                  files keep it (StreamReading)
//   H in a stream  what its engine time was: MasterClock says how far ours is off
//   +CONTINUE      both, of a master that has gone on after another one and has not said a word yet
//
// A master that is no Sluice has no time, and this server keeps its own.
//
//   time.Heartbeat(envelope.engine_ms);   // between two commands; see Uses::shifted
//   time.Promoted();                      // the machine's own Unix time is shown again
#pragma once

#include <cstdint>
#include <functional>

#include "server/core/turn_clock.h"
#include "server/following/master_clock.h"
#include "storage/log/turn_writer.h"

namespace sluice {

class Keyspace;

class MasterTime {
 public:
  struct Uses {
    TurnClock& clock;
    Keyspace& keyspace;
    // Engine time is so much later from now on: all that has moments of it is to be told
    // (Assembly::TimeShifted).
    std::function<void(int64_t ms)> shifted;
  };
  explicit MasterTime(Uses uses) : on_(std::move(uses)) {}

  // Another master than before; its time is not known yet, and ours goes on.
  void NewMaster() { clock_.Forget(); }
  // Its data were loaded, and with them its time, which counts from `made_ms` on (FullSyncLoader).
  void FullSync(int64_t made_ms);
  // The master said so, in this turn.
  void Heartbeat(int64_t engine_ms);
  void ClockChanged(const LogClock& clock);
  // No master is followed any more.
  void Promoted();

 private:
  void Refresh();
  int64_t OwnUs() const;

  const Uses on_;
  MasterClock clock_;
};

}  // namespace sluice
