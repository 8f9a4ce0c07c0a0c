// See commandline.h.
#include "server/config/commandline.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/near_word.h"
#include "protocol/text/number_text.h"
#include "server/config/file.h"
#include "server/config/options.h"
#include "server/config/server_address.h"

namespace sluice {
namespace {

bool IsOption(std::string_view argument) { return argument.starts_with("--"); }

// A dash and more; a dash alone is standard input.
bool IsDashed(std::string_view argument) { return argument.size() > 1 && argument[0] == '-'; }

std::string_view WithoutDashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

// First words that decide what is done, for hints alone.
constexpr std::string_view kForms[] = {"help",         "version",    "check-aof",    "check-config",
                                       "check-rdb",    "import",     "export-redis", "backup",
                                       "ping",         "print-info", "top",          "print-config",
                                       "cluster-check"};

std::string Dashed(std::string_view form) { return Concat(form == "top" ? "" : "--", form); }

// Short options of redis-cli and others, and what they are here.
struct ShortOption {
  std::string_view given, meant;
};
constexpr ShortOption kShortOptions[] = {
    {"-p", "--port"}, {"-a", "--requirepass"}, {"-s", "--unixsocket"}};

// The short options of redis-cli, where a server is asked.
constexpr ShortOption kShortWords[] = {{"-a", "--pass"},     {"-h", "HOST:PORT"},
                                       {"-n", "--db"},       {"-p", "HOST:PORT"},
                                       {"-s", "unix:/PATH"}, {"-u", "redis://..."}};

// Null: there is none of that name.
const ShortOption* FindShort(std::span<const ShortOption> options, std::string_view word) {
  const auto found = std::ranges::find(options, word, &ShortOption::given);
  return found == options.end() ? nullptr : &*found;
}

// The fault of a word where an option is to stand.
std::string NoOption(std::string_view word) {
  if (const ShortOption* const found = FindShort(kShortOptions, word))
    return Concat("'", word, "' is no option; did you mean '", found->meant, "'?");
  std::string meant = DidYouMean(WithoutDashes(word), DirectiveNames(), "--");
  if (IsDashed(word) && meant.empty()) meant = DidYouMean(WithoutDashes(word), kForms, "--");
  return Concat("'", word, "' is no option: they begin with two dashes", meant);
}

// A first word with two dashes that is neither a form nor an option, but near to a form; empty: it
// is left to the configuration to say what is wrong with it.
std::string NoForm(std::string_view word) {
  const std::string_view name = WithoutDashes(word);
  const std::vector<std::string_view> directives = DirectiveNames();
  // The usual case: a known name has no near ones to be looked for.
  if (std::ranges::find(directives, name) != directives.end()) return {};
  std::vector<std::string_view> known(std::begin(kForms), std::end(kForms));
  known.insert(known.end(), directives.begin(), directives.end());
  const std::string_view meant = NearWord(name, known);
  if (word == Dashed(meant) || std::ranges::find(kForms, meant) == std::end(kForms)) return {};
  return Concat(word, " is not known; did you mean '", Dashed(meant), "'?");
}

// The word was taken for a file and is none: a word alone may be meant as one of ours.
std::string FormMeantBy(std::string_view file) {
  const std::string_view meant = NearWord(file, kForms);
  return meant.empty() ? std::string() : Concat("; did you mean 'sluice ", Dashed(meant), "'?");
}

// Whether another option, or nothing, follows argument `at`.
bool HasNoValue(std::span<const std::string_view> arguments, size_t at) {
  return at + 1 == arguments.size() || IsOption(arguments[at + 1]);
}

// Redis takes the first option behind a file without its dashes, too.
bool IsNameOfOption(std::string_view word) {
  const std::vector<std::string_view> names = DirectiveNames();
  return std::ranges::find(names, word) != names.end();
}

// The options as configuration text. A '-' at either end of the command line is standard input. Any
// other word before the first option is a fault.
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
      if (options.empty() && line.fault.empty() && !IsNameOfOption(argument))
        line.fault = NoOption(argument);
      ConcatTo(options, QuotedWord(argument), ' ');
      value_wanted = false;
    }
  }
  return options;
}

// The fault of a word that is no option, but near to one of --import's own; empty: it is left to
// the configuration.
std::string NearImportOption(std::string_view word) {
  constexpr std::string_view kOwn[] = {"into", "keep-expired"};
  const std::string_view name = WithoutDashes(word);
  const std::string meant = IsNameOfOption(name) ? std::string() : DidYouMean(name, kOwn, "--");
  return meant.empty() ? meant : Concat("--import: '", word, "' is not known here", meant);
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
  std::string_view takes;  // the value behind it, in words; empty: none
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

// The words of all forms that ask a server.
constexpr AskWord kCommonWords[] = {
    {"--user", "a name", ReadUser},
    {"--pass", "a password", ReadPassword},
    {"--tls", "", ReadTls},
    {"--cacert", "a file", ReadTlsText<&TlsWords::authority_file>},
    {"--cacertdir", "a folder", ReadTlsText<&TlsWords::authority_folder>},
    {"--cert", "a file", ReadTlsText<&TlsWords::certificate_file>},
    {"--key", "a file", ReadTlsText<&TlsWords::key_file>},
    {"--sni", "a name", ReadTlsText<&TlsWords::server_name>},
    {"--insecure", "", ReadInsecure},
};
constexpr AskWord kPingWords[] = {{"--wait", "seconds", ReadWait}};
constexpr AskWord kTopWords[] = {{"--once", "", ReadOnce},
                                 {"--every", "seconds, 0.1 or more", ReadEvery},
                                 {"--db", "a number", ReadDatabase}};

const AskWord* FindWord(std::span<const AskWord> words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &AskWord::name);
  return found == words.end() ? nullptr : &*found;
}

// A fault of one word: that it is not known, or what it takes.
std::string UnknownWord(std::string_view name, std::span<const AskWord> own) {
  std::vector<std::string_view> known;
  for (const std::span<const AskWord> words : {own, std::span<const AskWord>(kCommonWords)}) {
    for (const AskWord& word : words) known.push_back(WithoutDashes(word.name));
  }
  const ShortOption* const found = FindShort(kShortWords, name);
  const bool is_taken = found && (!IsDashed(found->meant) || FindWord(own, found->meant) ||
                                  FindWord(kCommonWords, found->meant));
  const std::string meant = is_taken ? Concat("; did you mean '", found->meant, "'?")
                                     : DidYouMean(WithoutDashes(name), known, "--");
  return Concat("'", name, "' is not known here", meant);
}

// From `at` on. `own` are words besides the common ones. A sentence, or empty.
std::string ReadWords(std::span<const std::string_view> arguments, size_t at,
                      std::span<const AskWord> own, CommandLine& line) {
  while (at < arguments.size()) {
    const std::string_view name = arguments[at++];
    const AskWord* word = FindWord(own, name);
    if (!word) word = FindWord(kCommonWords, name);
    if (!word) return UnknownWord(name, own);
    if (!word->takes.empty() && at == arguments.size()) return Concat(name, " takes ", word->takes);
    if (!word->read(word->takes.empty() ? "" : arguments[at++], line))
      return Concat(name, " takes ", word->takes);
  }
  return {};
}

// The address, and what a URL tells beside it; what stands behind it on the command line counts
// more. A database belongs to forms that show one.
std::string ReadServer(std::string_view text, bool has_database, CommandLine& line) {
  ServerAddress address;
  if (std::string fault = ReadServerAddress(text, address); !fault.empty()) return fault;
  if (address.database && !has_database)
    return Concat("'", text, "' names a database, which means nothing here");
  line.server = address.server;
  line.user = address.user;
  line.password = address.password;
  line.tls.on = address.tls;
  line.database = address.database.value_or(0);
  return {};
}

// Reads --ping and top, whose address may be left out. `usage` says which words there are.
void ReadAsking(std::span<const std::string_view> arguments, std::span<const AskWord> words,
                std::string_view usage, CommandLine& line) {
  size_t at = 1;
  line.server = "127.0.0.1:6379";
  if (at < arguments.size() && !IsDashed(arguments[at]))
    line.fault = ReadServer(arguments[at++], line.action == CommandLine::Action::kTop, line);
  if (line.fault.empty()) line.fault = ReadWords(arguments, at, words, line);
  if (!line.fault.empty()) line.fault = Concat(arguments[0], ": ", line.fault, " (", usage, ")");
}

// Addresses, and then the words of ACCESS. TLS is for all of them.
void ReadClusterCheck(std::span<const std::string_view> arguments, CommandLine& line) {
  size_t at = 1;
  for (; line.fault.empty() && at < arguments.size() && !IsDashed(arguments[at]); ++at) {
    line.fault = ReadServer(arguments[at], /*has_database=*/false, line);
    line.servers.push_back(line.server);
  }
  if (line.fault.empty() && line.servers.empty()) line.fault = "no server is named";
  if (line.fault.empty()) line.fault = ReadWords(arguments, at, {}, line);
  if (line.fault.empty()) return;
  line.fault = Concat("--cluster-check: ", line.fault,
                      " (it takes HOST:PORT of one server or more, --user NAME, --pass WORD and "
                      "the words of TLS, as redis-cli has them)");
}

// The words of a form that makes a file from a server. Faults are told with the usage.
void ReadServerToFile(std::span<const std::string_view> arguments, CommandLine& line) {
  line.fault = ReadServer(arguments[1], /*has_database=*/false, line);
  line.file = arguments[2];
  if (line.fault.empty()) line.fault = ReadWords(arguments, 3, {}, line);
  if (!line.fault.empty()) {
    line.fault =
        Concat(arguments[0], ": ", line.fault,
               " (behind the file may stand --user NAME, --pass WORD and the words of TLS, "
               "as redis-cli has them)");
  }
}

bool HasTwoNames(std::span<const std::string_view> arguments) {
  return arguments.size() >= 3 && !IsOption(arguments[1]) && !IsOption(arguments[2]);
}

void ReadBackup(std::span<const std::string_view> arguments, CommandLine& line) {
  if (HasTwoNames(arguments)) return ReadServerToFile(arguments, line);
  line.fault = "--backup takes HOST:PORT and a file";
}

// Whether a word names a server, and no file: a host or a port alone would be a file's name.
bool NamesServer(std::string_view word) {
  for (const std::string_view begin : {"unix:", "redis://", "rediss://"}) {
    if (word.starts_with(begin)) return true;
  }
  return word.find(':') != word.npos && word.find('/') == word.npos;
}

// Reads one of --import's own words at `at`, which is behind it then. False: it is none of them.
bool ReadImportWord(std::span<const std::string_view> arguments, size_t& at, CommandLine& line) {
  const std::string_view name = arguments[at];
  const AskWord* const access = line.server.empty() ? nullptr : FindWord(kCommonWords, name);
  if (name == "--keep-expired") {
    line.keep_expired = true;
  } else if (name == "--into") {
    if (HasNoValue(arguments, at)) return line.fault = "--into takes a folder", true;
    line.into = arguments[++at];
  } else if (access) {
    const bool lacks_value = !access->takes.empty() && at + 1 == arguments.size();
    if (lacks_value || !access->read(access->takes.empty() ? "" : arguments[++at], line))
      line.fault = Concat("--import: ", name, " takes ", access->takes);
  } else {
    return false;
  }
  ++at;
  return true;
}

// The options behind the file, --into and --keep-expired are for the server that is to start from
// it. Behind the address of a server the words of ACCESS come first.
void ReadImport(std::span<const std::string_view> arguments, CommandLine& line) {
  if (arguments.size() < 2 || IsOption(arguments[1])) {
    line.fault = "--import takes a file, a folder, or HOST:PORT";
    return;
  }
  if (NamesServer(arguments[1])) {
    line.fault = ReadServer(arguments[1], /*has_database=*/false, line);
  } else {
    line.file = arguments[1];
  }
  size_t at = 2;
  while (line.fault.empty() && at < arguments.size() && ReadImportWord(arguments, at, line)) {
  }
  if (!line.fault.empty()) return;
  if (at < arguments.size()) line.fault = NearImportOption(arguments[at]);
  line.options = OptionLines(arguments, at, line);
}

// Behind a folder stand options of the server that its data are of.
void ReadExport(std::span<const std::string_view> arguments, CommandLine& line) {
  if (!HasTwoNames(arguments)) {
    line.fault =
        "--export-redis takes two things: a folder, a file or HOST:PORT; and the file to be made";
    return;
  }
  if (NamesServer(arguments[1])) return ReadServerToFile(arguments, line);
  line.from = arguments[1];
  line.file = arguments[2];
  line.options = OptionLines(arguments, 3, line);
}

// Forms of a path and a flag, or of nothing.
struct PlainForm {
  std::string_view name;
  CommandLine::Action action;
  std::string_view takes;  // empty: nothing
  std::string_view flag;
  std::string CommandLine::*path;
};
using Action = CommandLine::Action;
constexpr PlainForm kPlainForms[] = {
    {"-h", Action::kHelp, "", "", nullptr},
    {"--help", Action::kHelp, "", "", nullptr},
    {"-v", Action::kVersion, "", "", nullptr},
    {"--version", Action::kVersion, "", "", nullptr},
    {"--print-config", Action::kPrintConfig, "", "", nullptr},
    {"--print-info", Action::kPrintInfo, "", "", nullptr},
    {"--check-rdb", Action::kCheckRdb, "one file", "", &CommandLine::file},
    {"--check-aof", Action::kCheckLog, "a directory", "--fix", &CommandLine::log_folder},
};

// Where no word of the form is near to the one that was given.
std::string TakenBy(const PlainForm& form) {
  return Concat(" (it takes ", form.takes.empty() ? "nothing" : form.takes,
                form.flag.empty() ? "" : " and ", form.flag, ")");
}

// The flag may stand on either side of the path, as redis-check-aof has it before.
void ReadPlainForm(const PlainForm& form, std::span<const std::string_view> words,
                   CommandLine& line) {
  line.action = form.action;
  bool is_named = form.takes.empty();
  for (const std::string_view word : words) {
    if (!form.flag.empty() && word == form.flag) {
      line.fix = true;
    } else if (IsDashed(word)) {
      const std::string_view flags[] = {WithoutDashes(form.flag)};
      const std::string meant = DidYouMean(WithoutDashes(word), flags, "--");
      line.fault = Concat(form.name, ": '", word, "' is not known here",
                          meant.empty() ? TakenBy(form) : meant);
    } else if (is_named) {
      line.fault = form.takes.empty()
                       ? Concat(form.name, " takes nothing, and no '", word, "'")
                       : Concat(form.name, " takes ", form.takes, ", and no '", word, "'");
    } else {
      line.*form.path = word;
      is_named = true;
    }
    if (!line.fault.empty()) return;
  }
  if (!is_named) line.fault = Concat(form.name, " takes ", form.takes);
}

}  // namespace

// The first argument decides what is done. Anything but a known word or an option is the name of a
// file.
CommandLine ReadCommandLine(std::span<const std::string_view> arguments) {
  CommandLine line;
  if (arguments.empty()) return line;
  const auto* const plain = std::ranges::find(kPlainForms, arguments[0], &PlainForm::name);
  if (plain != std::end(kPlainForms)) ReadPlainForm(*plain, arguments.subspan(1), line);
  if (arguments[0] == "--import") {
    line.action = CommandLine::Action::kImport;
    ReadImport(arguments, line);
  }
  if (arguments[0] == "--export-redis") {
    line.action = CommandLine::Action::kExportRedis;
    ReadExport(arguments, line);
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
  if (arguments[0] == "--cluster-check") {
    line.action = CommandLine::Action::kClusterCheck;
    ReadClusterCheck(arguments, line);
  }
  if (arguments[0] == "top") {
    line.action = CommandLine::Action::kTop;
    ReadAsking(arguments, kTopWords,
               "top takes HOST:PORT, --once, --every SECONDS (0.1 or more), --db N, --user NAME "
               "and --pass WORD",
               line);
  }
  if (arguments[0] == "--check-config") {
    // The words behind it are those of a start.
    line = ReadCommandLine(arguments.subspan(1));
    if (line.action != CommandLine::Action::kRun)
      line.fault = "--check-config takes a file and options, as a start does";
    line.action = CommandLine::Action::kCheckConfig;
  }
  if (line.action != CommandLine::Action::kRun) return line;

  if (IsOption(arguments[0])) line.fault = NoForm(arguments[0]);
  const bool has_file = !arguments[0].starts_with('-');
  if (has_file) line.file = arguments[0];
  line.options = OptionLines(arguments, has_file ? 1 : 0, line);
  // A word that is wrong behind the file makes it likely that the file was meant for a form.
  if (has_file && !line.fault.empty() && !line.fault.ends_with('?'))
    line.fault += FormMeantBy(line.file);
  return line;
}

// The order decides: a later source overrides an earlier one.
Fault Configure(const CommandLine& line, std::string_view stdin_text, Config& config) {
  std::string fault;
  if (!line.file.empty()) fault = config.LoadFile(line.file);
  if (fault.starts_with("can't open")) fault += FormMeantBy(line.file);
  if (fault.empty() && line.from_stdin) fault = config.LoadText(stdin_text);
  if (fault.empty()) fault = config.LoadText(line.options, "");
  return fault;
}

// --- texts

}  // namespace sluice
