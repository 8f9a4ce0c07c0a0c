// CONFIG SET and GET as tables of what is given and what is answered, the roll-back of several at
// once, and how options arrive at the start.
#include "server/config/config.h"

#include <gtest/gtest.h>

#include "protocol/text/concat.h"
#include "server/config/options.h"
#include "tests/support/follower_by_function.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

std::string Get(const Config& config, std::string_view name) {
  const std::string_view globs[] = {name};
  const Config::Pairs found = config.Get(globs);
  return found.empty() ? "(none)" : found[0].second;
}

struct SetCase {
  std::string_view name, value;
  std::string_view fault;  // behind "CONFIG SET failed (possibly related to argument 'x') - "
  std::string_view shown;  // afterwards
};

// The words and ranges are Redis 7.0.15's; sentences about Sluice our own.
constexpr SetCase kSetCases[] = {
    {"timeout", "30", "", "30"},
    {"TIMEOUT", "30", "", "30"},
    {"timeout", "-1", "argument must be between 0 and 2147483647 inclusive", "0"},
    {"timeout", "1.5", "argument couldn't be parsed into an integer", "0"},
    {"timeout", "+3", "argument couldn't be parsed into an integer", "0"},
    {"timeout", "", "argument couldn't be parsed into an integer", "0"},
    {"protected-mode", "NO", "", "no"},
    {"protected-mode", "true", "argument must be 'yes' or 'no'", "yes"},
    {"proto-max-bulk-len", "1gb", "", "1073741824"},
    {"proto-max-bulk-len", "2M", "", "2000000"},
    {"proto-max-bulk-len", "1",
     "argument must be between 1048576 and 9223372036854775807 inclusive", "536870912"},
    {"proto-max-bulk-len", "1.5gb", "argument must be a memory value", "536870912"},
    {"proto-max-bulk-len", "18446744073709551615",
     "argument must be between 1048576 and 9223372036854775807 inclusive", "536870912"},
    {"repl-backlog-size", "1", "", "16384"},
    {"repl-backlog-size", "20000", "", "20000"},
    {"repl-backlog-size", "0", "argument must be between 1 and 9223372036854775807 inclusive",
     "1048576"},
    {"hash-max-listpack-value", "mb", "", "0"},
    {"hash-max-ziplist-entries", "7", "", "7"},
    {"lua-time-limit", "100", "", "100"},
    {"loglevel", "DEBUG", "", "debug"},
    {"loglevel", "foo", "argument(s) must be one of the following: debug, verbose, notice, warning",
     "notice"},
    {"client-output-buffer-limit", "normal 1mb 1kb 3 replica 0 0 0", "",
     "normal 1048576 1024 3 slave 0 0 0 pubsub 33554432 8388608 60"},
    {"client-output-buffer-limit", "normal  1 2 3",
     "Wrong number of arguments in buffer limit configuration.",
     "normal 1073741824 268435456 60 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
    {"latency-tracking-info-percentiles", "50.5 100", "", "50.5 100"},
    {"latency-tracking-info-percentiles", "", "", ""},
    {"client-output-buffer-limit", "", "",
     "normal 1073741824 268435456 60 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
    {"latency-tracking-info-percentiles", "101",
     "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]", "50 99 99.9"},
    {"maxmemory-clients", "101%", "percentage argument must be less or equal to 100", "0"},
    {"maxmemory-clients", "5%", "", "5%"},
    {"maxmemory", "1gb", "", "1073741824"},
    {"maxmemory", "10%", "argument must be a memory value", "0"},
    {"maxmemory", "0", "", "0"},
    {"evict-never", "lock:* count:?", "", "lock:* count:?"},
    {"metrics-prefixes", "door: tür:", "", "door: tür:"},
    {"metrics-prefixes", "", "", ""},
    {"metrics-prefixes", " a  b ", "", "a b"},
    {"metrics-prefixes", "a b a", "a prefix is there twice", ""},
    {"metrics-prefixes", "a \xff", "a prefix has to be UTF-8", ""},
    {"save", "900 1 60 1000", "", "900 1 60 1000"},
    {"save", "900", "Invalid save parameters", "3600 1 300 100 60 10000"},
    {"save", "0 1", "Invalid save parameters", "3600 1 300 100 60 10000"},
    {"save", "", "", ""},
    {"appendonly", "yes", "the program that runs this server takes no change of it", "no"},
    {"appenddirname", "x", "can't set immutable config", "appendonlydir"},
    {"appendfsync", "ALWAYS", "", "always"},
    {"appendfsync", "often", "argument(s) must be one of the following: everysec, always, no",
     "everysec"},
    {"shutdown-on-sigterm", "nosave now", "", "nosave now"},
    {"shutdown-on-sigterm", "save force", "", "save force"},
    {"shutdown-on-sigterm", "save nosave",
     "shutdown options SAVE and NOSAVE can't be used simultaneously", "default"},
    {"hz", "50", "", "50"},
    {"hz", "x", "argument couldn't be parsed into an integer", "10"},
    {"hz", "0", "", "1"},
    {"hz", "501", "", "500"},
    {"hz", "-1", "argument must be between 0 and 2147483647 inclusive", "10"},
    {"proc-title-template", "a{title}", "", "a{title}"},
    {"proc-title-template", "{{title}}", "", "{{title}}"},
    {"proc-title-template", " {title} ", "template format is invalid or contains unknown variables",
     "{title} {listen-addr} {server-mode}"},
    {"proc-title-template", "x {title", "template format is invalid or contains unknown variables",
     "{title} {listen-addr} {server-mode}"},
    {"proc-title-template", "x{Title}", "template format is invalid or contains unknown variables",
     "{title} {listen-addr} {server-mode}"},
    {"proc-title-template", "x{", "template format is invalid or contains unknown variables",
     "{title} {listen-addr} {server-mode}"},
    {"databases", "4", "can't set immutable config", "16"},
    {"dir", "/", "can't set protected config", "."},
    {"port", "70000", "argument must be between 0 and 65535 inclusive", "6379"},
    {"port", "many", "argument couldn't be parsed into an integer", "6379"},
    {"port-file", "x", "can't set immutable config", ""},
    {"ready-fd", "-1", "", "-1"},
    {"idle-exit", "1", "can't set immutable config", "0"},
    {"port", "7000", "the program that runs this server takes no change of it", "6379"},
};

TEST(Config, SetsOrSaysWhyNot) {
  for (const SetCase& c : kSetCases) {
    MemoryDisk disk;
    Config config(disk);
    const std::string answer = config.Set({{std::string(c.name), std::string(c.value)}});
    const size_t reason = answer.find(" - ");
    EXPECT_EQ(answer.empty() ? answer : answer.substr(reason + 3), c.fault) << c.name << c.value;
    EXPECT_EQ(Get(config, c.name), c.shown) << c.name << ' ' << c.value;
  }
}

TEST(Config, PrefixesOfMetricsAreBounded) {
  MemoryDisk disk;
  Config config(disk);
  const auto set = [&](const std::string& value) {
    const std::string answer = config.Set({{"metrics-prefixes", value}});
    return answer.empty() ? answer : answer.substr(answer.find(" - ") + 3);
  };
  EXPECT_EQ(set(std::string(64, 'p')), "");
  EXPECT_EQ(set(std::string(65, 'p')), "a prefix has at most 64 bytes");
  std::string many = "0";
  for (size_t i = 1; i < kMetricsPrefixesMax; ++i) many += Concat(' ', i);
  EXPECT_EQ(set(many), "");
  EXPECT_EQ(set(Concat(many, " x")), "there may be 32 prefixes");
  EXPECT_EQ(Get(config, "metrics-prefixes"), many);
  // A file can have a space in a word, which CONFIG GET could not show.
  EXPECT_EQ(config.SetAtStart("metrics-prefixes", {"a b", "c"}), "a prefix has no spaces");
}

TEST(Config, NamesAreCheckedBeforeValues) {
  MemoryDisk disk;
  Config config(disk);
  EXPECT_EQ(config.Set({{"port", "x"}, {"nope", "1"}}),
            "Unknown option or number of arguments for CONFIG SET - 'nope'");
  EXPECT_EQ(config.Set({{"port", "1"}, {"PORT", "2"}}),
            "CONFIG SET failed (possibly related to argument 'PORT') - duplicate parameter");
  // Redis takes an option and its alias side by side; the last counts.
  EXPECT_EQ(config.Set({{"hash-max-listpack-entries", "1"}, {"hash-max-ziplist-entries", "2"}}),
            "");
  const std::string_view name[] = {"hash-max-listpack-entries"};
  EXPECT_EQ(config.Get(name)[0].second, "2");
}

TEST(Config, SeveralAreSetTogetherOrNotAtAll) {
  MemoryDisk disk;
  Config config(disk);
  EXPECT_EQ(config.Set({{"timeout", "5"}, {"hz", "99"}, {"maxclients", "0"}}),
            "CONFIG SET failed (possibly related to argument 'maxclients') - argument must be "
            "between 1 and 4294967295 inclusive");
  EXPECT_EQ(config.settings().timeout, 0);
  EXPECT_EQ(Get(config, "hz"), "10");
}

TEST(Config, WhatCannotBeCarriedOutIsRolledBack) {
  MemoryDisk disk;
  Config config(disk);
  std::vector<int64_t> ports;
  FollowerByFunction follower(config, [&](std::string_view option) -> std::optional<std::string> {
    if (option == "bind") return config.settings().bind[0] == "10.9.9.9" ? "Failed to bind" : "";
    if (option != "port") return std::nullopt;
    ports.push_back(config.settings().port);
    return "";
  });
  EXPECT_EQ(config.Set({{"port", "7000"}, {"bind", "10.9.9.9"}}),
            "CONFIG SET failed (possibly related to argument 'bind') - Failed to bind");
  EXPECT_EQ(config.settings().port, 6379);
  EXPECT_EQ(ports, (std::vector<int64_t>{7000, 6379}));
  EXPECT_EQ(Get(config, "bind"), "127.0.0.1 -::1");
  EXPECT_EQ(config.Set({{"port", "6379"}}), "");  // no change: nothing to carry out
  EXPECT_EQ(ports.size(), 2u);
}

TEST(Config, ProtectedOptionsNeedLeave) {
  MemoryDisk disk;
  Config config(disk);
  const FollowerByFunction follower(config, [](std::string_view) { return std::string(); });
  EXPECT_EQ(config.Set({{"dir", "/"}}, /*protected_too=*/true), "");
  EXPECT_EQ(config.settings().dir, "/");
}

TEST(Config, GetTakesGlobsAndAliases) {
  MemoryDisk disk;
  Config config(disk);
  const std::string_view globs[] = {"ZSET-MAX-*", "Port", "port", "slaveof", "nothing"};
  std::string shown;
  for (const auto& [name, value] : config.Get(globs)) ConcatTo(shown, name, '=', value, ' ');
  EXPECT_EQ(shown,
            "zset-max-listpack-entries=128 zset-max-ziplist-entries=128 zset-max-listpack-value=64 "
            "zset-max-ziplist-value=64 Port=6379 slaveof= ");
}

TEST(Config, TuningIsTakenWithAWarning) {
  MemoryDisk disk;
  Config config(disk);
  EXPECT_EQ(config.SetAtStart("hz", {"10"}), "");
  EXPECT_TRUE(config.TakeWarnings().empty());
  EXPECT_EQ(config.SetAtStart("syslog-ident", {"secret"}), "");
  const std::vector<std::string> warnings = config.TakeWarnings();
  ASSERT_EQ(warnings.size(), 1u);
  // The value is none of the log's business.
  EXPECT_EQ(warnings[0],
            "option 'syslog-ident' has no effect on Sluice: "
            "it does not log to syslog");
}

TEST(Config, EveryOptionHasADocAndTakesItsOwnValue) {
  MemoryDisk disk;
  Config config(disk);
  for (size_t i = 0; i < OptionCount(); ++i) {
    const Option& row = OptionAt(i);
    EXPECT_FALSE(row.doc.empty()) << row.name;
    EXPECT_EQ(FindOption(row.name), i) << row.name;
    EXPECT_EQ(config.SetAtStart(row.name, {Get(config, row.name)}), "") << row.name;
  }
  EXPECT_TRUE(config.TakeWarnings().empty());
}

}  // namespace
}  // namespace sluice
