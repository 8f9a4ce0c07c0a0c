// Everything that clients can pile up has a bound: a number in protocol/limits.h, or maxmemory. The
// tables here are those of docs/security.md; what counts in a client's memory is
// client_ledger_test.cc's.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "storage/limits/policy.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/sanitized.h"

namespace sluice {
namespace {

using LimitWords = std::vector<std::string>;

// In requests of so many names.
void InPieces(TestClient& client, std::string_view word, size_t count, size_t piece) {
  for (size_t first = 0; first < count; first += piece) {
    LimitWords words = {std::string(word)};
    for (size_t i = first; i < std::min(count, first + piece); ++i) words.push_back(Concat(i, ":"));
    client.Run(words);
    client.TakeBytes();
  }
}

// Long comments, which are nothing in Lua's own memory.
constexpr size_t kCommentBytes = 32UL << 20;
std::string CommentOf(size_t number) {
  return Concat(" --", number, std::string(kCommentBytes, '-'));
}

struct Limit {
  const char* what;
  bool is_heavy;  // left out where every access is checked
  void (*fill)(TestClient& client);
  std::vector<LimitWords> refused;
  std::string_view error;
  LimitWords allowed;  // what there is stays usable
};

const Limit kLimits[] = {
    {"channels",
     true,
     [](TestClient& client) { InPieces(client, "SUBSCRIBE", kSubscriptionsMax, 100'000); },
     {{"SUBSCRIBE", "more"}},
     "-ERR a client subscribes to at most 1048576 names of a kind",
     {"UNSUBSCRIBE", "0:"}},
    {"patterns",
     false,
     [](TestClient& client) { InPieces(client, "PSUBSCRIBE", kPatternsMax, 10'000); },
     {{"PSUBSCRIBE", "more"}},
     "-ERR a client subscribes to at most 65536 names of a kind",
     {"PUNSUBSCRIBE", "0:"}},
    {"watched keys",
     true,
     [](TestClient& client) { InPieces(client, "WATCH", kWatchedKeysMax, 100'000); },
     {{"WATCH", "more"}},
     "-ERR a client watches at most 1048576 keys",
     {"UNWATCH"}},
    {"tracked prefixes",
     false,
     [](TestClient& client) {
       LimitWords words = {"CLIENT", "TRACKING", "ON", "BCAST"};
       for (size_t i = 0; i < kTrackingPrefixesMax; ++i) {
         words.insert(words.end(), {"PREFIX", Concat(i, ":")});
       }
       EXPECT_EQ(client.Run(words).ToText(), "+OK");
     },
     {{"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "more"}},
     "-ERR a client tracks at most 65536 prefixes",
     {"CLIENT", "TRACKING", "OFF"}},
    {"consumers of a group",
     false,
     [](TestClient& client) {
       client.Run({"XADD", "s", "1-1", "f", "v"});
       client.Run({"XGROUP", "CREATE", "s", "g", "0"});
       client.Run({"XREADGROUP", "GROUP", "g", "0", "STREAMS", "s", ">"});
       const std::string made = client
                                    .Run({"EVAL",
                                          "local n = 1 for i = 1, ARGV[1] - 1 do n = n + "
                                          "redis.call('XGROUP', 'CREATECONSUMER', 's', 'g', i) end "
                                          "return n",
                                          "0", Concat(kConsumersMax)})
                                    .ToText();
       EXPECT_EQ(made, Concat(":", kConsumersMax));
     },
     {{"XGROUP", "CREATECONSUMER", "s", "g", "more"},
      {"XREADGROUP", "GROUP", "g", "more", "STREAMS", "s", "0"},
      {"XCLAIM", "s", "g", "more", "0", "1-1"},
      {"XAUTOCLAIM", "s", "g", "more", "0", "0"}},
     "-ERR a group has at most 65536 consumers: delete those that are gone with XGROUP DELCONSUMER",
     {"XCLAIM", "s", "g", "7", "0", "1-1"}},
    {"users",
     true,
     [](TestClient& client) {
       for (size_t i = 1; i < kUsersMax; ++i) client.Run({"ACL", "SETUSER", Concat("u", i)});
     },
     {{"ACL", "SETUSER", "more"}},
     "-ERR there are at most 102400 users",
     {"ACL", "SETUSER", "u7", "on"}},
    {"scripts of SCRIPT LOAD",
     true,
     [](TestClient& client) {
       for (size_t i = 1; i < kKeptScriptBytesMax / kCommentBytes; ++i) {
         client.Run({"SCRIPT", "LOAD", "return 1" + CommentOf(i)});
       }
     },
     {{"SCRIPT", "LOAD", "return 1" + CommentOf(0)}},
     "-ERR the scripts of SCRIPT LOAD take as much memory as they may: SCRIPT FLUSH forgets them",
     {"SCRIPT", "LOAD", "return 2"}},
    {"function libraries",
     true,
     [](TestClient& client) {
       for (size_t i = 1; i < kLibraryBytesMax / kCommentBytes; ++i) {
         client.Run({"FUNCTION", "LOAD",
                     Concat("#!lua name=l", i, "\nredis.register_function('f", i,
                            "', function() return 1 end)", CommentOf(i))});
       }
     },
     {{"FUNCTION", "LOAD",
       "#!lua name=more\nredis.register_function('more', function() return 1 end)" + CommentOf(0)}},
     "-ERR the libraries are as large as they may be: FUNCTION DELETE makes room",
     {"FCALL", "f1", "0"}},
    {"policies",
     false,
     [](TestClient& client) {
       for (size_t i = 0; i < kPoliciesMax; ++i) {
         client.Run({"LIMIT.POLICY", "SET", Concat("p", i), "WINDOW", "1", "1000"});
       }
     },
     {{"LIMIT.POLICY", "SET", "more", "WINDOW", "1", "1000"}},
     "-ERR there are 10000 policies already",
     {"LIMIT.POLICY", "SET", "p7", "WINDOW", "2", "1000"}},
};

TEST(NamedLimits, EachHolds) {
  for (const Limit& limit : kLimits) {
    if (kSanitized && limit.is_heavy) continue;
    TestEngine server(
        {.config = {{"client-output-buffer-limit", "pubsub 0 0 0"}}, .audits = false});
    TestClient& client = server.Connect();
    limit.fill(client);
    client.TakeBytes();
    for (const LimitWords& request : limit.refused) {
      EXPECT_EQ(client.Run(request).ToText(), limit.error) << limit.what << ": " << request[0];
    }
    const std::string still = client.Run(limit.allowed).ToText();
    EXPECT_NE(still[0], '-') << limit.what << ": " << still;
    EXPECT_EQ(server.Audit(), "") << limit.what;
  }
}

// --- what maxmemory bounds

TEST(NamedLimits, MaxmemoryBoundsWhatNoNumberDoes) {
  const LimitWords kBounded[] = {
      {"XGROUP", "CREATE", "s", "more", "0"},
      {"XGROUP", "CREATECONSUMER", "s", "g", "me"},
      {"FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() end)"},
      {"LOCK.ACQUIRE", "shared", "more", "SHARED", "LEASE", "60000"},
      {"LOCK.ACQUIRE", "many", "more", "PERMITS", "1000000", "LEASE", "60000"},
      {"LIMIT.POLICY", "SET", "p", "WINDOW", "1", "1000"},
      {"LIMIT.TAKE", "l", "WINDOW", "1", "60000"},
      {"LBUCKET.COUNT", "b", "1", "60"},
  };
  TestEngine server({.config = {{"maxmemory-reserved-for-locks", "0"}}});
  TestClient& client = server.Connect();
  client.Run({"XADD", "s", "1-1", "f", "v"});
  client.Run({"XGROUP", "CREATE", "s", "g", "0"});
  client.Run({"LOCK.ACQUIRE", "shared", "a", "SHARED", "LEASE", "60000"});
  client.Run({"CONFIG", "SET", "maxmemory", "1"});
  for (const LimitWords& request : kBounded) {
    EXPECT_EQ(client.Run(request).ToText().substr(0, 4), "-OOM") << request[0] << " " << request[1];
  }
}

}  // namespace
}  // namespace sluice
