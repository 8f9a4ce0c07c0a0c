// See slot_map.h.
#include "server/cluster/slot_map.h"

#include <algorithm>
#include <cassert>

#include "protocol/text/concat.h"
#include "protocol/text/hex.h"
#include "storage/hashing/sha.h"

namespace sluice {

std::string NodeIdOf(std::string_view host, uint16_t port) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const uint8_t byte : Sha1(Concat(host, ":", port))) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

bool IsNodeId(std::string_view text) {
  return text.size() == ClusterNode::kIdBytes &&
         std::ranges::all_of(text, [](char c) { return HexDigit(c) >= 0; });
}

// --- the map

std::optional<size_t> SlotMap::FindId(std::string_view id) const {
  const auto found = std::ranges::find(nodes_, id, &ClusterNode::id);
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<size_t>(found - nodes_.begin());
}

std::optional<size_t> SlotMap::FindAddress(std::string_view host, uint16_t port) const {
  const auto found = std::ranges::find_if(
      nodes_, [&](const ClusterNode& node) { return node.port == port && node.host == host; });
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<size_t>(found - nodes_.begin());
}

std::vector<SlotMap::Owned> SlotMap::Ranges() const {
  std::vector<Owned> ranges;
  for (size_t slot = 0; slot < owners_.size(); ++slot) {
    if (owners_[slot] == kNobody) continue;
    const auto here = static_cast<KeySlot>(slot);
    const bool goes_on = slot > 0 && owners_[slot - 1] == owners_[slot];
    if (goes_on) {
      ranges.back().range.last = here;
    } else {
      ranges.push_back({{here, here}, owners_[slot]});
    }
  }
  return ranges;
}

std::vector<SlotRange> SlotMap::RangesOf(size_t node) const {
  std::vector<SlotRange> ranges;
  for (const auto& [range, owner] : Ranges()) {
    if (owner == node) ranges.push_back(range);
  }
  return ranges;
}

std::vector<size_t> SlotMap::ReplicasOf(size_t node) const {
  std::vector<size_t> replicas;
  for (size_t other = 0; other < nodes_.size(); ++other) {
    if (nodes_[other].master == node) replicas.push_back(other);
  }
  return replicas;
}

// --- making one

Fault SlotMapBuilder::SetEpoch(uint64_t epoch) {
  if (epoch > SlotMap::kEpochMax) return Concat("an epoch above ", SlotMap::kEpochMax);
  map_.epoch_ = epoch;
  return {};
}

Fault SlotMapBuilder::SetLineEpoch(size_t node, uint64_t epoch) {
  if (epoch > SlotMap::kEpochMax) return Concat("an epoch above ", SlotMap::kEpochMax);
  map_.nodes_[node].epoch = epoch;
  map_.epoch_ = std::max(map_.epoch_, epoch);
  return {};
}

void SlotMapBuilder::Renew(size_t node) {
  map_.epoch_ = std::min(map_.epoch_ + 1, SlotMap::kEpochMax);
  map_.nodes_[node].epoch = map_.epoch_;
}

void SlotMapBuilder::Move(size_t node, std::string_view host, uint16_t port) {
  map_.nodes_[node].host = host;
  map_.nodes_[node].port = port;
}

Fault SlotMapBuilder::AddNode(std::string_view host, uint16_t port, std::string_view id,
                              size_t& node) {
  const std::string wanted = id.empty() ? NodeIdOf(host, port) : std::string(id);
  if (const std::optional<size_t> known = map_.FindAddress(host, port)) {
    node = *known;
    if (id.empty() || map_.nodes_[node].id == wanted) return {};
    return Concat(host, ":", port, " has two ids, ", map_.nodes_[node].id, " and ", wanted);
  }
  if (map_.FindId(wanted)) return Concat("two servers have the id ", wanted);
  if (map_.nodes_.size() == SlotMap::kNodesMax)
    return Concat("more than ", SlotMap::kNodesMax, " servers");
  node = map_.nodes_.size();
  map_.nodes_.push_back({.id = wanted, .host = std::string(host), .port = port});
  return {};
}

Fault SlotMapBuilder::Give(SlotRange range, size_t node) {
  const ClusterNode& owner = map_.nodes_[node];
  if (owner.is_replica()) return Concat(owner.host, ":", owner.port, " is a replica");
  for (int slot = range.first; slot <= range.last; ++slot) {
    const ClusterNode* const other = map_.OwnerOf(static_cast<KeySlot>(slot));
    if (other && other != &owner)
      return Concat("slot ", slot, " is of ", other->host, ":", other->port, " already");
  }
  map_.owners_.resize(kKeySlots, SlotMap::kNobody);
  for (int slot = range.first; slot <= range.last; ++slot) {
    uint16_t& place = map_.owners_[static_cast<size_t>(slot)];
    map_.assigned_ += place == SlotMap::kNobody;
    place = static_cast<uint16_t>(node);
  }
  return {};
}

void SlotMapBuilder::Take(SlotRange range) {
  if (map_.owners_.empty()) return;
  for (int slot = range.first; slot <= range.last; ++slot) {
    uint16_t& place = map_.owners_[static_cast<size_t>(slot)];
    map_.assigned_ -= place != SlotMap::kNobody;
    place = SlotMap::kNobody;
  }
}

Fault SlotMapBuilder::Follow(size_t replica, size_t master) {
  ClusterNode& follower = map_.nodes_[replica];
  const std::string name = Concat(follower.host, ":", follower.port);
  if (replica == master) return Concat(name, " is to follow itself");
  if (map_.nodes_[master].is_replica())
    return Concat(name, " is to follow a replica, ", map_.nodes_[master].id);
  if (follower.master && follower.master != master) return Concat(name, " has two masters");
  if (!map_.ReplicasOf(replica).empty())
    return Concat(name, " is to follow another, and has replicas");
  if (!map_.RangesOf(replica).empty()) return Concat(name, " is a replica, and has slots");
  follower.master = master;
  return {};
}

SlotMap WithoutNodes(const SlotMap& map, const std::vector<bool>& dropped) {
  SlotMapBuilder builder;
  std::vector<size_t> numbers(map.nodes().size());
  // All that a checked map says is taken: no step has a fault.
  std::vector<Fault> faults = {builder.SetEpoch(map.epoch())};
  for (size_t node = 0; node < numbers.size(); ++node) {
    const ClusterNode& kept = map.nodes()[node];
    if (dropped[node]) continue;
    faults.push_back(builder.AddNode(kept.host, kept.port, kept.id, numbers[node]));
    faults.push_back(builder.SetLineEpoch(numbers[node], kept.epoch));
  }
  for (const auto& [range, owner] : map.Ranges()) {
    if (!dropped[owner]) faults.push_back(builder.Give(range, numbers[owner]));
  }
  for (size_t node = 0; node < numbers.size(); ++node) {
    const std::optional<size_t> master = map.nodes()[node].master;
    if (master && !dropped[node] && !dropped[*master])
      faults.push_back(builder.Follow(numbers[node], numbers[*master]));
  }
  assert(std::ranges::all_of(faults, &Fault::empty));
  return builder.Finish();
}

}  // namespace sluice
