// See map_merge.h. Nothing here depends on which map is whose, but for this server's own line.
#include "server/cluster/map_merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/cluster/map_file.h"

namespace sluice {
namespace {

// A line as it stands in one of the maps.
struct MapLine {
  const SlotMap* map;
  size_t node;
  std::string text;  // all that it says but its epoch

  const ClusterNode& server() const { return map->nodes()[node]; }
  bool has_host() const { return !server().host.empty(); }
  // An address that is known is newer than none, and among equals any order will do that is one.
  bool IsNewerThan(const MapLine& other) const {
    return std::tuple(server().epoch, has_host(), std::string_view(text)) >
           std::tuple(other.server().epoch, other.has_host(), std::string_view(other.text));
  }
};

std::vector<std::string> TextsOf(const SlotMap& map) {
  std::vector<std::string> texts;
  for (const ClusterNode& node : map.nodes()) {
    texts.push_back(AddressText(node));
    if (node.master) ConcatTo(texts.back(), " of ", map.nodes()[*node.master].id);
  }
  for (const auto& [range, owner] : map.Ranges())
    ConcatTo(texts[owner], " ", range.first, "-", range.last);
  return texts;
}

class MapMerger {
 public:
  MapMerger(const SlotMap& mine, size_t me, const SlotMap& theirs)
      : mine_(mine), me_(me), theirs_(theirs) {}

  void ChooseLines(std::span<const std::string> forgotten);
  void DropDoubleAddresses();
  Fault Build();
  MergedMap Finish();

 private:
  using Lines = std::map<std::string_view, MapLine>;  // by ids

  const std::string& own_id() const { return mine_.nodes()[me_].id; }
  bool IsChosen(const SlotMap& map, const ClusterNode& owner) const {
    const auto found = lines_.find(owner.id);
    return found != lines_.end() && found->second.map == &map;
  }
  const ClusterNode* ClaimantOf(KeySlot slot) const;
  bool IsHandedToMe(KeySlot slot) const;
  std::optional<std::string_view> MasterOf(const MapLine& line) const;
  void JoinReplicas();

  const SlotMap& mine_;
  const size_t me_;
  const SlotMap& theirs_;
  Lines lines_;
  std::map<std::string_view, size_t> numbers_;
  SlotMapBuilder builder_;
  bool renews_ = false;  // this server's own line
  std::optional<size_t> heir_;
};

void MapMerger::ChooseLines(std::span<const std::string> forgotten) {
  const std::set<std::string_view> dropped(forgotten.begin(), forgotten.end());
  for (const SlotMap* const map : {&mine_, &theirs_}) {
    std::vector<std::string> texts = TextsOf(*map);
    for (size_t node = 0; node < texts.size(); ++node) {
      const std::string_view id = map->nodes()[node].id;
      if (dropped.contains(id) && id != own_id()) continue;
      const MapLine line{map, node, std::move(texts[node])};
      const auto [known, is_new] = lines_.try_emplace(id, line);
      if (is_new || known->second.text == line.text) {
        if (known->second.server().epoch < line.server().epoch) {
          renews_ |= id == own_id();
          if (id != own_id()) known->second = line;
        }
        continue;
      }
      if (id == own_id()) {
        renews_ |= line.server().epoch >= known->second.server().epoch;
      } else if (line.IsNewerThan(known->second)) {
        known->second = line;
      }
    }
  }
}

void MapMerger::DropDoubleAddresses() {
  std::map<std::pair<std::string_view, uint16_t>, std::string_view> at;
  std::vector<std::string_view> dropped;
  for (const auto& [id, line] : lines_) {
    const auto [other, is_free] = at.try_emplace({line.server().host, line.server().port}, id);
    if (is_free) continue;
    const ClusterNode& holder = lines_.at(other->second).server();
    const bool takes =
        id == own_id() || (holder.id != own_id() && line.server().epoch > holder.epoch);
    dropped.push_back(takes ? other->second : id);
    if (takes) other->second = id;
  }
  for (const std::string_view id : dropped) lines_.erase(id);
}

// The server whose chosen line has the slot.
const ClusterNode* MapMerger::ClaimantOf(KeySlot slot) const {
  const ClusterNode* best = nullptr;
  for (const SlotMap* const map : {&mine_, &theirs_}) {
    const ClusterNode* const owner = map->OwnerOf(slot);
    if (!owner || !IsChosen(*map, *owner)) continue;
    if (!best || std::tie(owner->epoch, owner->id) > std::tie(best->epoch, best->id)) best = owner;
  }
  return best;
}

// The server that had the slot has given it to this one (SETSLOT ... NODE), which has not heard of
// it. Older news of a slot that this server has given up are none.
bool MapMerger::IsHandedToMe(KeySlot slot) const {
  const ClusterNode& own = mine_.nodes()[me_];
  const ClusterNode* const named = theirs_.OwnerOf(slot);
  return named && named->id == own.id && named->epoch >= own.epoch && !own.is_replica();
}

// The master at the end of the line of masters; null: there is none, or it goes in a circle.
std::optional<std::string_view> MapMerger::MasterOf(const MapLine& line) const {
  const MapLine* at = &line;
  for (size_t steps = 0; steps <= lines_.size(); ++steps) {
    const std::optional<size_t> master = at->server().master;
    if (!master)
      return at == &line ? std::nullopt : std::optional<std::string_view>(at->server().id);
    const auto found = lines_.find(at->map->nodes()[*master].id);
    if (found == lines_.end()) return std::nullopt;
    at = &found->second;
  }
  return std::nullopt;
}

Fault MapMerger::Build() {
  Fault fault = builder_.SetEpoch(std::max(mine_.epoch(), theirs_.epoch()));
  for (const auto& [id, line] : lines_) {
    const ClusterNode& server = line.server();
    size_t number = 0;
    if (!fault) fault = builder_.AddNode(server.host, server.port, id, number);
    if (!fault) fault = builder_.SetLineEpoch(number, server.epoch);
    numbers_[id] = number;
  }
  if (fault) return fault;
  const size_t line_of_me = mine_.MasterOf(me_);
  bool keeps_slots = false;
  for (int at = 0; at < kKeySlots && !fault; ++at) {
    const auto slot = static_cast<KeySlot>(at);
    const ClusterNode* owner = ClaimantOf(slot);
    if (!owner && IsHandedToMe(slot)) owner = &mine_.nodes()[me_];
    if (owner) fault = builder_.Give({slot, slot}, numbers_.at(owner->id));
    if (!mine_.IsOwner(line_of_me, slot)) continue;
    const bool is_lost = owner && owner->id != mine_.nodes()[line_of_me].id;
    keeps_slots |= !is_lost;
    renews_ |= is_lost && line_of_me == me_;
    if (is_lost) heir_ = numbers_.at(owner->id);
  }
  if (keeps_slots || heir_ == numbers_.at(own_id())) heir_.reset();
  JoinReplicas();
  return fault;
}

// A replica whose master has become one itself follows that one's.
void MapMerger::JoinReplicas() {
  for (const auto& [id, line] : lines_) {
    const std::optional<std::string_view> master = MasterOf(line);
    if (!master) continue;
    const size_t number = numbers_.at(id);
    const bool is_joined = builder_.Follow(number, numbers_.at(*master)).empty();
    const std::optional<size_t> named = line.server().master;
    const bool is_as_said = is_joined && line.map->nodes()[*named].id == *master;
    renews_ |= id == own_id() && !is_as_said;
  }
}

MergedMap MapMerger::Finish() {
  const size_t me = numbers_.at(own_id());
  if (renews_) builder_.Renew(me);
  return {builder_.Finish(), me, heir_};
}

}  // namespace

std::variant<MergedMap, Fault> MergeMaps(const SlotMap& mine, size_t me, const SlotMap& theirs,
                                         std::span<const std::string> forgotten) {
  MapMerger merger(mine, me, theirs);
  merger.ChooseLines(forgotten);
  merger.DropDoubleAddresses();
  if (Fault fault = merger.Build()) return fault;
  return merger.Finish();
}

}  // namespace sluice
