// SLUICE.JOURNAL: what is recorded, what of it is hidden, cut and forgotten, and what EXPECT says.
#include <gtest/gtest.h>

#include "server/test_double/request_watch.h"
#include "tests/support/command_line.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class JournalTest : public testing::Test {
 protected:
  static TestEngine::Options Double() {
    TestEngine::Options options;
    options.test_double = true;
    return options;
  }
  std::string Ask(TestClient& client, std::string_view line) { return client.Line(line).ToText(); }
  std::string Ask(std::string_view line) { return Ask(client_, line); }
  std::string Tester(std::string_view line) { return Ask(tester_, line); }
  // The requests of GET, each as its words, its answer and its fault.
  std::vector<std::string> Got(std::string_view filter = "") {
    std::vector<std::string> lines;
    const Reply reply = tester_.Line("sluice.journal get " + std::string(filter));
    for (const Reply& entry : reply.elements) {
      std::string line;
      for (const Reply& word : entry.elements[4].elements) line += word.text + " ";
      const Reply& fault = entry.elements[6];
      line += "-> " + (entry.elements[5].kind == Reply::Kind::kBulk ? entry.elements[5].text : "?");
      if (fault.kind == Reply::Kind::kInteger) line += " !" + std::to_string(fault.integer);
      lines.push_back(line);
    }
    return lines;
  }
  using Lines = std::vector<std::string>;

  TestEngine server_{Double()};
  TestClient& tester_ = server_.Connect();
  TestClient& client_ = server_.Connect();
  TestClient& other_ = server_.Connect();
};

TEST_F(JournalTest, AnEntryTellsWhoSentWhatWhenAndGotWhat) {
  Ask("set before 1");
  EXPECT_EQ(Tester("sluice.journal start"), "+OK");
  Ask("client setname ann");
  server_.AdvanceTime(5);
  Ask("get before");
  EXPECT_EQ(Tester("sluice.journal get"),
            "[[:1, :1700000000000, :2, \"\", [\"client\", \"setname\", \"ann\"], \"+OK\", (nil)], "
            "[:2, :1700000000005, :2, \"ann\", [\"get\", \"before\"], \"\\\"1\\\"\", (nil)]]");
  EXPECT_EQ(Tester("sluice.journal stop"), "+OK");
  Ask("get before");
  EXPECT_EQ(Got().size(), 2u);
  EXPECT_EQ(Tester("sluice.journal clear"), "+OK");
  EXPECT_EQ(Tester("sluice.journal get"), "[]");
}

TEST_F(JournalTest, GetFilters) {
  Tester("sluice.journal start");
  for (const auto* line : {"set a 1", "get a", "SET b 2", "object encoding a"}) Ask(line);
  Ask(other_, "get a");
  EXPECT_EQ(Got("match 'SET *'"), (Lines{"set a 1 -> +OK", "SET b 2 -> +OK"}));
  EXPECT_EQ(Got("match 'object Encoding *'"), (Lines{"object encoding a -> \"int\""}));
  EXPECT_EQ(Got("client 3"), (Lines{"get a -> \"1\""}));
  EXPECT_EQ(Got("count 2"), (Lines{"object encoding a -> \"int\"", "get a -> \"1\""}));
  EXPECT_EQ(Got("match 'get *' count 1 client 2"), (Lines{"get a -> \"1\""}));
  EXPECT_EQ(Tester("sluice.journal get match ''"), "-ERR a pattern has 1 to 512 bytes");
  EXPECT_EQ(Tester("sluice.journal get count 0"), "-ERR COUNT must be 1 to 9223372036854775807");
}

TEST_F(JournalTest, ErrorsAndWhatNobodyKnowsAreRecordedToo) {
  Tester("sluice.journal start");
  Ask("nosuch a");
  Ask("get");
  Ask("client nosuch");
  EXPECT_EQ(Got(), (Lines{"nosuch a -> -ERR unknown command 'nosuch', with args beginning with: "
                          "'a' ",
                          "get -> -ERR wrong number of arguments for 'get' command",
                          "client nosuch -> -ERR unknown subcommand 'nosuch'. Try CLIENT HELP."}));
}

TEST_F(JournalTest, AnswersOfWaitsTransactionsAndResp3) {
  Tester("sluice.journal start");
  client_.Send({"blpop", "list", "0"});
  EXPECT_EQ(Got(), (Lines{"blpop list 0 -> ?"}));
  other_.Line("multi");
  other_.Line("rpush list a");
  other_.Line("exec");
  client_.TakeBytes();
  EXPECT_EQ(Got(), (Lines{"blpop list 0 -> [\"list\", \"a\"]", "multi -> +OK",
                          "rpush list a -> +QUEUED", "exec -> [:1]"}));
  Tester("sluice.journal clear");
  client_.Run({"hello", "3"});
  Ask("subscribe news");
  other_.Line("publish news a");
  client_.TakeBytes();
  Ask("eval \"return redis.call('get', 'k')\" 0");
  const Lines got = Got("count 3");
  EXPECT_EQ(got[0], "subscribe news -> >[\"subscribe\", \"news\", :1]");
  EXPECT_EQ(got[1], "publish news a -> :1");
  EXPECT_EQ(got[2], "eval return redis.call('get', 'k') 0 -> (nil)");
}

TEST_F(JournalTest, SecretsAreHiddenAlsoWhereTheCommandDoesNotRun) {
  Tester("sluice.fault add command auth times 1 drop");
  Tester("sluice.journal start");
  client_.Send({"auth", "secret0"});
  Ask("auth secret1");
  Ask("hello 3 auth default secret2");
  Ask("config set requirepass secret3 maxclients 100");
  Ask("config set requirepass ''");
  Ask("multi");
  Ask("config set requirepass secret4");
  Ask("discard");
  const Lines got = Got();
  ASSERT_EQ(got.size(), 8u);
  EXPECT_EQ(got[0], "auth (redacted) -> ? !1");
  EXPECT_TRUE(got[2].starts_with("hello 3 auth (redacted) (redacted) -> "));
  EXPECT_EQ(got[3], "config set requirepass (redacted) maxclients 100 -> +OK");
  EXPECT_EQ(got[6], "config set (redacted) (redacted) -> +QUEUED");
  for (const std::string& line : got) EXPECT_EQ(line.find("secret"), line.npos) << line;
}

TEST_F(JournalTest, WhichFaultHitStandsBesideIt) {
  Tester("sluice.fault add command set error OOM");
  Tester("sluice.fault add command get after drop");
  Tester("sluice.fault add command incr hang");
  Tester("sluice.fault add command echo truncate 5");
  Tester("sluice.journal start");
  Ask("set k v");
  client_.Send({"get", "k"});
  client_.Send({"incr", "n"});
  EXPECT_EQ(Got(), (Lines{"set k v -> -OOM !1", "get k -> ? !2", "incr n -> ? !3"}));
  Tester("sluice.fault del 3");
  client_.TakeBytes();
  client_.Send({"echo", "0123456789"});
  EXPECT_EQ(Got("count 2"),
            (Lines{"incr n -> :1 !3", "echo 0123456789 -> \"$10\\r\\n\"... (0 more bytes) !4"}));
}

TEST_F(JournalTest, ItIsBoundedAndCutsSayWhatIsMissing) {
  Tester("sluice.journal start maxlen 3");
  for (int i = 0; i < 5; ++i) client_.Run({"set", "k", std::to_string(i)});
  EXPECT_EQ(Got(), (Lines{"set k 2 -> +OK", "set k 3 -> +OK", "set k 4 -> +OK"}));
  client_.Run({"set", "k", std::string(5000, 'x')});
  EXPECT_EQ(Got("count 1")[0], "set k " + std::string(1024, 'x') + "... (3976 more bytes) -> +OK");
  client_.Run({"get", "k"});
  EXPECT_TRUE(Got("count 1")[0].ends_with("x\"... (913 more bytes)")) << Got("count 1")[0];
  std::vector<std::string> many = {"del"};
  many.resize(1000, "k");
  client_.Run(many);
  EXPECT_TRUE(Got("count 1")[0].ends_with(" k ... (873 more arguments) -> :1"));
  EXPECT_EQ(Tester("sluice.journal start maxlen 0"), "-ERR MAXLEN must be 1 to 1000000");
  Tester("sluice.journal start maxlen 1000000");
  std::vector<std::string> wide = {"del"};
  wide.resize(128, std::string(1000, 'x'));
  for (int i = 0; i < 1000; ++i) client_.Run(wide);
  EXPECT_LT(Got().size(), 520u);  // 64 MiB
}

TEST_F(JournalTest, AResetForgetsItAndTheRulesWhateverIsUnderWay) {
  Tester("sluice.fault add command get hang");
  Tester("sluice.journal start");
  client_.Send({"get", "k"});
  other_.Send({"blpop", "list", "0"});
  server_.engine().part<RequestWatch>().Reset();
  server_.Settle();
  EXPECT_EQ(client_.TakeBytes(), "$-1\r\n");
  Tester("sluice.journal start");
  Ask("rpush list a");
  EXPECT_EQ(other_.Next()->ToText(), "[\"list\", \"a\"]");
  EXPECT_EQ(Got(), (Lines{"rpush list a -> :1"}));
  EXPECT_EQ(Tester("sluice.fault add drop"), ":1");
}

TEST_F(JournalTest, ExpectFindsWhatCameInOrderOrNot) {
  Tester("sluice.journal start");
  for (const auto* line : {"set lock:1 me nx PX 100", "get a", "del lock:1"}) Ask(line);
  EXPECT_EQ(Tester("sluice.journal expect 1 'SET lock:* * * PX *'"), "+OK");
  EXPECT_EQ(Tester("sluice.journal expect 2 'del *' 'set *'"), "+OK");
  EXPECT_EQ(Tester("sluice.journal expect ordered 2 'set *' 'del *'"), "+OK");
  EXPECT_EQ(Tester("sluice.journal expect ordered 2 'del *' 'set *'"),
            "-ERR expected set * (2 of 2), which no request matched behind those before it; 1 did "
            "earlier; the last 3 of 3 requests: #1 SET lock:1 me nx PX 100 (client 2), #2 GET a "
            "(client 2), #3 DEL lock:1 (client 2)");
  EXPECT_EQ(Tester("sluice.journal expect 1 'del lock:2'"),
            "-ERR expected del lock:2 (1 of 1), which no request matched; closest: #3 DEL lock:1 "
            "(client 2); the last 3 of 3 requests: #1 SET lock:1 me nx PX 100 (client 2), #2 GET a "
            "(client 2), #3 DEL lock:1 (client 2)");
}

TEST_F(JournalTest, ExpectGivesEachPatternARequestOfItsOwn) {
  Tester("sluice.journal start");
  for (const auto* line : {"set a 1", "set b 1", "set c 1"}) Ask(line);
  EXPECT_EQ(Tester("sluice.journal expect 3 'set *' 'set [ab] *' 'set a *'"), "+OK");
  EXPECT_TRUE(
      Tester("sluice.journal expect 2 'set a *' 'set a *'")
          .starts_with("-ERR expected set a * (2 of 2), but the 1 that matched are taken by "
                       "other patterns; "));
}

TEST_F(JournalTest, ExpectSaysWhyThereIsNothing) {
  EXPECT_EQ(Tester("sluice.journal expect 1 ping"),
            "-ERR expected ping (1 of 1), which no request matched; the journal is empty, and is "
            "not recording");
  EXPECT_EQ(Tester("sluice.journal expect 2 ping"), "-ERR 2 patterns were announced, 1 are there");
  EXPECT_EQ(Tester("sluice.journal expect 101 ping"),
            "-ERR the number of patterns must be 1 to 100");
}

}  // namespace
}  // namespace sluice
