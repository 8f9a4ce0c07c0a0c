// FollowerTurns: what the Sluices have that follow this server, in turns. They are those that keep
// grants (lock-min-replicas): one counts from its first acknowledgement on, once it has all data. A
// redis-server that follows holds nothing of an envelope, so it never counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

class FollowerTurns {
 public:
  virtual ~FollowerTurns() = default;
  // How many there are. O(replicas), as the others.
  virtual size_t Sluices() const = 0;
  // Up to which turn so many have everything; TurnGate::kNoTurn: there are not so many.
  virtual uint64_t TurnsAtSluices(uint32_t sluices) const = 0;
  // How many have all of this turn.
  virtual size_t SluicesWith(uint64_t turn) const = 0;
  // The number of the turn that the running command's changes will be of.
  virtual uint64_t NextTurn() const = 0;
};

}  // namespace sluice
