// See line_leaders.h.
#include "server/peers/line_leaders.h"

#include <algorithm>
#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/cluster/map_file.h"
#include "server/core/log_level.h"

namespace sluice {
namespace {

constexpr int64_t kRoleAnswerMs = 2000;

// "role:master" is the field `role`. Empty: there is none.
std::string_view FieldOf(std::string_view info, std::string_view name) {
  for (size_t at = info.find(name); at != info.npos; at = info.find(name, at + 1)) {
    const bool begins_line = at == 0 || info[at - 1] == '\n';
    if (!begins_line || info.substr(at + name.size(), 1) != ":") continue;
    const std::string_view rest = info.substr(at + name.size() + 1);
    return rest.substr(0, rest.find_first_of("\r\n"));
  }
  return {};
}

}  // namespace

bool LineLeaders::is_on() const {
  return on_.cluster.is_on() && on_.config.settings().cluster_map_follow &&
         !on_.config.settings().cluster_map.empty();
}

void LineLeaders::EverySecond() {
  if (!is_on()) {
    servers_.clear();
    maps_ = UINT64_MAX;
    return;
  }
  if (maps_ != on_.cluster.maps()) BeginAnew();
  for (Server& server : servers_) server.link->EverySecond();
  AskAll();
}

void LineLeaders::BeginAnew() {
  servers_.clear();
  maps_ = on_.cluster.maps();
  next_ = 0;
  const SlotMap& map = on_.cluster.map();
  std::vector<bool> is_pair(map.nodes().size());
  for (const ClusterNode& node : map.nodes()) {
    if (node.master) is_pair[*node.master] = true;
  }
  PeerAsker& asker = *this;
  for (size_t node = 0; node < is_pair.size(); ++node) {
    if (!is_pair[map.MasterOf(node)] || on_.cluster.IsOfOwnLine(node)) continue;
    servers_.push_back({node, std::make_unique<PeerLink>(on_.links, asker)});
  }
}

// Each in its turn; of the last round some may not have answered.
void LineLeaders::AskAll() {
  size_t active = static_cast<size_t>(
      std::ranges::count_if(servers_, [](const Server& server) { return server.link->is_busy(); }));
  for (size_t looked = 0; looked < servers_.size() && active < kActiveMax; ++looked) {
    Server& server = servers_[next_ % servers_.size()];
    next_ = (next_ + 1) % servers_.size();
    if (server.link->is_busy()) continue;
    const ClusterNode& node = on_.cluster.map().nodes()[server.node];
    const std::string_view words[] = {"INFO", "replication"};
    const Fault fault = server.link->Ask({node.host, node.port}, words, kRoleAnswerMs);
    if (fault) server.role = Role::kUnknown;
    active += server.link->is_busy();
  }
}

// --- what they say

LineLeaders::Server& LineLeaders::Find(const PeerLink& link) {
  return *std::ranges::find_if(servers_,
                               [&](const Server& server) { return server.link.get() == &link; });
}

LineLeaders::Role LineLeaders::RoleOf(size_t node) const {
  const auto found = std::ranges::find(servers_, node, &Server::node);
  return found == servers_.end() ? Role::kUnknown : found->role;
}

void LineLeaders::PeerAnswered(PeerLink& link, const PeerAnswer& answer) {
  Server& server = Find(link);
  const std::string_view role =
      answer.is_error ? std::string_view() : FieldOf(answer.value(), "role");
  if (maps_ != on_.cluster.maps()) return;  // it is of a map of before
  if (role == "master") return SaysItIsMaster(server);
  if (role == "slave") return SaysItFollows(server, answer.value());
  server.role = Role::kUnknown;
}

void LineLeaders::PeerFailed(PeerLink& link, std::string_view) { Find(link).role = Role::kUnknown; }

void LineLeaders::SaysItIsMaster(Server& server) {
  const Role before = server.role;
  server.role = Role::kMaster;
  const size_t leader = on_.cluster.LeaderOf(server.node);
  if (leader == server.node) return;
  if (before == Role::kReplica || RoleOf(leader) != Role::kMaster) SetLeader(server.node);
}

void LineLeaders::SaysItFollows(Server& server, std::string_view info) {
  server.role = Role::kReplica;
  if (on_.cluster.LeaderOf(server.node) != server.node) return;
  const std::optional<int64_t> port = ParseInt64(FieldOf(info, "master_port"));
  if (!port || *port < 0 || *port > UINT16_MAX) return;
  const std::optional<size_t> master =
      on_.cluster.map().FindAddress(FieldOf(info, "master_host"), static_cast<uint16_t>(*port));
  if (master && on_.cluster.LineOf(*master) == on_.cluster.LineOf(server.node)) SetLeader(*master);
}

void LineLeaders::SetLeader(size_t node) {
  on_.cluster.SetLeader(node);
  on_.host.Log(LogLevel::kNotice, Concat(AddressText(on_.cluster.map().nodes()[node]),
                                         " leads its line of the cluster's map now"));
}

void LineLeaders::TimeShifted(int64_t ms) {
  for (Server& server : servers_) server.link->TimeShifted(ms);
}

}  // namespace sluice
