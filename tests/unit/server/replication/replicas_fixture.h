// A server that made-up replicas follow: each is a client that says what a replica says, and shows
// the bytes that it is sent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_writer.h"
#include "server/replication/replicas.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

inline std::string Request(const std::vector<std::string_view>& words) {
  std::string bytes;
  AppendRequest(bytes, words);
  return bytes;
}

class ReplicasFixture : public EngineFixture {
 protected:
  ReplicasFixture() { Set("repl-diskless-sync-delay", "0"); }

  void Set(const std::string& option, const std::string& value) {
    ASSERT_EQ(Run({"CONFIG", "SET", option, value}).ToText(), "+OK");
  }
  std::string Field(const std::string& name) {
    const std::string info = "\n" + Run({"INFO", "ALL"}).text;
    const size_t at = info.find("\n" + name + ":");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 2;
    return info.substr(begin, info.find('\r', begin) - begin);
  }
  // A replica that takes images without a length, as redis-server does.
  TestClient& NewReplica(std::string_view ability = "eof") {
    TestClient& replica = Connect();
    replica.Run({"REPLCONF", "listening-port", "6380"});
    replica.Run({"REPLCONF", "capa", std::string(ability), "capa", "psync2"});
    return replica;
  }
  // What it is sent for PSYNC `id` `offset`.
  std::string Sync(TestClient& replica, std::string_view id = "?", std::string_view offset = "-1") {
    replica.SendBytes(Request({"PSYNC", id, offset}));
    server().Settle();
    return replica.TakeBytes();
  }
  std::string Sent(TestClient& replica) {
    server().Settle();
    return replica.TakeBytes();
  }
  void Acknowledge(TestClient& replica, int64_t offset) {
    replica.SendBytes(Request({"REPLCONF", "ACK", std::to_string(offset)}));
    server().Settle();
  }
  int64_t end() { return engine().part<Replicas>().stream().end(); }
  std::string id() { return std::string(engine().part<Replicas>().ids().id().text()); }
  // One that has all, and is sent the stream.
  TestClient& OnlineReplica() {
    TestClient& replica = NewReplica();
    Sync(replica);
    Acknowledge(replica, end());
    replica.TakeBytes();
    return replica;
  }
};

}  // namespace sluice
