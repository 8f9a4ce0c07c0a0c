// The syntax of redis.conf, how faults in it are told, CONFIG REWRITE, and the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "protocol/text/concat.h"
#include "server/config/commandline.h"
#include "server/config/config.h"
#include "server/config/file.h"
#include "server/config/server_address.h"
#include "tests/support/follower_by_function.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::string> Split(std::string_view line) {
  std::vector<std::string> words;
  if (!SplitWords(line, words)) return {"(unbalanced)"};
  return words;
}

class ConfigFile : public ::testing::Test {
 protected:
  std::string Write(std::string_view name, std::string_view text) {
    const std::string path = Concat("/etc/", name);
    disk_.files[path] = text;
    return path;
  }
  const std::string& Read(const std::string& path) { return disk_.files[path]; }

  MemoryDisk disk_;
};

TEST(SplitWords, ReadsQuotesAndEscapes) {
  EXPECT_THAT(Split("port 7000"), ElementsAre("port", "7000"));
  EXPECT_THAT(Split("  a\t b  "), ElementsAre("a", "b"));
  EXPECT_THAT(Split(R"(save "")"), ElementsAre("save", ""));
  EXPECT_THAT(Split(R"("a b" 'c d')"), ElementsAre("a b", "c d"));
  EXPECT_THAT(Split(R"("\x41\n\"\\\q" 'it\'s')"), ElementsAre("A\n\"\\q", "it's"));
  EXPECT_THAT(Split(R"(pre"fix")"), ElementsAre("prefix"));
  EXPECT_THAT(Split(R"("a"b)"), ElementsAre("(unbalanced)"));
  EXPECT_THAT(Split(R"("a)"), ElementsAre("(unbalanced)"));
  EXPECT_THAT(Split("'a"), ElementsAre("(unbalanced)"));
  EXPECT_TRUE(Split("").empty());
}

TEST(SplitWords, UndoesQuotedWord) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_THAT(Split(QuotedWord(all)), ElementsAre(all));
  EXPECT_EQ(QuotedWord("a\"\n\x01"), R"("a\"\n\x01")");
}

struct TextCase {
  std::string_view text, fault;
};
constexpr TextCase kTexts[] = {
    {"# comment\n\n  port 7000  \r\nsave \"\"\n", ""},
    {"list-max-ziplist-entries 5\nlua-replicate-commands yes\n", ""},
    {"client-output-buffer-limit normal 0 0 0\nclient-output-buffer-limit replica 1mb 0 0\n", ""},
    {"user default on nopass sanitize-payload ~* &* +@all", ""},
    {"user default on nopass ~app:* +@all", ""},
    {"replicaof no one\nslaveof NO ONE\n", ""},
    {"foo bar", "Bad directive or wrong number of arguments"},
    {"port", "wrong number of arguments"},
    {"port 1 2", "wrong number of arguments"},
    {"port x", "argument couldn't be parsed into an integer"},
    {"requirepass", "wrong number of arguments"},
    {"a \"b", "Unbalanced quotes in configuration line"},
    {"unixsocketperm 999", "argument couldn't be parsed as an octal number"},
    {"unixsocketperm 1777", "argument must be between 0 and 777 inclusive"},
    {"databases 0", "argument must be between 1 and 256 inclusive"},
    {"save 3600 1 5", "Invalid save parameters"},
    {"replicaof 10.0.0.1 6379\nslaveof ::1 0\n", ""},
    {"replicaof 10.0.0.1", "wrong number of arguments"},
    {"replicaof 10.0.0.1 x", "Invalid master port"},
    {"replicaof 10.0.0.1 65536", "Invalid master port"},
    {"user", "Bad directive or wrong number of arguments"},
    {"rename-command FLUSHALL", "Bad directive or wrong number of arguments"},
    {"loadmodule x.so", "Sluice does not take this: it loads no modules"},
    {"include /does/not/exist", "can't open the config file '/does/not/exist'"},
};

TEST_F(ConfigFile, SaysWhatIsWrongAndWhere) {
  for (const TextCase& c : kTexts) {
    Config config(disk_);
    const std::string fault = config.LoadText(c.text, "x.conf");
    if (c.fault.empty()) {
      EXPECT_EQ(fault, "") << c.text;
    } else {
      EXPECT_THAT(fault, HasSubstr(std::string(c.fault)));
      EXPECT_TRUE(fault.starts_with("x.conf, line 1: '")) << fault;
    }
  }
}

TEST_F(ConfigFile, GathersFaultsAndGoesOn) {
  Write("more.conf", "io-threads 4\nport x\n");
  const std::string path =
      Write("u.conf", "foo bar\nreplicaof a\ninclude /etc/more.conf\ntimeout 7\n");
  Config config(disk_);
  config.GatherFaults();
  EXPECT_EQ(config.LoadFile(path), "");
  EXPECT_EQ(config.LoadText("nosuch 1", ""), "");
  EXPECT_THAT(config.faults(),
              ElementsAre(HasSubstr("u.conf, line 1: 'foo bar'"), HasSubstr("line 2: 'replicaof"),
                          HasSubstr("more.conf, line 2: 'port x'"), HasSubstr("--nosuch 1: ")));
  EXPECT_EQ(config.settings().timeout, 7);
  EXPECT_THAT(config.TakeWarnings(),
              ElementsAre("/etc/more.conf, line 1: option 'io-threads' has no effect on Sluice: it "
                          "runs in one thread"));
}

TEST_F(ConfigFile, ReplicaOfNoOneIsWhatIsTrue) {
  Config config(disk_);
  ASSERT_EQ(config.LoadText("slaveof No One", ""), "");
  const std::string_view names[] = {"replicaof"};
  EXPECT_THAT(config.Get(names), ElementsAre(Pair("replicaof", "")));
}

TEST_F(ConfigFile, KeepsTheLinesOfUsers) {
  Config config(disk_);
  const std::string path =
      Write("u.conf", "user default on nopass ~* &* +@all\nUSER \"bob\" on >x\n");
  ASSERT_EQ(config.LoadFile(path), "");
  const std::vector<Config::DirectiveLine> lines = config.LinesOf("user");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[1].words, ElementsAre("bob", "on", ">x"));
  EXPECT_THAT(lines[1].place, HasSubstr("u.conf, line 2"));
  EXPECT_THAT(Config(disk_).LoadText("user"), HasSubstr("Bad directive"));
}

TEST_F(ConfigFile, RewriteWritesTheUsers) {
  const std::string path = Write("u.conf", "user bob on\nport 7000\nuser gone off\n");
  Config config(disk_);
  ASSERT_EQ(config.LoadFile(path), "");
  const std::string lines[] = {"user alice off -@all"};
  ASSERT_EQ(config.Rewrite(lines), "");
  EXPECT_EQ(Read(path), "user alice off -@all\nport 7000\n\n");
  // In a file of their own: none here.
  ASSERT_EQ(config.Rewrite(), "");
  EXPECT_EQ(Read(path).find("user"), std::string::npos);
}

TEST_F(ConfigFile, IncludesFilesAndPatterns) {
  Write("a.part", "timeout 1\n");
  Write("b.part", "timeout 2\nmaxclients 7\n");
  const std::string path = Write("main.conf", "include /etc/*.part\ninclude /etc/no*.where\n");
  Config config(disk_);
  EXPECT_EQ(config.LoadFile(path), "");
  EXPECT_EQ(config.settings().timeout, 2);
  EXPECT_EQ(config.settings().maxclients, 7);
}

TEST_F(ConfigFile, AFileThatIncludesItselfIsRefused) {
  const std::string path = Write("loop.conf", "include /etc/loop.conf\n");
  Config config(disk_);
  EXPECT_THAT(config.LoadFile(path), HasSubstr("does a file include itself?"));
}

TEST_F(ConfigFile, RewriteKeepsWhatIsThere) {
  const std::string path = Write("r.conf",
                                 "# my server\n"
                                 "port 7000\n\n\n\n"
                                 "slave-priority 100\n"
                                 "client-output-buffer-limit normal 0 0 0\n"
                                 "timeout 5\n"
                                 "loglevel debug\n");
  Config config(disk_);
  ASSERT_EQ(config.LoadFile(path), "");
  ASSERT_EQ(
      config.Set({{"timeout", "9"}, {"proto-max-bulk-len", "64mb"}, {"requirepass", "a \"b"}}), "");
  ASSERT_EQ(config.Rewrite(), "");
  EXPECT_EQ(Read(path),
            "# my server\n"
            "port 7000\n\n"
            "replica-priority 100\n"
            "client-output-buffer-limit normal 0 0 0\n"
            "timeout 9\n"
            "loglevel debug\n"
            "# Generated by CONFIG REWRITE\n"
            "requirepass \"a \\\"b\"\n"
            "proto-max-bulk-len 64mb\n"
            "client-output-buffer-limit replica 256mb 64mb 60\n"
            "client-output-buffer-limit pubsub 32mb 8mb 60\n");
}

TEST_F(ConfigFile, RewriteRoundTrips) {
  const std::string path = Write("r.conf", "port 7000\nbind 127.0.0.1 ::1\nhz 20\nsave \"\"\n");
  Config first(disk_);
  ASSERT_EQ(first.LoadFile(path), "");
  ASSERT_EQ(first.SetAtStart("latency-tracking-info-percentiles", {"1", "2.5"}), "");
  ASSERT_EQ(first.SetAtStart("unixsocketperm", {"700"}), "");
  ASSERT_EQ(first.Rewrite(), "");
  const std::string text = Read(path);
  Config second(disk_);
  ASSERT_EQ(second.LoadFile(path), "");
  const std::string_view all[] = {"*"};
  EXPECT_EQ(first.Get(all), second.Get(all));
  ASSERT_EQ(second.Rewrite(), "");
  EXPECT_EQ(Read(path), text);
}

TEST_F(ConfigFile, RewriteKeepsAFreePortFree) {
  const std::string path = Write("r.conf", "port any\n");
  Config config(disk_);
  ASSERT_EQ(config.LoadFile(path), "");
  config.PortIs(41873);
  const std::string_view port[] = {"port"};
  EXPECT_THAT(config.Get(port), ElementsAre(Pair("port", "41873")));
  ASSERT_EQ(config.Rewrite(), "");
  EXPECT_EQ(Read(path), "port any\n");
  const FollowerByFunction follower(config, [](std::string_view) { return std::string(); });
  ASSERT_EQ(config.Set({{"port", "7000"}}), "");
  ASSERT_EQ(config.Rewrite(), "");
  EXPECT_EQ(Read(path), "port 7000\n");
}

TEST_F(ConfigFile, RewriteNeedsAFileItCanWrite) {
  Config config(disk_);
  EXPECT_EQ(config.Rewrite(), "The server is running without a config file");
  const std::string path = Write("x.conf", "");
  ASSERT_EQ(config.LoadFile(path), "");
  disk_.write_fault = ENOSPC;
  EXPECT_EQ(config.Rewrite(), "Rewriting config file: No space left on device");
  EXPECT_EQ(Read(path), "");
}

TEST_F(ConfigFile, DebiansFileLoadsWithWarningsOnly) {
  const std::string stock = "/etc/redis/redis.conf";
  std::error_code error;
  if (!std::filesystem::exists(stock, error)) GTEST_SKIP() << "redis-server is not installed";
  std::ostringstream lines;
  lines << std::ifstream(stock, std::ios::binary).rdbuf();
  const std::string text = lines.str();
  if (text.empty()) GTEST_SKIP() << stock << " may not be read";
  Config config(disk_);
  EXPECT_EQ(config.LoadFile(Write("redis.conf", text)), "");
  EXPECT_EQ(config.settings().port, 6379);
  EXPECT_TRUE(config.settings().daemonize);
}

struct LineCase {
  std::vector<std::string_view> arguments;
  std::string_view file, options;
};

TEST(CommandLineTest, ReadsAsRedis) {
  const LineCase cases[] = {
      {{}, "", ""},
      {{"/a.conf"}, "/a.conf", ""},
      {{"--port", "7000", "--save", ""}, "", "port \"7000\" \nsave \"\" "},
      {{"--port 7000", "--hz", "9"}, "", "port 7000 \nhz \"9\" "},
      {{"--save", "--port", "7"}, "", "save \"\"\nport \"7\" "},
      {{"--save"}, "", "save \"\""},
      {{"--bind", "127.0.0.1", "::1", "--port", "1"},
       "",
       "bind \"127.0.0.1\" \"::1\" \nport \"1\" "},
      {{"--requirepass", "--odd"}, "", "requirepass \"--odd\" "},
      {{"x.conf", "--port"}, "x.conf", "port "},
  };
  for (const LineCase& c : cases) {
    const CommandLine line = ReadCommandLine(c.arguments);
    EXPECT_EQ(line.file, c.file);
    EXPECT_EQ(line.options, c.options);
    EXPECT_EQ(line.action, CommandLine::Action::kRun);
  }
}

TEST(CommandLineTest, KnowsTheOtherForms) {
  const std::string_view version[] = {"-v"}, help[] = {"--help"}, in[] = {"-", "--port", "1"};
  EXPECT_EQ(ReadCommandLine(version).action, CommandLine::Action::kVersion);
  EXPECT_EQ(ReadCommandLine(help).action, CommandLine::Action::kHelp);
  EXPECT_TRUE(ReadCommandLine(in).from_stdin);
  EXPECT_EQ(ReadCommandLine(in).options, "port \"1\" ");
  const std::string_view check[] = {"--check-rdb", "a.rdb"}, none[] = {"--check-rdb"};
  EXPECT_EQ(ReadCommandLine(check).action, CommandLine::Action::kCheckRdb);
  EXPECT_EQ(ReadCommandLine(check).file, "a.rdb");
  EXPECT_EQ(ReadCommandLine(none).action, CommandLine::Action::kCheckRdb);
  EXPECT_EQ(ReadCommandLine(none).file, "");
  const std::string_view import[] = {"--import",     "a.rdb", "--keep-expired", "--into", "d",
                                     "--appendonly", "yes"};
  EXPECT_TRUE(ReadCommandLine(import).keep_expired);
  EXPECT_EQ(ReadCommandLine(import).into, "d");
  EXPECT_EQ(ReadCommandLine(import).options, "appendonly \"yes\" ");
  const std::string_view running[] = {
      "--import", "redis://u:w@host:7000", "--into", "d", "--tls", "--cacert",
      "f",        "--appendonly",          "yes"};
  const CommandLine from = ReadCommandLine(running);
  EXPECT_EQ(from.fault, "");
  EXPECT_EQ(from.file, "");
  EXPECT_EQ(from.server, "host:7000");
  EXPECT_EQ(from.user, "u");
  EXPECT_TRUE(from.tls.on);
  EXPECT_EQ(from.options, "appendonly \"yes\" ");
  const std::string_view top[] = {"top", "[::1]:7000", "--once", "--every", "0.5", "--db", "3"};
  const CommandLine line = ReadCommandLine(top);
  EXPECT_EQ(line.action, CommandLine::Action::kTop);
  EXPECT_EQ(line.server, "[::1]:7000");
  EXPECT_TRUE(line.once);
  EXPECT_EQ(line.every_ms, 500);
  EXPECT_EQ(line.database, 3);
  EXPECT_EQ(line.fault, "");
  const std::string_view alone[] = {"top"}, file[] = {"./top"};
  EXPECT_EQ(ReadCommandLine(alone).server, "127.0.0.1:6379");
  EXPECT_EQ(ReadCommandLine(file).file, "./top");
  const std::string_view wrong[][3] = {{"top", "--every", "0.01"},
                                       {"top", "--db", "-1"},
                                       {"top", "--once", "more"},
                                       {"top", "--user", ""},
                                       {"top", "1:2:3", "--once"}};
  for (const auto& words : wrong) EXPECT_NE(ReadCommandLine(words).fault, "");
}

TEST(CommandLineTest, NoFormTakesWordsThatItDoesNotKnow) {
  const struct {
    std::vector<std::string_view> arguments;
    std::string fault;
  } cases[] = {
      {{"--check-aof", "--nonsense"},
       "--check-aof: '--nonsense' is not known here (it takes a directory and --fix)"},
      {{"--check-aof", "x", "--fxi"},
       "--check-aof: '--fxi' is not known here; did you mean '--fix'?"},
      {{"--check-aof", "x", "y"}, "--check-aof takes a directory, and no 'y'"},
      {{"--check-aof", "x", "--fix"}, ""},
      {{"--check-aof", "--fix", "x"}, ""},
      {{"--check-aof"}, "--check-aof takes a directory"},
      {{"--check-rdb"}, "--check-rdb takes one file"},
      {{"--check-rdb", "a", "b"}, "--check-rdb takes one file, and no 'b'"},
      {{"--check-rdb", "--fix", "a"}, "--check-rdb: '--fix' is not known here (it takes one file)"},
      {{"--print-config", "x"}, "--print-config takes nothing, and no 'x'"},
      {{"--version", "--x"}, "--version: '--x' is not known here (it takes nothing)"},
      {{"-h", "127.0.0.1"}, "-h takes nothing, and no '127.0.0.1'"},
      {{"-hlep"}, "'-hlep' is no option: they begin with two dashes; did you mean '--help'?"},
      {{"--top", "7500"}, "--top is not known; did you mean 'top'?"},
      {{"toop", "7500"},
       "'7500' is no option: they begin with two dashes; did you mean 'sluice top'?"},
      {{"ping", "7500"},
       "'7500' is no option: they begin with two dashes; did you mean 'sluice --ping'?"},
      {{"--import", "f", "--inot", "d"},
       "--import: '--inot' is not known here; did you mean '--into'?"},
      {{"--import", "f", "--port", "7000"}, ""},
      {{"--import", "h:1", "--tls", "--port", "7000"}, ""},
      {{"--import", "h:1", "--cert"}, "--import: --cert takes a file"},
      {{"--hepl"}, "--hepl is not known; did you mean '--help'?"},
      {{"--chek-rdb", "x"}, "--chek-rdb is not known; did you mean '--check-rdb'?"},
      {{"-p", "7500"}, "'-p' is no option; did you mean '--port'?"},
      {{"a.conf", "-p", "7500"}, "'-p' is no option; did you mean '--port'?"},
      {{"a.conf", "b.conf"}, "'b.conf' is no option: they begin with two dashes"},
      {{"a.conf", "maxclient", "5"},
       "'maxclient' is no option: they begin with two dashes; did you mean '--maxclients'?"},
      {{"a.conf", "loglevel", "verbose", "--maxmemory '700mb'"}, ""},
      {{"--port", "-5"}, ""},
      {{"-", "--port", "5"}, ""},
  };
  for (const auto& c : cases) EXPECT_EQ(ReadCommandLine(c.arguments).fault, c.fault);
  const std::string_view onse[] = {"top", "--onse"}, pas[] = {"--ping", "--password", "x"};
  const std::string_view dashed[] = {"top", "-p", "7500"}, bare[] = {"top", "--every"};
  EXPECT_THAT(ReadCommandLine(onse).fault,
              HasSubstr("'--onse' is not known here; did you mean '--once'? (top takes"));
  EXPECT_THAT(ReadCommandLine(pas).fault, HasSubstr("did you mean '--pass'?"));
  EXPECT_THAT(ReadCommandLine(dashed).fault,
              HasSubstr("'-p' is not known here; did you mean 'HOST:PORT'?"));
  const std::string_view number[] = {"top", "7500", "-n", "3"}, ping[] = {"--ping", "-n", "3"};
  EXPECT_THAT(ReadCommandLine(number).fault,
              HasSubstr("'-n' is not known here; did you mean '--db'?"));
  EXPECT_THAT(ReadCommandLine(ping).fault, HasSubstr("'-n' is not known here ("));
  EXPECT_THAT(ReadCommandLine(bare).fault, HasSubstr("--every takes seconds, 0.1 or more"));
}

TEST(CommandLineTest, AnExportIsOfFilesOrOfAServer) {
  const struct {
    std::string_view from, server;
  } cases[] = {{"data", ""},
               {"/var/lib/sluice", ""},
               {"./a:1", ""},
               {"localhost", ""},
               {"localhost:7000", "localhost:7000"},
               {"[::1]:7", "[::1]:7"},
               {"unix:/run/s", "unix:/run/s"},
               {"redis://h", "h:6379"}};
  for (const auto& c : cases) {
    const std::string_view words[] = {"--export-redis", c.from, "x.rdb"};
    const CommandLine line = ReadCommandLine(words);
    EXPECT_EQ(line.action, CommandLine::Action::kExportRedis);
    EXPECT_EQ(line.fault, "") << c.from;
    EXPECT_EQ(line.file, "x.rdb");
    EXPECT_EQ(line.server, c.server);
    EXPECT_EQ(line.from, c.server.empty() ? c.from : "");
  }
  const std::string_view options[] = {"--export-redis", "data", "x.rdb", "--databases", "64"};
  EXPECT_EQ(ReadCommandLine(options).options, "databases \"64\" ");
  const std::string_view wrong[][4] = {{"--export-redis", "::1", "x.rdb", ""},
                                       {"--export-redis", "h:1", "x.rdb", "--no"},
                                       {"--export-redis", "data", "--databases", "64"},
                                       {"--export-redis", "data", "x.rdb", "more"}};
  for (const auto& words : wrong) EXPECT_NE(ReadCommandLine(words).fault, "") << words[1];
}

// Test tools that start a server of their own refuse one that is older than some Redis.
TEST(CommandLineTest, TheVersionIsThatOfRedisToWhoeverLooksForOne) {
  const std::string text = VersionText();
  EXPECT_EQ(text.substr(0, text.find_first_of("0123456789")), "Sluice as Redis server v=");
  EXPECT_THAT(text, HasSubstr("Redis server v=7.0.15 bits=64 "));
}

// The words that --help shows are those that are read.
TEST(CommandLineTest, EveryFormOfTheHelpIsRead) {
  std::vector<std::string> forms;
  std::string_view left = HelpText();
  left = left.substr(0, left.find("ACCESS:"));
  for (size_t at = left.find("sluice "); at != left.npos; at = left.find("sluice ", at + 1)) {
    const std::string_view word = left.substr(at + 7, left.find_first_of(" \n", at + 7) - at - 7);
    if (word.starts_with("--") || word == "top") forms.emplace_back(word);
  }
  EXPECT_GE(forms.size(), 8u);
  for (const std::string& form : forms) {
    const std::string_view words[] = {form, "--no-such-word", "x", "y"};
    const CommandLine line = ReadCommandLine(words);
    EXPECT_NE(line.action, CommandLine::Action::kRun) << form;
    if (form != "--import" && form != "--check-config") {  // they take options as a start does
      EXPECT_NE(line.fault, "") << form;
    }
    // One letter is missing.
    const std::string slip = Concat(form.substr(0, form.size() - 2), form.substr(form.size() - 1));
    const std::string_view slipped[] = {slip};
    MemoryDisk disk;
    Config config(disk);
    const CommandLine other = ReadCommandLine(slipped);
    const Fault fault = other.fault.empty() ? Configure(other, "", config) : Fault(other.fault);
    EXPECT_THAT(fault.sentence(), HasSubstr(Concat(form, "'?"))) << slip;
  }
}

TEST(CommandLineTest, AddressesAsPeopleWriteThem) {
  struct Row {
    std::string_view text;
    std::string_view server, user, password;
    bool tls = false;
    std::optional<int64_t> database = {};
  };
  const Row rows[] = {
      {"127.0.0.1:7000", "127.0.0.1:7000", "", ""},
      {"localhost", "localhost:6379", "", ""},
      {"7500", "127.0.0.1:7500", "", ""},
      {"[::1]", "[::1]:6379", "", ""},
      {"[::1]:7", "[::1]:7", "", ""},
      {"unix:/run/a b", "unix:/run/a b", "", ""},
      {"redis://h", "h:6379", "", ""},
      {"redis://h:1/3", "h:1", "", "", false, 3},
      {"redis://:w@h/", "h:6379", "", "w"},
      {"rediss://me:p%40%2f:@h:2/0", "h:2", "me", "p@/:", true, 0},
      {"redis://a@[::1]:5", "[::1]:5", "a", ""},
  };
  for (const Row& row : rows) {
    ServerAddress address;
    EXPECT_EQ(ReadServerAddress(row.text, address), "") << row.text;
    EXPECT_EQ(address.server, row.server) << row.text;
    EXPECT_EQ(address.user, row.user) << row.text;
    EXPECT_EQ(address.password, row.password) << row.text;
    EXPECT_EQ(address.tls, row.tls) << row.text;
    EXPECT_EQ(address.database, row.database) << row.text;
  }
  for (const std::string_view text :
       {"", ":", ":1", "h:", "h:0", "h:65536", "70000", "0", "::1", "h:1:2", "http://h", "redis://",
        "redis://h/x", "redis://h/1/2", "redis://%4@h", "h/1", "a b", "user@h"}) {
    ServerAddress address;
    EXPECT_NE(ReadServerAddress(text, address), "") << text;
  }
}

TEST(CommandLineTest, LaterOnesCount) {
  const std::string_view arguments[] = {"-", "--timeout", "3"};
  MemoryDisk disk;
  Config config(disk);
  EXPECT_EQ(Configure(ReadCommandLine(arguments), "timeout 1\nmaxclients 5\n", config), "");
  EXPECT_EQ(config.settings().timeout, 3);
  EXPECT_EQ(config.settings().maxclients, 5);
}

TEST(CommandLineTest, FaultsNameTheOption) {
  const std::string_view arguments[] = {"--prot", "7000"};
  MemoryDisk disk;
  Config config(disk);
  EXPECT_EQ(Configure(ReadCommandLine(arguments), "", config),
            "--prot \"7000\": Bad directive or wrong number of arguments; did you mean 'port'?");
}

}  // namespace
}  // namespace sluice
