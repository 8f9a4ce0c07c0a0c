// Plays of a master, its replica and failovers. In one there is a single failover: the master is
// killed, stands still, or is cut off from the replica, which is then promoted (REPLICAOF NO ONE);
// later the old master is back, and follows. In the other three Sentinels decide, again and again,
// and everything happens to everybody. Clients ask both servers all the time.
//
// Judged: no lock has two owners, and tokens grow; where grants wait for the replica no answered
// write under a token (FENCED) is lost, none is let through behind one of a newer token, and no
// limit lets more through than it may; where all changes wait no SET NX PX has two owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::cluster {

struct FailoverKind {
  int min_replicas = 0;  // of both servers
  bool is_dead = false;  // the master is killed, and comes back when no client asks any more
  bool do_changes_wait = false;  // all of them, not grants alone
  bool has_locks = true;         // no: limits alone
};

struct FailoverSums {
  size_t plays = 0;
  size_t judged = 0;  // of them those of which anything is promised
  size_t grants = 0;
  size_t after = 0;    // of them those by the server that was promoted
  size_t fenced = 0;   // writes under tokens that were answered
  size_t limited = 0;  // what limits let through
  size_t plain = 0;    // grants of SET NX PX
  int promotions = 0;
};

// What the judge has found; null: nothing is wrong.
std::optional<std::string> PlayFailover(uint64_t seed, const FailoverKind& kind,
                                        FailoverSums& sums);
// Grants wait for all replicas: for the one that there is.
std::optional<std::string> PlaySentinelFailovers(uint64_t seed, FailoverSums& sums);

}  // namespace sluice::cluster
