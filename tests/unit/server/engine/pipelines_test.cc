// A pipeline answers as its requests do one by one. A batch of it is looked up before the first of
// them runs (server/engine/batch.h), and what that has found is handed on: so here keys that were
// found change their place, their database or their name, go, and come back, until then.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_writer.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using Words = std::vector<std::string>;

// Few keys, so that most requests are of one that another has just touched.
class AnyRequests {
 public:
  explicit AnyRequests(uint64_t seed) : random_(seed) {}

  Words Next() {
    const std::string key = AnyKey(), other = AnyKey();
    switch (Pick(24)) {
      case 0:
      case 1:
        return {"SET", key, std::string(Pick(200), 'x')};
      case 2:
        return {"SET", key, std::to_string(Pick(1000)), "PX", "100000"};
      case 3:
        return {"SET", key, "owner", "NX", "PX", "1000"};
      case 4:
        return {"APPEND", key, std::string(Pick(100), 'y')};
      case 5:
        return {"DEL", key, other};
      case 6:
        return {"GETDEL", key};
      case 7:
        return {"RENAME", key, other};
      case 8:
        return {"MOVE", key, std::to_string(Pick(3))};
      case 9:
        return {"COPY", key, other, "REPLACE"};
      case 10:
        return {"SELECT", std::to_string(Pick(3))};
      case 11:
        return {"SWAPDB", std::to_string(Pick(3)), std::to_string(Pick(3))};
      case 12:
        return Pick(4) == 0 ? Words{"FLUSHALL", Pick(2) ? "ASYNC" : "SYNC"} : Words{"FLUSHDB"};
      case 13:
        return {"PEXPIRE", key, std::to_string(Pick(3) * 1000)};  // 0 deletes it
      case 14:
        return {"PERSIST", key};
      case 15:
        return {"EVAL",
                "redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[2], ARGV[1]) "
                "return redis.call('GET', KEYS[1])",
                "2",
                key,
                other,
                std::string(Pick(60), 'z')};
      case 16:
        return {"INCR", key};
      case 17:
        return {"LIMIT.TAKE", "limit:" + key, "GCRA", "10", "1000"};
      case 18:
        return {"RPUSH", "list:" + key, "element"};
      default:
        return {"GET", key};
    }
  }

 private:
  uint64_t Pick(uint64_t below) { return random_() % below; }
  std::string AnyKey() { return "key:" + std::to_string(Pick(12)); }

  std::mt19937_64 random_;
};

TEST(Pipelines, AnswerAsTheirRequestsOneByOne) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestEngine together, apart;
    TestClient& pipelined = together.Connect();
    TestClient& patient = apart.Connect();
    AnyRequests any(seed);
    for (int batch = 0; batch < 20; ++batch) {
      std::string bytes;
      std::vector<Words> requests;
      for (int i = 0; i < 64; ++i) {
        requests.push_back(any.Next());
        const Words& words = requests.back();
        const std::vector<std::string_view> views(words.begin(), words.end());
        AppendRequest(bytes, views);
      }
      pipelined.SendBytes(bytes);
      for (const Words& request : requests) {
        const std::optional<Reply> reply = pipelined.Next();
        ASSERT_TRUE(reply);
        ASSERT_EQ(reply->ToText(), patient.Run(request).ToText())
            << request[0] << " " << request[1] << ", seed " << seed << ", batch " << batch;
      }
      together.AdvanceTime(300);
      apart.AdvanceTime(300);
    }
  }
}

}  // namespace
}  // namespace sluice
