// Every option that CONFIG SET takes acts on what is there already, or the page says from when on
// it acts. A row each: one that was forgotten fails the first test.
//
// A row shows it here, on an engine; or names the test that does, where sockets and disks are
// needed; or is listed in docs/operating.md among those that act on what comes from then on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/options.h"
#include "server/locks/lock_service.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// A server whose options are changed while it has something that they are about.
class Running {
 public:
  explicit Running(TestEngine::Options options = {}) : engine(options) {}
  std::string Text(std::string_view line) { return client.Line(line).ToText(); }
  void Set(const std::string& option, const std::string& value) {
    EXPECT_EQ(client.Run({"CONFIG", "SET", option, value}).ToText(), "+OK");
    engine.Settle();
  }
  void Fill(int keys, const std::string& prefix = "key:") {
    for (int i = 0; i < keys; ++i)
      client.Run({"SET", prefix + std::to_string(i), std::string(500, 'x')});
  }
  // Whether that file of the data holds these bytes.
  bool IsInFiles(std::string_view bytes) {
    engine.AdvanceTime(2000);
    for (const auto& [name, content] : engine.disk().files)
      if (content.find(bytes) != std::string::npos) return true;
    return false;
  }
  bool HasFile(std::string_view name) {
    for (const auto& [path, content] : engine.disk().files)
      if (path.ends_with(name)) return true;
    return false;
  }

  TestEngine engine;
  TestClient& client = engine.Connect();
};

using Act = void (*)(Running& server);

TestEngine::Options With(std::vector<std::pair<std::string, std::string>> config) {
  TestEngine::Options options;
  options.config = std::move(config);
  return options;
}

struct ActingRow {
  std::vector<std::string> options;
  Act act;
  std::vector<std::pair<std::string, std::string>> config = {};
};

// The same for the limits of compact forms: the next change of a value finds it beyond them.
void ChangesForm(Running& server, const std::string& option, const std::string& value,
                 const std::string& make, const std::string& change) {
  server.Text(make);
  const std::string before = server.Text("OBJECT ENCODING k");
  server.Set(option, value);
  server.Text(change);
  EXPECT_NE(server.Text("OBJECT ENCODING k"), before) << option;
}

const ActingRow kActing[] = {
    // clients
    {{"timeout"},
     [](Running& server) {
       TestClient& idle = server.engine.Connect();
       server.engine.AdvanceTime(10'000);
       server.Set("timeout", "5");
       server.engine.AdvanceTime(3000);
       EXPECT_TRUE(idle.closed());
     }},
    {{"login-timeout"},
     [](Running& server) {
       server.Text("AUTH pw");
       TestClient& stranger = server.engine.Connect();
       server.engine.AdvanceTime(30'000);
       server.Set("login-timeout", "10");
       server.engine.AdvanceTime(3000);
       EXPECT_TRUE(stranger.closed());
     },
     {{"requirepass", "pw"}}},
    {{"failed-login-delay"},
     [](Running& server) {
       TestClient& other = server.engine.Connect();
       server.Set("failed-login-delay", "500");
       other.Send({"AUTH", "nobody", "wrong"});
       EXPECT_FALSE(other.Next().has_value());
       server.engine.AdvanceTime(500);
       EXPECT_TRUE(other.Next().has_value());
     }},
    {{"requirepass"},
     [](Running& server) {
       TestClient& before = server.engine.Connect();
       server.Set("requirepass", "pw");
       EXPECT_EQ(before.Line("PING").ToText(), "+PONG");  // it was let in
       EXPECT_THAT(server.engine.Connect().Line("PING").ToText(), HasSubstr("NOAUTH"));
     }},
    // cluster
    {{"cluster-require-full-coverage", "cluster-allow-reads-when-down",
      "cluster-allow-pubsubshard-when-down"},
     [](Running& server) {
       server.Text("CLUSTER ADDSLOTS 15495");  // that of a
       EXPECT_THAT(server.Text("GET a"), HasSubstr("CLUSTERDOWN"));
       server.Set("cluster-allow-reads-when-down", "yes");
       EXPECT_EQ(server.Text("GET a"), "(nil)");
       EXPECT_EQ(server.Text("SPUBLISH a m"), ":0");
       server.Set("cluster-allow-pubsubshard-when-down", "no");
       EXPECT_THAT(server.Text("SPUBLISH a m"), HasSubstr("CLUSTERDOWN"));
       server.Set("cluster-require-full-coverage", "no");
       EXPECT_EQ(server.Text("SET a 1"), "+OK");
     },
     {{"cluster-enabled", "yes"}}},
    {{"cluster-announce-ip", "cluster-announce-port", "cluster-announce-hostname",
      "cluster-preferred-endpoint-type"},
     [](Running& server) {
       server.Text("CLUSTER ADDSLOTS 1");
       server.Set("cluster-announce-ip", "10.0.0.9");
       server.Set("cluster-announce-port", "7009");
       EXPECT_THAT(server.Text("CLUSTER SLOTS"), HasSubstr("[\"10.0.0.9\", :7009"));
       server.Set("cluster-announce-hostname", "here.example");
       server.Set("cluster-preferred-endpoint-type", "hostname");
       EXPECT_THAT(server.Text("CLUSTER SLOTS"), HasSubstr("[\"here.example\", :7009"));
     },
     {{"cluster-enabled", "yes"}}},
    {{"cluster-allow-replica-migration"},
     [](Running& server) {
       // Another server has the one slot of this one: it is followed, or not.
       const std::string other(40, 'e');
       const auto lose_slot = [&](int epoch) {
         server.Text("CLUSTER ADDSLOTS 1");
         server.client.Run({"CLUSTER", "MAP", "PUT",
                            Concat("epoch ", epoch, "\n1 10.0.0.9:1 ", other, "\nme ", other),
                            "MEET"});
         server.engine.AdvanceTime(2000);
       };
       server.Set("cluster-announce-ip", "10.0.0.8");
       server.Set("cluster-allow-replica-migration", "no");
       lose_slot(10);
       EXPECT_THAT(server.Text("ROLE"), HasSubstr("master"));
       server.client.Run({"CLUSTER", "MAP", "PUT",
                          Concat("epoch 20\nserver 10.0.0.9:1 ", other, "\nme ", other)});
       server.Set("cluster-allow-replica-migration", "yes");
       lose_slot(30);
       EXPECT_THAT(server.Text("ROLE"), HasSubstr("\"10.0.0.9\", :1"));
     },
     {{"cluster-enabled", "yes"}}},
    {{"acllog-max-len"},
     [](Running& server) {
       for (int i = 0; i < 5; ++i)
         server.engine.Connect().Run({"AUTH", "user" + std::to_string(i), "wrong"});
       EXPECT_EQ(server.client.Line("ACL LOG 100").elements.size(), 5u);
       server.Set("acllog-max-len", "2");
       EXPECT_EQ(server.client.Line("ACL LOG 100").elements.size(), 2u);
     }},
    {{"proto-max-bulk-len"},
     [](Running& server) {
       server.Text("SETRANGE k 2000000 x");
       server.Set("proto-max-bulk-len", "1mb");
       EXPECT_THAT(server.Text("APPEND k x"), HasSubstr("-ERR"));
     }},
    {{"client-query-buffer-limit"},
     [](Running& server) {
       TestClient& other = server.engine.Connect();
       other.SendBytes("*2\r\n$3\r\nGET\r\n$3000000\r\n" + std::string(2'000'000, 'x'));
       server.Set("client-query-buffer-limit", "1mb");
       server.engine.AdvanceTime(3000);
       EXPECT_TRUE(other.closed());
     }},
    {{"client-output-buffer-limit"},
     [](Running& server) {
       server.Text("SETRANGE k 200000 x");
       TestClient& other = server.engine.Connect();
       other.set_reading(false);
       other.Send({"GET", "k"});
       server.Set("client-output-buffer-limit", "normal 1000 0 0");
       server.engine.AdvanceTime(3000);
       EXPECT_TRUE(other.closed());
     }},
    {{"maxmemory-clients"},
     [](Running& server) {
       TestClient& other = server.engine.Connect();
       other.SendBytes("*2\r\n$3\r\nGET\r\n$3000000\r\n" + std::string(2'000'000, 'x'));
       server.Set("maxmemory-clients", "200kb");
       server.engine.AdvanceTime(3000);
       EXPECT_TRUE(other.closed());
     }},
    {{"tracking-table-max-keys"},
     [](Running& server) {
       server.Fill(100);
       TestClient& other = server.engine.Connect();
       other.Line("HELLO 3");
       other.Line("CLIENT TRACKING ON");
       for (int i = 0; i < 100; ++i) other.Run({"GET", "key:" + std::to_string(i)});
       server.Set("tracking-table-max-keys", "10");
       EXPECT_THAT(server.Text("INFO stats"), HasSubstr("tracking_total_keys:10\\r"));
     }},
    // memory
    {{"maxmemory", "evict-never"},
     [](Running& server) {
       server.Text("CONFIG SET maxmemory-policy allkeys-random");
       server.Fill(2000);
       server.Fill(5, "kept:");
       server.Set("evict-never", "kept:*");
       server.Set("maxmemory", "100kb");
       for (int i = 0; i < 100; ++i) server.engine.AdvanceTime(10);
       EXPECT_LT(server.client.Line("DBSIZE").integer, 500);
       EXPECT_EQ(server.Text("EXISTS kept:0 kept:1 kept:2 kept:3 kept:4"), ":5");
     }},
    {{"maxmemory-policy"},
     [](Running& server) {
       server.Fill(100);
       server.Set("maxmemory", "1kb");
       EXPECT_THAT(server.Text("SET new v"), HasSubstr("-OOM"));
       server.Set("maxmemory-policy", "allkeys-lru");
       server.Text("SET new v");
       for (int i = 0; i < 100; ++i) server.engine.AdvanceTime(10);
       EXPECT_LT(server.client.Line("DBSIZE").integer, 100);
     }},
    {{"maxmemory-reserved-for-locks"},
     [](Running& server) {
       server.Set("maxmemory", "1kb");
       EXPECT_THAT(server.Text("LOCK.ACQUIRE a me LEASE 1000"), HasSubstr("[:1"));
       server.Set("maxmemory-reserved-for-locks", "0");
       EXPECT_THAT(server.Text("LOCK.ACQUIRE b me LEASE 1000"), HasSubstr("-OOM"));
     }},
    {{"lfu-decay-time"},
     [](Running& server) {
       server.Set("maxmemory-policy", "allkeys-lfu");
       server.Set("lfu-decay-time", "0");
       server.Text("SET k v");
       for (int i = 0; i < 300; ++i) server.Text("GET k");
       server.engine.AdvanceTime(600'000);
       const int64_t before = server.client.Line("OBJECT FREQ k").integer;
       server.Set("lfu-decay-time", "1");
       EXPECT_LT(server.client.Line("OBJECT FREQ k").integer, before);
     }},
    {{"lfu-log-factor"},
     [](Running& server) {
       server.Set("maxmemory-policy", "allkeys-lfu");
       server.Text("SET k v");
       server.Set("lfu-log-factor", "0");
       for (int i = 0; i < 100; ++i) server.Text("GET k");
       EXPECT_GT(server.client.Line("OBJECT FREQ k").integer, 90);
     }},
    {{"lazyfree-lazy-user-flush"},
     [](Running& server) {
       server.Fill(100);
       server.Set("lazyfree-lazy-user-flush", "yes");
       const uint64_t before = server.engine.engine().statistics().freed_lazily;
       server.Text("FLUSHALL");
       server.engine.Settle();
       EXPECT_EQ(server.engine.engine().statistics().freed_lazily, before + 100);
     }},
    // values: what is there has another form from its next change on
    {{"hash-max-listpack-entries"},
     [](Running& server) {
       ChangesForm(server, "hash-max-listpack-entries", "1", "HSET k a 1 b 2 c 3", "HSET k a 2");
     }},
    {{"hash-max-listpack-value"},
     [](Running& server) {
       ChangesForm(server, "hash-max-listpack-value", "3", "HSET k a 1", "HSET k b long");
     }},
    {{"set-max-intset-entries"},
     [](Running& server) {
       ChangesForm(server, "set-max-intset-entries", "2", "SADD k 1 2 3", "SADD k 4");
     }},
    {{"zset-max-listpack-entries"},
     [](Running& server) {
       ChangesForm(server, "zset-max-listpack-entries", "2", "ZADD k 1 a 2 b 3 c", "ZADD k 4 d");
     }},
    {{"zset-max-listpack-value"},
     [](Running& server) {
       ChangesForm(server, "zset-max-listpack-value", "3", "ZADD k 1 a", "ZADD k 2 long");
     }},
    {{"hll-sparse-max-bytes"},
     [](Running& server) {
       server.Text("PFADD k a b c");
       server.Set("hll-sparse-max-bytes", "0");
       server.Text("PFADD k d e f");
       EXPECT_GT(server.client.Line("STRLEN k").integer, 12'000);
     }},
    {{"list-max-listpack-size"},
     [](Running& server) {
       server.Text("RPUSH k a b c");
       EXPECT_THAT(server.Text("DEBUG OBJECT k"), HasSubstr("ql_nodes:1 "));
       server.Set("list-max-listpack-size", "3");
       server.Text("RPUSH k d e f");
       EXPECT_THAT(server.Text("DEBUG OBJECT k"), HasSubstr("ql_nodes:2 "));
     }},
    {{"stream-node-max-entries", "stream-node-max-bytes"},
     [](Running& server) {
       server.Text("XADD k 1-1 f v");
       server.Set("stream-node-max-entries", "1");
       server.Text("XADD k 2-1 f v");
       EXPECT_THAT(server.Text("XINFO STREAM k"), HasSubstr("\"radix-tree-keys\", :2"));
       server.Set("stream-node-max-entries", "100");
       server.Set("stream-node-max-bytes", "1");
       server.Text("XADD k 3-1 f v");
       EXPECT_THAT(server.Text("XINFO STREAM k"), HasSubstr("\"radix-tree-keys\", :3"));
     }},
    // what is noted
    {{"slowlog-log-slower-than"},
     [](Running& server) {
       server.Set("slowlog-log-slower-than", "0");
       server.Text("PING");
       EXPECT_GT(server.client.Line("SLOWLOG LEN").integer, 0);
     }},
    {{"slowlog-max-len"},
     [](Running& server) {
       server.Set("slowlog-log-slower-than", "0");
       for (int i = 0; i < 10; ++i) server.Text("PING");
       server.Set("slowlog-log-slower-than", "-1");
       server.Set("slowlog-max-len", "2");
       EXPECT_EQ(server.client.Line("SLOWLOG LEN").integer, 2);
     }},
    {{"slowlog-max-argc"},
     [](Running& server) {
       server.Set("slowlog-max-argc", "3");
       server.Set("slowlog-log-slower-than", "0");
       server.Text("DEL a b c d");
       EXPECT_NE(server.Text("SLOWLOG GET 1").find("\"DEL\", \"a\", \"... (3 more arguments)\""),
                 std::string::npos);
     }},
    {{"latency-monitor-threshold"},
     [](Running& server) {
       server.Set("latency-monitor-threshold", "1");
       server.Text("DEBUG SLEEP 0.01");
       EXPECT_NE(server.Text("LATENCY LATEST"), "[]");
     }},
    {{"latency-tracking"},
     [](Running& server) {
       server.Text("PING");
       EXPECT_THAT(server.Text("INFO latencystats"), HasSubstr("latency_percentiles_usec_ping"));
       server.Set("latency-tracking", "no");
       EXPECT_EQ(server.Text("INFO latencystats").find("latency_percentiles_usec_ping"),
                 std::string::npos);
     }},
    {{"latency-tracking-info-percentiles"},
     [](Running& server) {
       server.Text("PING");
       server.Set("latency-tracking-info-percentiles", "42");
       EXPECT_THAT(server.Text("INFO latencystats"), HasSubstr("usec_ping:p42="));
     }},
    {{"notify-keyspace-events"},
     [](Running& server) {
       TestClient& listener = server.engine.Connect();
       listener.Line("PSUBSCRIBE __keyevent@0__:*");
       server.Set("notify-keyspace-events", "KEA");
       server.Text("SET k v");
       EXPECT_TRUE(listener.Next().has_value());
     }},
    {{"sluice-expired-value", "notify-value-max"},
     [](Running& server) {
       TestClient& listener = server.engine.Connect();
       listener.Line("PSUBSCRIBE *");
       server.Text("SET before value PX 1");
       server.engine.AdvanceTime(1);
       EXPECT_FALSE(listener.Next().has_value());
       server.Set("sluice-expired-value", "yes");
       server.Set("notify-value-max", "3");
       server.Text("SET k value PX 1");
       server.engine.AdvanceTime(1);
       EXPECT_EQ(listener.Next()->ToText(), R"(["pmessage", "*", "__keyexpired@0__:k", "val"])");
     }},
    {{"busy-reply-threshold"},
     [](Running& server) {
       server.Set("busy-reply-threshold", "7");
       server.engine.set_tick_step(1'000'000);
       std::string told;
       server.engine.OnPoll([&] {
         server.engine.set_tick_step(0);
         told = server.engine.Connect().Line("GET k").ToText();
         server.engine.Connect().Line("SCRIPT KILL");
       });
       server.Text("EVAL \"while true do end\" 0");
       EXPECT_THAT(told, HasSubstr("-BUSY"));
     }},
    // files
    {{"aof-timestamp-enabled"},
     [](Running& server) {
       server.Text("SET before v");
       server.client.SendBytes(
           "*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$21\r\naof-timestamp-enabled\r\n$3\r\nyes\r\n"
           "*3\r\n$3\r\nSET\r\n$5\r\nfirst\r\n$1\r\nv\r\n");
       server.engine.AdvanceTime(2000);
       for (const auto& [name, content] : server.engine.disk().files) {
         const size_t first = content.find("first");
         if (first == std::string::npos) continue;
         EXPECT_LT(content.find("#TS:"), first);
         return;
       }
       ADD_FAILURE() << "nothing was written";
     },
     {{"appendonly", "yes"}}},
    {{"auto-aof-rewrite-percentage", "auto-aof-rewrite-min-size"},
     [](Running& server) {
       server.Fill(100);
       server.engine.AdvanceTime(3000);
       EXPECT_THAT(server.Text("INFO persistence"), HasSubstr("aof_rewrites:0\\r"));
       server.Set("auto-aof-rewrite-percentage", "1");
       server.Set("auto-aof-rewrite-min-size", "1");
       server.engine.AdvanceTime(3000);
       EXPECT_EQ(server.Text("INFO persistence").find("aof_rewrites:0\\r"), std::string::npos);
     },
     {{"appendonly", "yes"}}},
    {{"appendonly"},
     [](Running& server) {
       server.Text("SET before v");
       server.Set("appendonly", "yes");
       EXPECT_TRUE(server.IsInFiles("before"));
     }},
    {{"appendfsync"},
     [](Running& server) {
       server.engine.set_aside_waits(true);
       server.Set("appendfsync", "always");
       server.client.Send({"SET", "k", "v"});
       EXPECT_FALSE(server.client.Next().has_value());
       server.engine.set_aside_waits(false);
       while (server.engine.RunBackgroundNow()) continue;
       server.engine.Settle();
       EXPECT_TRUE(server.client.Next().has_value());
     },
     {{"appendonly", "yes"}, {"appendfsync", "no"}}},
    {{"save"},
     [](Running& server) {
       server.Text("SET before v");
       server.Set("save", "1 1");
       server.engine.AdvanceTime(5000);
       EXPECT_TRUE(server.HasFile("dump.rdb"));
     },
     {{"save", ""}}},
    {{"dbfilename"},
     [](Running& server) {
       server.Set("dbfilename", "other.rdb");
       server.Text("SAVE");
       EXPECT_TRUE(server.HasFile("other.rdb"));
     },
     {{"enable-protected-configs", "yes"}}},
    {{"rdbcompression"},
     [](Running& server) {
       server.client.Run({"SET", "k", std::string(1000, 'x')});
       server.Set("rdbcompression", "no");
       server.Text("SAVE");
       EXPECT_TRUE(server.IsInFiles(std::string(1000, 'x')));
     }},
    // locks
    {{"fence-retention"},
     [](Running& server) {
       server.Text("LOCK.ACQUIRE k me LEASE 1000");
       server.Text("LOCK.RELEASE k me");
       EXPECT_EQ(server.engine.engine().part<LockService>().memory().size(), 1u);
       server.engine.AdvanceTime(10);
       server.Set("fence-retention", "5");
       EXPECT_EQ(server.engine.engine().part<LockService>().memory().size(), 0u);
     }},
    {{"fence-memory-max"},
     [](Running& server) {
       for (int i = 0; i < 3000; ++i) {
         const std::string key = "lock:" + std::to_string(i);
         server.client.Run({"LOCK.ACQUIRE", key, "me", "LEASE", "1000"});
         server.client.Run({"LOCK.RELEASE", key, "me"});
       }
       const FenceMemory& memory = server.engine.engine().part<LockService>().memory();
       EXPECT_EQ(memory.size(), 3000u);
       server.Set("fence-memory-max", "10000");
       EXPECT_LE(memory.memory_bytes(), 10'000u);
       EXPECT_GT(memory.size(), 10u);
     }},
    {{"metrics-prefixes"},
     [](Running& server) {
       server.Text("LOCK.ACQUIRE door:1 me LEASE 1000");
       TestClient& other = server.engine.Connect();
       other.Send({"LOCK.ACQUIRE", "door:1", "other", "LEASE", "1000", "WAIT", "100"});
       server.Set("metrics-prefixes", "door:");
       server.engine.AdvanceTime(100);
       EXPECT_THAT(server.Text("INFO locks"),
                   HasSubstr("locks_wait_prefix_door_:count=0,ms_sum=0,p50=0,p99=0,p99.9=0,"
                             "timeout=1,turned_away=0,closed=0,deadlock=0\\r"));
     }},
};

// Shown by another test, which is read here for the option's name.
const std::map<std::string_view, std::string_view> kShownElsewhere = {
    {"port", "tests/smoke/started.py"},
    {"dir", "tests/smoke/snapshots.py"},
    {"cluster-map-follow", "tests/unit/server/peers/line_leaders_test.cc"},
    {"maxclients", "tests/smoke/connections.py"},
    {"maxclients-per-ip", "tests/smoke/connections.py"},
    {"protected-mode", "tests/smoke/connections.py"},
    {"http-password", "tests/smoke/http_port.py"},
    {"tls-port", "tests/smoke/tls.py"},
    {"tls-cert-file", "tests/smoke/tls.py"},
    {"tls-key-file", "tests/smoke/tls.py"},
    {"tls-key-file-pass", "tests/smoke/tls.py"},
    {"tls-ca-cert-file", "tests/smoke/tls.py"},
    {"tls-ca-cert-dir", "tests/smoke/tls.py"},
    {"tls-auth-clients", "tests/smoke/tls.py"},
    {"tls-auth-clients-user", "tests/smoke/tls.py"},
    {"tls-dh-params-file", "tests/smoke/tls.py"},
    {"stop-writes-on-bgsave-error", "tests/unit/server/snapshots/snapshots_test.cc"},
    {"rdb-key-save-delay", "tests/unit/server/snapshots/snapshots_test.cc"},
    {"maxmemory-samples", "tests/unit/server/dispatch/memory_limit_test.cc"},
    {"session-grace-ms", "tests/unit/server/log/restart_grace_test.cc"},
    {"lock-restart-grace", "tests/unit/server/log/restart_grace_test.cc"},
    {"lock-restart-grace-max", "tests/unit/server/log/restart_grace_test.cc"},
    {"lock-session-timeout", "tests/smoke/lock_dead_peer.py"},
    {"lock-min-replicas", "tests/unit/server/locks/grants_kept_test.cc"},
    {"lock-replicas-timeout", "tests/unit/server/locks/grants_kept_test.cc"},
    {"replicas-required", "tests/unit/server/locks/grants_kept_test.cc"},
    {"tcp-keepalive", "tests/smoke/connections.py"},
    {"server-name", "tests/smoke/page.py"},
    {"min-replicas-max-lag", "tests/unit/server/replication/replicas_test.cc"},
    {"min-replicas-to-write", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-backlog-size", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-backlog-ttl", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-disable-tcp-nodelay", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-diskless-sync", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-diskless-sync-delay", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-diskless-sync-max-replicas", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-ping-replica-period", "tests/unit/server/replication/replicas_test.cc"},
    {"repl-timeout", "tests/unit/server/replication/replicas_test.cc"},
    {"shutdown-timeout", "tests/unit/server/replication/graceful_end_test.cc"},
    {"replica-read-only", "tests/unit/server/following/following_test.cc"},
    {"replica-serve-stale-data", "tests/transcripts/replication.txt"},
    {"replica-ignore-maxmemory", "tests/unit/server/following/follower_views_test.cc"},
    {"replica-lazy-flush", "tests/unit/server/following/full_sync_test.cc"},
    {"replica-announced", "tests/smoke/sentinel.py"},
    {"key-load-delay", "tests/smoke/sentinel.py"},
    {"loading-process-events-interval-bytes", "tests/smoke/sentinel.py"},
    {"lbucket-second-buckets", "tests/transcripts/leaky_buckets.txt"},
};

std::string FileOfSources(std::string_view path) {
  constexpr std::string_view kHere = "tests/unit/server/config/settings_act_test.cc";
  std::string file = __FILE__;
  file.resize(file.size() - kHere.size());
  std::ifstream in(file + std::string(path));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The section of docs/operating.md that lists, between backquotes, those that act from then on.
std::string FromThenOn() {
  const std::string page = FileOfSources("docs/operating.md");
  const size_t begin = page.find("## What a changed option acts on");
  if (begin == std::string::npos) return {};
  return page.substr(begin, page.find("\n## ", begin + 3) - begin);
}

TEST(SettingsAct, EveryOptionThatCanBeSetHasARow) {
  std::set<std::string_view> acting;
  for (const ActingRow& row : kActing) acting.insert(row.options.begin(), row.options.end());
  const std::string section = FromThenOn();
  for (const Option& option : ServedOptions()) {
    if (option.immutable) continue;
    const auto elsewhere = kShownElsewhere.find(option.name);
    const bool is_listed = section.find("`" + std::string(option.name) + "`") != std::string::npos;
    const bool is_shown = acting.contains(option.name) || elsewhere != kShownElsewhere.end();
    EXPECT_TRUE(is_shown || is_listed) << option.name;
    if (elsewhere != kShownElsewhere.end()) {
      EXPECT_THAT(FileOfSources(elsewhere->second), HasSubstr(std::string(option.name)));
    }
  }
}

class SettingsActing : public testing::TestWithParam<size_t> {};

TEST_P(SettingsActing, OnWhatIsThere) {
  const ActingRow& row = kActing[GetParam()];
  std::vector<std::pair<std::string, std::string>> config = row.config;
  Running server(With(std::move(config)));
  row.act(server);
}

INSTANTIATE_TEST_SUITE_P(Options, SettingsActing, testing::Range(size_t{0}, std::size(kActing)),
                         [](const auto& info) {
                           std::string name = kActing[info.param].options.front();
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace sluice
