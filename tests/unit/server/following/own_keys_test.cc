// The keys that no Redis can hold are found, a slice at a time.
#include "server/following/own_keys.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class OwnKeysTest : public EngineFixture {
 protected:
  using Names = std::set<std::pair<int, std::string>>;

  OwnKeysTest() {
    for (int i = 0; i < 3000; ++i) Run({"SET", "key" + std::to_string(i), "value"});
    for (int i = 0; i < 20; ++i) {
      const std::string name = std::to_string(i);
      Run({"LOCK.ACQUIRE", "lock" + name, "me", "LEASE", "100000"});
      own_.emplace(0, "lock" + name);
    }
    Run({"SELECT", "3"});
    Run({"LIMIT.TAKE", "limit", "WINDOW", "5", "100000"});
    Run({"LIMIT.TAKE", "bucket", "LEAKY", "5", "100000"});
    own_.insert({{3, "limit"}, {3, "bucket"}});
  }
  Keyspace& keyspace() { return engine().part<Keyspace>(); }

  Names own_;
  OwnKeys keys_;
};

TEST_F(OwnKeysTest, FindsEachOnceInSlices) {
  Names found;
  int slices = 1;
  const OwnKeys::Visit visit = [&](int db, std::string_view key) {
    EXPECT_TRUE(found.emplace(db, key).second) << key;
    return true;
  };
  while (!keys_.Slice(keyspace(), visit)) ++slices;
  EXPECT_EQ(found, own_);
  EXPECT_GT(slices, 4);
}

TEST_F(OwnKeysTest, GoesOverASliceAgainThatHasToWait) {
  Names found;
  int refused = 0;
  const OwnKeys::Visit visit = [&](int db, std::string_view key) {
    if (++refused % 2 == 1) return false;
    found.emplace(db, key);
    keyspace().db(db).Delete(keyspace().Hash(key), engine().now());
    return true;
  };
  while (!keys_.Slice(keyspace(), visit)) {
  }
  EXPECT_EQ(found, own_);
}

}  // namespace
}  // namespace sluice
