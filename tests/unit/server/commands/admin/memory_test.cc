// MEMORY USAGE against what malloc says, for every type, small and large; and how MEMORY STATS adds
// up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <string>
#include <vector>

#include "server/commands/admin/memory_report.h"
#include "server/engine/facts.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/sanitized.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr bool kMallocTells = !kSanitized;

size_t Allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Memory : public EngineFixture {
 protected:
  using Request = std::vector<std::string>;
  int64_t UsageOf(const std::string& key) { return Run({"MEMORY", "USAGE", key}).integer; }
  static std::string Key(int i) { return "some-key-" + std::to_string(100'000 + i); }

  // What MEMORY USAGE says of `keys` keys made by `make`, over what malloc has given out for them.
  double Share(int keys, const std::function<void(const std::string& key)>& make) {
    const auto make_all = [&] {
      for (int i = 0; i < keys; ++i) make(Key(i));
    };
    make_all();  // with what the first keys bring for good, which is no key's
    Run({"FLUSHALL"});
    const size_t before = Allocated();
    make_all();
    const size_t after = Allocated();
    int64_t told = 0;
    for (int i = 0; i < keys; ++i) told += UsageOf(Key(i));
    Run({"FLUSHALL"});
    return static_cast<double>(told) / static_cast<double>(after - before);
  }
  void ExpectTruth(const std::string& what, int keys,
                   const std::function<void(const std::string& key)>& make) {
    if (!kMallocTells) return;
    // glibc's classes are not those of the allocator that the server runs on, for which see
    // tests/smoke/memory_usage.py.
    const double share = Share(keys, make);
    EXPECT_GT(share, 0.42) << what;
    EXPECT_LT(share, 1.25) << what;
  }
  void Fill(const Request& first, int count, const std::function<Request(int)>& item) {
    Request request = first;
    for (int i = 0; i < count; ++i) {
      for (std::string& word : item(i)) request.push_back(std::move(word));
    }
    Run(request);
  }
};

TEST_F(Memory, UsageOfStringsIsTrue) {
  const auto set = [this](const std::string& value) {
    return [this, value](const std::string& key) { Run({"SET", key, value}); };
  };
  ExpectTruth("integers", 2000, set("12345"));
  ExpectTruth("short text", 2000, set(std::string(100, 'x')));
  ExpectTruth("long text", 500, set(std::string(1000, 'x')));
  ExpectTruth("huge text", 20, set(std::string(100'000, 'x')));
  ExpectTruth("counters with a deadline", 2000, [this](const std::string& key) {
    Run({"SET", key, "1", "PX", "100000"});
  });
}

TEST_F(Memory, UsageOfCollectionsIsTrue) {
  for (const int count : {3, 50, 600}) {
    const int keys = count > 100 ? 5 : 3000 / count;
    const std::string what = " of " + std::to_string(count);
    const auto number = [](int i) { return "member-" + std::to_string(i); };
    ExpectTruth("list" + what, keys, [&](const std::string& key) {
      Fill({"RPUSH", key}, count, [&](int i) { return Request{number(i)}; });
    });
    ExpectTruth("hash" + what, keys, [&](const std::string& key) {
      Fill({"HSET", key}, count, [&](int i) { return Request{number(i), "some value"}; });
    });
    ExpectTruth("set" + what, keys, [&](const std::string& key) {
      Fill({"SADD", key}, count, [&](int i) { return Request{number(i)}; });
    });
    ExpectTruth("set of integers" + what, keys, [&](const std::string& key) {
      Fill({"SADD", key}, count, [&](int i) { return Request{std::to_string(i)}; });
    });
    ExpectTruth("sorted set" + what, keys, [&](const std::string& key) {
      Fill({"ZADD", key}, count, [&](int i) { return Request{std::to_string(i), number(i)}; });
    });
    ExpectTruth("stream" + what, keys, [&](const std::string& key) {
      for (int i = 0; i < count; ++i) Run({"XADD", key, "*", "field", number(i)});
    });
  }
}

TEST_F(Memory, UsageOfLimitsAndLocksIsTrue) {
  for (const std::string algorithm : {"WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY"}) {
    ExpectTruth(algorithm, 500, [&](const std::string& key) {
      Run({"LIMIT.TAKE", key, algorithm, "100", "60000"});
    });
  }
  ExpectTruth("leaky bucket", 500, [this](const std::string& key) {
    for (const std::string seconds : {"10", "20", "30"}) Run({"LBUCKET.COUNT", key, seconds});
  });
  ExpectTruth("lock", 500, [this](const std::string& key) {
    Run({"LOCK.ACQUIRE", key, "some-owner-of-it", "LEASE", "60000"});
  });
}

TEST_F(Memory, StatsAddUp) {
  for (int i = 0; i < 1000; ++i) Run({"SET", Key(i), std::string(500, 'x')});
  Run({"EVAL", "return 1", "0"});
  const MemoryReport report = ReportMemory(engine().parts());
  EXPECT_EQ(report.keys, 1000);
  EXPECT_EQ(report.used, static_cast<int64_t>(engine().UsedMemory()));
  EXPECT_EQ(report.used, report.overhead + report.dataset());
  EXPECT_GT(report.dataset(), 500 * 1000);
  EXPECT_GT(report.scripts, 0);
  EXPECT_GT(report.clients, 0);
  EXPECT_GE(report.peak, report.used);
  ASSERT_EQ(report.databases.size(), 1u);
  EXPECT_GT(report.databases[0].table_bytes, 0);
  EXPECT_EQ(report.databases[0].timer_bytes, 0);
}

// What was counted comes off again to the byte, whoever ends it.
TEST_F(Memory, WhatStandsBesideKeysIsCountedAndComesBack) {
  const MemoryAccounts& accounts = engine().part<Facts>().accounts();
  const auto bytes_of = [&accounts](std::string_view name) {
    for (const MemoryAccounts::Row& row : MemoryAccounts::Rows()) {
      if (row.name == name) return accounts.Of(row);
    }
    ADD_FAILURE() << name;
    return size_t{0};
  };
  TestClient& listener = Connect();
  for (int i = 0; i < 100; ++i) listener.Run({"SUBSCRIBE", Key(i)});
  TestClient& patterns = Connect();
  for (int i = 0; i < 100; ++i) patterns.Run({"PSUBSCRIBE", Key(i) + "*"});
  TestClient& watcher = Connect();
  for (int i = 0; i < 100; ++i) watcher.Run({"WATCH", Key(i)});
  TestClient& waiter = Connect();
  waiter.Send({"BLPOP", Key(1), Key(2), "0"});
  Run({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
  for (int i = 0; i < 20; ++i) Run({"GET", std::string(100, 'x')});
  // But for room in tables, it is its clients'.
  EXPECT_GT(engine().part<Clients>().MemoryBytes(), 200 * 300U + 100 * 100U + 200U);
  EXPECT_LT(bytes_of("pubsub"), 100 * 100U);
  EXPECT_GT(bytes_of("slowlog"), 20 * 200U);
  listener.Run({"UNSUBSCRIBE", Key(0)});
  for (TestClient* client : {&listener, &patterns, &watcher, &waiter}) client->Disconnect();
  Run({"CONFIG", "SET", "slowlog-log-slower-than", "-1"});
  Run({"SLOWLOG", "RESET"});
  EXPECT_EQ(bytes_of("slowlog"), 0U);
  // Tables keep their room, nodes and names do not.
  EXPECT_LT(bytes_of("pubsub"), 100 * 100U);
  EXPECT_LT(bytes_of("watches"), 100 * 110U);
  EXPECT_LT(bytes_of("waiters"), 1000U);
  EXPECT_EQ(accounts.Total(), [&] {
    size_t sum = 0;
    for (const MemoryAccounts::Row& row : MemoryAccounts::Rows()) sum += accounts.Of(row);
    return sum;
  }());
}

TEST_F(Memory, DoctorLooksWhenThereIsSomething) {
  EXPECT_THAT(Run({"MEMORY", "DOCTOR"}).text, HasSubstr("is empty or is using very little memory"));
  Run({"SET", "big", std::string(16 << 20, 'x')});
  EXPECT_THAT(Run({"MEMORY", "DOCTOR"}).text, HasSubstr("I can't find any memory issue"));
  AdvanceTime(1000);  // the peak is sampled
  Run({"SET", "big", std::string(6 << 20, 'x')});
  EXPECT_THAT(Run({"MEMORY", "DOCTOR"}).text, StartsWith("Sam, I detected a few issues"));
  EXPECT_THAT(Run({"MEMORY", "DOCTOR"}).text, HasSubstr(" * Peak memory: "));
}

}  // namespace
}  // namespace sluice
