// SlotMap: which server of a cluster serves which of the 16,384 slots of keys, and which follow
// which. It is the same on all servers; a change of it is a new map with a higher epoch.
//
//   nodes   masters, which own slots, and replicas, which name their master
//   slots   the owner of each, or nobody
//
// A map is built by SlotMapBuilder, which refuses what makes no sense (a slot of two owners, a
// replica of a replica); what is a SlotMap has been checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "storage/hashing/key_slot.h"

namespace sluice {

struct SlotRange {
  KeySlot first;
  KeySlot last;  // itself included
  bool operator==(const SlotRange&) const = default;
};

// Slots of one server that are on their way: to which server, or from which, by its id. While it is
// so some keys are here and others there (SlotGate).
struct SlotMoves {
  std::map<KeySlot, std::string> to;
  std::map<KeySlot, std::string> from;
  bool operator==(const SlotMoves&) const = default;
};

struct ClusterNode {
  static constexpr size_t kIdBytes = 40;

  std::string id;  // 40 hex digits
  std::string host;
  uint16_t port = 0;
  std::optional<size_t> master = std::nullopt;  // its number, of a replica
  // Its line says what it is, where, and which slots it has; the higher this, the newer the line.
  uint64_t epoch = 0;

  bool is_replica() const { return master.has_value(); }
  bool operator==(const ClusterNode&) const = default;
};

// The id of a server that is given none: the same on every server that reads of it.
std::string NodeIdOf(std::string_view host, uint16_t port);
bool IsNodeId(std::string_view text);

class SlotMap {
 public:
  static constexpr size_t kNodesMax = 1000;
  static constexpr uint64_t kEpochMax = uint64_t{1} << 53;

  // A new one has no node, and so no slot has an owner. Its epoch is at least that of each line.
  uint64_t epoch() const { return epoch_; }
  std::span<const ClusterNode> nodes() const { return nodes_; }
  // The number of the master that owns a slot, or null.
  const ClusterNode* OwnerOf(KeySlot slot) const {
    return owners_.empty() || owners_[slot] == kNobody ? nullptr : &nodes_[owners_[slot]];
  }
  bool IsOwner(size_t node, KeySlot slot) const {
    return !owners_.empty() && owners_[slot] == node;
  }
  // The number of the master that a node follows, or its own.
  size_t MasterOf(size_t node) const { return nodes_[node].master.value_or(node); }
  std::optional<size_t> FindId(std::string_view id) const;
  std::optional<size_t> FindAddress(std::string_view host, uint16_t port) const;
  size_t NumberOf(const ClusterNode& node) const {
    return static_cast<size_t>(&node - nodes_.data());
  }

  struct Owned {
    SlotRange range;
    size_t owner;
  };
  // All that have an owner, in order. O(slots).
  std::vector<Owned> Ranges() const;
  // In order. O(slots).
  std::vector<SlotRange> RangesOf(size_t node) const;
  std::vector<size_t> ReplicasOf(size_t node) const;
  size_t assigned() const { return assigned_; }
  bool is_whole() const { return assigned_ == kKeySlots; }

  bool operator==(const SlotMap&) const = default;

 private:
  friend class SlotMapBuilder;
  static constexpr uint16_t kNobody = UINT16_MAX;

  uint64_t epoch_ = 0;
  std::vector<ClusterNode> nodes_;
  std::vector<uint16_t> owners_;  // by slots; empty while none has one
  size_t assigned_ = 0;
};

// Puts a map together. Each step says what is wrong with it, in words that fit behind the place.
class SlotMapBuilder {
 public:
  // Begins with that map.
  explicit SlotMapBuilder(SlotMap map = {}) : map_(std::move(map)) {}

  Fault SetEpoch(uint64_t epoch);
  // That of a node's line, which is the map's from then on, if it is higher.
  Fault SetLineEpoch(size_t node, uint64_t epoch);
  // The line is newer than all others. An epoch that cannot grow any more stays.
  void Renew(size_t node);
  // The node of that address, new if need be. An id that is empty is NodeIdOf's.
  Fault AddNode(std::string_view host, uint16_t port, std::string_view id, size_t& node);
  Fault Give(SlotRange range, size_t node);
  void Take(SlotRange range);
  // `replica` follows that master from here on.
  Fault Follow(size_t replica, size_t master);
  // It follows nobody from here on.
  void Lead(size_t node) { map_.nodes_[node].master.reset(); }
  // Another place of that node. Requires: no other node is there.
  void Move(size_t node, std::string_view host, uint16_t port);

  const SlotMap& map() const { return map_; }
  SlotMap Finish() { return std::move(map_); }

 private:
  SlotMap map_;
};

// The map without some of its nodes: their slots are of nobody, their replicas masters without
// slots. `dropped`: by their numbers.
SlotMap WithoutNodes(const SlotMap& map, const std::vector<bool>& dropped);

}  // namespace sluice
