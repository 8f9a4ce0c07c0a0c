// PlayedMaster: a server that follows a master whose every word a test says, without sockets.
//
//   FollowRedis();                          // up to a full sync of nothing, at offset 0
//   Say({"SET", "k", "v"});                 // in its stream
//   EXPECT_EQ(Heard(), "REPLCONF ACK 27");  // what the server has said since
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "server/replication/replicas.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

class PlayedMaster : public testing::Test {
 protected:
  static constexpr std::string_view kEmptyFile{"REDIS0010\xff\0\0\0\0\0\0\0\0", 18};
  static constexpr std::string_view kRedisMaster = "# Replication\r\nrole:master\r\n";
  static constexpr std::string_view kRedisReplica = "# Replication\r\nrole:slave\r\n";

  PlayedMaster() { server_.set_network(&network_); }

  // --- the link
  // The server wants a link, and has it.
  void Open() {
    ASSERT_TRUE(is_opening());
    link_ = &server_.ConnectOnly({.address = "master:6379"});
    server_.engine().LinkOpened(link_->id(), *std::exchange(network_.listener, nullptr));
    server_.Settle();
  }
  bool is_opening() const { return network_.listener != nullptr; }
  TestClient& link() { return *link_; }
  void SayBytes(std::string_view bytes) { link_->SendBytes(bytes); }
  void Say(const std::vector<std::string>& words) { SayBytes(EncodeRequest(words)); }
  // What the server has said since: requests, and lines without words, as "\n", between slashes.
  std::string Heard() {
    unread_ += link_->TakeBytes();
    std::string heard;
    ReplyReader reader;
    while (!unread_.empty()) {
      if (!heard.empty()) heard += " / ";
      if (unread_[0] == '\n') {
        heard += "\\n";
        unread_.erase(0, 1);
        continue;
      }
      const std::optional<Reply> request = reader.Read(unread_);
      if (!request) return heard + "no request: " + unread_;
      for (const Reply& word : request->elements)
        heard += (&word == request->elements.data() ? "" : " ") + word.text;
      unread_.erase(0, reader.consumed());
    }
    return heard;
  }

  // --- the handshake
  // As a redis-server that says so of its role. Returns what the server asks for.
  std::string IntroduceRedis(std::string_view info) {
    SayBytes("+PONG\r\n");
    SayBytes("+OK\r\n+OK\r\n-ERR Unrecognized REPLCONF option: sluice-stream\r\n");
    Heard();
    SayBytes(Concat("$", info.size(), "\r\n", info, "\r\n"));
    return Heard();
  }
  // As a Sluice that makes its stream from its first byte on.
  std::string IntroduceSluice() {
    SayBytes("+PONG\r\n");
    Heard();
    SayBytes(Concat("+OK\r\n+OK\r\n+sluice 0 ", std::string(40, 'e'), "\r\n"));
    return Heard();
  }
  // All data, as of there: none, or those of a file. Requires: it was asked for them.
  void SyncFully(int64_t offset = 0, std::string_view file = kEmptyFile) {
    SayBytes(Concat("+FULLRESYNC ", kId, " ", offset, "\r\n$", file.size(), "\r\n", file));
    server_.Settle();
    EXPECT_FALSE(server_.engine().loading());
  }
  void FollowRedis(std::string_view info = kRedisMaster, int64_t offset = 0) {
    EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
    Open();
    const std::string& own_id = server_.engine().part<Replicas>().run_id();
    EXPECT_EQ(IntroduceRedis(info), Concat("PSYNC ", own_id, " 1"));
    SyncFully(offset);
    Heard();
  }

  // --- the server
  std::string Ask(std::string_view line) {
    if (!client_) client_ = &server_.Connect();
    return client_->Line(line).ToText();
  }
  void AdvanceTime(int64_t ms) { server_.AdvanceTime(ms); }
  int64_t end() { return server_.engine().part<Replicas>().stream().end(); }
  bool HasLogged(std::string_view words) const {
    return std::ranges::any_of(server_.log(), [words](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  }
  TestEngine& server() { return server_; }

  const std::string kId = std::string(40, 'a');

 private:
  struct Network final : EngineNetwork {
    Fault Open(TestEngine&, const LinkTarget&, LinkListener& wanted) override {
      listener = &wanted;
      return {};
    }
    void GiveUp(LinkListener&) override { listener = nullptr; }
    void Forget(const TestEngine&) override {}
    LinkListener* listener = nullptr;  // that wants a link
  };

  Network network_;
  TestEngine server_;
  TestClient* client_ = nullptr;
  TestClient* link_ = nullptr;
  std::string unread_;
};

}  // namespace sluice
