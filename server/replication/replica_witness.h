// ReplicaWitness: replicas as a witness of what is reserved ahead for locks
// (server/locks/reservation). They are told the mark of tokens and the horizon of leases in the
// stream (the envelope M), and a mark counts when as many Sluices as lock-min-replicas says have
// acknowledged it.
//
// One that comes is told by the answer to its PSYNC (Greet) while no grant waits for replicas
// and no grant can lie between: so the stream gets no longer by its coming, as in Redis, and a
// server that is replaced can follow the new master without a full sync. Whatever rises from there
// on is told ahead of the grants, in the stream, while it still takes its image, too.
//
// M names this server where each of its replicas has every grant before that is answered: there are
// no more Sluices than the grants wait for. One that is promoted then lacks none. So a Sluice that
// comes, and makes one more of them than are waited for, counts only when the others know that.
// Redis-servers keep nothing of locks, and never count.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/config/settings.h"
#include "server/core/turn_clock.h"
#include "server/locks/lease_horizon.h"
#include "server/locks/reservation.h"
#include "server/replication/envelope.h"
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

  // The Sluices that are online, in this turn; all that was told is in the stream. `any_greeted`:
  // some are not online yet, and were greeted.
  void See(const std::vector<Replica*>& sluices, bool any_greeted);
  // There is something to be told now: since a replica came, more is reserved.
  bool HasNews() const;
  // Requires: HasNews(), and these were seen in this turn.
  void Tell(const std::vector<Replica*>& sluices);
  // To be said to one that comes, in the answer to its PSYNC; null: it will stand in the stream.
  // Requires: it will have all that the stream has said so far before it is promoted.
  std::optional<ReservedEnvelope> Greet(Replica& replica);
  // One is online from now on.
  void ReplicaCame(const Replica& replica) {
    if (replica.greeted_mark == 0 || on_.settings.lock_min_replicas > 0) is_told_ = false;
  }
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
  ReservedEnvelope WordsOf(const Told& told) const;
  void SetFollowed(bool on);
  void Admit(const std::vector<Replica*>& sluices);
  void NoteAcks(const std::vector<Replica*>& sluices);

  const Uses on_;
  Told told_;
  int64_t partial_end_ = 0;  // of the envelope that first said that not all have every grant
  bool is_told_ = false;
  bool is_followed_ = false;  // by one that is online, or was greeted
  size_t online_ = 0;
  int64_t counted_for_ = 0;  // lock-min-replicas when marks were counted last
};

}  // namespace sluice
