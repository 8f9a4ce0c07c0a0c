// Connections as storage/locks knows them: by a number that no other connection ever has. State
// that outlives a turn keeps that, and never a session.
#pragma once

#include <cstdint>

#include "server/clients/clients.h"

namespace sluice {

inline uint64_t ConnectionOf(const Session& session) {
  return (uint64_t{session.id.slot} << 32 | session.id.generation) + 1;
}

// Null when it is gone.
inline Session* FindConnection(const Clients& clients, uint64_t connection) {
  const uint64_t id = connection - 1;
  return clients.Find({static_cast<uint32_t>(id >> 32), static_cast<uint32_t>(id)});
}

}  // namespace sluice
