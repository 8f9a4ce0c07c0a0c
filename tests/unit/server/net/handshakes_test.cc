// Handshakes by a clock that is moved by hand: who is let through, who is sent away and when.
#include "server/net/handshakes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/net/loop/poller.h"
#include "server/net/sources.h"
#include "tests/unit/server/net/tls_fixture.h"

namespace sluice {
namespace {

class TickingClock final : public Clock {
 public:
  int64_t TickNanos() override { return nanos; }
  int64_t nanos = 1;

 private:
  Now Read() override { return {}; }
};

class HandshakesTest : public testing::Test, public ConnectionOwner {
 protected:
  void SetUp() override { ASSERT_EQ(context_.Load(certificate_.settings), ""); }

  // A connection that has come; its peer's end is the caller's.
  boost::intrusive_ptr<Connection> Come(int& peer) {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    peer = pair[1];
    boost::intrusive_ptr<Connection> connection(new Connection(sources_, pair[0], *this));
    connection->Secure(std::make_unique<TlsStream>(*context_.get(), wire_, pair[0]));
    handshakes_.Begin(connection, {.address = "somewhere:1"});
    return connection;
  }
  void Advance() {
    while (handshakes_.Advance()) {
    }
  }

  Poller& poller() override { return poller_; }
  void Readable(Connection&) override {}
  void Writable(Connection&) override {}

  OwnCertificate certificate_;
  TlsContext context_;
  TlsWire wire_;
  Poller poller_;
  Sources sources_;
  TickingClock clock_;
  std::vector<boost::intrusive_ptr<Connection>> through_;
  std::vector<std::string> said_;
  Handshakes handshakes_{
      poller_, clock_,
      [this](boost::intrusive_ptr<Connection> connection, Peer) { through_.push_back(connection); },
      [] {}, [this](std::string_view line) { said_.emplace_back(line); }};
};

TEST_F(HandshakesTest, LetsThroughWhoEndsItsOwn) {
  int descriptor = -1;
  const boost::intrusive_ptr<Connection> connection = Come(descriptor);
  TlsPeer peer(descriptor);
  for (int i = 0; i < 10 && through_.empty(); ++i) {
    peer.Shake();
    connection->owner().Readable(*connection);
    Advance();
  }
  ASSERT_EQ(through_.size(), 1u);
  EXPECT_EQ(handshakes_.size(), 0u);
  EXPECT_EQ(handshakes_.NextNanos(), Handshakes::kNever);
  EXPECT_TRUE(connection->open());
}

TEST_F(HandshakesTest, SendsAwayWhoseTimeIsOver) {
  int first_peer = -1, second_peer = -1;
  const auto first = Come(first_peer);
  clock_.nanos += 1'000'000;
  const auto second = Come(second_peer);
  Advance();
  EXPECT_EQ(handshakes_.NextNanos(), 1 + Handshakes::kTimeMs * 1'000'000);
  clock_.nanos = handshakes_.NextNanos() - 1;
  Advance();
  EXPECT_TRUE(first->open());
  ++clock_.nanos;
  Advance();
  EXPECT_FALSE(first->open());
  EXPECT_TRUE(second->open());
  EXPECT_EQ(said_.size(), 1u);
  ::close(first_peer);
  ::close(second_peer);
}

TEST_F(HandshakesTest, WhoHasGoneAwayIsSentAway) {
  int peer = -1;
  const auto connection = Come(peer);
  Advance();
  ::close(peer);
  connection->owner().Readable(*connection);
  Advance();
  EXPECT_FALSE(connection->open());
  EXPECT_EQ(handshakes_.size(), 0u);
}

// Others want its place, and it does not go on.
TEST_F(HandshakesTest, TheSilentOneMakesWayForOthers) {
  int peers[3];
  const auto first = Come(peers[0]);
  const auto second = Come(peers[1]);
  Advance();
  EXPECT_FALSE(handshakes_.EndSilent()) << "it may be on its way";
  clock_.nanos += Handshakes::kSilentMs * 1'000'000;
  first->owner().Readable(*first);
  Advance();
  const auto third = Come(peers[2]);
  Advance();
  EXPECT_TRUE(handshakes_.EndSilent());
  EXPECT_TRUE(first->open() && third->open());
  EXPECT_FALSE(second->open());
  EXPECT_FALSE(handshakes_.EndSilent());
  for (const int peer : peers) ::close(peer);
}

TEST_F(HandshakesTest, OneThatIsForgottenIsNoMoreToBeEnded) {
  int peers[2];
  const auto ready = Come(peers[0]);  // its first step is to come
  handshakes_.Forget(*ready);
  const auto silent = Come(peers[1]);
  Advance();
  handshakes_.Forget(*silent);
  handshakes_.Forget(*silent);
  EXPECT_EQ(handshakes_.size(), 0u);
  EXPECT_EQ(handshakes_.NextNanos(), Handshakes::kNever);
  Advance();
  EXPECT_TRUE(ready->open() && silent->open()) << "that is their owner's";
  EXPECT_TRUE(said_.empty());
  for (const int peer : peers) ::close(peer);
}

TEST_F(HandshakesTest, FewLinesASecond) {
  for (int i = 0; i < 100; ++i) handshakes_.Say("line");
  EXPECT_EQ(said_.size(), static_cast<size_t>(Handshakes::kLinesPerSecond));
  clock_.nanos += 1'000'000'000;
  handshakes_.Say("line");
  EXPECT_EQ(said_.size(), static_cast<size_t>(Handshakes::kLinesPerSecond) + 2);
  EXPECT_EQ(said_[Handshakes::kLinesPerSecond], std::to_string(100 - Handshakes::kLinesPerSecond) +
                                                    " more TLS connections were closed");
}

}  // namespace
}  // namespace sluice
