// SCAN, HSCAN, SSCAN and ZSCAN from outside: what stays is given exactly once while others come and
// go, and cursors are numbers that every client and script can hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "storage/keyspace/scan_order.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

struct Kind {
  const char* scan;
  bool of_keys;                  // the command has no key
  size_t each;                   // elements of the reply to one of the collection
  std::vector<std::string> put;  // before the element
  std::vector<std::string> value;
  std::vector<std::string> remove;
};

const Kind kKinds[] = {
    {"SCAN", true, 1, {"SET"}, {"v"}, {"DEL"}},
    {"HSCAN", false, 2, {"HSET", "k"}, {"v"}, {"HDEL", "k"}},
    {"SSCAN", false, 1, {"SADD", "k"}, {}, {"SREM", "k"}},
    {"ZSCAN", false, 2, {"ZADD", "k", "1"}, {}, {"ZREM", "k"}},
};

class ScansTest : public EngineFixture, public testing::WithParamInterface<Kind> {
 protected:
  // Puts elements and takes others out, all in one pipeline.
  void Change(const std::vector<std::string>& put, const std::vector<std::string>& removed) {
    std::string bytes;
    const auto add = [&bytes](std::vector<std::string> request, const std::string& element,
                              const std::vector<std::string>& rest) {
      request.push_back(element);
      request.insert(request.end(), rest.begin(), rest.end());
      bytes += "*" + std::to_string(request.size()) + "\r\n";
      for (const std::string& word : request)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    };
    for (const std::string& element : put) add(GetParam().put, element, GetParam().value);
    for (const std::string& element : removed) add(GetParam().remove, element, {});
    client().SendBytes(bytes);
    client().TakeBytes();
  }
  // One call; the next cursor. Counts the elements in `given`.
  std::string Call(const std::string& cursor, size_t count, std::map<std::string, int>& given) {
    std::vector<std::string> request = {GetParam().scan};
    if (!GetParam().of_keys) request.emplace_back("k");
    request.insert(request.end(), {cursor, "COUNT", std::to_string(count)});
    const Reply reply = Run(request);
    const auto& elements = reply.elements[1].elements;
    for (size_t i = 0; i < elements.size(); i += GetParam().each) ++given[elements[i].text];
    in_call_ = elements.size() / GetParam().each;
    return reply.elements[0].text;
  }
  size_t in_call_ = 0;
};

std::vector<std::string> Names(const std::string& prefix, int from, int to) {
  std::vector<std::string> names;
  for (int i = from; i < to; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

TEST_P(ScansTest, GivesWhatStaysOnceWhileOthersComeAndGo) {
  Random random(7);
  constexpr int kStable = 1200;
  constexpr int kPassing = 4000;
  Change(Names("stable:", 0, kStable), {});
  for (int round = 0; round < 3; ++round) {
    std::map<std::string, int> given;
    std::string cursor = "0";
    do {
      cursor = Call(cursor, 10 + random() % 60, given);
      EXPECT_LT(std::stoull(cursor), 4u * (kStable + kPassing));
      switch (random() % 6) {
        case 0:
          Change(Names("passing:", 0, kPassing), {});
          break;
        case 1:
          Change({}, Names("passing:", 0, kPassing));
          break;
        default:
          const int some = static_cast<int>(random() % kPassing);
          Change(Names("passing:", some, some + 30), Names("passing:", some + 30, some + 60));
      }
    } while (cursor != "0");
    for (const std::string& name : Names("stable:", 0, kStable)) EXPECT_EQ(given[name], 1) << name;
  }
}

TEST_P(ScansTest, CursorsFitAnIntAndGoThroughLua) {
  constexpr int kElements = 3000;
  Change(Names("element:", 0, kElements), {});
  std::map<std::string, int> given;
  std::string cursor = "0";
  do {
    cursor = Call(cursor, 10, given);
    EXPECT_GE(in_call_, cursor == "0" ? 0u : 10u);
    EXPECT_LE(in_call_, 10 + PageSlack(10));
    EXPECT_LT(std::stoull(cursor), 4u * kElements);
    EXPECT_EQ(Run({"EVAL", "return tostring(tonumber(ARGV[1]))", "0", cursor}).text, cursor);
  } while (cursor != "0");
  EXPECT_EQ(given.size(), static_cast<size_t>(kElements));
}

TEST_P(ScansTest, EveryNumberIsACursor) {
  Change(Names("element:", 0, 2000), {});
  Random random(9);
  std::map<std::string, int> given;
  for (int i = 0; i < 300; ++i) {
    std::string cursor = std::to_string(random() >> (i % 64));
    for (int calls = 0; (cursor = Call(cursor, 100, given)) != "0"; ++calls) ASSERT_LT(calls, 25);
  }
  for (const char* cursor : {"18446744073709551615", "-1", "9223372036854775808", "1099511627776"})
    EXPECT_LT(std::stoull(Call(cursor, 10, given)), 4u * 2000);
  std::vector<std::string> request = {GetParam().scan};
  if (!GetParam().of_keys) request.emplace_back("k");
  request.emplace_back("18446744073709551616");
  EXPECT_EQ(Run(request).ToText(), "-ERR invalid cursor");
}

// Sizes around those at which a value becomes another one, and pages of any COUNT. A value that
// Redis gives whole (a listpack, an intset) is given whole.
TEST_P(ScansTest, PagesHoldAboutCountWhateverTheSize) {
  const uint64_t seed = FirstSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  Random random(seed);
  Run({"CONFIG", "SET", "hash-max-listpack-entries", "64", "zset-max-listpack-entries", "64"});
  constexpr int kPassing = 200;
  for (int round = 0; round < 120; ++round) {
    Run({"FLUSHALL"});
    const int stable = 1 + static_cast<int>(random() % (round % 3 == 0 ? 2000 : 200));
    const size_t count = 1 + random() % (round % 2 == 0 ? 500 : 60);
    SCOPED_TRACE("size " + std::to_string(stable) + ", COUNT " + std::to_string(count));
    Change(Names("stable:", 0, stable), {});
    std::map<std::string, int> given;
    std::string cursor = "0";
    bool grew = false;
    do {
      const bool whole = !GetParam().of_keys && Run({"OBJECT", "ENCODING", "k"}).text == "listpack";
      cursor = Call(cursor, count, given);
      if (whole) {
        ASSERT_EQ(cursor, "0");
      } else {
        ASSERT_LE(in_call_, count + PageSlack(count));
      }
      ASSERT_GE(in_call_, cursor == "0" ? 0 : count);
      if (cursor == "0") break;
      const int some = static_cast<int>(random() % kPassing);
      grew |= some % 4 == 0;
      some % 4 == 0 ? Change(Names("passing:", some, some + 20), {})
                    : Change({}, Names("passing:", some, some + 20));
    } while (true);
    // A set that becomes large in the middle of a walk may give again what it gave when small.
    const bool may_repeat = grew && std::string(GetParam().scan) == "SSCAN" && stable <= 128;
    for (const std::string& name : Names("stable:", 0, stable)) {
      ASSERT_GE(given[name], 1) << name;
      if (!may_repeat) {
        ASSERT_EQ(given[name], 1) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScansTest, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.scan); });

}  // namespace
}  // namespace sluice
