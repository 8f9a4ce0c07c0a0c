// See cluster_state.h.
#include "server/cluster/cluster_state.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

// `bind` may say that an address need not be there, or stand for all of them.
bool IsEveryAddress(std::string_view bound) {
  return bound == "*" || bound == "::*" || bound == "0.0.0.0" || bound == "::";
}

// Not a name: IPv4 or IPv6.
bool IsAddress(std::string_view host) {
  return host.find(':') != host.npos || host.find_first_not_of("0123456789.") == host.npos;
}

// A slot goes to another while it is this server's, and comes from there while it is not.
SlotMoves MovesThatStand(SlotMoves moves, const SlotMap& map, size_t me) {
  std::erase_if(moves.to, [&](const auto& move) {
    return !map.IsOwner(me, move.first) || !map.FindId(move.second);
  });
  std::erase_if(moves.from, [&](const auto& move) {
    return map.IsOwner(me, move.first) || !map.FindId(move.second);
  });
  return moves;
}

}  // namespace

// --- the map

Fault ClusterState::Start() {
  const Settings& settings = config_.settings();
  if (!settings.cluster_enabled) {
    if (settings.cluster_map.empty()) return {};
    return "cluster-map needs cluster-enabled yes";
  }
  if (const Fault fault = Reload()) return fault;
  flags_.Raise(SlowPathFlags::kCluster);
  return {};
}

Fault ClusterState::Reload() {
  return config_.settings().cluster_map.empty() ? ReadOwnMap() : ReadOperatorsMap();
}

Fault ClusterState::ReadOperatorsMap() {
  const std::string& path = config_.settings().cluster_map;
  std::string text;
  if (const int fault = config_.disk().Read(path, text); fault != 0)
    return Concat("cluster-map '", path, "': ", WhyUnopened(fault));
  auto read =
      ReadMapFile(text, {.needs_all_slots = config_.settings().cluster_require_full_coverage});
  if (const Fault* const fault = std::get_if<Fault>(&read))
    return Concat("cluster-map '", path, "', ", fault->sentence());
  MapFile& file = std::get<MapFile>(read);
  if (file.map.epoch() < map_.epoch())
    return Concat("cluster-map '", path, "': its epoch, ", file.map.epoch(),
                  ", is below that of the map in use, ", map_.epoch());
  Fault fault;
  // A file that is the same on all servers says nothing of this one.
  file.me = FindMe(file.map, fault);
  if (!file.me) return Concat("cluster-map '", path, "': ", fault.sentence());
  Take(std::move(file));
  return {};
}

Fault ClusterState::ReadOwnMap() {
  const std::string& path = config_.settings().cluster_config_file;
  std::string text;
  const int fault = config_.disk().Read(path, text);
  const bool begins = map_.nodes().empty();
  if (begins && (fault == ENOENT || (fault == 0 && text.empty()))) return BeAlone();
  if (fault != 0) return Concat("cluster-config-file '", path, "': ", WhyUnopened(fault));
  auto read = ReadMapFile(text, {.needs_hosts = false});
  if (const Fault* const why = std::get_if<Fault>(&read))
    return Concat("cluster-config-file '", path, "', ", why->sentence());
  MapFile& file = std::get<MapFile>(read);
  if (!file.me)
    return Concat("cluster-config-file '", path, "' does not say which of its servers is this one");
  TellOwnAddress(file.map, *file.me);
  moves_ = std::move(file.moves);
  Take(std::move(file));
  return {};
}

uint16_t ClusterState::OwnPort() const {
  const Settings& settings = config_.settings();
  const int64_t served = settings.port != 0 ? settings.port : settings.tls_port;
  const int64_t announced = settings.cluster_announce_port;
  return static_cast<uint16_t>(announced != 0 ? announced : served);
}

// The file was written by the address of that day.
void ClusterState::TellOwnAddress(SlotMap& map, size_t me) const {
  const std::string& announced = config_.settings().cluster_announce_ip;
  const std::string host = announced.empty() ? map.nodes()[me].host : announced;
  if (host == map.nodes()[me].host && OwnPort() == map.nodes()[me].port) return;
  if (map.FindAddress(host, OwnPort())) return;  // another's line says so: others will tell
  SlotMapBuilder builder(std::move(map));
  builder.Move(me, host, OwnPort());
  builder.Renew(me);
  map = builder.Finish();
}

Fault ClusterState::BeAlone() {
  SlotMapBuilder builder;
  const Settings& settings = config_.settings();
  if (Fault fault = builder.AddNode(settings.cluster_announce_ip, OwnPort(), own_id_, me_))
    return fault;
  map_ = builder.Finish();
  return {};
}

void ClusterState::Take(MapFile file) { Take(std::move(file.map), *file.me); }

void ClusterState::Take(SlotMap map, size_t me) {
  map_ = std::move(map);
  me_ = me;
  ++maps_;
  leaders_.clear();
  moves_ = MovesThatStand(std::move(moves_), map_, me_);
  NotePlainLine();
}

void ClusterState::NotePlainLine() {
  plain_line_ = moves_.to.empty() && map_.is_whole() ? LineOf(me_) : SIZE_MAX;
  const bool is_plain = plain_line_ != SIZE_MAX;
  owns_all_plainly_ =
      is_plain && map_.RangesOf(plain_line_) == std::vector<SlotRange>{{0, kKeySlots - 1}};
}

// --- which is this server

bool ClusterState::IsOwnHost(const std::string& host) const {
  const Settings& settings = config_.settings();
  if (!settings.cluster_announce_ip.empty()) return host == settings.cluster_announce_ip;
  return std::ranges::any_of(settings.bind, [&](std::string_view bound) {
    if (bound.starts_with('-')) bound.remove_prefix(1);
    return IsEveryAddress(bound) || host == bound;
  });
}

std::optional<size_t> ClusterState::FindMe(const SlotMap& map, Fault& fault) const {
  const Settings& settings = config_.settings();
  if (!settings.cluster_me.empty()) {
    const std::optional<size_t> me = FindNode(map, settings.cluster_me);
    if (!me) fault = Concat("no line is of cluster-me, '", settings.cluster_me, "'");
    return me;
  }
  const int64_t announced = settings.cluster_announce_port;
  const int64_t port = announced != 0 ? announced : settings.port;
  std::optional<size_t> me;
  for (const ClusterNode& node : map.nodes()) {
    if (node.port != port || !IsOwnHost(node.host)) continue;
    if (me) {
      fault = Concat(AddressText(map.nodes()[*me]), " and ", AddressText(node),
                     " may both be this server: say which by cluster-me");
      return std::nullopt;
    }
    me = map.NumberOf(node);
  }
  if (!me) fault = Concat("no line is of this server, port ", port, ": say which by cluster-me");
  return me;
}

// --- lines

size_t ClusterState::LeaderOf(size_t node) const {
  const size_t line = LineOf(node);
  if (line != LineOf(me_)) {
    const auto told = leaders_.find(line);
    return told == leaders_.end() ? line : told->second;
  }
  if (!follows_.is_on) return me_;
  const auto& [host, port] = config_.settings().replicaof;
  const std::optional<size_t> followed = map_.FindAddress(host, static_cast<uint16_t>(port));
  if (followed && LineOf(*followed) == line) return *followed;
  if (line != me_) return line;
  // It follows a server that its map does not name; the other of a pair is the best guess.
  const std::vector<size_t> replicas = map_.ReplicasOf(line);
  return replicas.empty() ? me_ : replicas.front();
}

std::vector<ClusterState::Line> ClusterState::Lines() const {
  std::vector<Line> lines(map_.nodes().size());
  for (size_t node = 0; node < lines.size(); ++node) {
    if (LineOf(node) == node) lines[node].leader = LeaderOf(node);
  }
  for (size_t node = 0; node < lines.size(); ++node) {
    Line& line = lines[LineOf(node)];
    if (line.leader != node) line.followers.push_back(node);
  }
  for (const auto& [range, owner] : map_.Ranges()) lines[owner].ranges.push_back(range);
  return lines;
}

// --- how they are reached

std::string ClusterState::HostOf(size_t node) const {
  const std::string& announced = config_.settings().cluster_announce_ip;
  return node == me_ && !announced.empty() ? announced : map_.nodes()[node].host;
}

uint16_t ClusterState::PortOf(size_t node) const {
  const Settings& settings = config_.settings();
  const int64_t mapped = map_.nodes()[node].port;
  if (node != me_) return static_cast<uint16_t>(mapped);
  if (settings.cluster_announce_port != 0)
    return static_cast<uint16_t>(settings.cluster_announce_port);
  return settings.cluster_map.empty() ? OwnPort() : static_cast<uint16_t>(mapped);
}

std::string ClusterState::NameOf(size_t node) const {
  if (node == me_) return config_.settings().cluster_announce_hostname;
  const std::string& host = map_.nodes()[node].host;
  return IsAddress(host) ? std::string() : host;
}

std::optional<std::string> ClusterState::EndpointOf(size_t node) const {
  const std::string& type = config_.settings().cluster_preferred_endpoint_type;
  if (type == "unknown-endpoint") return std::nullopt;
  if (type == "ip") return HostOf(node);
  const std::string name = NameOf(node);
  return name.empty() ? "?" : name;
}

std::string ClusterState::Digest() const { return DigestOf(map_); }

// --- changes

Fault ClusterState::WhyFixed() const {
  const std::string& path = config_.settings().cluster_map;
  if (path.empty()) return {};
  return Concat("the map is cluster-map's, '", path, "': change the file, then CLUSTER MAP LOAD");
}

Fault ClusterState::Write(const SlotMap& map, size_t me, const SlotMoves& moves) const {
  const std::string& path = config_.settings().cluster_config_file;
  const int fault = config_.disk().Replace(path, MapFileText({map, me, moves}));
  if (fault == 0) return {};
  return Concat("the map is not changed: '", path, "' cannot be written: ", std::strerror(fault));
}

Fault ClusterState::Change(SlotMap map, size_t me) {
  if (Fault fault = WhyFixed()) return fault;
  if (Fault fault = Write(map, me, MovesThatStand(moves_, map, me))) return fault;
  Take(std::move(map), me);
  return {};
}

Fault ClusterState::SetMoves(SlotMoves moves) {
  if (Fault fault = WhyFixed()) return fault;
  moves = MovesThatStand(std::move(moves), map_, me_);
  if (Fault fault = Write(map_, me_, moves)) return fault;
  moves_ = std::move(moves);
  NotePlainLine();
  return {};
}

}  // namespace sluice
