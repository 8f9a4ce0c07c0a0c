// A server whose grants wait for made-up replicas, and two clients that ask for them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/locks/lock_service.h"
#include "tests/unit/server/replication/replicas_fixture.h"

namespace sluice {

class GrantsFixture : public ReplicasFixture {
 protected:
  std::string Text(std::string_view line) { return Line(line).ToText(); }
  // A Sluice that has all so far.
  TestClient& Sluice() {
    TestClient& replica = NewReplica("sluice");
    Sync(replica);
    Acknowledge(replica, end());
    return replica;
  }
  void AcknowledgeAll(TestClient& replica) { Acknowledge(replica, end()); }
  // What a client is answered at once, or "" while it waits.
  std::string Ask(TestClient& client, std::string_view line) {
    client.Send(Words(line));
    return Answer(client);
  }
  std::string Answer(TestClient& client) {
    server().Settle();
    const std::optional<Reply> reply = client.Next();
    return reply ? reply->ToText() : "";
  }
  static std::vector<std::string> Words(std::string_view line) {
    std::vector<std::string> words;
    while (!line.empty()) {
      const size_t end = std::min(line.find(' '), line.size());
      words.emplace_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
  }
  const LockService& locks() { return engine().part<LockService>(); }
  int64_t last_token() { return engine().part<LockService>().tokens().last(); }

  TestClient& alice_ = Connect();
  TestClient& bob_ = Connect();
};

}  // namespace sluice
