// Masters that say nothing, too late, or what makes no sense in its place: the link ends with a
// sentence, is opened again less and less often, and the data stay as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/following/played_master.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class SilentMasters : public PlayedMaster {
 protected:
  SilentMasters() { Ask("CONFIG SET repl-timeout 10"); }
};

TEST_F(SilentMasters, OneThatDoesNotAnswerIsGivenUp) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  EXPECT_EQ(Heard(), "PING");
  AdvanceTime(9000);
  EXPECT_FALSE(link().closed());
  AdvanceTime(3000);
  EXPECT_TRUE(link().closed());
  EXPECT_TRUE(HasLogged("Timeout connecting to the MASTER..."));
  EXPECT_TRUE(is_opening()) << "and asked again";
}

TEST_F(SilentMasters, OneThatDoesNotAnswerAgainIsGivenUp) {
  FollowRedis();
  link().Disconnect();
  Open();
  AdvanceTime(12'000);
  EXPECT_TRUE(link().closed());
  EXPECT_TRUE(HasLogged("Timeout connecting to the MASTER..."));
}

TEST_F(SilentMasters, OneWhoseImageDoesNotComeIsGivenUp) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  IntroduceRedis(kRedisMaster);
  SayBytes(Concat("+FULLRESYNC ", kId, " 0\r\n"));
  for (int i = 0; i < 10; ++i) {  // while it is made, lines without words keep the link awake
    AdvanceTime(5000);
    SayBytes("\n");
  }
  EXPECT_FALSE(link().closed());
  SayBytes(Concat("$", kEmptyFile.size(), "\r\n", kEmptyFile.substr(0, 5)));
  AdvanceTime(12'000);
  EXPECT_TRUE(link().closed());
  EXPECT_TRUE(HasLogged("Timeout receiving bulk data from MASTER..."));
}

TEST_F(SilentMasters, InfoTellsHowMuchOfAnImageHasCome) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  IntroduceRedis(kRedisMaster);
  SayBytes(Concat("+FULLRESYNC ", kId, " 0\r\n$1000\r\n", std::string(250, 'x')));
  AdvanceTime(3000);
  const std::string info = Ask("INFO replication");
  for (const char* const line :
       {"master_link_status:down", "master_sync_in_progress:1", "master_sync_total_bytes:1000",
        "master_sync_read_bytes:250", "master_sync_left_bytes:750", "master_sync_perc:25.00",
        "master_sync_last_io_seconds_ago:3", "master_link_down_since_seconds:3"})
    EXPECT_THAT(info, HasSubstr(line));
}

TEST_F(SilentMasters, OneWhoseStreamEndsIsGivenUp) {
  FollowRedis();
  for (int i = 0; i < 10; ++i) {
    AdvanceTime(5000);
    Say({"PING"});
  }
  EXPECT_FALSE(link().closed());
  const std::string half = EncodeRequest({"SET", "k", std::string(20, 'x')});
  for (size_t i = 0; i + 1 < 10; ++i) {  // a request that comes slowly is no silence
    SayBytes(half.substr(i, 1));
    AdvanceTime(5000);
  }
  EXPECT_FALSE(link().closed());
  AdvanceTime(12'000);
  EXPECT_TRUE(link().closed());
  EXPECT_TRUE(HasLogged("MASTER timeout: no data nor PING received..."));
  EXPECT_EQ(end(), 10 * static_cast<int64_t>(EncodeRequest({"PING"}).size()));
}

TEST_F(SilentMasters, OneThatIsNotReadyIsAskedAgainInASecond) {
  for (const std::string answer :
       {"-LOADING Redis is loading the dataset in memory", "-NOMASTERLINK Can't SYNC"}) {
    EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
    Open();
    EXPECT_THAT(IntroduceRedis(kRedisMaster), StartsWith("PSYNC "));
    SayBytes(answer + "\r\n");
    EXPECT_TRUE(link().closed()) << answer;
    EXPECT_EQ(Heard(), "");
    EXPECT_FALSE(is_opening());
    AdvanceTime(1000);
    EXPECT_TRUE(is_opening());
    EXPECT_EQ(Ask("REPLICAOF NO ONE"), "+OK");
  }
}

// It knows no offsets: it is told none, and after a cut it sends all data.
TEST_F(SilentMasters, OneThatKnowsNoPsyncIsAskedForSync) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  IntroduceRedis(kRedisMaster);
  SayBytes("-ERR unknown command 'PSYNC'\r\n");
  EXPECT_EQ(Heard(), "SYNC");
  SayBytes(Concat("$", kEmptyFile.size(), "\r\n", kEmptyFile));
  Say({"SET", "k", "v"});
  AdvanceTime(3000);
  EXPECT_EQ(Ask("GET k"), "\"v\"");
  EXPECT_EQ(Heard(), "");
  link().Disconnect();
  Open();
  EXPECT_EQ(IntroduceRedis(kRedisMaster), "PSYNC ? -1");
}

// --- what makes no sense there

// An offset that goes back is another place of that history, and those who follow begin anew.
TEST_F(SilentMasters, OneMayGoBack) {
  Ask("CONFIG SET repl-diskless-sync-delay 0");
  FollowRedis(kRedisMaster, 1000);
  Say({"SET", "k", "v"});
  TestClient& replica = server().Connect();
  replica.Run({"REPLCONF", "capa", "eof", "capa", "psync2"});
  replica.Send({"PSYNC", "?", "-1"});
  server().Settle();
  EXPECT_THAT(replica.TakeBytes(), StartsWith(Concat("+FULLRESYNC ", kId, " ", end())));
  link().Disconnect();
  Open();
  EXPECT_EQ(IntroduceRedis(kRedisMaster), Concat("PSYNC ", kId, " ", end() + 1));
  SyncFully(10);
  EXPECT_EQ(end(), 10);
  EXPECT_TRUE(replica.closed());
  EXPECT_EQ(Ask("EXISTS k"), ":0");
  Say({"SET", "again", "v"});
  AdvanceTime(1000);
  EXPECT_THAT(Heard(), HasSubstr(Concat("REPLCONF ACK ", end())));
}

// Nobody asks such a master for all its data each second.
TEST_F(SilentMasters, OneWithAFileBehindItsFileIsAskedLessAndLessOften) {
  FollowRedis();
  Say({"SET", "k", "v"});
  int64_t syncs = 0;
  for (int second = 0; second < 60; ++second) {
    if (is_opening()) {
      Open();
      EXPECT_EQ(IntroduceRedis(kRedisMaster), "PSYNC ? -1");
      SyncFully();
      ++syncs;
    }
    if (!link().closed()) SayBytes(Concat("$", kEmptyFile.size(), "\r\n", kEmptyFile));
    EXPECT_TRUE(link().closed());
    AdvanceTime(1000);
  }
  EXPECT_TRUE(HasLogged("the stream of the master master:6379 makes no sense behind offset 27: "));
  EXPECT_TRUE(HasLogged("; all data are asked for"));
  EXPECT_GE(syncs, 3);
  EXPECT_LE(syncs, 6);
}

TEST_F(SilentMasters, OneThatGoesOnWhereNothingHasBegunIsRefused) {
  FollowRedis();
  SayBytes("*x\r\n");
  AdvanceTime(3000);
  Open();
  EXPECT_EQ(IntroduceRedis(kRedisMaster), "PSYNC ? -1");
  SayBytes(Concat("+CONTINUE ", kId, "\r\n"));
  EXPECT_TRUE(link().closed());
  EXPECT_TRUE(HasLogged("the master goes on where nothing has begun (+CONTINUE)"));
}

// --- the master waits

// Its file is looked through by the worker, which takes long where it is large.
TEST_F(SilentMasters, TheMasterIsKeptAwakeUntilItsFileIsLoaded) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  IntroduceRedis(kRedisMaster);
  server().set_aside_waits(true);
  SayBytes(Concat("+FULLRESYNC ", kId, " 0\r\n$", kEmptyFile.size(), "\r\n", kEmptyFile));
  AdvanceTime(3000);
  EXPECT_EQ(Heard(), "\\n / \\n / \\n");
  server().set_aside_waits(false);
  while (server().RunBackgroundNow()) continue;
  server().Settle();
  EXPECT_THAT(Ask("INFO replication"), HasSubstr("master_link_status:up"));
}

// --- a script that runs late

// What the master says waits, and it hears that this server is there.
TEST_F(SilentMasters, ALateScriptIsNotEndedAndTheMasterIsKeptAwake) {
  FollowRedis();
  Say({"SET", "k", "before"});
  Ask("CONFIG SET busy-reply-threshold 1");
  const std::string set = EncodeRequest({"SET", "k", "behind"});
  bool has_said = false;
  server().OnPoll([&] {
    if (!std::exchange(has_said, true)) link().Arrive(set);
    server().clock().AdvanceMicros(500'000);
    server().Turn();
  });
  server().set_tick_step(6'000'000);
  EXPECT_EQ(Ask("EVAL \"for i = 1, 3000000 do local x = i end return redis.call('GET', 'k')\" 0"),
            "\"before\"");
  server().set_tick_step(0);
  server().OnPoll({});
  EXPECT_TRUE(has_said);
  EXPECT_THAT(Heard(), HasSubstr("\\n / \\n / \\n"));
  server().Settle();
  EXPECT_EQ(Ask("GET k"), "\"behind\"");
}

TEST_F(SilentMasters, AnAnswerThatCameDuringALateScriptIsNoSilence) {
  EXPECT_EQ(Ask("REPLICAOF master 6379"), "+OK");
  Open();
  EXPECT_EQ(Heard(), "PING");
  Ask("CONFIG SET busy-reply-threshold 1");
  bool has_said = false;
  server().OnPoll([&] {
    if (!std::exchange(has_said, true)) link().Arrive("+PONG\r\n");
    server().clock().AdvanceMicros(20'000'000);
    server().Turn();
  });
  server().set_tick_step(6'000'000);
  EXPECT_EQ(Ask("EVAL \"for i = 1, 3000000 do local x = i end return 1\" 0"), ":1");
  server().set_tick_step(0);
  server().OnPoll({});
  EXPECT_TRUE(has_said);
  server().Settle();
  EXPECT_FALSE(link().closed());
  EXPECT_THAT(Heard(), StartsWith("REPLCONF "));
}

}  // namespace
}  // namespace sluice
