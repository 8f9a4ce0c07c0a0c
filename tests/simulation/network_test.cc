// The engine behind a bad network, from one seed: clients come and go, requests arrive in pieces
// cut anywhere, replies are left unread for a while, time jumps. Every reply is compared with a
// model that runs each request at the moment its last byte arrives.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/lease_model.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kNetworkSeeds = 40;
constexpr int kNetworkSteps = 400;
constexpr size_t kLinesMax = 8;

// A client and the bytes that are under way from it to the server.
struct Line {
  TestClient* client = nullptr;
  std::string under_way;
  // Requests whose last byte has not arrived: the bytes that each of them still needs.
  std::deque<std::pair<std::vector<std::string>, size_t>> requests;
  std::string expected;  // replies to what has arrived
  std::string received;
  bool reading = true;
};

class Network {
 public:
  explicit Network(uint64_t seed) : random_(seed), server_({.seed = seed}) {}

  void Step() {
    const int64_t roll = Between(random_, 0, 99);
    if (lines_.empty() || (roll < 5 && lines_.size() < kLinesMax)) {
      lines_.push_back({.client = &server_.Connect()});
    } else if (roll < 40) {
      Say(Any());
    } else if (roll < 75) {
      Deliver(Any());
    } else if (roll < 80) {
      ToggleReading(Any());
    } else if (roll < 83) {
      HangUp();
    } else {
      server_.AdvanceTime(Between(random_, 0, roll < 97 ? 20 : 2000));
    }
    for (Line& line : lines_) Compare(line);
  }

  // Everything under way arrives, everything is read.
  void Finish() {
    for (Line& line : lines_) {
      Arrive(line, line.under_way.size());
      line.client->set_reading(true);
      line.reading = true;
      Compare(line);
      EXPECT_EQ(line.received, line.expected);
      line.client->Disconnect();
    }
    EXPECT_EQ(server_.engine().session_count(), 0u);
  }

 private:
  Line& Any() { return lines_[static_cast<size_t>(Between(random_, 0, Count() - 1))]; }
  int64_t Count() const { return static_cast<int64_t>(lines_.size()); }

  std::vector<std::string> Request() {
    const std::string key = "lease:" + std::to_string(Between(random_, 0, 5));
    const std::string ms = std::to_string(Between(random_, 1, 60));
    switch (Between(random_, 0, 9)) {
      case 0:
        return {"SET", key, "free"};
      case 1:
      case 2:
        return {"SET", key, std::string(static_cast<size_t>(Between(random_, 0, 300)), 'o'),
                "PX",  ms,  "NX"};
      case 3:
        return {"INCR", key};
      case 4:
        return {"PEXPIRE", key, ms};
      case 5:
        return {"PTTL", key};
      case 6:
        return {"DEL", key};
      case 7:
        return {"ECHO", "\r\n" + ms};
      case 8:
        return {"SET", key, ms, "PX", ms};
      default:
        return {"GET", key};
    }
  }

  void Say(Line& line) {
    for (int64_t left = Between(random_, 1, 4); left > 0; --left) {
      std::vector<std::string> request = Request();
      const std::string bytes = EncodeRequest(request);
      line.under_way += bytes;
      line.requests.emplace_back(std::move(request), bytes.size());
    }
  }

  void Deliver(Line& line) {
    const auto all = static_cast<int64_t>(line.under_way.size());
    Arrive(line, static_cast<size_t>(Between(random_, 0, 3) ? Between(random_, 0, all) : all));
  }

  void Arrive(Line& line, size_t bytes) {
    const int64_t now_ms = server_.clock().Sample().ms();
    for (size_t left = bytes; left > 0;) {
      auto& [request, needed] = line.requests.front();
      const size_t step = std::min(left, needed);
      needed -= step;
      left -= step;
      if (needed > 0) continue;
      line.expected += model_.Run(request, now_ms);
      line.requests.pop_front();
    }
    const std::string arrived = line.under_way.substr(0, bytes);
    line.under_way.erase(0, bytes);
    if (!arrived.empty()) line.client->SendBytes(arrived);
  }

  void ToggleReading(Line& line) {
    line.reading = !line.reading;
    line.client->set_reading(line.reading);
  }

  void HangUp() {
    Line& line = Any();
    line.client->Disconnect();  // half a request and unread replies go with it
    std::swap(line, lines_.back());
    lines_.pop_back();
  }

  void Compare(Line& line) {
    line.received += line.client->TakeBytes();
    EXPECT_FALSE(line.client->closed());
    const bool prefix = line.expected.compare(0, line.received.size(), line.received) == 0;
    EXPECT_TRUE(prefix) << "expected " << line.expected << "\ngot " << line.received;
    if (!prefix || !line.reading) return;
    EXPECT_EQ(line.received.size(), line.expected.size()) << line.expected;
    line.received.clear();
    line.expected.clear();
  }

  SimulationRandom random_;
  TestEngine server_;
  LeaseModel model_;
  std::vector<Line> lines_;
};

TEST(Simulation, RepliesAreTheModelsBehindABadNetwork) {
  RunSeeds(kNetworkSeeds, [](uint64_t seed) {
    Network network(seed);
    for (int step = 0; step < kNetworkSteps && !testing::Test::HasFailure(); ++step) network.Step();
    network.Finish();
  });
}

}  // namespace
}  // namespace sluice
