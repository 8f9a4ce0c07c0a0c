// See slot_gate.h.
#include "server/dispatch/slot_gate.h"

#include "protocol/text/concat.h"
#include "server/dispatch/transaction.h"
#include "storage/hashing/key_slot.h"

namespace sluice {

bool IsOfSlots(std::string_view refusal) {
  return refusal.starts_with("MOVED ") || refusal.starts_with("CROSSSLOT ") ||
         refusal.starts_with("CLUSTERDOWN ") || refusal.starts_with("ASK ") ||
         refusal.starts_with("TRYAGAIN ");
}

namespace {

// SSUBSCRIBE and its likes: their channels, which are no keys to others, have slots.
bool IsOfShards(const Command& command) {
  return (command.spec->flags & kPubSub) && command.spec->keys.count > 0;
}

}  // namespace

SlotGate::Move SlotGate::MoveOf(KeySlot slot) const {
  const SlotMoves& moves = cluster_.moves();
  if (moves.to.contains(slot)) return Move::kOut;
  return moves.from.contains(slot) ? Move::kIn : Move::kNone;
}

// False: it is of another slot than those before.
bool SlotGate::AddKey(std::string_view key, Demand& demand) {
  const KeySlot slot = SlotOfKey(key);
  if (!demand.slot.slot()) {
    demand.first_key = key;
    demand.move = MoveOf(slot);
    demand.is_unserved |= cluster_.map().OwnerOf(slot) == nullptr;
  }
  if (!demand.slot.Add(slot)) return false;
  demand.is_of_several |= key != demand.first_key;
  if (demand.move == Move::kNone || demand.is_sharded_message) return true;
  const bool is_there = keyspace_.db(0).Find(keyspace_.Hash(key), clock_.now()) != nullptr;
  ++(is_there ? demand.there : demand.missing);
  return true;
}

// False: they are of several slots. The keys of what is inside a request (FENCED) count.
bool SlotGate::AddKeys(const Request& request, Demand& demand) {
  const auto add = [&](size_t position) { return AddKey(request.args[position], demand); };
  const Command& command = request.command;
  if (command.sole_key && static_cast<size_t>(command.first_key) < request.args.size())
    return add(static_cast<size_t>(command.first_key));
  positions_.clear();
  if (IsOfShards(command)) {
    for (const KeySpec& spec : command.spec->keys.all())
      FindKeyPositions(spec, request.args, positions_);
  } else {
    keys_.clear();
    FindKeys(request, keys_);  // those that it finds, if it makes no sense
    for (const KeyUse& key : keys_) positions_.push_back(key.position);
  }
  for (const int position : positions_) {
    if (demand.is_unserved) return true;
    if (!add(static_cast<size_t>(position))) return false;
  }
  return true;
}

SlotGate::Finding SlotGate::Find(const Session& session, const Request& request, Demand& demand) {
  const auto add = [&](const Request& one) {
    const CommandSpec& spec = *one.command.spec;
    const uint32_t flags = spec.request_flags ? spec.request_flags(parts_, one) : spec.flags;
    demand.writes |= (flags & kWrite) != 0;
    demand.is_sharded_message |= IsOfShards(one.command);
    // A request alone can say that of itself: MIGRATE does.
    demand.asks |= (flags & kAsking) != 0;
    demand.moves_keys |= (flags & ~spec.flags & kAsking) != 0;
    return AddKeys(one, demand);
  };
  const bool executes = (request.command.spec->flags & kEndsMulti) != 0;
  if (!executes) {
    if (!add(request)) return Finding::kCrossSlot;
  } else if (session.in_multi()) {
    for (const QueuedCommand& queued : TransactionOf(session)->queue) {
      if (!add(queued.request())) return Finding::kCrossSlot;
    }
  }
  return FindOf(session, demand);
}

SlotGate::Finding SlotGate::FindOf(const Session& session, const Demand& demand) const {
  if (!demand.slot.slot()) return Finding::kHere;
  if (demand.is_unserved) return Finding::kUnserved;
  if (!cluster_.is_up()) {
    if (demand.is_sharded_message) {
      if (!settings_.cluster_allow_pubsubshard_when_down) return Finding::kDown;
    } else if (!settings_.cluster_allow_reads_when_down) {
      return Finding::kDown;
    } else if (demand.writes) {
      return Finding::kDownReadsOnly;
    }
  }
  if (demand.move != Move::kNone) [[unlikely]] {
    if (const std::optional<Finding> finding = FindOfMove(session, demand)) return *finding;
  }
  const ClusterNode* const owner = cluster_.map().OwnerOf(*demand.slot.slot());
  const size_t node = cluster_.map().NumberOf(*owner);
  if (!cluster_.IsOfOwnLine(node)) return Finding::kMoved;
  if (!cluster_.follows()) return Finding::kHere;
  const bool may_read = session.reads_replica && !demand.writes;
  if (may_read || demand.is_sharded_message) return Finding::kHere;
  return cluster_.Leads(cluster_.me()) ? Finding::kHere : Finding::kMoved;
}

// Null: the slot's owner decides. It is on its way, and MIGRATE has to find its keys all the while.
std::optional<SlotGate::Finding> SlotGate::FindOfMove(const Session& session,
                                                      const Demand& demand) const {
  if (demand.moves_keys) return Finding::kHere;
  if (demand.move == Move::kOut && demand.missing > 0) {
    if (demand.there > 0) return Finding::kTryAgain;
    // As Redis has it, a slot may be on its way to where it is.
    const bool stays = cluster_.moves().to.at(*demand.slot.slot()) == cluster_.own().id;
    return stays ? Finding::kHere : Finding::kAsk;
  }
  const bool asks = (session.conditions & kAsks) || demand.asks;
  if (demand.move != Move::kIn || !asks) return std::nullopt;
  return demand.is_of_several && demand.missing > 0 ? Finding::kTryAgain : Finding::kHere;
}

std::string SlotGate::PlaceText(size_t node) const {
  const size_t leader = cluster_.LeaderOf(node);
  return Concat(cluster_.EndpointOf(leader).value_or(""), ":", cluster_.PortOf(leader));
}

std::string SlotGate::MovedText(KeySlot slot) const {
  const ClusterNode* const owner = cluster_.map().OwnerOf(slot);
  return Concat("MOVED ", slot, " ", PlaceText(cluster_.map().NumberOf(*owner)));
}

std::string SlotGate::AskText(KeySlot slot) const {
  const std::string& id = cluster_.moves().to.at(slot);
  return Concat("ASK ", slot, " ", PlaceText(*cluster_.map().FindId(id)));
}

std::string SlotGate::Ask(const Session& session, const Request& request) {
  if (session.replays) return {};
  Demand demand;
  switch (Find(session, request, demand)) {
    case Finding::kHere:
      return {};
    case Finding::kMoved:
      return MovedText(*demand.slot.slot());
    case Finding::kAsk:
      return AskText(*demand.slot.slot());
    case Finding::kTryAgain:
      return "TRYAGAIN Multiple keys request during rehashing of slot";
    case Finding::kCrossSlot:
      return "CROSSSLOT Keys in request don't hash to the same slot";
    case Finding::kDown:
      return "CLUSTERDOWN The cluster is down";
    case Finding::kDownReadsOnly:
      return "CLUSTERDOWN The cluster is down and only accepts read commands";
    case Finding::kUnserved:
      return "CLUSTERDOWN Hash slot not served";
  }
  return {};
}

std::string SlotGate::AskOfScript(const Session& caller, const Request& request, bool may_cross,
                                  SlotOfKeys& slot) {
  if (caller.replays) return {};
  Demand demand;
  switch (Find(caller, request, demand)) {
    case Finding::kHere:
      break;
    case Finding::kDownReadsOnly:
      return "ERR Script attempted to execute a write command while the cluster is down and "
             "readonly";
    case Finding::kDown:
      return "ERR Script attempted to execute a command while the cluster is down";
    case Finding::kMoved:
    case Finding::kAsk:
    case Finding::kTryAgain:
    case Finding::kCrossSlot:
    case Finding::kUnserved:
      return "ERR Script attempted to access a non local key in a cluster node";
  }
  if (!demand.slot.slot() || may_cross || slot.Add(*demand.slot.slot())) return {};
  return "ERR Script attempted to access keys that do not hash to the same slot";
}

std::optional<KeySlot> SlotGate::SlotOf(const Request& request) {
  Demand demand;
  return AddKeys(request, demand) ? demand.slot.slot() : std::nullopt;
}

}  // namespace sluice
