// Words whose number nobody has checked reach no function that looks into a request. Every row,
// with none to five words behind its name, comes in at every entrance: of each, positions of keys
// and channels lie inside the words, and no answer shows a word of another client's request, which
// stood in the same place before.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "server/commands/families.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr size_t kWordsMax = 5;
constexpr std::string_view kSecret = "ANOTHER-CLIENTS-WORD";
constexpr std::string_view kWords[] = {
    "k",     "w",    "1",    "0",   "2",     "-1",     "",      "*",       "STORE",  "STOREDIST",
    "LIMIT", "BY",   "GET",  "SET", "COUNT", "NOACK",  "GROUP", "STREAMS", "BLOCK",  "FIELDS",
    "KEYS",  "IFEQ", "IFNE", "NX",  "XX",    "POLICY", "PEEK",  "COST",    "WINDOW", "FENCED"};

using WordList = std::vector<std::string>;

// The names of all rows, subcommands with their container.
std::vector<WordList> AllNames(const CommandTable& table) {
  std::vector<WordList> names;
  for (const Command* command : table.all()) {
    names.push_back({std::string(command->spec->name)});
    for (const Command* sub : command->subcommands) {
      names.push_back({std::string(command->spec->name), std::string(sub->spec->name)});
    }
  }
  return names;
}

WordList With(WordList words, size_t more, std::mt19937_64& random) {
  for (; more > 0; --more) words.emplace_back(kWords[random() % std::size(kWords)]);
  return words;
}

// Words behind which lie others that may not be looked at.
class GuardedWords {
 public:
  explicit GuardedWords(const WordList& words) : count_(words.size()) {
    views_.assign(words.begin(), words.end());
    views_.resize(count_ + 16, std::string_view(reinterpret_cast<const char*>(8), 8));
  }
  Args args() const { return {views_.data(), count_}; }

 private:
  size_t count_;
  std::vector<std::string_view> views_;
};

TEST(UncheckedWords, PositionsLieInsideTheRequest) {
  const CommandTable table(AllFamilies());
  std::mt19937_64 random(TestSeed(1));
  size_t requests = 0;
  for (const WordList& name : AllNames(table)) {
    for (int round = 0; round < 40; ++round) {
      WordList words = With(name, round % (kWordsMax + 1), random);
      if (round >= 30) words.insert(words.begin(), {"FENCED", "lock", "1"});
      const GuardedWords guarded(words);
      const std::optional<Request> request = table.Check(guarded.args());
      if (!request) {
        EXPECT_FALSE(table.TextOf(table.WhyNot(guarded.args())).empty());
        continue;
      }
      ++requests;
      std::vector<KeyUse> keys;
      FindKeys(*request, keys);
      for (const KeyUse& key : keys) {
        EXPECT_GT(key.position, 0);
        EXPECT_LT(static_cast<size_t>(key.position), words.size());
      }
      const Request innermost = request->inner().value_or(*request);
      EXPECT_LT(static_cast<size_t>(innermost.command.spec->channels.begin), innermost.args.size());
      if (innermost.command.spec->key_flags) innermost.command.spec->key_flags(innermost);
    }
  }
  EXPECT_GT(requests, 1000u);
}

class UncheckedWordsEverywhere : public testing::Test {
 protected:
  // None of what is sent runs: its token is one that was never given.
  static std::vector<WordList> EntrancesOf(const WordList& words) {
    std::vector<WordList> all;
    const auto add = [&all](WordList front, const WordList& back) {
      front.insert(front.end(), back.begin(), back.end());
      all.push_back(std::move(front));
    };
    WordList fenced = {"FENCED", "lock", "9"};
    fenced.insert(fenced.end(), words.begin(), words.end());
    for (const WordList& request : {words, fenced}) {
      add({"COMMAND", "GETKEYS"}, request);
      add({"COMMAND", "GETKEYSANDFLAGS"}, request);
      add({"ACL", "DRYRUN", "few"}, request);
      add({"ACL", "DRYRUN", "default"}, request);
      add({"EVAL", "return redis.acl_check_cmd(unpack(ARGV))", "0"}, request);
    }
    add({}, fenced);
    add({"EVAL", "return redis.call(unpack(ARGV))", "0"}, fenced);
    return all;
  }

  // Where the words of `client` come to lie stood those of another client.
  void Ask(TestClient& client, const WordList& request) {
    WordList others(64, std::string(kSecret));
    others[0] = "PING";
    other_.Send(others);
    other_.TakeBytes();
    client.Send(request);
    const std::string answer = client.TakeBytes();
    EXPECT_EQ(answer.find(kSecret), std::string::npos) << answer;
    EXPECT_FALSE(answer.empty() && !client.closed()) << testing::PrintToString(request);
  }

  // Each row at each entrance, and in a queue that is not run.
  void AskAll(const std::string& user) {
    const CommandTable table(AllFamilies());
    std::mt19937_64 random(TestSeed(2));
    for (const WordList& name : AllNames(table)) {
      for (size_t more = 0; more <= kWordsMax; ++more) {
        const WordList words = With(name, more, random);
        TestClient& client = server_.Connect();
        if (!user.empty()) client.Run({"AUTH", user, "pw"});
        for (const WordList& request : EntrancesOf(words)) Ask(client, request);
        client.Run({"MULTI"});
        if (name[0] != "SHUTDOWN") Ask(client, words);
        if (!client.closed()) client.Disconnect();
      }
    }
    EXPECT_EQ(server_.Audit(), "");
  }

  void SetUp() override { other_.Line("ACL SETUSER few on >pw ~a* %R~b* &c* +@all"); }

  TestEngine server_{TestEngine::Options{.audits = false}};
  TestClient& other_ = server_.Connect();
};

TEST_F(UncheckedWordsEverywhere, Plainly) { AskAll({}); }
TEST_F(UncheckedWordsEverywhere, OfAUserWithRules) { AskAll("few"); }

TEST_F(UncheckedWordsEverywhere, OverMaxmemory) {
  other_.Line("SET k 1");
  other_.Line("CONFIG SET maxmemory 1");
  AskAll({});
}

TEST_F(UncheckedWordsEverywhere, BesideASnapshot) {
  other_.Line("SET k 1");
  server_.set_aside_waits(true);
  other_.Line("BGSAVE");
  AskAll({});
  while (server_.RunBackgroundNow()) {
  }
}

}  // namespace
}  // namespace sluice
