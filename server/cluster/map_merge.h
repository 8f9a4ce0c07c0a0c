// MergeMaps: two servers' maps of one cluster as one map, the same whichever of them it is made by,
// so that maps which are handed on become equal. A line of a map is a server: what it is, where,
// which slots it has. Each line has an epoch, and is its own server's to change, which gives it a
// higher one (SlotMapBuilder::Renew). So:
//
//   a line       the newer of the two; this server's own is as it says itself
//   a slot       of whoever's line names it; where two do, of the newer line; where none does, and
//                its owner has given it to this server, this server's
//   an address   of one server; where two are there, of the newer line
//
// Where what others say of this server is not older, or took slots from it, its own line is
// renewed, so that all come to hear of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "protocol/text/fault.h"
#include "server/cluster/slot_map.h"

namespace sluice {

struct MergedMap {
  SlotMap map;
  size_t me = 0;
  // This server, or its master, had slots, and another has the last of them now.
  std::optional<size_t> heir = std::nullopt;
};

// `mine` is of the server `me`; servers whose id is among `forgotten` are taken from neither map. A
// fault: it would have too many servers. O(slots + servers * log servers).
std::variant<MergedMap, Fault> MergeMaps(const SlotMap& mine, size_t me, const SlotMap& theirs,
                                         std::span<const std::string> forgotten);

}  // namespace sluice
