// See map_exchange.h. A peer may be told of from within its own link's calls, so none is destroyed
// but in EverySecond.
#include "server/peers/map_exchange.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"
#include "server/cluster/map_file.h"
#include "server/core/log_level.h"

namespace sluice {
namespace {

constexpr int64_t kAnswerMs = 5000;
constexpr int64_t kDelayMsMin = 1000;
constexpr int64_t kDelayMsMax = 16'000;
// All slots apart, each server with a line of its own, and as much again for comments.
constexpr size_t kMapLinesMax = 2 * (kKeySlots + SlotMap::kNodesMax);

std::string NameOf(const PeerLink::Address& address) {
  return Concat(address.host, ":", address.port);
}

}  // namespace

MapExchange::MapExchange(const Uses& uses) : on_(uses) { on_.changes.set_listener(*this); }

MapExchange::~MapExchange() = default;

bool MapExchange::is_on() const { return on_.cluster.is_on() && on_.cluster.WhyFixed().empty(); }

// --- who is asked

MapExchange::Peer MapExchange::MakePeer(PeerLink::Address address) {
  Peer peer;
  PeerAsker& asker = *this;
  peer.link = std::make_unique<PeerLink>(on_.links, asker);
  peer.address = std::move(address);
  peer.since_ms = now_ms();
  return peer;
}

MapExchange::Peers::iterator MapExchange::Find(const PeerLink& link) {
  return std::ranges::find_if(peers_,
                              [&](const auto& named) { return named.second.link.get() == &link; });
}

// One for each other server of the map.
void MapExchange::KeepPeers() {
  for (auto& [name, peer] : peers_) peer.is_over |= !peer.is_met;
  for (const ClusterNode& node : on_.cluster.map().nodes()) {
    if (node.id == on_.cluster.own().id) continue;
    const PeerLink::Address address{node.host, node.port};
    const auto found = peers_.find(node.id);
    Peer& peer = found != peers_.end() ? found->second
                                       : peers_.emplace(node.id, MakePeer(address)).first->second;
    peer.is_over = false;
    if (peer.address == address) continue;
    peer.address = address;
    peer.delay_ms = peer.next_try_ms = 0;
  }
}

void MapExchange::MapChanged() {
  if (!is_on()) return;
  digest_ = on_.cluster.Digest();
  text_ = MapFileText({on_.cluster.map(), on_.cluster.me()});
  KeepPeers();
  AskAll();
}

bool MapExchange::IsDue(const Peer& peer) const {
  return !peer.is_over && !peer.link->is_busy() && now_ms() >= peer.next_try_ms &&
         peer.agreed != digest_;
}

// As many as may be asked at a time, each in its turn.
void MapExchange::AskAll() {
  size_t active = static_cast<size_t>(std::ranges::count_if(
      peers_, [](const auto& named) { return named.second.link->is_busy(); }));
  auto at = peers_.upper_bound(last_asked_);
  for (size_t looked = 0; looked < peers_.size() && active < kActiveMax; ++looked, ++at) {
    if (at == peers_.end()) at = peers_.begin();
    if (!IsDue(at->second)) continue;
    last_asked_ = at->first;
    Ask(at->second);
    active += at->second.link->is_busy();
  }
}

void MapExchange::Ask(Peer& peer) {
  const std::string_view words[] = {"CLUSTER", "MAP", "PUT", text_, "MEET"};
  const Args asked = std::span(words).first(peer.is_met ? 5 : 4);
  const Fault fault = peer.link->Ask(peer.address, asked, kAnswerMs);
  if (fault) Failed(NameOf(peer.address), peer, fault.sentence());
}

// --- what they say

void MapExchange::PeerAnswered(PeerLink& link, const PeerAnswer& answer) {
  const auto found = Find(link);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  if (peer.is_over) return peer.link->Close();
  if (answer.is_error) return Failed(NameOf(peer.address), peer, answer.value());
  const std::string asked = digest_;
  if (answer.values.size() > 1) {
    Sender sender;
    const Fault fault = Merge(answer.values[1], peer.address, /*is_let_in=*/peer.is_met, sender);
    if (fault) return Failed(NameOf(peer.address), peer, fault.sentence());
  }
  peer.fault.clear();
  if (std::exchange(peer.faults, 0) > 1 || peer.is_met) {
    on_.host.Log(LogLevel::kNotice,
                 Concat("the map of the cluster is exchanged with ", NameOf(peer.address)));
  }
  peer.is_over |= std::exchange(peer.is_met, false);
  peer.delay_ms = 0;
  peer.next_try_ms = digest_ == asked ? now_ms() + kDelayMsMin : 0;
  if (answer.value() == digest_) peer.agreed = digest_;
  if (peer.agreed == digest_ || peer.is_over) peer.link->Close();
  AskAll();
}

void MapExchange::PeerFailed(PeerLink& link, std::string_view why) {
  const auto found = Find(link);
  if (found == peers_.end()) return;
  Failed(NameOf(found->second.address), found->second, why);
  AskAll();
}

void MapExchange::Failed(const std::string& name, Peer& peer, std::string_view why) {
  // A server that has not heard of this one yet, by others, has in a moment.
  if (++peer.faults == 2) {
    on_.host.Log(LogLevel::kWarning,
                 Concat("the map of the cluster is not exchanged with ", name, ": ", why));
  }
  peer.fault = why;
  peer.link->Close();
  peer.delay_ms = std::clamp(peer.delay_ms * 2, kDelayMsMin, kDelayMsMax);
  peer.next_try_ms = now_ms() + peer.delay_ms;
}

// --- maps

std::vector<std::string> MapExchange::ForgottenNow() const {
  std::vector<std::string> ids;
  for (const auto& [id, until_ms] : forgotten_) {
    if (now_ms() < until_ms) ids.push_back(id);
  }
  return ids;
}

// A fresh server knows no address of its own: others tell it how they have reached it.
Fault MapExchange::LearnOwnHost(const SlotMap& theirs) {
  const ClusterNode& own = on_.cluster.own();
  const std::optional<size_t> said = theirs.FindId(own.id);
  if (!own.host.empty() || !said || theirs.nodes()[*said].host.empty()) return {};
  const std::string& host = theirs.nodes()[*said].host;
  if (on_.cluster.map().FindAddress(host, own.port))
    return Concat(host, ":", own.port, " is another server's in the map of this one");
  SlotMapBuilder builder(on_.cluster.map());
  builder.Move(on_.cluster.me(), host, own.port);
  builder.Renew(on_.cluster.me());
  return on_.changes.Change(builder.Finish());
}

// `from`: where the sender was reached, or comes from. `is_let_in`: this map may not have it yet.
Fault MapExchange::Merge(std::string_view text, const PeerLink::Address& from, bool is_let_in,
                         Sender& sender) {
  if (std::ranges::count(text, '\n') > static_cast<std::ptrdiff_t>(kMapLinesMax))
    return Concat("a map of more than ", kMapLinesMax, " lines");
  auto read = ReadMapFile(text, {.needs_hosts = false});
  if (const Fault* const fault = std::get_if<Fault>(&read)) return *fault;
  MapFile& file = std::get<MapFile>(read);
  if (!file.me) return "the map does not say whose it is";
  sender = {file.map.nodes()[*file.me].id, DigestOf(file.map)};
  return MergeRead(std::move(file), from, is_let_in);
}

Fault MapExchange::MergeRead(MapFile file, const PeerLink::Address& from, bool is_let_in) {
  const ClusterNode& sender = file.map.nodes()[*file.me];
  if (sender.id == on_.cluster.own().id) return "it is this server itself";
  if (!is_let_in && !on_.cluster.map().FindId(sender.id)) return Concat("Unknown node ", sender.id);
  if (is_let_in) forgotten_.erase(sender.id);
  if (sender.host.empty()) {
    if (from.host.empty()) return "the asker's address is not known: set its cluster-announce-ip";
    if (file.map.FindAddress(from.host, sender.port))
      return Concat(from.host, ":", sender.port, " is another server's in that map");
    SlotMapBuilder builder(std::move(file.map));
    builder.Move(*file.me, from.host, builder.map().nodes()[*file.me].port);
    file.map = builder.Finish();
  }
  for (const ClusterNode& node : file.map.nodes()) {
    const bool is_own = node.id == on_.cluster.own().id;
    if (!is_own && (node.host.empty() || node.port == 0))
      return Concat("the map has no address of ", node.id);
  }
  if (Fault fault = LearnOwnHost(file.map)) return fault;
  auto merged = MergeMaps(on_.cluster.map(), on_.cluster.me(), file.map, ForgottenNow());
  if (Fault* const fault = std::get_if<Fault>(&merged)) return *fault;
  MergedMap& result = std::get<MergedMap>(merged);
  if (result.heir) heir_ = result.map.nodes()[*result.heir].id;
  if (result.map == on_.cluster.map()) return {};
  return on_.changes.Change(std::move(result.map), result.me);
}

// --- commands

Fault MapExchange::Meet(std::string_view host, uint16_t port) {
  if (Fault fault = on_.cluster.WhyFixed()) return fault;
  const PeerLink::Address address{std::string(host), port};
  const auto meets = std::ranges::count_if(
      peers_, [](const auto& named) { return named.second.is_met || named.second.is_over; });
  if (static_cast<size_t>(meets) >= kMeetsMax)
    return Concat("more than ", kMeetsMax, " servers are being met");
  if (text_.empty()) MapChanged();
  Peer& peer = peers_.emplace(NameOf(address), MakePeer(address)).first->second;
  peer.is_met = true;
  peer.is_over = false;
  peer.since_ms = now_ms();
  peer.next_try_ms = 0;
  AskAll();
  return {};
}

std::variant<MapExchange::Answer, Fault> MapExchange::Take(const Put& put) {
  if (Fault fault = on_.cluster.WhyFixed()) return fault;
  Sender sender;
  if (Fault fault = Merge(put.text, {std::string(put.from), 0}, put.meets, sender)) return fault;
  if (digest_.empty()) MapChanged();
  const auto asker = peers_.find(sender.id);
  const bool is_same = sender.digest == digest_;
  if (is_same && asker != peers_.end()) asker->second.agreed = digest_;
  return Answer{digest_, is_same ? std::string() : text_};
}

void MapExchange::Forget(const std::string& id) {
  std::erase_if(forgotten_, [this](const auto& named) { return named.second <= now_ms(); });
  if (forgotten_.size() < SlotMap::kNodesMax) forgotten_[id] = now_ms() + kForgottenMs;
}

void MapExchange::Reset() {
  for (auto& [name, peer] : peers_) {
    peer.is_met = false;
    peer.link->Close();
  }
  forgotten_.clear();
  heir_.reset();
  KeepPeers();
}

// --- time

void MapExchange::EverySecond() {
  if (!is_on()) return;
  if (digest_.empty()) MapChanged();
  for (auto& [name, peer] : peers_) {
    peer.link->EverySecond();
    const bool is_late = peer.is_met && now_ms() - peer.since_ms > kMeetMs;
    if (!is_late) continue;
    peer.is_met = false;
    peer.is_over = true;
    on_.host.Log(LogLevel::kWarning,
                 Concat("CLUSTER MEET of ", name, " has come to nothing: ", peer.fault));
  }
  std::erase_if(peers_, [](const auto& named) { return named.second.is_over; });
  AskAll();
}

void MapExchange::TimeShifted(int64_t ms) {
  for (auto& [name, peer] : peers_) {
    peer.link->TimeShifted(ms);
    peer.since_ms += ms;
    peer.next_try_ms += ms;
  }
  for (auto& [id, until_ms] : forgotten_) until_ms += ms;
}

// --- as it is seen

void MapExchange::ForEachThatDiffers(absl::FunctionRef<void(const ClusterNode&)> visit) const {
  if (!is_on()) return;
  for (const ClusterNode& node : on_.cluster.map().nodes()) {
    if (node.id == on_.cluster.own().id) continue;
    const auto peer = peers_.find(node.id);
    if (peer == peers_.end() || peer->second.agreed != digest_) visit(node);
  }
}

bool MapExchange::IsReachable(const std::string& id) const {
  const auto peer = peers_.find(id);
  return peer == peers_.end() || peer->second.faults < 2;
}

}  // namespace sluice
