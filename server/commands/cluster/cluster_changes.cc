// See cluster_changes.h. All arguments are read before anything changes.
#include "server/commands/cluster/cluster_changes.h"

#include <bitset>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/arg_reader.h"
#include "server/peers/map_changes.h"
#include "server/peers/own_line.h"

namespace sluice {
namespace {

ClusterState& StateOf(CommandCall& call) { return call.part<ClusterState>(); }

MapChanges& ChangesOf(CommandCall& call) { return call.part<MapChanges>(); }

void Answer(CommandCall& call, const Fault& fault) {
  fault ? call.reply.Error(Concat("ERR ", fault.sentence())) : call.reply.Ok();
}

// Null: the refusal is answered.
std::optional<KeySlot> SlotAt(CommandCall& call, size_t argument) {
  const std::optional<int64_t> slot = ParseInt64(call.args[argument]);
  if (slot && *slot >= 0 && *slot < kKeySlots) return static_cast<KeySlot>(*slot);
  call.reply.Error("ERR Invalid or out of range slot");
  return std::nullopt;
}

// Single slots; empty: the refusal is answered.
std::vector<SlotRange> SlotsNamed(CommandCall& call) {
  std::vector<SlotRange> ranges;
  for (size_t i = 2; i < call.args.size(); ++i) {
    const std::optional<KeySlot> slot = SlotAt(call, i);
    if (!slot) return {};
    ranges.push_back({*slot, *slot});
  }
  return ranges;
}

// Pairs of a first and a last one; empty: the refusal is answered.
std::vector<SlotRange> RangesNamed(CommandCall& call) {
  std::vector<SlotRange> ranges;
  if (call.args.size() % 2 == 1) {
    call.reply.Error(
        Concat("ERR wrong number of arguments for '", call.command.full_name, "' command"));
    return ranges;
  }
  for (size_t i = 2; i < call.args.size(); i += 2) {
    const std::optional<KeySlot> first = SlotAt(call, i);
    if (!first) return {};
    const std::optional<KeySlot> last = SlotAt(call, i + 1);
    if (!last) return {};
    if (*first > *last) {
      call.reply.Error(
          Concat("ERR start slot number ", *first, " is greater than end slot number ", *last));
      return {};
    }
    ranges.push_back({*first, *last});
  }
  return ranges;
}

// Others are to hear of it; alone a server is as Redis, which keeps its epoch.
void ChangeOwnLine(CommandCall& call, SlotMapBuilder& builder) {
  if (builder.map().nodes().size() > 1) builder.Renew(StateOf(call).me());
  Answer(call, ChangesOf(call).Change(builder.Finish()));
}

// Gives them to this server, or takes them from whoever has them.
void ChangeSlots(CommandCall& call, const std::vector<SlotRange>& ranges, bool gives) {
  if (ranges.empty()) return;
  ClusterState& cluster = StateOf(call);
  std::bitset<kKeySlots> seen;
  for (const auto& [first, last] : ranges) {
    for (int slot = first; slot <= last; ++slot) {
      const bool has_owner = cluster.map().OwnerOf(static_cast<KeySlot>(slot)) != nullptr;
      if (gives && has_owner)
        return call.reply.Error(Concat("ERR Slot ", slot, " is already busy"));
      if (!gives && !has_owner)
        return call.reply.Error(Concat("ERR Slot ", slot, " is already unassigned"));
      if (seen.test(static_cast<size_t>(slot)))
        return call.reply.Error(Concat("ERR Slot ", slot, " specified multiple times"));
      seen.set(static_cast<size_t>(slot));
    }
  }
  SlotMapBuilder builder(cluster.map());
  for (const SlotRange& range : ranges) {
    if (!gives) {
      builder.Take(range);
    } else if (const Fault fault = builder.Give(range, cluster.me())) {
      return Answer(call, fault);
    }
  }
  ChangeOwnLine(call, builder);
}

}  // namespace

// After `CLUSTER ADDSLOTS 1 2`:
//   CLUSTER ADDSLOTS 2      → -ERR Slot 2 is already busy
//   CLUSTER DELSLOTS 3      → -ERR Slot 3 is already unassigned
//   CLUSTER ADDSLOTS 4 4    → -ERR Slot 4 specified multiple times
void ClusterAddSlots(CommandCall& call) { ChangeSlots(call, SlotsNamed(call), true); }
void ClusterDelSlots(CommandCall& call) { ChangeSlots(call, SlotsNamed(call), false); }
void ClusterAddSlotsRange(CommandCall& call) { ChangeSlots(call, RangesNamed(call), true); }
void ClusterDelSlotsRange(CommandCall& call) { ChangeSlots(call, RangesNamed(call), false); }

void ClusterFlushSlots(CommandCall& call) {
  ClusterState& cluster = StateOf(call);
  if (call.db.size() != 0)
    return call.reply.Error("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.");
  SlotMapBuilder builder(cluster.map());
  for (const SlotRange& range : cluster.map().RangesOf(cluster.me())) builder.Take(range);
  ChangeOwnLine(call, builder);
}

// --- SETSLOT

namespace {

constexpr std::string_view kNoSuchMove =
    "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP";

// The master of that id. Null: the refusal is answered.
std::optional<size_t> MasterNamed(CommandCall& call, std::string_view unknown) {
  const SlotMap& map = StateOf(call).map();
  const std::optional<size_t> node = map.FindId(call.args[4]);
  if (!node) {
    call.reply.Error(Concat(unknown, call.args[4]));
  } else if (map.nodes()[*node].is_replica()) {
    call.reply.Error("ERR Target node is not a master");
    return std::nullopt;
  }
  return node;
}

// The slot begins to go to another server, or to come from there.
void BeginMove(CommandCall& call, KeySlot slot, bool goes) {
  ClusterState& cluster = StateOf(call);
  const bool is_own = cluster.map().IsOwner(cluster.me(), slot);
  if (goes && !is_own) return call.reply.Error(Concat("ERR I'm not the owner of hash slot ", slot));
  if (!goes && is_own)
    return call.reply.Error(Concat("ERR I'm already the owner of hash slot ", slot));
  if (!MasterNamed(call, "ERR I don't know about node ")) return;
  SlotMoves moves = cluster.moves();
  (goes ? moves.to : moves.from)[slot] = call.args[4];
  Answer(call, cluster.SetMoves(std::move(moves)));
}

// It stays where it is.
void EndMove(CommandCall& call, KeySlot slot) {
  SlotMoves moves = StateOf(call).moves();
  moves.to.erase(slot);
  moves.from.erase(slot);
  Answer(call, StateOf(call).SetMoves(std::move(moves)));
}

// A master without slots follows the one that has got the last of them.
Fault FollowIfNothingIsLeft(CommandCall& call, const std::string& id) {
  const ClusterState& cluster = StateOf(call);
  const std::optional<size_t> heir = cluster.map().FindId(id);
  if (!heir || !call.settings.cluster_allow_replica_migration) return {};
  if (!cluster.map().RangesOf(cluster.me()).empty()) return {};
  return call.part<OwnLine>().Replicate(*heir);
}

// A server changes its own line, and another one's only until that one says what is so.
void GiveSlot(CommandCall& call, KeySlot slot) {
  ClusterState& cluster = StateOf(call);
  const std::optional<size_t> node = MasterNamed(call, "ERR Unknown node ");
  if (!node) return;
  const bool was_own = cluster.map().IsOwner(cluster.me(), slot);
  const bool becomes_own = *node == cluster.me();
  if (was_own && !becomes_own && call.db.slot_keys()->CountOf(slot) != 0) {
    return call.reply.Error(Concat("ERR Can't assign hashslot ", slot,
                                   " to a different node while I still hold keys for this hash "
                                   "slot."));
  }
  const std::string id = cluster.map().nodes()[*node].id;
  SlotMapBuilder builder(cluster.map());
  builder.Take({slot, slot});
  Fault fault = builder.Give({slot, slot}, *node);
  if (was_own != becomes_own || cluster.moves().from.contains(slot)) builder.Renew(cluster.me());
  if (!fault) fault = ChangesOf(call).Change(builder.Finish());
  if (!fault && was_own && !becomes_own) fault = FollowIfNothingIsLeft(call, id);
  Answer(call, fault);
}

}  // namespace

//   CLUSTER SETSLOT 5 MIGRATING <id>   keys that are not here any more are answered with -ASK
//   CLUSTER SETSLOT 5 IMPORTING <id>   and served there, behind ASKING
//   CLUSTER SETSLOT 5 NODE <id>        it is that server's
//   CLUSTER SETSLOT 5 STABLE           it stays
void ClusterSetSlot(CommandCall& call) {
  const ClusterState& cluster = StateOf(call);
  if (const Fault fault = cluster.WhyFixed()) return Answer(call, fault);
  if (cluster.own().is_replica())
    return call.reply.Error("ERR Please use SETSLOT only with masters.");
  const std::optional<KeySlot> slot = SlotAt(call, 2);
  if (!slot) return;
  const std::string_view action = call.args[3];
  const bool names_server = call.args.size() == 5;
  if (names_server && IsWord(action, "MIGRATING")) return BeginMove(call, *slot, /*goes=*/true);
  if (names_server && IsWord(action, "IMPORTING")) return BeginMove(call, *slot, /*goes=*/false);
  if (names_server && IsWord(action, "NODE")) return GiveSlot(call, *slot);
  if (call.args.size() == 4 && IsWord(action, "STABLE")) return EndMove(call, *slot);
  call.reply.Error(kNoSuchMove);
}

// --- epochs

// Only a server that knows no other and has none yet gets one.
void ClusterSetConfigEpoch(CommandCall& call) {
  const SlotMap& map = StateOf(call).map();
  const std::optional<int64_t> epoch = ParseInt64(call.args[2]);
  if (!epoch) return call.reply.Error(ErrorCode::kNotInteger);
  if (*epoch < 0) return call.reply.Error(Concat("ERR Invalid config epoch specified: ", *epoch));
  if (map.nodes().size() > 1) {
    return call.reply.Error(
        "ERR The user can assign a config epoch only when the node does not know any other node.");
  }
  if (map.epoch() != 0) return call.reply.Error("ERR Node config epoch is already non-zero");
  SlotMapBuilder builder(map);
  const Fault fault = builder.SetLineEpoch(StateOf(call).me(), static_cast<uint64_t>(*epoch));
  Answer(call, fault ? fault : ChangesOf(call).Change(builder.Finish()));
}

// A line that is the newest stays as it is.
void ClusterBumpEpoch(CommandCall& call) {
  ClusterState& cluster = StateOf(call);
  const uint64_t epoch = cluster.own().epoch;
  if (epoch != 0 && epoch == cluster.map().epoch())
    return call.reply.Status(Concat("STILL ", epoch));
  SlotMapBuilder builder(cluster.map());
  builder.Renew(cluster.me());
  const Fault fault = ChangesOf(call).Change(builder.Finish());
  fault ? Answer(call, fault) : call.reply.Status(Concat("BUMPED ", cluster.own().epoch));
}

void ClusterSaveConfig(CommandCall& call) {
  ClusterState& cluster = StateOf(call);
  Answer(call, ChangesOf(call).Change(cluster.map()));
}

// --- the operator's file

// Waiters for keys that are others' from now on are answered first.
void ClusterMapLoad(CommandCall& call) { Answer(call, ChangesOf(call).Load()); }

void ClusterMapGet(CommandCall& call) {
  call.reply.Bulk(MapFileText({StateOf(call).map(), std::nullopt}));
}

}  // namespace sluice
