// ReplicaWitness: replicas as a witness of what is reserved ahead for locks
// (server/locks/reservation). They are told the mark of tokens and the horizon of leases in the
// stream (the envelope M), and a mark counts when as many Sluices as lock-min-replicas says have
// acknowledged it.
//
// M names this server where each of its replicas has every grant before that is answered: there are
// no more Sluices than the grants wait for. One that is promoted then lacks none. So a Sluice that
// comes, and makes one more of them than are waited for, counts only when the others know that.
// Redis-servers keep nothing of locks, and never count.
#pragma once

#include <cstdint>
#include <vector>

#include "server/config/settings.h"
#include "server/core/turn_clock.h"
#include "server/locks/lease_horizon.h"
#include "server/locks/reservation.h"
#include "server/replication/replica.h"
#include "server/replication/replication_stream.h"
#include "storage/log/stream_position.h"

namespace sluice {

class ReplicaWitness {
 public:
  struct Uses {
    const Settings& settings;
    const TurnClock& clock;
    Reservation& reservation;
    LeaseHorizon& horizon;
    ReplicationStream& stream;
    const ReplicationId id;  // this server's run id
  };
  explicit ReplicaWitness(const Uses& uses) : on_(uses) {}

  // The Sluices that are online, in this turn; all that was told is in the stream.
  void See(const std::vector<Replica*>& sluices);
  // There is something to be told now: since a replica came, more is reserved.
  bool HasNews() const;
  // Requires: HasNews(), and these were seen in this turn.
  void Tell(const std::vector<Replica*>& sluices);
  // One has come that was told nothing yet.
  void ReplicaCame() { is_told_ = false; }
  // Nothing is known of any replica: the history is another one, or not this server's.
  void Restart();

 private:
  // The words of M.
  struct Told {
    int64_t mark = 0;
    int64_t horizon_ms = 0;  // engine ms
    bool is_complete = false;
    bool operator==(const Told&) const = default;
  };
  Told Wanted() const;
  void Admit(const std::vector<Replica*>& sluices);
  void NoteAcks(const std::vector<Replica*>& sluices);

  const Uses on_;
  Told told_;
  int64_t partial_end_ = 0;  // of the envelope that first said that not all have every grant
  bool is_told_ = false;
  size_t online_ = 0;
  int64_t counted_for_ = 0;  // lock-min-replicas when marks were counted last
};

}  // namespace sluice
