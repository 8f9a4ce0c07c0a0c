// Days of ordinary work in seconds, on a clock that is moved by hand: clients come and go, hold
// locks by lease and by connection, wait for them and give up, take from limits, write keys that
// end, subscribe, watch, run scripts. What is used after the last night is what was used after the
// first. tests/smoke/soak.py does as much to a real server,
// and looks at what is resident.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr int kDays = 6;  // the first of them to warm up
constexpr int kHours = 24;
constexpr int kUsers = 60;
constexpr int64_t kHourMs = 3'600'000;
// All that a day has made has ended by then: leases, limits, what is remembered of locks.
constexpr int64_t kNightMs = 30 * kHourMs;

class Soak {
 public:
  explicit Soak(uint64_t seed)
      : random_(seed),
        server_({.seed = seed,
                 .config = {{"notify-keyspace-events", "KEA"}, {"slowlog-max-len", "32"}},
                 .audits = false}),
        monitor_(server_.Connect()) {}

  void Day() {
    for (int hour = 0; hour < kHours; ++hour) {
      Hour();
      server_.AdvanceTime(kHourMs);
    }
    ASSERT_EQ(server_.Audit(), "");
  }

  void Night() {
    server_.AdvanceTime(kNightMs);
    monitor_.Run({"SCRIPT", "FLUSH"});
    server_.Settle();
    EXPECT_EQ(monitor_.Run({"DBSIZE"}).ToText(), ":0");
  }

  size_t Used() { return server_.engine().UsedMemory(); }

 private:
  struct Guest {
    TestClient& client;
    std::string name;
  };

  // Whoever comes in an hour leaves in it: by QUIT, or because the connection breaks.
  void Hour() {
    std::vector<Guest> guests;
    for (int i = 0; i < kUsers; ++i) {
      guests.push_back({server_.Connect(), Concat("user:", Between(random_, 0, 200))});
      Work(guests.back());
    }
    server_.AdvanceTime(Between(random_, 0, 5000));
    for (Guest& guest : guests) {
      guest.client.TakeBytes();
      if (Between(random_, 0, 1) == 1) guest.client.Send({"QUIT"});
      guest.client.TakeBytes();
      guest.client.Disconnect();
    }
    server_.Settle();
  }

  void Work(Guest& guest) {
    TestClient& client = guest.client;
    const std::string& name = guest.name;
    client.Send({"LIMIT.TAKE", Concat("limit:", name), "ROLLING", "100", "60000"});
    client.Send({"LIMIT.TAKE", Concat("log:", name), "LOG", "10", "60000"});
    client.Send({"LBUCKET.COUNT", Concat("bucket:", name), "600"});
    client.Send({"SET", name, std::string(static_cast<size_t>(Between(random_, 1, 400)), 'x'), "EX",
                 "7200"});
    client.Send({"HSET", Concat("profile:", name), "name", name, "seen", "yes"});
    client.Send({"EXPIRE", Concat("profile:", name), "3600"});
    client.Send({"EVAL", Concat("return redis.call('INCR', KEYS[1]) + ", Between(random_, 0, 99)),
                 "1", "counter"});
    client.Send({"EXPIRE", "counter", "3600"});
    client.Send({"WATCH", name, "counter"});
    client.Send({"MULTI"});
    client.Send({"GET", name});
    client.Send({"EXEC"});
    client.Send({"LOCK.ACQUIRE", Concat("lease:", name), name, "LEASE", "60000"});
    client.Send({"LOCK.ACQUIRE", Concat("room:", Between(random_, 0, 9)), Concat(client.id().slot),
                 "SESSION", "WAIT", "100000"});
    client.Send({"PUBLISH", "news", name});
    if (Between(random_, 0, 3) == 0) client.Send({"SUBSCRIBE", "news", Concat("private:", name)});
  }

  SimulationRandom random_;
  TestEngine server_;
  TestClient& monitor_;
};

// An empty server has 27 KB. A crowd larger than any before makes tables larger, which keep that; a
// leak of 16 bytes for each of the 7,000 clients of five days would be 110 KB.
void ExpectFlat(size_t before, size_t after, const char* what) {
  constexpr size_t kTablesBytes = 8192;
  EXPECT_LT(after, before + std::max(before / 50, kTablesBytes)) << what << " grew from " << before;
}

TEST(Soak, DaysLeaveNothingBehind) {
  RunSeeds(2, [](uint64_t seed) {
    Soak soak(seed);
    soak.Day();
    soak.Night();
    const size_t used = soak.Used();
    for (int day = 1; day < kDays && !testing::Test::HasFailure(); ++day) {
      soak.Day();
      soak.Night();
    }
    ExpectFlat(used, soak.Used(), "used_memory");
  });
}

}  // namespace
}  // namespace sluice
