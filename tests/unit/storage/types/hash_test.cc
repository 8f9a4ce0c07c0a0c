// Hash against a std::map under random changes while time goes on; its forms and their sizes.
#include "storage/types/hash.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice {
namespace {

struct Field {
  std::string value;
  Deadline deadline;
};
using HashModel = std::map<std::string, Field>;

std::map<std::string, std::string> Live(const HashModel& model, const Now& now) {
  std::map<std::string, std::string> live;
  for (const auto& [name, field] : model) {
    if (!field.deadline.Passed(now)) live.emplace(name, field.value);
  }
  return live;
}

std::map<std::string, std::string> Live(const Hash& hash, const Now& now) {
  std::map<std::string, std::string> live;
  hash.ForEach(
      now, [&live](std::string_view name, std::string_view value) { live.emplace(name, value); });
  return live;
}

// One history: random changes while time goes on and the wall clock jumps.
class History {
 public:
  History(uint64_t seed, int names, bool timed)
      : random_(seed),
        names_(names),
        timed_(timed),
        hash_keys_(SipKey{seed}),
        limits_{40, 16, &hash_keys_} {
    now_.unix_offset_ms = 1'000'000;
  }

  void Step() {
    const std::string name = "field:" + std::to_string(random_() % names_);
    switch (random_() % (timed_ ? 9 : 5)) {
      case 0:
        return Erase(name);
      case 5:
      case 6:
        return SetDeadline(name);
      case 7:
        now_.steady_us += static_cast<int64_t>(random_() % 5000);
        return;
      case 8:
        return random_() % 10 == 0 ? Jump() : TakeExpired();
      default:
        return Set(name);
    }
  }

  void Check() const {
    ASSERT_EQ(hash_.Audit(), "");
    const auto live = Live(model_, now_);
    ASSERT_EQ(Live(hash_, now_), live);
    ASSERT_EQ(hash_.CountLive(now_), live.size());
    ASSERT_EQ(hash_.size(), model_.size());
    int64_t next = Value::kNever;
    for (const auto& [name, field] : model_) {
      if (field.deadline.none()) continue;
      next = std::min(next, now_.ms() + field.deadline.LeftMs(now_));
    }
    ASSERT_EQ(hash_.NextDueMs(now_), next);
    const auto copy = hash_.Clone();
    ASSERT_EQ(Live(static_cast<const Hash&>(*copy), now_), live);
    ASSERT_EQ(copy->Encoding(), hash_.Encoding());
    size_t sampled = 0;
    Random random(1);
    hash_.Sample(7, random, now_, [&](std::string_view name, std::string_view value) {
      ++sampled;
      ASSERT_EQ(live.at(std::string(name)), value);
    });
    ASSERT_EQ(sampled, std::min<size_t>(7, live.size()));
  }

 private:
  bool IsLive(const std::string& name) const {
    const auto found = model_.find(name);
    return found != model_.end() && !found->second.deadline.Passed(now_);
  }
  void Set(const std::string& name) {
    const std::string value(random_() % 12, 'v');
    const bool keep = random_() % 2 == 0;
    const bool was = IsLive(name);
    const Deadline kept = was && keep ? model_[name].deadline : Deadline::None();
    model_[name] = {value, kept};
    ASSERT_EQ(hash_.Set(name, value, limits_, now_, keep ? Hash::Ttl::kKeep : Hash::Ttl::kClear),
              !was);
    FieldValue found;
    ASSERT_TRUE(hash_.Get(name, now_, found));
    ASSERT_EQ(found.text, value);
    ASSERT_EQ(found.deadline, kept);
  }
  void Erase(const std::string& name) {
    const bool was = IsLive(name);
    if (was) model_.erase(name);
    ASSERT_EQ(hash_.Erase(name, now_), was);
    ASSERT_FALSE(hash_.Has(name, now_));
  }
  void SetDeadline(const std::string& name) {
    if (!IsLive(name)) return;
    const auto ms = static_cast<int64_t>(random_() % 20);
    const Deadline kinds[] = {Deadline::None(), Deadline::Steady(now_.ms() + ms),
                              Deadline::Unix(now_.unix_ms() + ms)};
    model_[name].deadline = kinds[random_() % 3];
    hash_.SetDeadline(name, model_[name].deadline, limits_);
  }
  void Jump() { now_.unix_offset_ms += static_cast<int64_t>(random_() % 20) - 10; }
  void TakeExpired() {
    hash_.TakeExpired(now_, random_() % 4, [this](std::string_view name, std::string_view value) {
      const auto found = model_.find(std::string(name));
      ASSERT_NE(found, model_.end());
      ASSERT_TRUE(found->second.deadline.Passed(now_));
      ASSERT_EQ(found->second.value, value);
      model_.erase(found);
    });
  }

  Random random_;
  Hash hash_;
  const int names_;
  const bool timed_;
  HashKeys hash_keys_;
  const Hash::Limits limits_;
  Now now_;
  HashModel model_;
};

TEST(Hash, BehavesAsAMap) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    History history(seed, seed % 2 == 0 ? 30 : 2000, seed % 3 != 0);
    for (int step = 0; step < 3000; ++step) {
      history.Step();
      if (step % 100 == 0) history.Check();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " step " << step;
    }
    history.Check();
  }
}

TEST(Hash, KeepsTheOrderWhileItIsAPack) {
  Hash hash;
  HashKeys hash_keys(SipKey{1});
  const Hash::Limits limits{.hash_keys = &hash_keys};
  const Now now;
  for (const char* name : {"c", "a", "b"}) hash.Set(name, "1", limits, now);
  hash.Set("a", "longer than before", limits, now);
  hash.Erase("c", now);
  hash.Set("c", "2", limits, now);
  std::vector<std::string> names;
  hash.ForEach(now,
               [&names](std::string_view name, std::string_view) { names.emplace_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(hash.Encoding(), "listpack");
}

TEST(Hash, IsCompactWhileItIsAPack) {
  Hash hash;
  for (int i = 0; i < 10; ++i) {
    hash.Set("element:00000000000" + std::to_string(i), std::to_string(999'990 + i), {}, {});
  }
  EXPECT_EQ(hash.MemoryBytes(), 32u + 256u);  // 10 x (21 + 4) bytes
}

TEST(Hash, IsFreedInSlicesItsTimesToo) {
  Hash hash;
  HashKeys hash_keys(SipKey{1});
  const Hash::Limits limits{.hash_keys = &hash_keys};
  for (int i = 0; i < 3000; ++i) {
    hash.Set(std::to_string(i), "v", limits, {});
    hash.SetDeadline(std::to_string(i), Deadline::Steady(1000 + i), limits);
  }
  size_t before = hash.MemoryBytes();
  while (const size_t freed = hash.FreeSome(100)) {
    EXPECT_LE(freed, 100u);
    EXPECT_LT(hash.MemoryBytes(), before);
    before = hash.MemoryBytes();
  }
  EXPECT_EQ(hash.Elements(), 0u);
}

}  // namespace
}  // namespace sluice
