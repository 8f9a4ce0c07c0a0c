// Choosing clients for CLIENT LIST and CLIENT KILL.
#pragma once

#include <optional>
#include <string_view>

#include "server/clients/session.h"

namespace sluice {

enum class ClientType : uint8_t { kNormal, kMaster, kReplica, kPubSub };

// "normal", "master", "replica" or "slave", "pubsub", in any case.
std::optional<ClientType> ReadClientType(std::string_view word);
// A monitor is kNormal, as in Redis.
ClientType TypeOf(const Session& session);

// Addresses are views of the request. `age_s_min` counts whole seconds since the connection was
// made.
struct ClientFilter {
  std::optional<uint64_t> id;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  std::optional<ClientType> type;
  std::optional<const User*> user;
  std::optional<int64_t> age_s_min;

  bool Matches(const Session& session, int64_t now_ms) const;
};

}  // namespace sluice
