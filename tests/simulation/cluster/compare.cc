// See compare.h.
#include "tests/simulation/cluster/compare.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "storage/time/clock.h"
#include "tests/simulation/contents.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kLateMax = 40 * kMs;  // a minute's drift, and more than the shortest delay
// A replica's clock gains on its master's by 400 ppm at most, as each may be wrong by 200, from one
// heartbeat to the next: 12 s, as one may be left out that comes a second behind other bytes, where
// PINGs are 10 s apart. Where clocks are wild each is wrong by 5 %.
constexpr int64_t kAheadMax = 5 * kMs;
constexpr int64_t kWildMax = 7 * kSecond;

std::string FieldOf(TestClient& client, const std::string& name) {
  const std::string info = "\n" + client.Run({"INFO", "ALL"}).text;
  const size_t at = info.find("\n" + name + ":");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return info.substr(begin, info.find('\r', begin) - begin);
}

// Whether it ends now, as far as two clocks can tell: "… until engine 59548".
bool EndsNow(const std::string& text, const Now& now, int64_t apart) {
  const auto ends_near = [&](const std::string& word, int64_t now_ms) {
    const size_t at = text.rfind(word);
    if (at == text.npos) return false;
    return std::abs(std::stoll("0" + text.substr(at + word.size())) - now_ms) <= apart / kMs;
  };
  return ends_near(" until engine ", now.ms()) || ends_near(" until unix ", now.unix_ms());
}

// A HyperLogLog without the count that it keeps: PFCOUNT of a client writes it on a replica, too,
// as in Redis.
std::string WithoutKeptCount(std::string text) {
  constexpr size_t kCountAt = 8;
  constexpr size_t kCountBytes = 8;
  if (text.starts_with("HYLL") && text.size() >= kCountAt + kCountBytes)
    text.erase(kCountAt, kCountBytes);
  return text;
}

void CompareContents(const Contents& master, const Contents& replica, const Now& now,
                     int64_t apart) {
  for (const auto& [key, text] : master) {
    const auto found = replica.find(key);
    if (found == replica.end()) {
      if (EndsNow(text, now, apart)) continue;
      ADD_FAILURE() << "the replica lacks " << key.second << ": " << text;
    } else {
      EXPECT_EQ(WithoutKeptCount(found->second), WithoutKeptCount(text)) << "of " << key.second;
    }
  }
  for (const auto& [key, text] : replica)
    EXPECT_TRUE(master.contains(key) || EndsNow(text, now, apart))
        << "the replica alone has " << key.second << ": " << text;
}

// A replica's engine time is its master's, late by the shortest delay of a minute, where clocks are
// no more wrong than it counts on.
void CompareTimes(Machine& master, Machine& replica, bool wildly) {
  master.PassTime();
  replica.PassTime();
  const int64_t late = master.engine().now().steady_us - replica.engine().now().steady_us;
  EXPECT_GE(late, wildly ? -kWildMax : -kAheadMax) << "the replica is ahead";
  EXPECT_LE(late, wildly ? kWildMax : kLateMax);
}

}  // namespace

size_t ExpectSame(Machine& master, Machine& replica, bool wildly) {
  if (!master.is_up() || !replica.is_up()) {
    ADD_FAILURE() << "a server is down";
    return 0;
  }
  CompareTimes(master, replica, wildly);
  TestClient& of_master = master.engine().Connect();
  TestClient& of_replica = replica.engine().Connect();
  EXPECT_EQ(FieldOf(of_master, "role"), "master");
  EXPECT_EQ(FieldOf(of_replica, "master_host"), master.name());
  EXPECT_EQ(FieldOf(of_replica, "master_link_status"), "up");
  EXPECT_EQ(FieldOf(of_replica, "master_replid"), FieldOf(of_master, "master_replid"));
  EXPECT_EQ(FieldOf(of_replica, "unexpected_error_replies"), "0");
  const Contents contents = ContentsOf(master.engine());
  CompareContents(contents, ContentsOf(replica.engine()), master.engine().now(),
                  wildly ? kWildMax : 0);
  for (const char* const asked : {"FUNCTION LIST WITHCODE", "LIMIT.POLICY LIST"})
    EXPECT_EQ(of_replica.Line(asked).ToText(), of_master.Line(asked).ToText()) << asked;
  return contents.size();
}

}  // namespace sluice::cluster
