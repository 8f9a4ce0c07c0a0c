// The pages over an engine without sockets: who gets which, what the page's answers say, and what
// requests that change something do.
#include "server/http/pages.h"

#include <gtest/gtest.h>

#include "protocol/text/concat.h"
#include "server/figures/sections.h"
#include "server/http/text/base64.h"
#include "server/limits/limit_service.h"
#include "server/locks/lock_service.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class PagesTest : public EngineFixture {
 protected:
  HttpRequest Request(std::string_view path, std::string_view query = "") {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    request.host = "127.0.0.1:9121";
    request.address = "127.0.0.1:1";
    request.is_local = true;
    request.authorization = authorization_;
    return request;
  }
  HttpAnswer Ask(std::string_view path, std::string_view query = "") {
    return pages_.Answer(Request(path, query), figures_);
  }
  std::string Text(std::string_view path, std::string_view query = "") {
    const HttpAnswer answer = Ask(path, query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body;
  }
  void LogIn() {
    server().config().Preset("http-password", {"secret"});
    server().config().Preset("http-actions", {"yes"});
    authorization_ = "Bearer secret";
  }
  std::string Token() {
    const std::string all = Text("/api/overview");
    const size_t at = all.find("\"token\":\"");
    return at == all.npos ? "" : all.substr(at + 9, all.find('"', at + 9) - at - 9);
  }
  HttpRequest Change(std::string_view path, std::string_view key) {
    HttpRequest request = Request(path);
    request.method = "POST";
    request.origin = "http://127.0.0.1:9121";
    request.content_type = "application/json";
    request.page_token = Token();
    request.body = Concat("{\"db\":0,\"key\":\"", ToBase64Url(key), "\"}");
    return request;
  }
  int Status(const HttpRequest& request) { return pages_.Answer(request, figures_).status; }

  HttpPages pages_{server().config(), [this]() -> Engine& { return engine(); }};
  HttpFigures figures_;
  std::string authorization_;
};

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST_F(PagesTest, TheFrontPageAllowsItsOwnPartsAlone) {
  const HttpAnswer answer = Ask("/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(Has(answer.body, "<!doctype html>")) << answer.body.substr(0, 80);
  ASSERT_FALSE(answer.headers.empty());
  EXPECT_EQ(answer.headers[0].first, "Content-Security-Policy");
  EXPECT_TRUE(Has(answer.headers[0].second, "default-src 'none'; script-src 'sha256-"));
  EXPECT_FALSE(Has(answer.headers[0].second, "unsafe"));
}

TEST_F(PagesTest, BalancersAskForTheLeaderAndForReplicas) {
  EXPECT_EQ(Text("/leader"), "leader\n");
  const HttpAnswer none = Ask("/replica");
  EXPECT_EQ(none.status, 503);
  EXPECT_EQ(none.body, "no replica\n- it is a master\n");
  server().config().Preset("http-password", {"secret"});
  EXPECT_EQ(Ask("/leader").status, 200) << "it is a probe";
  Run({"REPLICAOF", "127.0.0.1", "1"});
  const HttpAnswer follower = Ask("/leader");
  EXPECT_EQ(follower.status, 503);
  EXPECT_EQ(follower.body, "no leader\n- it is a replica of 127.0.0.1:1\n");
  EXPECT_EQ(Ask("/replica").status, 503) << "its link is down";
  for (const std::string_view wrong : {"max_lag_ms=", "max_lag_ms=-1", "max_lag_ms=x", "max=1",
                                       "max_lag_ms=1&max_lag_ms=2", "max_lag_ms"}) {
    EXPECT_EQ(Ask("/replica", wrong).status, 400) << wrong;
  }
}

TEST_F(PagesTest, LocksAndWaits) {
  Run({"lock.acquire", "door", "alice", "lease", "5000"});
  TestClient& other = Connect();
  other.Send({"lock.acquire", "door", "bob", "lease", "1000", "wait", "9000"});
  AdvanceTime(2000);
  const std::string locks = Text("/api/locks");
  EXPECT_TRUE(Has(locks, R"({"name":{"text":"door","bytes":4,"id":"ZG9vcg"},"mode":"exclusive")"))
      << locks;
  EXPECT_TRUE(Has(locks, R"("waiters":1)")) << locks;
  EXPECT_TRUE(Has(locks, R"("lease_ms":3000,"held_ms":2000,"lease_whole_ms":5000)")) << locks;
  const std::string waits = Text("/api/waits");
  EXPECT_TRUE(Has(waits, R"("text":"alice")")) << waits;
  EXPECT_TRUE(
      Has(waits, R"("queue":[{"owner":{"text":"bob","bytes":3,"id":"Ym9i"},"waited_ms":2000)"))
      << waits;
  EXPECT_TRUE(Has(waits, R"("left_ms":7000)")) << waits;
  EXPECT_TRUE(Has(Text("/api/key", "key=ZG9vcg"), R"("lock":{"mode":"exclusive")"));
  Run({"lock.release", "door", "alice"});
  EXPECT_TRUE(Has(Text("/api/waits"), R"("locks":[])"));
  EXPECT_TRUE(Has(Text("/api/locks"), R"("text":"bob")"));
}

// A wait counts when it is over, by the engine's time, for the longest prefix of its name.
TEST_F(PagesTest, WaitsForLocksAreCounted) {
  Run({"config", "set", "metrics-prefixes", "door: door:front: yard:"});
  TestClient& other = Connect();
  for (const char* const name : {"door:front:1", "door:1", "gate"}) {
    Run({"lock.acquire", name, "alice", "lease", "60000"});
    other.Send({"lock.acquire", name, "bob", "lease", "1000", "wait", "9000"});
    AdvanceTime(200);
    Run({"lock.release", name, "alice"});
  }
  Run({"lock.acquire", "door:2", "alice", "lease", "60000"});
  other.Send({"lock.acquire", "door:2", "bob", "lease", "1000", "wait", "300"});
  AdvanceTime(300);
  const std::string metrics = Text("/metrics");
  for (const std::string_view line : {
           "sluice_lock_wait_seconds_bucket{le=\"0.05\"} 0\n",
           "sluice_lock_wait_seconds_bucket{le=\"0.25\"} 3\n",
           "sluice_lock_wait_seconds_sum 0.6\n",
           "sluice_lock_wait_seconds_count 3\n",
           "sluice_lock_waits_in_vain_total{reason=\"timeout\"} 1\n",
           "sluice_lock_waits_in_vain_total{reason=\"closed\"} 0\n",
           "sluice_lock_prefix_wait_seconds_count{prefix=\"door:\"} 1\n",
           "sluice_lock_prefix_wait_seconds_sum{prefix=\"door:front:\"} 0.2\n",
           "sluice_lock_prefix_wait_seconds_bucket{prefix=\"door:front:\",le=\"0.25\"} 1\n",
           "sluice_lock_prefix_wait_seconds_count{prefix=\"yard:\"} 0\n",
           "sluice_lock_prefix_waits_in_vain_total{prefix=\"door:\",reason=\"timeout\"} 1\n",
           "sluice_lock_prefix_waits_in_vain_total{prefix=\"yard:\",reason=\"timeout\"} 0\n",
       })
    EXPECT_TRUE(Has(metrics, line)) << line << metrics;
  const std::string overview = Text("/api/overview");
  EXPECT_TRUE(Has(overview, R"("lock_waits":{"count":3,"p50_ms":200,"p99_ms":200,"most_ms":200,)"
                            R"("in_vain":{"timeout":1,"turned_away":0,"closed":0,"deadlock":0})"))
      << overview;
  EXPECT_TRUE(Has(overview, R"({"prefix":"door:","count":1,"p50_ms":200)")) << overview;
  Run({"config", "set", "metrics-prefixes", ""});
  EXPECT_FALSE(Has(Text("/metrics"), "sluice_lock_prefix_wait_seconds_count"));
}

// Prefixes that can hardly be longer, with waits of every length: a scrape stays small.
TEST_F(PagesTest, PrefixesAreBounded) {
  std::string prefixes;
  for (char first = 'A'; first < 'A' + 32; ++first)
    prefixes += Concat(first == 'A' ? "" : " ", std::string(1, first), std::string(63, '"'));
  EXPECT_EQ(Run({"config", "set", "metrics-prefixes", prefixes}).text, "OK");
  LockWaitStatistics& statistics = engine().part<LockService>().wait_statistics();
  for (int64_t ms = 1; ms < int64_t{1} << 46; ms *= 2) {
    for (const auto& each : statistics.by_prefix()) {
      statistics.CountGranted({LockName(LockNameView{0, each.prefix})}, ms);
    }
  }
  EXPECT_LT(Text("/metrics").size(), 150'000u);
  EXPECT_LT(Text("/api/overview").size(), 20'000u);
}

// A walk by cursors gives each lock once, whatever the glob leaves out.
TEST_F(PagesTest, LocksAreListedInPieces) {
  for (int i = 0; i < 500; ++i) {
    Run({"lock.acquire", Concat("l:", i), "me", "lease", "60000"});
  }
  const auto walk = [&](std::string_view match) {
    std::string cursor = "0";
    size_t found = 0;
    do {
      const std::string text = Text("/api/locks", Concat("match=", match, "&cursor=", cursor));
      for (size_t at = 0; (at = text.find("\"name\"", at)) != text.npos; ++at) ++found;
      const size_t at = text.find("\"cursor\":\"") + 10;
      cursor = text.substr(at, text.find('"', at) - at);
    } while (cursor != "0");
    return found;
  };
  EXPECT_EQ(walk(""), 500u);
  EXPECT_EQ(walk("l:1*"), 111u);
  EXPECT_EQ(walk("nothing"), 0u);
}

TEST_F(PagesTest, ALookRemovesNothing) {
  Run({"set", "k", "1", "px", "1000"});
  server().clock().AdvanceMicros(2'000'000);  // no turn has come since
  EXPECT_TRUE(Has(Text("/api/key", "key=aw"), R"("type":"none")"));
  EXPECT_TRUE(Has(Text("/api/keys"), R"("keys":[])"));
  EXPECT_EQ(engine().keyspace().db(0).size(), 1u);
}

TEST_F(PagesTest, RefusedKeysAreKeptFromTheFirstSampleOn) {
  Run({"limit.take", "early", "window", "1", "60000"});
  Run({"limit.take", "early", "window", "1", "60000"});
  EXPECT_EQ(engine().part<LimitService>().refused(), nullptr);
  pages_.Sample(kSecond);
  for (int i = 0; i < 5; ++i) Run({"limit.take", "api", "window", "2", "60000"});
  Run({"limit.take", "api", "window", "2", "60000", "shadow"});
  Run({"limit.take", "api", "window", "2", "60000", "peek"});
  Run({"limit.all", "2", "api", "other", "window", "2", "60000", "0", "1", "window", "2", "60000",
       "0", "1"});
  const std::string limits = Text("/api/limits");
  EXPECT_TRUE(Has(limits, R"("text":"api","bytes":3,"id":"YXBp"},"count":4,"excess":0)")) << limits;
  EXPECT_TRUE(Has(limits, R"("capacity":2,"used":2,"remaining":0)")) << limits;
  EXPECT_FALSE(Has(limits, "early"));
  EXPECT_FALSE(Has(limits, "other"));
}

TEST_F(PagesTest, TheHistoryIsBounded) {
  pages_.Sample(kSecond);
  EXPECT_EQ(pages_.history().taken(), 0u);
  for (int i = 0; i < 30; ++i) Run({"ping"});
  pages_.Sample(11 * kSecond);
  EXPECT_TRUE(Has(Text("/api/history"), R"("commands":[3],)")) << Text("/api/history");
  EXPECT_TRUE(Has(Text("/api/history", "cursor=1"), R"("commands":[],)"));
  for (int i = 2; i < 800; ++i) pages_.Sample(i * 10 * kSecond);
  EXPECT_EQ(pages_.history().Since(0).size(), History::kSamplesMax);
  EXPECT_EQ(pages_.history().Since(pages_.history().taken() - 3).size(), 3u);
}

// Counters are shown as what they grow by, all else as it is.
TEST_F(PagesTest, PlotsAreRatesAndFigures) {
  pages_.Sample(kSecond);
  for (int i = 0; i < 5; ++i) Run({"lock.acquire", Concat("l", i), "me", "lease", "60000"});
  Run({"limit.take", "k", "window", "1", "60000"});
  pages_.Sample(11 * kSecond);
  const std::string text = Text("/api/history");
  size_t at = 0;
  for (const std::string_view column :
       {R"("unix_s":[)", R"("commands":[0.6],)", R"("taken":[0.1],)", R"("refused":[0],)",
        R"("granted":[0.5],)", R"("clients":[1],)", R"("memory":[)", R"("locks":[5],)",
        R"("waiters":[0],)", R"("turn_us":[)", R"("late_ms":[0]})"}) {
    const size_t found = text.find(column, at);
    ASSERT_NE(found, text.npos) << column << " in " << text;
    at = found;
  }
}

// Each metric that has a row is in the text once, redis_exporter's before ours.
TEST_F(PagesTest, MetricsAreThoseOfTheRows) {
  const std::string text = Text("/metrics");
  for (const FigureSection& section : FigureSections()) {
    for (const Figure& figure : section.figures) {
      if (figure.metric.name.empty()) continue;
      const std::string_view ending =
          figure.metric.kind == MetricText::Kind::kCounter ? "_total" : "";
      const std::string help =
          Concat("# HELP ", figure.metric.name, ending, ' ', figure.metric.help, '\n');
      const size_t at = text.find(help);
      ASSERT_NE(at, text.npos) << help;
      EXPECT_EQ(text.find(help, at + 1), text.npos) << help;
    }
  }
  EXPECT_TRUE(text.starts_with("# HELP redis_"));
  EXPECT_LT(text.rfind("# HELP redis_"), text.find("# HELP sluice_"));
}

TEST_F(PagesTest, RatesOutliveResetStat) {
  pages_.Sample(kSecond);
  for (int i = 0; i < 1000; ++i) Run({"ping"});
  pages_.Sample(11 * kSecond);
  Run({"config", "resetstat"});
  pages_.Sample(21 * kSecond);
  for (const History::Sample& sample : pages_.history().Since(0)) {
    const double commands = sample.plotted[static_cast<size_t>(Plot::kCommands)];
    EXPECT_GE(commands, 0);
    EXPECT_LE(commands, 101);
  }
}

TEST_F(PagesTest, ChangesAreOrdinaryCommands) {
  LogIn();
  Run({"config", "set", "notify-keyspace-events", "KEA"});
  TestClient& listener = Connect();
  listener.Run({"subscribe", "__keyevent@0__:del"});
  Run({"set", "gone", "1"});
  const HttpAnswer answer = pages_.Answer(Change("/api/delete", "gone"), figures_);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body, R"({"done":1})");
  server().Settle();
  EXPECT_TRUE(Has(listener.TakeBytes(), "gone"));
  EXPECT_EQ(Run({"exists", "gone"}).ToText(), ":0");
  ASSERT_FALSE(server().log().empty());
  EXPECT_TRUE(Has(server().log().back(), "127.0.0.1:1: DEL \"gone\" of database 0: 1"));
  EXPECT_EQ(engine().session_count(), 2u);  // its client has left
}

TEST_F(PagesTest, ABrokenLockGoesToWhoWaits) {
  LogIn();
  Run({"lock.acquire", "door", "alice", "lease", "60000"});
  TestClient& other = Connect();
  other.Send({"lock.acquire", "door", "bob", "lease", "1000", "wait", "9000"});
  HttpRequest request = Change("/api/break", "door");
  request.body.insert(request.body.size() - 1, ",\"token\":1");  // of no holder
  EXPECT_EQ(pages_.Answer(request, figures_).body, R"({"done":0})");
  EXPECT_EQ(pages_.Answer(Change("/api/break", "door"), figures_).body, R"({"done":1})");
  server().Settle();
  EXPECT_TRUE(other.Next().has_value());
  Run({"set", "text", "1"});
  EXPECT_EQ(Status(Change("/api/break", "text")), 409);
}

TEST_F(PagesTest, ChangesNeedAllThatIsAskedFor) {
  Run({"set", "k", "1"});
  EXPECT_EQ(Status(Change("/api/delete", "k")), 403);  // http-actions no
  LogIn();
  const HttpRequest sound = Change("/api/delete", "k");
  const auto without = [&](int status, auto spoil) {
    HttpRequest request = sound;
    spoil(request);
    EXPECT_EQ(Status(request), status);
  };
  without(401, [](HttpRequest& request) { request.authorization.clear(); });
  without(403, [](HttpRequest& request) { request.origin.clear(); });
  without(403, [](HttpRequest& request) { request.origin = "http://evil"; });
  without(403, [](HttpRequest& request) { request.fetch_site = "same-site"; });
  without(403, [](HttpRequest& request) { request.page_token.clear(); });
  without(403, [](HttpRequest& request) { request.page_token.back() ^= 1; });
  without(415, [](HttpRequest& request) { request.content_type = "text/plain"; });
  without(421, [](HttpRequest& request) { request.host = "evil"; });
  without(400, [](HttpRequest& request) { request.body.clear(); });
  without(405, [](HttpRequest& request) { request.method = "GET"; });
  server().config().Preset("http-actions", {"no"});
  EXPECT_EQ(Status(sound), 403);
  EXPECT_EQ(Run({"exists", "k"}).ToText(), ":1");
  server().config().Preset("http-actions", {"yes"});
  EXPECT_EQ(Status(sound), 200);
}

// Another login has another token, and so has another server.
TEST_F(PagesTest, TokensBelongToALogin) {
  LogIn();
  const HttpRequest before = Change("/api/delete", "k");
  HttpRequest certified = before;
  certified.is_certified = true;
  EXPECT_EQ(Status(certified), 403);
  server().config().Preset("http-password", {"another"});
  authorization_ = "Bearer another";
  HttpRequest after = before;
  after.authorization = authorization_;
  EXPECT_EQ(Status(after), 403);
  EXPECT_EQ(Status(Change("/api/delete", "k")), 200);
}

TEST_F(PagesTest, NamesNeedWhatClientsNeed) {
  EXPECT_EQ(Ask("/api/locks").status, 200);
  Run({"config", "set", "requirepass", "secret"});
  EXPECT_EQ(Ask("/api/locks").status, 403);
  EXPECT_EQ(Ask("/api/overview").status, 200);
  EXPECT_FALSE(Has(Text("/api/overview"), "token"));
  LogIn();
  EXPECT_EQ(Ask("/api/locks").status, 200);
}

TEST_F(PagesTest, PausedChangesAreRefused) {
  LogIn();
  Run({"set", "k", "1"});
  Run({"client", "pause", "10000", "write"});
  EXPECT_EQ(Status(Change("/api/delete", "k")), 503);
  EXPECT_EQ(engine().session_count(), 1u);
  Run({"client", "unpause"});
  EXPECT_EQ(Run({"exists", "k"}).ToText(), ":1");
  EXPECT_EQ(Status(Change("/api/delete", "k")), 200);
}

// In the middle of a command keys are left alone, and figures are told.
TEST_F(PagesTest, SlowCommandsAreNotDisturbed) {
  LogIn();
  Run({"config", "set", "busy-reply-threshold", "10"});
  Run({"set", "k", "1"});
  const HttpRequest change = Change("/api/delete", "k");
  int looked = 0;
  server().set_tick_step(1'000'000);
  server().OnPoll([&] {
    if (looked++ > 0) return;
    EXPECT_TRUE(Has(Text("/api/overview"), "\"busy\":true"));
    EXPECT_EQ(Ask("/api/locks").status, 503);
    EXPECT_EQ(Ask("/api/keys").status, 503);
    EXPECT_EQ(Status(change), 503);
  });
  Run({"eval", "for i = 1, 1000000 do end", "0"});
  server().set_tick_step(0);
  EXPECT_GT(looked, 0);
  EXPECT_EQ(Run({"exists", "k"}).ToText(), ":1");
}

}  // namespace
}  // namespace sluice
