// Links of a whole server, from its engine to the other end's socket and back: what its loop makes
// of them, and what of the rules for clients does not hold for them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/clients/links.h"
#include "server/commands/families.h"
#include "server/net/links/outgoing_links.h"
#include "server/net/server.h"
#include "tests/support/memory_disk.h"
#include "tests/unit/server/net/links/harbour.h"

namespace sluice {
namespace {

using testing::ElementsAre;

// A port of the pages that is none: it shows the test the engine.
class NoPort final : public ExtraPort {
 public:
  Fault Open(const std::vector<InheritedSocket>&) override { return {}; }
  void Close() override {}
  std::vector<InheritedSocket> Sockets() const override { return {}; }
  bool Advance() override { return false; }
  void Secured(Connection&) override {}
};

class NotingListener final : public LinkListener {
 public:
  void LinkOpened(Session& session) override {
    told.emplace_back("opened");
    id = session.id;
    if (on_opened) on_opened(session);
  }
  void LinkFailed(std::string_view why) override { told.push_back(Concat("failed ", why)); }
  size_t LinkReceived(Session&, std::string_view bytes) override {
    if (!takes) return 0;
    received.append(bytes);
    return bytes.size();
  }
  void LinkClosed(Session&) override { told.emplace_back("closed"); }

  std::vector<std::string> told;
  std::string received;
  SessionId id;
  bool takes = true;
  std::function<void(Session&)> on_opened;
};

class ServerLinksTest : public testing::Test {
 protected:
  void Start(const std::vector<std::pair<std::string, std::string>>& options = {},
             LinkOpener::Make make_links = OutgoingLinks::Make) {
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"port", "any"}, {"bind", "127.0.0.1"}, {"save", ""}, {"http-port", "1"}}) {
      ASSERT_EQ(config_.SetAtStart(name, {value}), "");
    }
    for (const auto& [name, value] : options) ASSERT_EQ(config_.SetAtStart(name, {value}), "");
    EngineOptions engine_options;
    engine_options.process = std::make_shared<const ProcessFacts>();
    server_ = std::make_unique<Server>(config_, AllCommands(), engine_options,
                                       Server::Around{.log = [](std::string_view) {},
                                                      .make_http =
                                                          [this](const ExtraPort::Uses& uses) {
                                                            engine_ = uses.engine;
                                                            return std::make_unique<NoPort>();
                                                          },
                                                      .make_links = std::move(make_links)});
    ASSERT_EQ(server_->OpenLog(), "");
    ASSERT_EQ(server_->Start(), "");
  }
  Links& links() { return engine_().part<Links>(); }
  void Open(int port) {
    ASSERT_EQ(links().Open({.host = "127.0.0.1", .port = port, .timeout_ms = 10'000}, listener_),
              "");
  }
  void AwaitThat(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      server_->Work();
    }
  }
  void AwaitTold(std::string_view what) {
    AwaitThat([&] { return !listener_.told.empty() && listener_.told.back() == what; });
  }
  // In a turn.
  void InTurn(std::function<void()> call) {
    bool is_done = false;
    engine_().part<Host>().CallAfter(0, [&] { call(), is_done = true; });
    AwaitThat([&] { return is_done; });
  }

  NotingListener listener_;
  MemoryDisk disk_;
  Config config_{disk_};
  std::function<Engine&()> engine_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerLinksTest, TalkToAnotherServer) {
  Start();
  listener_.on_opened = [this](Session& session) {
    session.output.Append("PING\r\n");
    engine_().part<Clients>().QueueSend(session);
  };
  Open(static_cast<int>(config_.settings().port));  // this one
  AwaitThat([this] { return listener_.received == "+PONG\r\n"; });
  EXPECT_EQ(engine_().Find(listener_.id)->peer.address,
            Concat("127.0.0.1:", config_.settings().port));
  links().Close(listener_);
  InTurn([] {});
  AwaitThat([this] { return engine_().session_count() == 0; });
  EXPECT_THAT(listener_.told, ElementsAre("opened"));
}

TEST_F(ServerLinksTest, FailAndAreTriedAgain) {
  Harbour harbour;
  const int port = harbour.port;
  harbour.Close();
  Start();
  Open(port);
  AwaitTold("failed Connection refused");
  Harbour other;
  Open(other.port);
  AwaitTold("opened");
}

TEST_F(ServerLinksTest, EndWithTheirPeer) {
  Start();
  Harbour harbour;
  Open(harbour.port);
  AwaitTold("opened");
  const int peer = harbour.Accept();
  ASSERT_EQ(::send(peer, "last words", 10, 0), 10);
  ::shutdown(peer, SHUT_RDWR);
  AwaitTold("closed");
  EXPECT_EQ(listener_.received, "last words");
  EXPECT_EQ(engine_().session_count(), 0u);
}

// They count as clients do, as in Redis: the next client is refused for one.
TEST_F(ServerLinksTest, AreOpenedByAFullServer) {
  Start({{"maxclients", "1"}, {"maxclients-per-ip", "1"}});
  Harbour harbour;
  Open(harbour.port);
  AwaitTold("opened");
  NotingListener client;
  ASSERT_EQ(links().Open({.host = "127.0.0.1",
                          .port = static_cast<int>(config_.settings().port),
                          .timeout_ms = 10'000},
                         client),
            "");
  AwaitThat([&] { return !client.told.empty() && client.told.back() == "closed"; });
  EXPECT_EQ(client.received, "-ERR max number of clients reached\r\n");
  EXPECT_EQ(engine_().session_count(), 1u);
}

// A stream may have any bytes at its head, and so those of a TLS client that came to the wrong
// port.
TEST_F(ServerLinksTest, MayBeSentAnything) {
  Start();
  Harbour harbour;
  Open(harbour.port);
  AwaitTold("opened");
  const std::string bytes("\x16\x03\x01 as TLS begins", 17);
  ASSERT_EQ(::send(harbour.Accept(), bytes.data(), bytes.size(), 0), std::ssize(bytes));
  AwaitThat([&] { return listener_.received == bytes; });
  EXPECT_THAT(listener_.told, ElementsAre("opened"));
}

// One read of what nobody takes lies here, and the kernel holds the peer up.
TEST_F(ServerLinksTest, AreReadNoFurtherThanTheirListenerTakes) {
  Start();
  Harbour harbour;
  listener_.takes = false;
  Open(harbour.port);
  AwaitTold("opened");
  const int peer = harbour.Accept();
  ::fcntl(peer, F_SETFL, O_NONBLOCK);
  const std::string piece(65536, 'x');
  size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    const ssize_t taken = ::send(peer, piece.data(), piece.size(), 0);
    if (taken > 0) sent += static_cast<size_t>(taken);
    server_->Work();
  }
  ASSERT_LT(sent, 60'000'000u);
  const Session& session = *engine_().Find(listener_.id);
  EXPECT_GT(session.pending.size(), 0u);
  EXPECT_LE(session.pending.size(), 16'384u);
  const uint64_t turns = engine_().statistics().turns;
  for (int i = 0; i < 100; ++i) server_->Work();
  EXPECT_LE(engine_().statistics().turns, turns + 2);  // nor is it asked about again and again
  listener_.takes = true;
  InTurn([this] { links().ReadOn(*engine_().Find(listener_.id)); });
  AwaitThat([&] { return listener_.received.size() == sent; });
}

TEST_F(ServerLinksTest, AServerWithoutThemSaysSo) {
  Start({}, nullptr);
  EXPECT_EQ(links().Open({.host = "127.0.0.1", .port = 1}, listener_),
            "this server connects to no other one");
}

TEST_F(ServerLinksTest, AServerMayGoWhileOneIsOpened) {
  Start();
  Harbour harbour(0);
  harbour.Fill();
  Open(harbour.port);
  server_->Work();
  server_.reset();
  EXPECT_THAT(listener_.told, ElementsAre());
}

}  // namespace
}  // namespace sluice
