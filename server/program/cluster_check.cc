// See cluster_check.h. What a server says is shown to a person, so it is bounded and made harmless.
#include "server/program/cluster_check.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "protocol/text/concat.h"
#include "protocol/text/info_field.h"
#include "server/net/redis_link.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kPatience{5'000};
// A map may name more; so many are asked.
constexpr size_t kServersMax = 1000;

// A server's word on its map.
struct MapSeen {
  std::string fault;  // empty: it has answered
  std::string state;  // "ok": it serves all slots
  std::string epoch;
  std::string digest;
};

class Asker {
 public:
  Asker(const ClusterCheckOrder& order, const std::string& server)
      : order_(order), server_(server), link_(order.tls, kPatience) {}

  // Empty, or why it cannot be asked.
  std::string Connect() {
    if (std::string fault = link_.Connect(server_); !fault.empty())
      return fault.substr(std::min(server_.size() + 2, fault.size()));
    if (order_.password.empty()) return {};
    std::string text;
    return order_.user.empty() ? Ask({"AUTH", order_.password}, text)
                               : Ask({"AUTH", order_.user, order_.password}, text);
  }
  // Empty, and the answer's text; or why there is none.
  std::string Ask(std::initializer_list<std::string_view> words, std::string& text) {
    const std::optional<Reply> reply = link_.Call(words);
    if (!reply) return link_.fault();
    if (reply->kind == Reply::Kind::kError) return reply->text;
    text = reply->text;
    return {};
  }

 private:
  const ClusterCheckOrder& order_;
  const std::string& server_;
  RedisLink link_;
};

MapSeen Look(const ClusterCheckOrder& order, const std::string& server) {
  Asker asker(order, server);
  std::string text;
  std::string fault = asker.Connect();
  if (fault.empty()) fault = asker.Ask({"CLUSTER", "INFO"}, text);
  if (!fault.empty()) return {.fault = fault};
  MapSeen seen{.state = std::string(InfoField(text, "cluster_state")),
               .epoch = std::string(InfoField(text, "cluster_current_epoch")),
               .digest = std::string(InfoField(text, "cluster_map_digest"))};
  if (seen.digest.empty()) seen.fault = "it tells no digest of its map: it is no Sluice";
  return seen;
}

// The addresses of CLUSTER NODES: "<id> <host>:<port>@<bus> ..." a line. None: it cannot be asked,
// which is said when it is looked at.
std::vector<std::string> ServersOfMap(const ClusterCheckOrder& order, const std::string& server) {
  Asker asker(order, server);
  std::string text;
  if (!asker.Connect().empty() || !asker.Ask({"CLUSTER", "NODES"}, text).empty()) return {};
  std::vector<std::string> servers;
  std::string_view left = text;
  while (!left.empty() && servers.size() < kServersMax) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.find("myself") != line.npos) continue;
    line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
    const std::string_view address = line.substr(0, line.find_first_of("@, "));
    if (!address.empty() && !address.starts_with(':')) servers.emplace_back(address);
  }
  return servers;
}

void Say(std::FILE* file, std::string_view line) {
  std::fprintf(file, "%s\n", HarmlessLine(line, TextOfTerminal()).c_str());
}

}  // namespace

int ClusterCheck(const ClusterCheckOrder& order, std::FILE* out, std::FILE* errors) {
  std::vector<std::string> servers = order.servers;
  if (servers.size() == 1) {
    for (std::string& other : ServersOfMap(order, servers[0])) servers.push_back(std::move(other));
  }
  int status = 0;
  const auto fail = [&](std::string_view server, std::string_view fault) {
    Say(errors, Concat("sluice: ", server, ": ", fault));
    status = 1;
  };
  std::string first;  // the digest that all are to have
  for (const std::string& server : servers) {
    const MapSeen seen = Look(order, server);
    if (!seen.fault.empty()) {
      fail(server, seen.fault);
      continue;
    }
    Say(out, Concat(server, " epoch ", seen.epoch, " map ", seen.digest, " state ", seen.state));
    if (first.empty()) first = seen.digest;
    if (seen.digest != first) fail(server, Concat("it has another map than ", servers[0]));
    if (seen.state != "ok") fail(server, "its map leaves slots to nobody");
  }
  return status;
}

}  // namespace sluice
