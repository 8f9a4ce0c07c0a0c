// The parts that storage, which knows no Parts, gives the server.
#pragma once

#include "server/core/parts.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

template <>
inline constexpr PartId kPartIdOf<Keyspace> = PartId::kKeyspace;

}  // namespace sluice
