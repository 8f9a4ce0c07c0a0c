// A play of a master, its replica and one failover: the master is killed, stands still, or is cut
// off from the replica, which is then promoted (REPLICAOF NO ONE); later the old master is back,
// and follows. Clients ask both all the time. Judged: no lock has two owners, and tokens grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::cluster {

struct FailoverKind {
  int min_replicas = 0;  // of both servers
  bool is_dead = false;  // the master is killed, and comes back when no client asks any more
};

struct FailoverSums {
  size_t grants = 0;
  size_t after = 0;  // of them those by the server that was promoted
};

// What the judge has found; null: nothing is wrong.
std::optional<std::string> PlayFailover(uint64_t seed, const FailoverKind& kind,
                                        FailoverSums& sums);

}  // namespace sluice::cluster
