// Links between engines in a network without sockets: what a listener hears of its own, what is
// held up while it takes nothing, and where the parser takes over.
#include "server/clients/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/test_network.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Writes down what it is told, and does what the test has it do then.
class ToldListener final : public LinkListener {
 public:
  void LinkOpened(Session& session) override {
    told.emplace_back("opened");
    id = session.id;
    if (on_opened) on_opened(session);
  }
  void LinkFailed(std::string_view why) override {
    told.push_back(Concat("failed: ", why));
    if (on_end) on_end();
  }
  size_t LinkReceived(Session& session, std::string_view bytes) override {
    const size_t taken = std::min(bytes.size(), takes);
    received.append(bytes.substr(0, taken));
    takes -= taken;
    if (on_received) on_received(session);
    return taken;
  }
  void LinkClosed(Session&) override {
    told.emplace_back("closed");
    if (on_end) on_end();
  }

  std::vector<std::string> told;
  std::string received;
  SessionId id;
  size_t takes = SIZE_MAX;
  std::function<void(Session&)> on_opened, on_received;
  std::function<void()> on_end;
};

class LinksTest : public testing::Test {
 protected:
  LinksTest() {
    network_.Add("master:6379", master_);
    network_.Add("replica:6379", replica_);
  }
  Links& links() { return replica_.engine().part<Links>(); }
  Session& session() { return *replica_.engine().Find(listener_.id); }
  void Open() { ASSERT_TRUE(links().Open({.host = "master", .port = 6379}, listener_).empty()); }
  void OpenNow() {
    Open();
    ASSERT_TRUE(network_.Settle());
  }
  TestLink& link() { return *network_.links().back(); }
  void Say(std::string_view bytes) {
    session().output.Append(bytes);
    replica_.engine().part<Clients>().QueueSend(session());
    replica_.Settle();
  }
  // As a master does, which says more than answers.
  void MasterSays(std::string_view bytes) {
    Session& far = *master_.engine().Find(link().far().id());
    far.output.Append(bytes);
    master_.engine().part<Clients>().QueueSend(far);
    master_.Settle();
  }

  TestEngine master_, replica_;
  ToldListener listener_;
  TestNetwork network_;
};

TEST_F(LinksTest, OpensLater) {
  Open();
  replica_.Settle();
  EXPECT_THAT(listener_.told, ElementsAre());
  network_.OpenNext();
  EXPECT_THAT(listener_.told, ElementsAre("opened"));
  EXPECT_EQ(session().kind, SessionKind::kMasterLink);
  EXPECT_EQ(master_.engine().session_count(), 1u);
}

TEST_F(LinksTest, CarriesBothWays) {
  OpenNow();
  Say("PING\r\n");
  EXPECT_TRUE(network_.Settle());
  EXPECT_EQ(listener_.received, "+PONG\r\n");
}

TEST_F(LinksTest, CarriesAsManyBytesAsTheTestSays) {
  OpenNow();
  Say("ECHO words\r\n");
  EXPECT_EQ(link().Carry(Way::kOut, 6), 6u);
  EXPECT_EQ(link().waiting(Way::kIn), 0u);
  EXPECT_EQ(link().Carry(Way::kOut), 6u);
  EXPECT_EQ(link().Carry(Way::kIn, 3), 3u);
  EXPECT_EQ(listener_.received, "$5\r");
  EXPECT_EQ(link().Carry(Way::kIn, SIZE_MAX, 1), 8u);
  EXPECT_EQ(listener_.received, "$5\r\nwords\r\n");
}

TEST_F(LinksTest, IsRefusedWhereNobodyListens) {
  ASSERT_TRUE(links().Open({.host = "nowhere", .port = 1}, listener_).empty());
  EXPECT_TRUE(network_.Settle());
  EXPECT_THAT(listener_.told, ElementsAre("failed: Connection refused"));
  OpenNow();
  EXPECT_EQ(listener_.told.back(), "opened");
}

TEST_F(LinksTest, AHostWithoutANetworkSaysSo) {
  TestEngine alone;
  const Fault fault = alone.engine().part<Links>().Open({.host = "master", .port = 1}, listener_);
  EXPECT_EQ(fault, "a server without sockets of its own cannot connect to another one");
}

TEST_F(LinksTest, ItsListenerHearsOfEachEnd) {
  OpenNow();
  link().Cut();
  EXPECT_THAT(listener_.told, ElementsAre("opened", "closed"));
  OpenNow();
  master_.Connect().Run({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(network_.Settle());
  EXPECT_EQ(listener_.told.back(), "closed");
  OpenNow();
  EXPECT_EQ(replica_.Connect().Run({"CLIENT", "KILL", "TYPE", "master"}).ToText(), ":1");
  EXPECT_EQ(listener_.told.back(), "closed");
  EXPECT_TRUE(network_.Settle());
  EXPECT_EQ(master_.engine().session_count(), 1u);
}

TEST_F(LinksTest, ACrashIsSeenByTheOtherEnd) {
  OpenNow();
  network_.Crash(master_);
  EXPECT_THAT(listener_.told, ElementsAre("opened", "closed"));
  Open();
  EXPECT_TRUE(network_.Settle());
  EXPECT_EQ(listener_.told.back(), "failed: Connection refused");
}

TEST_F(LinksTest, OneThatIsGivenUpIsNotHeardOf) {
  Open();
  links().Close(listener_);
  EXPECT_EQ(network_.opening(), 0u);
  OpenNow();
  MasterSays("more");
  links().Close(listener_);
  EXPECT_TRUE(network_.Settle());
  EXPECT_THAT(listener_.told, ElementsAre("opened"));
  EXPECT_EQ(listener_.received, "");
  EXPECT_EQ(replica_.engine().session_count() + master_.engine().session_count(), 0u);
  links().Close(listener_);  // it has none
}

TEST_F(LinksTest, ItMayBeGivenUpFromWithin) {
  listener_.on_opened = [this](Session&) { links().Close(listener_); };
  OpenNow();
  EXPECT_EQ(replica_.engine().session_count(), 0u);
  listener_.on_opened = nullptr;
  listener_.on_received = [this](Session&) { links().Close(listener_); };
  OpenNow();
  MasterSays("more");
  EXPECT_TRUE(network_.Settle());
  EXPECT_EQ(replica_.engine().session_count(), 0u);
  EXPECT_THAT(listener_.told, ElementsAre("opened", "opened"));
}

TEST_F(LinksTest, TheNextOneMayBeOpenedFromWithin) {
  int left = 3;
  listener_.on_end = [&] {
    if (--left > 0) Open();
  };
  Open();
  network_.FailNext("Connection timed out");
  network_.OpenNext();
  link().Cut();
  EXPECT_EQ(network_.opening(), 1u);
  network_.FailNext("No route to host");
  EXPECT_THAT(listener_.told, ElementsAre("failed: Connection timed out", "opened", "closed",
                                          "failed: No route to host"));
}

// --- what its listener leaves

TEST_F(LinksTest, WhatIsNotTakenHoldsThePeerUp) {
  OpenNow();
  listener_.takes = 4;
  MasterSays("0123456789");
  EXPECT_EQ(link().Carry(Way::kIn, 6), 6u);
  EXPECT_EQ(listener_.received, "0123");
  EXPECT_TRUE(replica_.engine().IsStalled(listener_.id));
  EXPECT_EQ(link().Carry(Way::kIn), 0u);
  EXPECT_FALSE(replica_.Turn());  // nor does it keep the loop busy
  EXPECT_GT(replica_.engine().NextWork(), replica_.now().ms());
  listener_.takes = SIZE_MAX;
  links().ReadOn(session());
  replica_.Settle();
  EXPECT_EQ(listener_.received, "012345");
  EXPECT_EQ(link().Carry(Way::kIn), 4u);
  EXPECT_EQ(listener_.received, "0123456789");
}

TEST_F(LinksTest, WhatIsLeftAgainHoldsItUpStill) {
  OpenNow();
  listener_.takes = 1;
  MasterSays("0123");
  EXPECT_TRUE(network_.Settle());
  listener_.takes = 1;
  links().ReadOn(session());
  replica_.Settle();
  EXPECT_EQ(listener_.received, "01");
  EXPECT_TRUE(replica_.engine().IsStalled(listener_.id));
}

// The end is behind what waits.
TEST_F(LinksTest, AnEndIsNotSeenBeforeWhatWaitsIsTaken) {
  OpenNow();
  listener_.takes = 0;
  MasterSays("last words");
  link().Carry(Way::kIn);
  link().far().Disconnect();
  EXPECT_TRUE(network_.Settle());
  EXPECT_THAT(listener_.told, ElementsAre("opened"));
  listener_.takes = SIZE_MAX;
  links().ReadOn(session());
  replica_.Settle();
  EXPECT_TRUE(network_.Settle());
  EXPECT_EQ(listener_.received, "last words");
  EXPECT_EQ(listener_.told.back(), "closed");
}

// --- the parser

// While a script is late others are served, and a link is not: it might change what the script is
// about.
TEST_F(LinksTest, NothingIsTakenInsideACommand) {
  OpenNow();
  TestClient& client = replica_.Connect();
  client.Run({"CONFIG", "SET", "busy-reply-threshold", "1"});
  std::string inside;
  replica_.OnPoll([&] {
    if (!inside.empty()) return;
    replica_.engine().Receive(listener_.id, "words");
    replica_.Turn();
    inside =
        Concat("'", listener_.received, "' ", replica_.engine().HasBacklog(listener_.id) ? 1 : 0);
  });
  replica_.set_tick_step(1'000'000);
  client.Run({"EVAL", "for i = 1, 100000 do end return 1", "0"});
  EXPECT_EQ(inside, "'' 1");
  EXPECT_EQ(listener_.received, "words");
}

}  // namespace
}  // namespace sluice
