// See client_filter.h.
#include "server/commands/clients/client_filter.h"

#include <utility>

#include "server/dispatch/arg_reader.h"

namespace sluice {

// "slave" is the older word for a replica.
std::optional<ClientType> ReadClientType(std::string_view word) {
  constexpr std::pair<std::string_view, ClientType> kTypes[] = {
      {"NORMAL", ClientType::kNormal},   {"MASTER", ClientType::kMaster},
      {"REPLICA", ClientType::kReplica}, {"SLAVE", ClientType::kReplica},
      {"PUBSUB", ClientType::kPubSub},
  };
  for (const auto& [name, type] : kTypes) {
    if (IsWord(word, name)) return type;
  }
  return std::nullopt;
}

// A subscriber is one in either protocol.
ClientType TypeOf(const Session& session) {
  if (session.kind == SessionKind::kMasterLink) return ClientType::kMaster;
  if (session.kind == SessionKind::kReplica) return ClientType::kReplica;
  return session.subscribes() ? ClientType::kPubSub : ClientType::kNormal;
}

// Every filter that is given has to match; an empty one matches all.
bool ClientFilter::Matches(const Session& session, int64_t now_ms) const {
  return (!id || *id == session.client_id) && (!address || *address == session.peer.address) &&
         (!local_address || *local_address == session.peer.local_address) &&
         (!type || *type == TypeOf(session)) && (!user || *user == session.user) &&
         (!age_s_min || (now_ms - session.created_ms) / 1000 >= *age_s_min);
}

}  // namespace sluice
