// TurnNeeds: what a turn is to have got. As the mark of a turn: what its answers wait for beyond
// what the options say. As the terms of a client that waits: WAIT, WAITAOF.
#pragma once

#include <compare>
#include <cstdint>

namespace sluice {

struct TurnNeeds {
  bool disk = false;              // it is on this server's disk, whatever appendfsync says
  bool on_replicas_disk = false;  // these have it on theirs:
  uint32_t replicas = 0;          // so many replicas have it
  // As a mark: the running command's answer tells of so many grants and renewals, takes of limits
  // ...; and the turn has such: lock-min-replicas Sluices are to have it.
  uint32_t grants = 0;
  bool of_grants = false;
  auto operator<=>(const TurnNeeds&) const = default;
};

}  // namespace sluice
