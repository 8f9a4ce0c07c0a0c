// The file of a cluster's map, and the bytes that servers and operators hand each other. It is the
// same on all servers:
//
//   epoch 7
//   0-8191      10.0.0.1:6379
//   8192-16382  10.0.0.2:6379 07c37dfeb235213a872192d90877d0cd55635b91
//   16383       10.0.0.3:6379
//   server 10.0.0.2:6379 07c37dfeb235213a872192d90877d0cd55635b91 5
//   replica-of 07c37dfeb235213a872192d90877d0cd55635b91 10.0.0.4:6379
//   me 07c37dfeb235213a872192d90877d0cd55635b91
//
// A line gives a slot or a range to a server; several may name the same one. Where a line has no
// id, the server's is made of its address. A replica names its master by id or by address. `server`
// names one that may have no slots, and the epoch of its line, where that is not the map's. A line
// that begins with # is a comment; IPv6 addresses stand in brackets. `me`, by id or address, is in
// a file of one server alone, and so are its slots that are on their way (`migrating 5 <id>`,
// `importing 5 <id>`). Redis's nodes.conf is read too: its servers, roles, slots and epochs;
// slots that it is about to move stay where they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "protocol/text/fault.h"
#include "server/cluster/slot_map.h"

namespace sluice {

struct MapFile {
  SlotMap map;
  std::optional<size_t> me = std::nullopt;  // a node of it
  SlotMoves moves = {};                     // its own
};

struct MapRules {
  bool needs_all_slots = false;  // a slot of nobody is a fault
  bool needs_hosts = true;       // else a server that is ":6379" is where the client is already
};

// Or what is wrong with it, and in which line.
std::variant<MapFile, Fault> ReadMapFile(std::string_view text, MapRules rules);
// A text that ReadMapFile reads as this.
std::string MapFileText(const MapFile& file);
// The same for maps that say the same, in whatever order: 16 hex digits. O(slots).
std::string DigestOf(const SlotMap& map);
// host:port, an IPv6 address in brackets.
std::string AddressText(const ClusterNode& node);
// The node that a name means, its id or its address; null: none.
std::optional<size_t> FindNode(const SlotMap& map, std::string_view name);

}  // namespace sluice
