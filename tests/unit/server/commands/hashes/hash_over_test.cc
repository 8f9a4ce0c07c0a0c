// A hash of which every field has ended is gone from that moment on, to every command alike,
// though it may still lie there: because nothing may be removed, because nobody has met it, or
// because its many fields are still being freed.
//
// The property: a server that has such a hash answers every request that names it, and what
// follows, as one that never had it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/dispatch/command_table.h"
#include "server/dispatch/effects/effects.h"
#include "server/observe/statistics.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using Words = std::vector<std::string>;

// Why the hash that is over is still there.
enum class Stays { kNobodyHasMetIt, kNothingMayBeRemoved };

class HashOver : public testing::TestWithParam<Stays> {
 protected:
  HashOver() {
    for (TestClient* admin : {&admin_, &other_admin_})
      admin->Run({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
  }

  // One has the hash, of two kinds of deadlines; the other has nothing.
  void Begin() {
    with_.engine().keyspace().set_expiry_allowed(true);
    for (TestClient* admin : {&admin_, &other_admin_}) {
      admin->Run({"FLUSHALL"});
      admin->Run({"SET", "other", "text"});
    }
    admin_.Run({"HSET", "k", "a", "1", "b", "2", "c", "3"});
    admin_.Run({"HPEXPIRE", "k", "50", "FIELDS", "2", "a", "b"});
    admin_.Run({"HPEXPIREAT", "k", std::to_string(with_.now().unix_ms() + 70), "FIELDS", "1", "c"});
    for (TestEngine* engine : {&with_, &without_}) engine->AdvanceTime(70);
    ASSERT_EQ(with_.engine().keyspace().db(0).size(), 2u);
    if (GetParam() == Stays::kNothingMayBeRemoved)
      with_.engine().keyspace().set_expiry_allowed(false);
  }

  // The bytes that a new client of it gets.
  static std::string Answer(TestEngine& engine, const std::vector<Words>& requests) {
    TestClient& client = engine.Connect();
    for (const Words& request : requests) client.Send(request);
    std::string bytes = client.TakeBytes();
    client.Disconnect();
    return bytes;
  }

  void ExpectAlike(const std::vector<Words>& requests) {
    Begin();
    std::string text;
    for (const Words& request : requests)
      for (const std::string& word : request) text += word + ' ';
    const std::string answer = Answer(with_, requests);
    // It goes, and counts, as in redis-server.
    const std::string& name = requests[0][0];
    const bool goes = GetParam() == Stays::kNothingMayBeRemoved &&
                      (name == "del" || name == "unlink" || name == "UNLINK");
    const std::string answer_without = Answer(without_, requests);
    if (!goes) {
      EXPECT_EQ(answer, answer_without) << text;
    }
    const std::vector<Words> after = {{"EXISTS", "k"}, {"TYPE", "k"}, {"DUMP", "k"},
                                      {"KEYS", "*"},   {"SCAN", "0"}, {"SELECT", "1"},
                                      {"KEYS", "*"}};
    EXPECT_EQ(Answer(with_, after), Answer(without_, after)) << "after " << text;
  }

  TestEngine with_;
  TestEngine without_;
  TestClient& admin_ = with_.Connect();
  TestClient& other_admin_ = without_.Connect();
};

// Every row of the table with its key and a few words, which make some sense to many.
TEST_P(HashOver, EveryCommandSaysTheSame) {
  const std::span<const Command* const> all = with_.engine().part<CommandTable>().all();
  const std::vector<Words> rests = {
      {"1", "2", "3"}, {"a", "b", "c"}, {"other", "k", "x"}, {"0", "9", "1"}, {"f", "1", "g", "2"}};
  size_t tried = 0;
  for (const Command* const command : all) {
    if (command->first_key != 1) continue;
    for (const Words& rest : rests) {
      const size_t most = command->spec->arity < 0 ? rest.size() + 2 : command->spec->arity;
      const size_t least = std::max<size_t>(2, std::abs(command->spec->arity));
      for (size_t words = least; words <= most && words <= rest.size() + 2; ++words) {
        Words request = {command->full_name, "k"};
        request.insert(request.end(), rest.begin(),
                       rest.begin() + static_cast<ptrdiff_t>(words - 2));
        ExpectAlike({request});
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 500u);
}

TEST_P(HashOver, SoDoTheseWithOptions) {
  other_admin_.Run({"SET", "x", "y"});
  const std::string dump = other_admin_.Run({"DUMP", "x"}).text;
  const std::vector<std::vector<Words>> cases = {
      {{"KEYS", "*"}},
      {{"SCAN", "0"}},
      {{"SCAN", "0", "TYPE", "hash"}},
      {{"DEL", "other"}, {"RANDOMKEY"}},
      {{"SET", "k", "v", "NX"}},
      {{"SET", "k", "v", "XX"}},
      {{"SET", "k", "v", "GET"}},
      {{"MSETNX", "k", "1", "x", "2"}},
      {{"RENAME", "k", "x"}},
      {{"RENAMENX", "other", "k"}},
      {{"COPY", "k", "x"}},
      {{"COPY", "other", "k"}},
      {{"MOVE", "k", "1"}},
      {{"SELECT", "1"}, {"SET", "k", "1"}, {"MOVE", "k", "0"}},
      {{"SWAPDB", "0", "1"}, {"SELECT", "1"}, {"EXISTS", "k"}},
      {{"RESTORE", "k", "0", dump}},
      {{"OBJECT", "ENCODING", "k"}},
      {{"OBJECT", "IDLETIME", "k"}},
      {{"MEMORY", "USAGE", "k"}},
      {{"EXISTS", "k", "k", "other"}},
      {{"TOUCH", "k"}},
      {{"UNLINK", "k", "other"}},
      {{"WATCH", "k"}, {"MULTI"}, {"PING"}, {"EXEC"}},
      {{"MULTI"}, {"HSET", "k", "f", "v"}, {"HGETALL", "k"}, {"EXEC"}},
      {{"EVAL", "return {redis.call('exists', 'k'), redis.call('hlen', 'k')}", "1", "k"}},
      {{"SORT", "k"}},
      {{"SORT", "other", "BY", "k->f"}},
      {{"LMPOP", "1", "k", "LEFT"}},
      {{"ZUNIONSTORE", "k", "1", "k"}},
      {{"SUNION", "k"}},
      {{"PFCOUNT", "k"}},
      {{"DEBUG", "DIGEST"}},
      {{"HSET", "k", "a", "new"}, {"HGETALL", "k"}, {"HTTL", "k", "FIELDS", "1", "a"}},
      {{"HSETNX", "k", "a", "new"}, {"HLEN", "k"}},
      {{"HINCRBY", "k", "a", "5"}},
      {{"HRANDFIELD", "k"}, {"HRANDFIELD", "k", "5"}},
      {{"HPERSIST", "k", "FIELDS", "1", "a"}},
      {{"HPEXPIRE", "k", "9", "FIELDS", "1", "a"}},
      {{"HGETEX", "k", "PERSIST", "FIELDS", "1", "a"}},
      {{"HGETDEL", "k", "FIELDS", "1", "a"}},
      {{"FENCED", "k", "1", "GET", "k"}},
      {{"LOCK.ACQUIRE", "k", "me", "LEASE", "1000"}},
      {{"LIMIT.TAKE", "k", "FIXED", "5", "1000"}},
  };
  for (const std::vector<Words>& requests : cases) ExpectAlike(requests);
}

INSTANTIATE_TEST_SUITE_P(Stays, HashOver,
                         testing::Values(Stays::kNobodyHasMetIt, Stays::kNothingMayBeRemoved));

class LargeHashOver : public EngineFixture, private EffectSink {
 protected:
  LargeHashOver() { engine().part<Effects>().set_sink(kToLog, this); }
  ~LargeHashOver() override { engine().part<Effects>().set_sink(kToLog, nullptr); }

  static constexpr size_t kFields = 100'000;
  // Fields that end together; with `stays`, one that does not.
  void Make(bool stays) {
    for (size_t at = 0; at < kFields; at += 1000) {
      Words set = {"HSETEX", "h", "PX", "10", "FIELDS", "1000"};
      for (size_t i = at; i < at + 1000; ++i)
        set.insert(set.end(), {"field:" + std::to_string(i), "v"});
      Run(set);
    }
    if (stays) Run({"HSET", "h", "stays", "1"});
    effects_.clear();
  }
  size_t fields_expired() { return engine().statistics().expired_fields; }

  std::vector<std::string> effects_;

 private:
  void Effect(int, Args command, EffectTime) override {
    std::string line;
    for (const std::string_view word : command)
      line += (line.empty() ? "" : " ") + std::string(word);
    effects_.push_back(line);
  }
  void GroupBegin() override {}
  void GroupEnd() override {}
};

TEST_F(LargeHashOver, GoesAtOnceAndIsFreedInSlices) {
  Make(false);
  server().clock().Advance(10);
  server().Turn();
  EXPECT_EQ(engine().keyspace().db(0).size(), 0u);
  EXPECT_EQ(engine().keyspace().values_to_free(), 1u);
  EXPECT_EQ(fields_expired(), kFields);
  EXPECT_EQ(effects_, std::vector<std::string>{"DEL h"});
  EXPECT_EQ(Line("EXISTS h").integer, 0);
  server().Settle();
  EXPECT_EQ(engine().keyspace().waiting_to_be_freed(), 0u);
}

// Fields end in slices beside one that stays; what is left of them is in no answer.
TEST_F(LargeHashOver, IsCountedOnceWhileItsFieldsGo) {
  Make(true);
  server().clock().Advance(10);
  size_t turns = 0;
  for (; fields_expired() < kFields; ++turns) {
    ASSERT_LT(turns, kFields);
    server().Turn();
    if (turns % 100 != 0) continue;
    EXPECT_EQ(Line("HLEN h").integer, 1);
    EXPECT_EQ(Line("HRANDFIELD h").text, "stays");
  }
  EXPECT_GT(turns, 10u);
  // Without its last live field it is gone, whatever is left of the others.
  Make(false);
  Run({"HSET", "h", "stays", "1"});
  server().clock().Advance(10);
  EXPECT_EQ(Line("HDEL h stays").integer, 1);
  EXPECT_EQ(Line("EXISTS h").integer, 0);
  EXPECT_EQ(Line("SET h text NX").ToText(), "+OK");
}

}  // namespace
}  // namespace sluice
