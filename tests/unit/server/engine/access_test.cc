// Rights of users where they count: in the queue and at EXEC, in scripts, inside FENCED, for what
// waits, for subscriptions and monitors; and changes of rules on connections that are there.
#include <gmock/gmock.h>

#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kNoKey[] =
    "-NOPERM this user has no permissions to access one of the keys used as arguments";
constexpr char kNoChannel[] =
    "-NOPERM this user has no permissions to access one of the channels used as arguments";

std::string NoCommand(std::string_view name) {
  return "-NOPERM this user has no permissions to run the '" + std::string(name) + "' command";
}

class Access : public EngineFixture {
 protected:
  // The default user's.
  std::string Do(std::string_view line) { return admin_.Line(line).ToText(); }
  TestClient& LogIn(const std::string& name) {
    TestClient& client = Connect();
    EXPECT_EQ(client.Run({"AUTH", name, "pw"}).ToText(), "+OK");
    return client;
  }
  // A user with these rules, and a connection of it.
  TestClient& Make(const std::string& name, const std::string& rules) {
    EXPECT_EQ(Do("ACL SETUSER " + name + " reset on >pw " + rules), "+OK");
    return LogIn(name);
  }
  static std::string Ask(TestClient& client, std::string_view line) {
    return client.Line(line).ToText();
  }

  TestClient& admin_ = Connect();
};

TEST_F(Access, CommandsKeysAndChannels) {
  TestClient& bob = Make("bob", "+@all -del ~a* %R~r* %W~w* &c*");
  EXPECT_EQ(Ask(bob, "SET a1 x"), "+OK");
  EXPECT_EQ(Ask(bob, "SET b1 x"), kNoKey);
  EXPECT_EQ(Ask(bob, "GET r1"), "(nil)");
  EXPECT_EQ(Ask(bob, "SET r1 x"), kNoKey);
  EXPECT_EQ(Ask(bob, "SET w1 x"), "+OK");
  EXPECT_EQ(Ask(bob, "SET w1 x GET"), kNoKey);
  EXPECT_EQ(Ask(bob, "GET w1"), kNoKey);
  EXPECT_EQ(Ask(bob, "DEL a1"), NoCommand("del"));
  EXPECT_EQ(Ask(bob, "MGET a1 r1 z"), kNoKey);
  EXPECT_EQ(Ask(bob, "PUBLISH c1 x"), ":0");
  EXPECT_EQ(Ask(bob, "PUBLISH d1 x"), kNoChannel);
  EXPECT_EQ(Ask(bob, "PSUBSCRIBE c1*"), kNoChannel);
  EXPECT_EQ(Ask(bob, "ACL WHOAMI"), "\"bob\"");
}

TEST_F(Access, AtQueueingAndAgainAtExec) {
  TestClient& bob = Make("bob", "+@all ~a*");
  Ask(bob, "MULTI");
  EXPECT_EQ(Ask(bob, "SET b 1"), kNoKey);
  EXPECT_THAT(Ask(bob, "EXEC"), StartsWith("-EXECABORT"));
  Ask(bob, "MULTI");
  EXPECT_EQ(Ask(bob, "SET a1 1"), "+QUEUED");
  EXPECT_EQ(Ask(bob, "GET a2"), "+QUEUED");
  Do("ACL SETUSER bob resetkeys ~a2");
  EXPECT_THAT(Ask(bob, "EXEC"), HasSubstr("-NOPERM ACLs rules changed between"));
  EXPECT_EQ(Do("EXISTS a1"), ":0");
}

// A user that deletes itself does not become the default user for the rest of its transaction.
TEST_F(Access, AUserThatIsGoneMayDoNothingMore) {
  TestClient& bob = Make("bob", "+@all -flushall ~a*");
  Ask(bob, "MULTI");
  Ask(bob, "ACL DELUSER bob");
  EXPECT_EQ(Ask(bob, "SET a1 1"), "+QUEUED");
  bob.SendBytes("EXEC\r\nSET a2 1\r\n");
  EXPECT_THAT(bob.TakeBytes(), HasSubstr("*2\r\n:1\r\n-NOPERM"));
  EXPECT_TRUE(bob.closed());
  EXPECT_EQ(Do("EXISTS a1 a2"), ":0");
}

TEST_F(Access, ScriptsAsTheirCaller) {
  TestClient& bob = Make("bob", "+@all -get ~a*");
  EXPECT_EQ(Ask(bob, "EVAL \"return redis.call('set', 'a1', '1')\" 0"), "+OK");
  EXPECT_THAT(
      Ask(bob, "EVAL \"return redis.call('set', 'b1', '1')\" 0"),
      StartsWith("-ERR The user executing the script can't access at least one of the keys"));
  EXPECT_THAT(
      Ask(bob, "EVAL \"return redis.call('get', 'a1')\" 0"),
      StartsWith("-ERR The user executing the script can't run this command or subcommand"));
  EXPECT_EQ(Ask(bob, "EVAL \"return 1\" 1 b1"), kNoKey);
  EXPECT_EQ(Do("EVAL \"return redis.call('set', 'b1', '1')\" 0"), "+OK");
  Do("FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function(k) return "
     "redis.call('incr', 'z') end)\"");
  EXPECT_THAT(Ask(bob, "FCALL f 0"), StartsWith("-ERR The user executing the script"));
  EXPECT_EQ(Do("FCALL f 0"), ":1");
}

TEST_F(Access, FencedNeedsTheRightsOfItsCommand) {
  const std::string token = [&] {
    const Reply reply = admin_.Line("LOCK.ACQUIRE lock me LEASE 100000");
    return std::to_string(reply.elements[0].integer);
  }();
  TestClient& bob = Make("bob", "+@lock +set ~lock ~a*");
  EXPECT_EQ(Ask(bob, "FENCED lock " + token + " SET a1 x"), "+OK");
  EXPECT_EQ(Ask(bob, "FENCED lock " + token + " SET b1 x"), kNoKey);
  EXPECT_EQ(Ask(bob, "FENCED other " + token + " SET a1 x"), kNoKey);
  EXPECT_EQ(Ask(bob, "FENCED lock " + token + " GET a1"), NoCommand("get"));
  EXPECT_EQ(Ask(bob, "FENCED other " + token + " ZUNIONSTORE a1 x y"), kNoKey);
  Do("ACL SETUSER bob +@transaction");
  Ask(bob, "MULTI");
  EXPECT_EQ(Ask(bob, "FENCED lock " + token + " GET a1"), NoCommand("get"));
  EXPECT_THAT(Ask(bob, "EXEC"), StartsWith("-EXECABORT"));
  EXPECT_EQ(Do("ACL DRYRUN bob FENCED lock 1 GET a1"),
            "\"This user has no permissions to run the 'get' command\"");
}

// Locks may be taken, but not broken.
TEST_F(Access, LocksAndLimitsHaveCategories) {
  TestClient& app = Make("app", "+@lock +@limit +@connection -@dangerous ~app:*");
  EXPECT_THAT(Ask(app, "LOCK.ACQUIRE app:l me LEASE 1000"), Not(StartsWith("-")));
  EXPECT_EQ(Ask(app, "LOCK.BREAK app:l"), NoCommand("lock.break"));
  EXPECT_THAT(Ask(app, "LIMIT.TAKE app:q WINDOW 10 1000"), Not(StartsWith("-")));
  EXPECT_EQ(Ask(app, "GET app:x"), NoCommand("get"));
  EXPECT_EQ(Ask(app, "LIMIT.POLICY SET p WINDOW 1 1"), NoCommand("limit.policy|set"));
  TestClient& reader = Make("reader", "+@all -@dangerous %R~app:*");
  EXPECT_THAT(Ask(reader, "LOCK.INFO app:l"), Not(StartsWith("-")));
  EXPECT_THAT(Ask(reader, "LIMIT.TAKE app:q WINDOW 10 1000 PEEK"), Not(StartsWith("-")));
  EXPECT_THAT(Ask(reader, "LIMIT.TAKE app:q WINDOW 10 1000 COST 1 SHADOW PEEK"),
              Not(StartsWith("-NOPERM")));
  EXPECT_EQ(Ask(reader, "LIMIT.TAKE app:q WINDOW 10 1000"), kNoKey);
  EXPECT_EQ(Ask(reader, "LIMIT.TAKE app:q POLICY PEEK"), kNoKey);
  EXPECT_EQ(Ask(reader, "LIMIT.TAKE app:q WINDOW 10 1000 COST PEEK"), kNoKey);
  EXPECT_THAT(Ask(reader, "LIMIT.INFO app:q"), Not(StartsWith("-")));
  EXPECT_THAT(Ask(reader, "LBUCKET.GET app:b"), Not(StartsWith("-NOPERM")));
  EXPECT_EQ(Ask(reader, "LBUCKET.COUNT app:b 10"), kNoKey);
  EXPECT_EQ(Ask(reader, "LOCK.ACQUIRE app:l me LEASE 1000"), kNoKey);
}

// What only a log may say is refused whatever the rights are.
TEST_F(Access, WhatOnlyALogMaySayStaysItsOwn) {
  TestClient& bob = Make("bob", "+@all ~* &*");
  EXPECT_THAT(Ask(bob, "LOCK.RESTORE l a b c d e f"), HasSubstr("only a log that is replayed"));
  EXPECT_THAT(Ask(bob, "LBUCKET.COUNTAT b 1 1 1 1"), StartsWith("-ERR"));
  EXPECT_THAT(Ask(bob, "LIMIT.TAKE q WINDOW 10 1000 AT 5"), HasSubstr("only a log"));
}

TEST_F(Access, SortReadsKeysOnlyForWhoMayReadAll) {
  Do("RPUSH a 2 1");
  TestClient& bob = Make("bob", "+@all ~a*");
  EXPECT_EQ(Ask(bob, "SORT a"), "[\"1\", \"2\"]");
  EXPECT_EQ(Ask(bob, "SORT a BY nosort"), "[\"2\", \"1\"]");
  EXPECT_EQ(Ask(bob, "SORT a BY w_*"),
            "-ERR BY option of SORT denied due to insufficient ACL permissions.");
  EXPECT_EQ(Ask(bob, "SORT a GET #"),
            "-ERR GET option of SORT denied due to insufficient ACL permissions.");
  EXPECT_EQ(Ask(bob, "SORT a STORE b"), kNoKey);
  EXPECT_EQ(Ask(bob, "SORT a STORE a2 STORE b"), kNoKey);
  EXPECT_EQ(Ask(bob, "SORT a STORE b STORE a2"), ":2");  // the last one counts
  Do("ACL SETUSER bob %R~*");
  EXPECT_EQ(Ask(bob, "SORT a BY w_* GET #"), "[\"1\", \"2\"]");
}

// Requests whose keys have been missed by one server or another.
TEST_F(Access, KeysThatWereOverlooked) {
  TestClient& bob = Make("bob", "+@all ~a*");
  for (const std::string_view line : {
           "GEORADIUS a 0 0 1 m STORE b",
           "GEORADIUS a 0 0 1 m STORE a2 STORE b",
           "GEORADIUS a 0 0 1 m STORE b STOREDIST a2",
           "GEORADIUSBYMEMBER a m 1 m STOREDIST b",
           "GEOSEARCHSTORE b a FROMLONLAT 0 0 BYRADIUS 1 m",
           "XREAD STREAMS a b 0 0",
           "XREAD COUNT 1 BLOCK 1 STREAMS b 0",
           "XREADGROUP GROUP g c STREAMS a b > >",
           "MSETEX 2 a 1 b 2",
           "COPY a b",
           "BITOP AND a a b",
           "LMPOP 2 a b LEFT",
           "BLMPOP 0.1 2 a b LEFT",
           "ZUNION 2 a b",
           "ZRANGESTORE b a 0 1",
           "EVAL \"return 1\" 2 a b",
           "EVALSHA_RO 0000000000000000000000000000000000000000 1 b",
           "OBJECT FREQ b",
           "MEMORY USAGE b",
           "DEBUG OBJECT b",
           "LCS a b",
           "XINFO STREAM b",
           "XGROUP CREATE b g $ MKSTREAM",
           "WATCH b",
           "PFMERGE b",
           "ZUNIONSTORE b x a",
           "FENCED a 1 PFMERGE b",
           // A value that looks like the word that leads to a key.
           "SORT a STORE limit STORE b",
           "SORT a BY STORE STORE b",
           "XREADGROUP NOACK GROUP g streams STREAMS b >",
           "XREADGROUP NOACK GROUP a streams STREAMS b >",
           "XREAD COUNT STREAMS BLOCK 1 STREAMS b 0",
           "GEORADIUS a 0 0 1 m COUNT STORE STORE b",
           "GEORADIUSBYMEMBER a STORE 1 m STOREDIST b",
       }) {
    if (line.starts_with("DEBUG")) continue;  // for who has that command
    EXPECT_EQ(Ask(bob, line), kNoKey) << line;
  }
  EXPECT_EQ(Do("DBSIZE"), ":0");
}

// As the handler reads them: what is a key for it needs a right, and what is none needs none.
TEST_F(Access, ValuesThatLookLikeWordsAreNoKeys) {
  TestClient& bob = Make("bob", "+@all ~a*");
  EXPECT_EQ(Ask(bob, "SORT a STORE limit STORE a2"), ":0");
  EXPECT_EQ(Ask(bob, "SORT a STORE b STORE a2"), ":0") << "of two the last counts";
  EXPECT_EQ(Ask(bob, "XADD a 1-1 f v"), "\"1-1\"");
  EXPECT_EQ(Ask(bob, "XGROUP CREATE a g 0"), "+OK");
  EXPECT_EQ(Ask(bob, "XREADGROUP NOACK GROUP g streams STREAMS a >"),
            "[[\"a\", [[\"1-1\", [\"f\", \"v\"]]]]]");
  EXPECT_EQ(Do("COMMAND GETKEYS XREADGROUP NOACK GROUP g streams streams b:x >"), "[\"b:x\"]");
  EXPECT_EQ(Do("COMMAND GETKEYS SORT l STORE limit STORE b"), "[\"l\", \"b\"]");
  EXPECT_EQ(Do("COMMAND GETKEYS GEORADIUS k 0 0 1 m COUNT STORE a"), "[\"k\"]");
}

// A command that answers with data, or tells of them by what it does, needs the right to read.
TEST_F(Access, WhoMayOnlyWriteLearnsNothing) {
  TestClient& bob = Make("bob", "+@all %W~w*");
  Do("SET w 1");
  Do("ZADD wz 7 m");
  Do("XADD wx 1-1 f secret");
  Do("XGROUP CREATE wx g 0");
  Do("XREADGROUP GROUP g a STREAMS wx >");
  for (const std::string_view line :
       {"DELEX w IFEQ 2", "DELEX w IFDNE 0000000000000000", "DELIFEQ w 2", "CAD w 2", "CAS w 2 3",
        "ZADD wz INCR 0 m", "ZADD wz GT INCR 0 m", "XCLAIM wx g b 0 1-1", "XAUTOCLAIM wx g b 0 -",
        "XCLAIM wx g b 0 1-1 JUSTID", "SET w 2 IFEQ 1", "INCR w", "BITFIELD w SET u8 0 1"}) {
    EXPECT_EQ(Ask(bob, line), kNoKey) << line;
  }
  EXPECT_EQ(Ask(bob, "ZADD wz 8 INCR"), ":1") << "a member, no option";
  EXPECT_EQ(Ask(bob, "ZADD wz 8 m"), ":0");
  EXPECT_EQ(Ask(bob, "DELEX w"), ":1");
}

// The command inside is checked wherever a request comes in, before any of its words is looked at.
TEST_F(Access, AFaultOfTheCommandInsideIsToldEverywhere) {
  TestClient& bob = Make("bob", "+@all ~a*");
  const std::string arity = "-ERR wrong number of arguments for 'sort' command";
  const std::string unknown = "-ERR unknown command 'NOSUCH', with args beginning with: ";
  for (const std::string_view front :
       {"", "COMMAND GETKEYS ", "COMMAND GETKEYSANDFLAGS ", "ACL DRYRUN bob "}) {
    EXPECT_EQ(Do(std::string(front) + "FENCED a 1 SORT"), arity) << front;
    EXPECT_EQ(Do(std::string(front) + "FENCED a 1 NOSUCH"), unknown) << front;
    EXPECT_EQ(Do(std::string(front) + "FENCED a 1 FENCED a 1 GET a"),
              "-ERR this command is not allowed inside FENCED");
  }
  EXPECT_THAT(Do("EVAL \"return redis.call('fenced', 'a', 1, 'sort')\" 0"), HasSubstr(arity));
  EXPECT_THAT(Ask(bob, "EVAL \"return redis.acl_check_cmd('fenced', 'a', 1, 'sort')\" 0"),
              HasSubstr("Invalid command passed to redis.acl_check_cmd()"));
  EXPECT_EQ(Ask(bob, "MULTI"), "+OK");
  EXPECT_EQ(Ask(bob, "FENCED a 1 SORT"), arity);
  EXPECT_THAT(Ask(bob, "EXEC"), StartsWith("-EXECABORT"));
  // Words of a wrong number are asked of the command alone, as in Redis.
  EXPECT_EQ(Ask(bob, "EVAL \"return redis.acl_check_cmd('sort')\" 0"), ":1");
  Do("ACL SETUSER bob -sort");
  EXPECT_EQ(Ask(bob, "EVAL \"return redis.acl_check_cmd('sort')\" 0"), "(nil)");
}

TEST_F(Access, ExecsConditionsAreKeysToo) {
  Do("SET b 1");
  TestClient& bob = Make("bob", "+@all ~a*");
  Ask(bob, "MULTI");
  Ask(bob, "SET a1 1");
  EXPECT_THAT(Ask(bob, "EXEC IFEQ b 1"), HasSubstr("NOPERM"));
  EXPECT_EQ(Do("EXISTS a1"), ":0");
}

TEST_F(Access, AWaitEndsWhenItIsNoLongerAllowed) {
  TestClient& bob = Make("bob", "+@all ~a*");
  bob.Send({"BLPOP", "a1", "0"});
  EXPECT_EQ(bob.Next(), std::nullopt);
  Do("ACL SETUSER bob resetkeys ~other");
  EXPECT_EQ(bob.Next()->ToText(), kNoKey);
  Do("RPUSH a1 x");
  EXPECT_EQ(Do("LLEN a1"), ":1");
  EXPECT_EQ(Ask(bob, "PING"), "+PONG");
}

TEST_F(Access, AWaitForALockEndsToo) {
  Do("LOCK.ACQUIRE a1 me LEASE 100000");
  TestClient& bob = Make("bob", "+@all ~a*");
  bob.Send({"LOCK.ACQUIRE", "a1", "him", "LEASE", "1000", "WAIT", "50000"});
  EXPECT_EQ(bob.Next(), std::nullopt);
  Do("ACL SETUSER bob -@lock");
  EXPECT_EQ(bob.Next()->ToText(), NoCommand("lock.acquire"));
  Do("LOCK.RELEASE a1 me");
  EXPECT_THAT(Do("LOCK.ACQUIRE a1 you LEASE 1000"), Not("(nil)"));
}

TEST_F(Access, SubscriptionsThatAreNotAllowedAnyMore) {
  TestClient& one = Make("bob", "+@all &c* &d");
  TestClient& two = LogIn("bob");
  TestClient& three = LogIn("bob");
  Ask(one, "SUBSCRIBE c1");
  Ask(two, "PSUBSCRIBE c*");
  Ask(three, "SSUBSCRIBE d");
  Do("ACL SETUSER bob +get");
  EXPECT_FALSE(one.closed() || two.closed() || three.closed());
  Do("ACL SETUSER bob resetchannels &c1 &d");
  EXPECT_FALSE(one.closed());
  EXPECT_TRUE(two.closed());
  EXPECT_FALSE(three.closed());
  Do("ACL SETUSER bob resetchannels");
  EXPECT_TRUE(one.closed());
  EXPECT_TRUE(three.closed());
}

TEST_F(Access, FromAllChannelsToSome) {
  TestClient& bob = Make("bob", "+@all &*");
  Ask(bob, "SUBSCRIBE secret");
  Do("ACL SETUSER bob resetchannels &c");
  EXPECT_TRUE(bob.closed());
}

TEST_F(Access, AMonitorThatIsNotAllowedAnyMore) {
  TestClient& bob = Make("bob", "+@all");
  EXPECT_EQ(Ask(bob, "MONITOR"), "+OK");
  Do("ACL SETUSER bob +get");
  EXPECT_FALSE(bob.closed());
  Do("ACL SETUSER bob -monitor");
  EXPECT_TRUE(bob.closed());
}

TEST_F(Access, ADeletedUsersConnectionsAreClosed) {
  TestClient& bob = Make("bob", "+@all ~*");
  TestClient& waits = LogIn("bob");
  waits.Send({"BLPOP", "q", "0"});
  EXPECT_EQ(Do("ACL DELUSER bob nobody"), ":1");
  EXPECT_TRUE(bob.closed());
  EXPECT_TRUE(waits.closed());
  Do("RPUSH q x");
  EXPECT_EQ(Do("LLEN q"), ":1");
}

TEST_F(Access, LoginsAndTheLog) {
  TestClient& bob = Make("bob", "+@all -get");
  EXPECT_THAT(Ask(bob, "AUTH bob wrong"), StartsWith("-WRONGPASS"));
  EXPECT_THAT(Ask(bob, "AUTH nobody pw"), StartsWith("-WRONGPASS"));
  EXPECT_THAT(Ask(bob, "HELLO 3 AUTH bob wrong"), StartsWith("-WRONGPASS"));
  Ask(bob, "GET a");
  Ask(bob, "GET a");
  AdvanceTime(1500);
  const Reply log = admin_.Line("ACL LOG");
  ASSERT_EQ(log.elements.size(), 4u);
  EXPECT_THAT(log.elements[0].ToText(),
              StartsWith("[\"count\", :2, \"reason\", \"command\", \"context\", \"toplevel\", "
                         "\"object\", \"get\", \"username\", \"bob\", \"age-seconds\", \"1.5\", "
                         "\"client-info\", \"id="));
  EXPECT_THAT(log.elements[0].ToText(), HasSubstr(" cmd=get user=bob "));
  EXPECT_THAT(log.elements[1].ToText(), HasSubstr("\"auth\""));
  EXPECT_THAT(log.elements[1].ToText(), HasSubstr("\"HELLO\""));
  EXPECT_EQ(Do("ACL LOG RESET"), "+OK");
  EXPECT_EQ(Do("ACL LOG"), "[]");
}

TEST_F(Access, TheLogDoesNotGrow) {
  TestClient& bob = Make("bob", "+@all");
  for (int i = 0; i < 300; ++i) Ask(bob, "GET k" + std::to_string(i));
  EXPECT_EQ(admin_.Line("ACL LOG 1000").elements.size(), 128u);
  Do("CONFIG SET acllog-max-len 3");
  Ask(bob, "GET k");
  EXPECT_EQ(admin_.Line("ACL LOG 1000").elements.size(), 3u);
}

TEST_F(Access, PasswordsAreNotShown) {
  TestClient& watch = Connect();
  watch.Line("MONITOR");
  Do("CONFIG SET slowlog-log-slower-than 0");
  Do("ACL SETUSER bob on >verysecret");
  EXPECT_THAT(watch.TakeBytes(), Not(HasSubstr("verysecret")));
  EXPECT_THAT(Do("SLOWLOG GET"), Not(HasSubstr("verysecret")));
}

// From the host, and never from the seed.
TEST_F(Access, GeneratedPasswords) {
  EXPECT_EQ(Do("ACL GENPASS 12"), "\"010\"");
  EXPECT_EQ(admin_.Line("ACL GENPASS").text.size(), 64u);
  EXPECT_EQ(admin_.Line("ACL GENPASS 4096").text.size(), 1024u);
}

TEST_F(Access, TheDefaultUserCanBeRestricted) {
  TestClient& stranger = Connect();
  Do("ACL SETUSER boss on >pw +@all ~* &*");
  Do("ACL SETUSER default -@all +ping");
  EXPECT_EQ(Ask(stranger, "PING"), "+PONG");
  EXPECT_EQ(Ask(stranger, "GET a"), NoCommand("get"));
  EXPECT_EQ(Ask(Connect(), "GET a"), NoCommand("get"));
  TestClient& boss = LogIn("boss");
  Ask(boss, "ACL SETUSER default off");
  EXPECT_EQ(Ask(Connect(), "PING"), "-NOAUTH Authentication required.");
  EXPECT_EQ(Ask(boss, "RESET"), "+RESET");
  EXPECT_EQ(Ask(boss, "PING"), "-NOAUTH Authentication required.");
}

TEST_F(Access, KillByUser) {
  TestClient& bob = Make("bob", "+@all");
  EXPECT_EQ(Do("CLIENT KILL USER nobody"), "-ERR No such user 'nobody'");
  EXPECT_EQ(Do("CLIENT KILL USER bob"), ":1");
  EXPECT_TRUE(bob.closed());
}

TEST(AccessAtStart, LinesOfTheConfiguration) {
  TestEngine server({.config = {{"user", "bob on >pw ~a* +@all"}, {"user", "default off"}}});
  EXPECT_EQ(server.start_fault(), "");
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Line("PING").ToText(), "-NOAUTH Authentication required.");
  EXPECT_EQ(client.Line("AUTH bob pw").ToText(), "+OK");
  EXPECT_EQ(client.Line("SET b 1").ToText(), kNoKey);
  for (const std::string_view bad : {"bob foo", "bob +nosuch", "bob (+get", "\"a b\" on"}) {
    const TestEngine faulty({.config = {{"user", std::string(bad)}}});
    EXPECT_THAT(faulty.start_fault(), HasSubstr("test.conf, line 1")) << bad;
  }
  const TestEngine twice({.config = {{"user", "bob on"}, {"user", "bob off"}}});
  EXPECT_THAT(twice.start_fault(), HasSubstr("Duplicate user"));
  const TestEngine secret({.config = {{"user", "bob #hush"}}});
  EXPECT_THAT(secret.start_fault(), Not(HasSubstr("hush")));
}

TEST(AccessAtStart, AFileOfUsers) {
  MemoryDisk disk;
  disk.Replace("users.acl", "user bob on >pw ~a* +@all\nuser gone on >pw +@all\n");
  TestEngine server({.config = {{"aclfile", "users.acl"}}, .disk = &disk});
  ASSERT_EQ(server.start_fault(), "");
  TestClient& admin = server.Connect();
  TestClient& bob = server.Connect();
  TestClient& gone = server.Connect();
  EXPECT_EQ(bob.Line("AUTH bob pw").ToText(), "+OK");
  EXPECT_EQ(gone.Line("AUTH gone pw").ToText(), "+OK");

  // One bad line: nothing changes, and it is named.
  disk.Replace("users.acl", "user bob on nopass ~* +@all\nuser x +nosuch\n");
  EXPECT_THAT(admin.Line("ACL LOAD").ToText(), StartsWith("-ERR users.acl:2: Error in applying"));
  EXPECT_EQ(bob.Line("SET b 1").ToText(), kNoKey);
  EXPECT_FALSE(gone.closed());

  disk.Replace("users.acl", "user bob on >other ~b* +@all\n");
  EXPECT_EQ(admin.Line("ACL LOAD").ToText(), "+OK");
  EXPECT_EQ(bob.Line("SET b 1").ToText(), "+OK");
  EXPECT_TRUE(gone.closed());
  EXPECT_EQ(admin.Line("ACL SETUSER new on").ToText(), "+OK");
  EXPECT_EQ(admin.Line("ACL SAVE").ToText(), "+OK");
  std::string text;
  disk.Read("users.acl", text);
  EXPECT_THAT(text, HasSubstr("user new on resetchannels -@all\n"));
  EXPECT_THAT(text, HasSubstr("user default on nopass ~* &* +@all\n"));

  const TestEngine both({.config = {{"aclfile", "users.acl"}, {"user", "x on"}}, .disk = &disk});
  EXPECT_THAT(both.start_fault(), HasSubstr("put all of them into one of the two"));
  const TestEngine none({.config = {{"aclfile", "nosuch.acl"}}, .disk = &disk});
  EXPECT_THAT(none.start_fault(), HasSubstr("opening file 'nosuch.acl'"));
}

// Names and patterns with signs that mean something in a file. What is written is read back the
// same, or it is not written.
TEST(AccessAtStart, WhatIsWrittenIsReadBack) {
  const std::vector<std::vector<std::string>> users = {
      {"quote\"d", "on", "~a\"b", "&c'd", "+@read"},
      {"it's", "on", ">pw\" x", "~'", "~\"\"", "%R~\\x\"", "+@all", "-@dangerous"},
      {"", "on", "~", "&"},
      {"#name", "~#a", "+select|\"0\"", "+select|'"},
      {"\xff\xfe\x01", "~\x01\x7f"},
      {"two", "(~a\" %W~b' +get)", "(~(x +set)", "+select|1"},
      {"on", "off", "~on", "~user", "+@all"}};
  for (const bool has_file : {false, true}) {
    MemoryDisk disk;
    if (has_file) disk.Replace("users.acl", "");
    std::vector<std::pair<std::string, std::string>> config = {{"maxclients", "99"}};
    if (has_file) config.emplace_back("aclfile", "users.acl");
    TestEngine server({.config = config, .disk = &disk});
    ASSERT_EQ(server.start_fault(), "");
    disk.Replace("/etc/sluice.conf", "maxclients 99\n");
    ASSERT_EQ(server.config().LoadFile("/etc/sluice.conf"), "");
    TestClient& admin = server.Connect();
    for (const std::vector<std::string>& user : users) {
      std::vector<std::string> words = {"ACL", "SETUSER"};
      words.insert(words.end(), user.begin(), user.end());
      ASSERT_EQ(admin.Run(words).ToText(), "+OK") << testing::PrintToString(user);
    }
    const std::string before = admin.Line("ACL LIST").ToText();
    ASSERT_EQ(admin.Line(has_file ? "ACL SAVE" : "CONFIG REWRITE").ToText(), "+OK");
    std::string text;
    disk.Read(has_file ? "users.acl" : server.config().file(), text);
    if (has_file) {
      ASSERT_EQ(admin.Line("ACL LOAD").ToText(), "+OK") << text;
      EXPECT_EQ(admin.Line("ACL LIST").ToText(), before);
    }
    Config again(disk);
    if (!has_file) {
      ASSERT_EQ(again.LoadText(text), "") << text;
      EXPECT_EQ(again.LinesOf("user").size(), users.size() + 1);
      EXPECT_EQ(again.LinesOf("user")[0].words[0], "");
    }
  }
}

// A blank in the first argument of a command would make two rules of one, a line end another user;
// a rule that ends as a selector does would end it.
TEST_F(Access, RulesThatNoFileCanHold) {
  for (const std::vector<std::string>& rules :
       std::vector<std::vector<std::string>>{{"+select|a b"},
                                             {"+select|1\nuser evil on nopass ~* +@all"},
                                             {"+select|1\tx"},
                                             {"+select|\r"},
                                             {"(~a) +get)"},
                                             {"(&a) +get)"},
                                             {"(+select|1) ~x)"},
                                             {"~a b"},
                                             {"~a\nb"}}) {
    std::vector<std::string> words = {"ACL", "SETUSER", "bob"};
    words.insert(words.end(), rules.begin(), rules.end());
    EXPECT_THAT(admin_.Run(words).ToText(), HasSubstr("Syntax error")) << rules[0];
  }
  for (const std::string name : {"a b", "a\nb", "a\tb"}) {
    EXPECT_THAT(admin_.Run({"ACL", "SETUSER", name}).ToText(), HasSubstr("can't contain"));
  }
}

TEST(AccessAtStart, DefaultChannels) {
  TestEngine server({.config = {{"acl-pubsub-default", "allchannels"}}});
  TestClient& admin = server.Connect();
  admin.Line("ACL SETUSER bob");
  EXPECT_EQ(admin.Line("ACL LIST").elements[0].text, "user bob off &* -@all");
}

}  // namespace
}  // namespace sluice
