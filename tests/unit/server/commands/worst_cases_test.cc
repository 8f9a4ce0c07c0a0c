// What the worst input of a command may cost: a multiple, far below that of the input, of what a
// harmless call costs here and now. CPU time of the turns is compared, the best of a few tries of
// each, so that other work on the machine hardly matters.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "server/commands/shared/random_count.h"
#include "storage/memory/text_block.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using Request = std::vector<std::string>;

constexpr int kMembers = 20'000;

Request operator+(Request request, const Request& more) {
  request.insert(request.end(), more.begin(), more.end());
  return request;
}

Request Times(int count, const std::string& word) { return Request(count, word); }

std::string Encoded(const Request& request) {
  std::string bytes = "*" + std::to_string(request.size()) + "\r\n";
  for (const std::string& word : request) {
    bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return bytes;
}

double CpuMs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

class WorstCases : public EngineFixture {
 protected:
  void FillSet(const std::string& key, int members) { Fill("SADD", key, members, {}); }
  void FillSortedSet(const std::string& key, int members) { Fill("ZADD", key, members, {"1"}); }

  void Fill(const std::string& command, const std::string& key, int members,
            const Request& before) {
    Request request = {command, key};
    for (int i = 0; i < members; ++i) {
      request = std::move(request) + before + Request{"member:" + std::to_string(i)};
    }
    Run(request);
  }

  // Without the audit that follows what goes through the fixture.
  double Cost(const Request& request) {
    const std::string bytes = Encoded(request);
    const double before = CpuMs();
    engine().Receive(client().id(), bytes);
    while (server().Turn()) continue;
    const double cost = CpuMs() - before;
    last_ = client().TakeBytes();
    return std::max(cost, 0.005);
  }
  // How much more `attack` costs than `harmless`. They take turns, so that both meet the machine as
  // it is just then: what else runs on it makes CPU time dearer, too.
  double Ratio(const Request& attack, const Request& harmless) {
    client();
    double cost = Cost(attack);
    double harmless_cost = Cost(harmless);
    for (int i = 1; i < 5; ++i) {
      cost = std::min(cost, Cost(attack));
      harmless_cost = std::min(harmless_cost, Cost(harmless));
    }
    return cost / harmless_cost;
  }

  std::string last_;  // the last answer
};

TEST_F(WorstCases, ASetNamedManyTimesIsLookedAtOnce) {
  FillSet("s", kMembers);
  const Request twice = {"SINTERCARD", "2", "s", "s"};
  EXPECT_LT(Ratio(Request{"SINTERCARD", "1000"} + Times(1000, "s"), twice), 20);
  EXPECT_EQ(last_, ":20000\r\n");
  EXPECT_LT(Ratio(Request{"SUNION"} + Times(500, "s"), {"SUNION", "s"}), 20);
  EXPECT_LT(Ratio(Request{"SDIFF"} + Times(500, "s"), twice), 5);
}

TEST_F(WorstCases, ASortedSetNamedManyTimesIsLookedUpOnce) {
  FillSortedSet("z", kMembers);
  EXPECT_LT(Ratio(Request{"ZINTERCARD", "1000"} + Times(1000, "z"), {"ZINTERCARD", "2", "z", "z"}),
            20);
  EXPECT_LT(Ratio(Request{"ZDIFF", "500"} + Times(500, "z"), {"ZINTERCARD", "2", "z", "z"}), 5);
  // An addition for each operand is left.
  EXPECT_LT(Ratio(Request{"ZINTERSTORE", "t", "100"} + Times(100, "z"),
                  {"ZINTERSTORE", "t", "2", "z", "z"}),
            10);
}

TEST_F(WorstCases, ADifferenceGoesTheWayThatIsCheaper) {
  FillSet("s", kMembers);
  FillSortedSet("z", kMembers);
  Request sets = {"SDIFF", "s"};
  Request sorted_sets = {"ZDIFF", "301", "z"};
  for (int i = 0; i < 300; ++i) {
    const std::string key = "small:" + std::to_string(i);
    Run({"SADD", key, "a", "b"});
    sets.push_back(key);
    sorted_sets.push_back(key);
  }
  EXPECT_LT(Ratio(sets, {"SDIFF", "s"}), 10);
  EXPECT_LT(Ratio(sorted_sets, {"ZDIFF", "1", "z"}), 10);
}

TEST_F(WorstCases, SortLooksAtWhatItAnswers) {
  for (const std::string key : {"few", "many"}) {
    Request request = {"RPUSH", key};
    for (int i = 0; i < (key == "few" ? 100 : 100'000); ++i) request.push_back(std::to_string(i));
    Run(request);
  }
  EXPECT_LT(Ratio({"SORT", "many", "BY", "nosort", "LIMIT", "99990", "10"},
                  {"SORT", "few", "BY", "nosort", "LIMIT", "90", "10"}),
            50);
  // All are weighed, but only what is answered is put into order.
  EXPECT_LT(Ratio({"SORT", "many", "ALPHA", "LIMIT", "50000", "10"}, {"SORT", "many", "ALPHA"}),
            0.7);
}

TEST_F(WorstCases, ALongStringGrowsInPlace) {
  constexpr size_t kBytes = 64 << 20;
  Run({"SETRANGE", "text", std::to_string(kBytes - 1), "x"});
  const size_t before = engine().keyspace().memory_bytes();
  EXPECT_LT(Ratio({"APPEND", "text", "y"}, {"APPEND", "short", "y"}), 1000);
  EXPECT_EQ(last_, ":5\r\n");
  EXPECT_LT(engine().keyspace().memory_bytes(), before + 2 * TextBlock::kSlackMax);
}

TEST_F(WorstCases, WhatNobodyReadsIsNotMade) {
  FillSet("s", kMembers);
  FillSortedSet("z", kMembers);
  Fill("HSET", "h", kMembers, {"f"});
  const std::string most = std::to_string(-kRepeatedMax);
  client().Send({"CLIENT", "REPLY", "OFF"});
  for (const auto& [command, key] :
       {std::pair("SRANDMEMBER", "s"), {"HRANDFIELD", "h"}, {"ZRANDMEMBER", "z"}}) {
    EXPECT_LT(Ratio({command, key, most}, {command, key, "-10"}), 50) << command;
  }
}

TEST_F(WorstCases, RepetitionsHaveABound) {
  const std::string too_many = std::to_string(-kRepeatedMax - 1);
  Run({"SADD", "s", "a"});
  Run({"HSET", "h", "a", "b"});
  Run({"ZADD", "z", "1", "a"});
  for (const auto& [command, key] :
       {std::pair("SRANDMEMBER", "s"), {"HRANDFIELD", "h"}, {"ZRANDMEMBER", "z"}}) {
    EXPECT_EQ(Run({command, key, too_many}).ToText(), "-ERR value is out of range") << command;
  }
}

TEST_F(WorstCases, StringsHaveABoundWhateverIsAllowed) {
  Run({"CONFIG", "SET", "proto-max-bulk-len", "9223372036854775807"});
  const std::string kFar[] = {"9223372036854775800", std::to_string(TextBlock::kBytesMax)};
  for (const std::string& far : kFar) {
    EXPECT_EQ(Run({"SETRANGE", "k", far, "x"}).ToText(),
              "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  }
  const std::string kBits[] = {"9223372036854775800", std::to_string(8 * TextBlock::kBytesMax)};
  for (const std::string& bit : kBits) {
    constexpr const char* kRefusal = "-ERR bit offset is not an integer or out of range";
    EXPECT_EQ(Run({"SETBIT", "k", bit, "1"}).ToText(), kRefusal);
    EXPECT_EQ(Run({"BITFIELD", "k", "SET", "u8", bit, "1"}).ToText(), kRefusal);
  }
  EXPECT_EQ(Run({"EXISTS", "k"}).integer, 0);
}

TEST_F(WorstCases, PrefixesAreComparedWithTheirNeighboursAlone) {
  const auto prefixes = [](int count) {
    Request request = {"CLIENT", "TRACKING", "ON", "BCAST"};
    for (int i = 0; i < count; ++i) {
      request = std::move(request) + Request{"PREFIX", "p" + std::to_string(100'000 + i)};
    }
    return request;
  };
  Run({"HELLO", "3"});
  // The second time all of them overlap with what is there: that is told, too.
  EXPECT_LT(Ratio(prefixes(30'000), prefixes(1000)), 120) << "30 x the prefixes, not 900 x";
  // A change looks for its own prefixes, not through all.
  EXPECT_LT(Ratio({"SET", "p100500x", "1"}, {"GET", "p100500x"}), 50);
}

TEST_F(WorstCases, AnOptionThatIsAskedForAgainIsNotSoughtAgain) {
  EXPECT_LT(Ratio(Request{"CONFIG", "GET"} + Times(2000, "*"), {"CONFIG", "GET", "*"}), 100);
}

TEST_F(WorstCases, AHyperLogLogThatCannotBeOneIsNotCopied) {
  std::string text("HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80", 16);
  text.append(32 << 20, '\x80');
  Run({"SET", "log", text});
  EXPECT_LT(Ratio({"PFADD", "log", "a"}, {"PFADD", "other", "a"}), 100);
}

}  // namespace
}  // namespace sluice
