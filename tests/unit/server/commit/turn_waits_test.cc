// Clients that wait for turns: each line by its turns, whatever the others wait for. How far disk
// and replicas are is said by the test; the disk's own way is in tests/unit/server/log.
#include "server/commit/turn_waits.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "protocol/text/number_text.h"
#include "server/commands/shared/rows.h"
#include "server/commit/turn_gate.h"
#include "server/waiting/waiters.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

// How far everybody is, and how often that was asked.
struct Progress {
  uint64_t disk = TurnGate::kNoTurn;
  std::array<uint64_t, 3> replicas{};  // the turn that so many have, and one more
  int asked = 0;

  uint64_t Reached(const TurnNeeds& needs) {
    ++asked;
    uint64_t turn = needs.disk ? disk : UINT64_MAX;
    if (needs.replicas > replicas.size()) return TurnGate::kNoTurn;
    if (needs.replicas > 0) turn = std::min(turn, replicas[needs.replicas - 1]);
    return turn;
  }
};

// Of the test that runs: a handler has nothing but its call.
struct WaitsOfTest {
  Progress progress;
  std::unique_ptr<TurnWaits> waits;
};
WaitsOfTest* of_test = nullptr;

void Late(CommandCall& call) { call.reply.Bulk("late"); }

//   WAITS.FOR disk replicas turn [ms]
void WaitForTurn(CommandCall& call) {
  const auto number = [&](size_t at) { return *ParseInt64(call.args[at]); };
  of_test->waits->Block(
      call, {.needs = {.disk = number(1) == 1, .replicas = static_cast<uint32_t>(number(2))},
             .turn = static_cast<uint64_t>(number(3)),
             .deadline_ms = call.args.size() > 4 ? call.now.ms() + number(4) : 0,
             .on_timeout = Late,
             .answer = [](ReplySink& reply) { reply.Bulk("met"); }});
}

constexpr CommandRow kWaitRows[] = {{.name = "WAITS.FOR",
                                     .arity = -4,
                                     .flags = kBlocking,
                                     .categories = kCatDangerous,
                                     .run = WaitForTurn,
                                     .group = "test",
                                     .summary = "For this test."}};

class TurnWaitsTest : public testing::Test {
 protected:
  TurnWaitsTest() {
    of_test_.waits = std::make_unique<TurnWaits>(
        server_.engine().part<Clients>(), server_.engine().part<Waiters>().blocked_clients(),
        [this](const TurnNeeds& needs) { return of_test_.progress.Reached(needs); });
    of_test = &of_test_;
  }
  ~TurnWaitsTest() override {
    EXPECT_EQ(waits().size(), server_.engine().part<Waiters>().blocked_clients().size());
    for (TestClient* const client : {&a_, &b_, &c_}) client->Disconnect();
    EXPECT_EQ(waits().size(), 0U);
    of_test = nullptr;
  }
  TurnWaits& waits() { return *of_test_.waits; }
  Progress& progress() { return of_test_.progress; }
  void Settle() {
    waits().Settle();
    EXPECT_FALSE(waits().any_met());
    server_.Settle();
  }
  static std::string Text(TestClient& client) {
    const std::optional<Reply> reply = client.Next();
    return reply ? reply->ToText() : "waits";
  }

  TestEngine server_{{.families = {{"waits", kSpecsOf<kWaitRows>}}}};
  WaitsOfTest of_test_;
  TestClient& a_ = server_.Connect();
  TestClient& b_ = server_.Connect();
  TestClient& c_ = server_.Connect();
};

TEST_F(TurnWaitsTest, EndInTheOrderOfTheirTurns) {
  a_.Send({"WAITS.FOR", "1", "0", "7"});
  b_.Send({"WAITS.FOR", "1", "0", "5"});
  c_.Send({"WAITS.FOR", "1", "0", "5"});
  progress().disk = 4;
  EXPECT_FALSE(waits().any_met());
  progress().disk = 6;
  EXPECT_TRUE(waits().any_met());
  Settle();
  EXPECT_EQ(Text(a_), "waits");
  EXPECT_EQ(Text(b_), "\"met\"");
  EXPECT_EQ(Text(c_), "\"met\"");
  progress().disk = 7;
  Settle();
  EXPECT_EQ(Text(a_), "\"met\"");
}

TEST_F(TurnWaitsTest, EachWaitsForItsOwnNumberOfReplicas) {
  a_.Send({"WAITS.FOR", "0", "2", "5"});
  b_.Send({"WAITS.FOR", "0", "1", "6"});
  c_.Send({"WAITS.FOR", "1", "1", "5"});
  progress().replicas = {6, 3, 0};
  Settle();
  EXPECT_EQ(Text(a_), "waits");
  EXPECT_EQ(Text(b_), "\"met\"");
  EXPECT_EQ(Text(c_), "waits") << "the disk does not have it";
  progress().disk = 5;
  Settle();
  EXPECT_EQ(Text(c_), "\"met\"");
  progress().replicas = {6, 5, 0};
  Settle();
  EXPECT_EQ(Text(a_), "\"met\"");
}

TEST_F(TurnWaitsTest, AWaitThatEndsOtherwiseIsForgotten) {
  a_.Send({"WAITS.FOR", "1", "0", "5", "100"});
  b_.Send({"WAITS.FOR", "1", "0", "5"});
  c_.Send({"WAITS.FOR", "1", "0", "5"});
  server_.AdvanceTime(100);
  EXPECT_EQ(Text(a_), "\"late\"");
  b_.Disconnect();
  EXPECT_EQ(waits().size(), 1U);
  progress().disk = 5;
  Settle();
  EXPECT_EQ(Text(a_), "waits") << "no second answer";
  EXPECT_EQ(Text(c_), "\"met\"");
}

TEST_F(TurnWaitsTest, InsideMultiNobodyWaits) {
  a_.Run({"MULTI"});
  a_.Run({"WAITS.FOR", "1", "0", "5"});
  EXPECT_EQ(a_.Run({"EXEC"}).ToText(), "[\"late\"]");
  EXPECT_EQ(waits().size(), 0U);
}

TEST_F(TurnWaitsTest, WithoutADiskItsWaitsFail) {
  a_.Send({"WAITS.FOR", "0", "1", "5"});
  b_.Send({"WAITS.FOR", "1", "0", "5"});
  c_.Send({"WAITS.FOR", "1", "1", "5"});
  waits().FailDisk("ERR no disk");
  server_.Settle();
  EXPECT_EQ(Text(a_), "waits");
  EXPECT_EQ(Text(b_), "-ERR no disk");
  EXPECT_EQ(Text(c_), "-ERR no disk");
}

// However many numbers clients think of, the server looks at those alone that there may be.
TEST_F(TurnWaitsTest, WaitsForReplicasThatDoNotExistCostNothing) {
  for (int i = 0; i < 200; ++i)
    server_.Connect().Send({"WAITS.FOR", "0", std::to_string(1 + i), "5", "1000"});
  progress().replicas = {4, 4, 0};
  progress().asked = 0;
  EXPECT_FALSE(waits().any_met());
  EXPECT_EQ(progress().asked, 3) << "of one, of two, and of three, whom there are not";
  server_.AdvanceTime(1000);
  EXPECT_EQ(waits().size(), 0U);
}

}  // namespace
}  // namespace sluice
