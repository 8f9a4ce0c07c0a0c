// See commandline.h.
#include "server/config/commandline.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/config/file.h"
#include "server/config/version.h"

namespace sluice {
namespace {

constexpr std::string_view kHelp =
    R"(Usage: sluice [/path/to/redis.conf] [-] [--option value ...]
       sluice -h or --help
       sluice -v or --version
       sluice --check-aof DIR [--fix]
       sluice --check-rdb FILE
       sluice --check-config [/path/to/redis.conf] [-] [--option value ...]
       sluice --import FILE|DIR [--into DIR] [--option value ...]
       sluice --backup HOST:PORT FILE [ACCESS]
       sluice --print-config
       sluice --print-info
       sluice --ping [HOST:PORT] [--wait SECONDS] [ACCESS]
       sluice top [HOST:PORT] [--once] [--every SECONDS] [--db N] [ACCESS]
ACCESS: [--user NAME] [--pass WORD]
        [--tls [--cacert FILE | --cacertdir DIR] [--cert FILE --key FILE] [--sni NAME] [--insecure]]

Options are those of redis.conf; what stands later counts. '-' reads configuration from standard
input. Options of Redis that Sluice does not serve are refused or warned about when it starts.
--check-config says all that a start would refuse or warn of, also of Redis's file; nothing starts.
--check-rdb lists what is in an RDB file, by type, and names the first fault with its offset.
--import makes what a server starts from out of an RDB file, a log, or the folder of one, of Redis,
Valkey or Sluice: dump.rdb in DIR (here, if none is named), or with '--appendonly yes' a log.
--backup has the server save a snapshot and copies it to FILE, on the server's own machine.
--print-config prints a configuration with every option, its range and its default, in comments.
--print-info prints what each field of INFO is, as a page of Markdown.
--ping asks a server (127.0.0.1:6379, if none is named) whether it serves, and with '--wait' until
it does: SECONDS may have a fraction.
top shows in a terminal how a running server is, who holds its locks and who waits for them; q or
Ctrl-C leaves it. With '--once', and where there is no terminal, it prints one page. unix:/PATH
stands for a Unix socket. (./top is a file of that name.)
The words of ACCESS are redis-cli's, but the server's certificate must be for HOST, or for the NAME
of '--sni'; '--insecure' takes any. The password may also stand in REDISCLI_AUTH.

For the program that starts a server: '--port any' takes a free port. '--port-file FILE' holds the
port while it is served. '--ready-line yes' says 'ready on 127.0.0.1:PORT' on standard output when
it is, and nothing else: the log is on standard error then ('--port any' does so by itself);
'--ready-fd N' says it on that descriptor. '--exit-with-parent yes' and '--idle-exit SECONDS' end
a server that nobody needs. '--seed N' makes what is random the same in each run.

Exit status of a server: 0 when it was told to end (SHUTDOWN, SIGTERM, SIGINT, the two options
above) and has kept what was to be kept; 1 when it could not start, or could not save its data: the
sentence on standard error, or in the log, says why. Of all other forms: 0 when all is well, 1 when
a file is damaged, cannot be read or written, or the server does not do what is asked (the sentence
says which and where), 2 when their words are wrong.

Examples:
       sluice                          on 127.0.0.1:6379, saves ./dump.rdb as Redis does
       sluice --appendonly yes         what changes is kept in ./appendonlydir
       sluice --port 7000 --bind 0.0.0.0 --requirepass secret
       sluice /etc/redis/redis.conf --loglevel verbose
       sluice --unixsocket /run/sluice.sock --port 0
       echo 'maxclients 500' | sluice - --port 7000
       sluice --port any --save '' --exit-with-parent yes          for a test
)";

bool IsOption(std::string_view argument) { return argument.starts_with("--"); }

// Whether another option, or nothing, follows argument `at`.
bool HasNoValue(std::span<const std::string_view> arguments, size_t at) {
  return at + 1 == arguments.size() || IsOption(arguments[at + 1]);
}

// The options as configuration text. A '-' at either end of the command line is standard input.
std::string OptionLines(std::span<const std::string_view> arguments, size_t at, CommandLine& line) {
  std::string options;
  // After an option's name the next argument is its value, whatever it looks like.
  bool value_wanted = false;
  for (; at < arguments.size(); ++at) {
    const std::string_view argument = arguments[at];
    if (argument == "-" && (at == 0 || at + 1 == arguments.size())) {
      line.from_stdin = true;
    } else if (IsOption(argument) && !value_wanted) {
      ConcatTo(options, options.empty() ? "" : "\n", argument.substr(2), ' ');
      std::vector<std::string> words;
      value_wanted = SplitWords(argument, words) && words.size() == 1;  // not "--port 7000" in one
      // An empty list of save points was written like this before Redis 7.
      if (argument == "--save" && HasNoValue(arguments, at)) {
        options += "\"\"";
        value_wanted = false;
      }
    } else {
      ConcatTo(options, QuotedWord(argument), ' ');
      value_wanted = false;
    }
  }
  return options;
}

// What stands behind the file, and behind --into, are options of the server that is to start from
// it.
void ReadImport(std::span<const std::string_view> arguments, CommandLine& line) {
  if (arguments.size() < 2 || IsOption(arguments[1])) {
    line.fault = "--import takes a file or a folder";
    return;
  }
  line.file = arguments[1];
  size_t at = 2;
  if (arguments.size() > at && arguments[at] == "--into") {
    if (HasNoValue(arguments, at)) {
      line.fault = "--into takes a folder";
      return;
    }
    line.into = arguments[at + 1];
    at += 2;
  }
  line.options = OptionLines(arguments, at, line);
}

// Seconds, with a fraction or without; null: none, or more than a year.
std::optional<int64_t> ReadSeconds(std::string_view text) {
  const std::optional<double> seconds = ParseDouble(text);
  if (!seconds || !(*seconds >= 0) || *seconds > 366 * 86'400.0) return std::nullopt;
  return static_cast<int64_t>(*seconds * 1000);
}

// A word that may stand behind an address.
struct AskWord {
  std::string_view name;
  bool has_value;
  bool (*read)(std::string_view value, CommandLine& line);  // false: it is no such value
};

bool ReadUser(std::string_view value, CommandLine& line) {
  line.user = value;
  return !value.empty();
}

bool ReadPassword(std::string_view value, CommandLine& line) {
  line.password = value;
  return !value.empty();
}

bool ReadWait(std::string_view value, CommandLine& line) {
  const std::optional<int64_t> ms = ReadSeconds(value);
  line.wait_ms = ms.value_or(0);
  return ms.has_value();
}

bool ReadEvery(std::string_view value, CommandLine& line) {
  constexpr int64_t kLeastMs = 100;
  const std::optional<int64_t> ms = ReadSeconds(value);
  line.every_ms = ms.value_or(0);
  return line.every_ms >= kLeastMs;
}

bool ReadDatabase(std::string_view value, CommandLine& line) {
  const std::optional<int64_t> database = ParseInt64(value);
  line.database = database.value_or(-1);
  return line.database >= 0;
}

bool ReadOnce(std::string_view, CommandLine& line) { return line.once = true; }

bool ReadTls(std::string_view, CommandLine& line) { return line.tls.on = true; }
bool ReadInsecure(std::string_view, CommandLine& line) { return line.tls.insecure = true; }

template <std::string TlsWords::*kMember>
bool ReadTlsText(std::string_view value, CommandLine& line) {
  line.tls.*kMember = value;
  return !value.empty();
}

// Of all that ask a server.
constexpr AskWord kCommonWords[] = {
    {"--user", true, ReadUser},
    {"--pass", true, ReadPassword},
    {"--tls", false, ReadTls},
    {"--cacert", true, ReadTlsText<&TlsWords::authority_file>},
    {"--cacertdir", true, ReadTlsText<&TlsWords::authority_folder>},
    {"--cert", true, ReadTlsText<&TlsWords::certificate_file>},
    {"--key", true, ReadTlsText<&TlsWords::key_file>},
    {"--sni", true, ReadTlsText<&TlsWords::server_name>},
    {"--insecure", false, ReadInsecure},
};
constexpr AskWord kPingWords[] = {{"--wait", true, ReadWait}};
constexpr AskWord kTopWords[] = {
    {"--once", false, ReadOnce}, {"--every", true, ReadEvery}, {"--db", true, ReadDatabase}};

const AskWord* FindWord(std::span<const AskWord> words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &AskWord::name);
  return found == words.end() ? nullptr : &*found;
}

// From `at` on. `own` are words besides the common ones.
bool ReadWords(std::span<const std::string_view> arguments, size_t at, std::span<const AskWord> own,
               CommandLine& line) {
  while (at < arguments.size()) {
    const std::string_view name = arguments[at++];
    const AskWord* word = FindWord(own, name);
    if (!word) word = FindWord(kCommonWords, name);
    if (!word || (word->has_value && at == arguments.size())) return false;
    if (!word->read(word->has_value ? arguments[at++] : "", line)) return false;
  }
  return true;
}

// Of --ping and top, whose address may be left out. `usage` is the sentence about wrong words.
void ReadAsking(std::span<const std::string_view> arguments, std::span<const AskWord> words,
                std::string_view usage, CommandLine& line) {
  size_t at = 1;
  line.server = "127.0.0.1:6379";
  if (at < arguments.size() && !IsOption(arguments[at])) line.server = arguments[at++];
  if (line.server.find(':') == std::string::npos || !ReadWords(arguments, at, words, line))
    line.fault = usage;
}

// Faults are kept in the line, and told with the usage.
void ReadBackup(std::span<const std::string_view> arguments, CommandLine& line) {
  if (arguments.size() < 3 || IsOption(arguments[1]) || IsOption(arguments[2])) {
    line.fault = "--backup takes HOST:PORT and a file";
    return;
  }
  line.server = arguments[1];
  line.file = arguments[2];
  if (!ReadWords(arguments, 3, {}, line)) {
    line.fault =
        "behind the file of --backup may stand --user NAME, --pass WORD and the words of "
        "TLS, as redis-cli has them";
  }
}

}  // namespace

// The first argument decides what is done. Anything but a known word or an option is the name of a
// file.
CommandLine ReadCommandLine(std::span<const std::string_view> arguments) {
  CommandLine line;
  if (arguments.empty()) return line;
  if (arguments[0] == "-v" || arguments[0] == "--version")
    line.action = CommandLine::Action::kVersion;
  if (arguments[0] == "--print-config") line.action = CommandLine::Action::kPrintConfig;
  if (arguments[0] == "--print-info") line.action = CommandLine::Action::kPrintInfo;
  if (arguments[0] == "-h" || arguments[0] == "--help") line.action = CommandLine::Action::kHelp;
  if (arguments[0] == "--check-rdb") {
    line.action = CommandLine::Action::kCheckRdb;
    if (arguments.size() == 2) line.file = arguments[1];
  }
  if (arguments[0] == "--check-aof") {
    line.action = CommandLine::Action::kCheckLog;
    if (arguments.size() > 1) line.log_folder = arguments[1];
    line.fix = arguments.size() > 2 && arguments[2] == "--fix";
  }
  if (arguments[0] == "--import") {
    line.action = CommandLine::Action::kImport;
    ReadImport(arguments, line);
  }
  if (arguments[0] == "--backup") {
    line.action = CommandLine::Action::kBackup;
    ReadBackup(arguments, line);
  }
  if (arguments[0] == "--ping") {
    line.action = CommandLine::Action::kPing;
    ReadAsking(arguments, kPingWords,
               "--ping takes HOST:PORT, --wait SECONDS, --user NAME and --pass WORD", line);
  }
  if (arguments[0] == "top") {
    line.action = CommandLine::Action::kTop;
    ReadAsking(arguments, kTopWords,
               "top takes HOST:PORT, --once, --every SECONDS (0.1 or more), --db N, --user NAME "
               "and --pass WORD",
               line);
  }
  if (arguments[0] == "--check-config") {
    // What stands behind it is what a start would have.
    line = ReadCommandLine(arguments.subspan(1));
    if (line.action != CommandLine::Action::kRun)
      line.fault = "--check-config takes a file and options, as a start does";
    line.action = CommandLine::Action::kCheckConfig;
  }
  if (line.action != CommandLine::Action::kRun) return line;

  const bool has_file = !arguments[0].starts_with('-');
  if (has_file) line.file = arguments[0];
  line.options = OptionLines(arguments, has_file ? 1 : 0, line);
  return line;
}

// The order decides: a later source overrides an earlier one.
std::string Configure(const CommandLine& line, std::string_view stdin_text, Config& config) {
  std::string fault;
  if (!line.file.empty()) fault = config.LoadFile(line.file);
  if (fault.empty() && line.from_stdin) fault = config.LoadText(stdin_text);
  if (fault.empty()) fault = config.LoadText(line.options, "");
  return fault;
}

// --- texts
std::string_view HelpText() { return kHelp; }

std::string VersionText() {
  return Concat("Sluice server v=", kSluiceVersion, " (speaks Redis ", kRedisVersion,
                ") bits=", sizeof(void*) * 8);
}

}  // namespace sluice
