// See fault_rule.h. The words of a rule are a table, a row each; each row says into which group it
// falls, and of a group there is one word at most.
#include "server/test_double/fault_rule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

using Kind = FaultAction::Kind;

constexpr int64_t kHundredYearsMs = 3'155'760'000'000;
constexpr IntRange kClientId{"CLIENT", 1, INT64_MAX};
constexpr IntRange kWordCount{"ARGS", 1, 1 << 20};
constexpr IntRange kNth{"NTH", 1, INT64_MAX};
constexpr IntRange kTimes{"TIMES", 1, INT64_MAX};
constexpr IntRange kDelay{"DELAY", 1, kHundredYearsMs, "ms"};
constexpr IntRange kTruncate{"TRUNCATE", 0, 1LL << 40, "bytes"};
constexpr size_t kAddressBytesMax = 300;

// The answer of a server in that state, word for word.
struct State {
  std::string_view name;
  std::string_view text;
};
constexpr State kStates[] = {
    {"LOADING", "LOADING Redis is loading the dataset in memory"},
    {"READONLY", "READONLY You can't write against a read only replica."},
    {"OOM", "OOM command not allowed when used memory > 'maxmemory'."},
    {"MISCONF",
     "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
     "disk. Commands that may modify the data set are disabled, because this instance is "
     "configured to report errors during writes if RDB snapshotting fails "
     "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB "
     "error."},
    {"BUSY",
     "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."},
    {"NOREPLICAS", "NOREPLICAS Not enough good replicas to write."},
    {"MASTERDOWN",
     "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
};

// Words of one group exclude each other.
enum class Group : uint8_t { kCommand, kKey, kWho, kWords, kWhich, kTimes, kWhen, kAction, kCount };

// The words read so far.
struct Reading {
  ArgReader& args;
  FaultRule& rule;
  const CommandTable& commands;
  std::string_view when;    // BEFORE or AFTER, if that is said
  std::string_view action;  // its word,
  size_t action_at = 0;     // and where that stands in the canonical form
};

using OfGroup = std::array<std::string_view, static_cast<size_t>(Group::kCount)>;  // words so far

struct Word {
  std::string_view word;
  Group group;
  void (*read)(Reading& reading);
  std::string_view value = {};  // what has to follow, if anything has
};

void Keep(Reading& reading, std::string_view word) { reading.rule.canonical.emplace_back(word); }

void ReadCommand(Reading& reading) {
  const std::string_view name = reading.args.Bytes();
  const Command* command = reading.commands.FindFull(name);
  if (!command) command = reading.commands.Find(name);
  if (!command)
    return reading.args.Fail(
        Concat("ERR there is no command '", name.substr(0, 128), "' that a rule could be for"));
  if (const Command* const sub =
          command->subcommands.empty() || !reading.args.more()
              ? nullptr
              : reading.commands.FindSubcommand(*command, reading.args.Peek())) {
    reading.args.Skip();
    command = sub;
  }
  const Command* const top = command->container ? command->container : command;
  if ((top->spec->flags & kOfTestDouble) != 0)
    return reading.args.Fail("ERR commands of the test double itself are never hit");
  reading.rule.command = command;
  Keep(reading, top->spec->name);
  if (command->container) Keep(reading, command->spec->name);
}

void ReadGlob(Reading& reading, std::optional<Glob>& glob) {
  const std::string_view pattern = reading.args.Bytes();
  if (pattern.size() > FaultRule::kGlobBytesMax)
    return reading.args.Fail(
        Concat("ERR a pattern has at most ", FaultRule::kGlobBytesMax, " bytes"));
  glob.emplace(pattern);
  Keep(reading, pattern);
}

int64_t ReadInt(Reading& reading, const IntRange& range) {
  const int64_t value = reading.args.IntIn(range);
  Keep(reading, Int64Text(value));
  return value;
}

void ReadProbability(Reading& reading) {
  const std::string_view text = reading.args.Bytes();
  const std::optional<double> value = ParseDouble(text);
  if (!value || !(*value > 0 && *value <= 1))
    return reading.args.Fail("ERR PROB must be above 0 and at most 1");
  reading.rule.probability = value;
  Keep(reading, text);
}

// --- actions

// As a server writes it: a code in capitals first. A text without one gets ERR, as from most.
std::string ErrorLine(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::string_view code = text.substr(0, text.find(' '));
  const bool has_code = !code.empty() && std::ranges::all_of(code, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return has_code ? std::string(text) : Concat("ERR ", text);
}

void ReadError(Reading& reading) {
  const std::string_view text = reading.args.Bytes();
  const bool is_line = text.find_first_of("\r\n") == text.npos;
  if (text.empty() || text.size() > FaultRule::kTextBytesMax || !is_line)
    return reading.args.Fail(
        Concat("ERR the text of ERROR is one line of 1 to ", FaultRule::kTextBytesMax, " bytes"));
  reading.rule.action.text = ErrorLine(text);
  Keep(reading, reading.rule.action.text);
}

void ReadState(Reading& reading) {
  const std::string_view name = reading.args.Bytes();
  const auto* const state =
      std::ranges::find_if(kStates, [&](const State& row) { return IsWord(name, row.name); });
  if (state == std::end(kStates))
    return reading.args.Fail(
        "ERR STATE is one of LOADING, READONLY, OOM, MISCONF, BUSY, NOREPLICAS, MASTERDOWN");
  reading.rule.action.text = state->text;
  reading.rule.action.is_state = true;
  Keep(reading, state->name);
}

// host:port, as a client is told where to go.
bool IsAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0 || text.size() > kAddressBytesMax) return false;
  const std::optional<int64_t> port = ParseInt64(text.substr(colon + 1));
  const bool is_word = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  return is_word && port && *port >= 1 && *port <= 65535;
}

void ReadAddress(Reading& reading) {
  const std::string_view address = reading.args.Bytes();
  if (!IsAddress(address))
    return reading.args.Fail(Concat("ERR ", reading.action, " needs an address: host:port"));
  reading.rule.action.text = Concat(reading.action, " ", address);
  reading.rule.action.names_slot = true;
  Keep(reading, address);
}

void ReadDelay(Reading& reading) {
  reading.rule.action.ms = ReadInt(reading, kDelay);
  reading.rule.action.real = reading.args.TakeWord("REAL");
  if (reading.rule.action.real) Keep(reading, "REAL");
}

template <Kind kKind, void (*kRead)(Reading&) = nullptr>
constexpr auto kAct = [](Reading& reading) {
  reading.rule.action.kind = kKind;
  if constexpr (kRead != nullptr) kRead(reading);
};

constexpr Word kWords[] = {
    {"COMMAND", Group::kCommand, ReadCommand, "name"},
    {"KEY", Group::kKey, [](Reading& r) { ReadGlob(r, r.rule.key); }, "glob"},
    {"CLIENT", Group::kWho,
     [](Reading& r) { r.rule.client = static_cast<uint64_t>(ReadInt(r, kClientId)); }, "id"},
    {"NAME", Group::kWho, [](Reading& r) { ReadGlob(r, r.rule.name); }, "glob"},
    {"ARGS", Group::kWords,
     [](Reading& r) { r.rule.words = static_cast<size_t>(ReadInt(r, kWordCount)); }, "n"},
    {"NTH", Group::kWhich, [](Reading& r) { r.rule.nth = static_cast<uint64_t>(ReadInt(r, kNth)); },
     "n"},
    {"PROB", Group::kWhich, ReadProbability, "p"},
    {"TIMES", Group::kTimes,
     [](Reading& r) { r.rule.times = static_cast<uint64_t>(ReadInt(r, kTimes)); }, "n"},
    {"BEFORE", Group::kWhen, [](Reading& r) { r.when = "BEFORE"; }},
    {"AFTER", Group::kWhen, [](Reading& r) { r.when = "AFTER"; }},
    {"ERROR", Group::kAction, kAct<Kind::kError, ReadError>, "text"},
    {"DELAY", Group::kAction, kAct<Kind::kDelay, ReadDelay>, "ms"},
    {"CLOSE", Group::kAction, kAct<Kind::kClose>},
    {"DROP", Group::kAction, kAct<Kind::kDrop>},
    {"TRUNCATE", Group::kAction,
     [](Reading& r) {
       r.rule.action.kind = Kind::kTruncate;
       r.rule.action.bytes = static_cast<size_t>(ReadInt(r, kTruncate));
     },
     "bytes"},
    {"HANG", Group::kAction, kAct<Kind::kHang>},
    {"SPLIT", Group::kAction, kAct<Kind::kSplit>},
    {"STATE", Group::kAction, kAct<Kind::kError, ReadState>, "name"},
    {"MOVED", Group::kAction, kAct<Kind::kError, ReadAddress>, "address"},
    {"ASK", Group::kAction, kAct<Kind::kError, ReadAddress>, "address"},
    {"FAILOVER", Group::kAction, kAct<Kind::kFailover>},
};

void ReadWord(Reading& reading, OfGroup& of_group) {
  const std::string_view given = reading.args.Bytes();
  const auto* const row =
      std::ranges::find_if(kWords, [&](const Word& word) { return IsWord(given, word.word); });
  if (row == std::end(kWords))
    return reading.args.Fail(
        Concat("ERR '", given.substr(0, 128), "' is no word of a rule; see SLUICE.FAULT HELP"));
  std::string_view& before = of_group[static_cast<size_t>(row->group)];
  if (!before.empty())
    return reading.args.Fail(before == row->word ? Concat("ERR ", row->word, " is given twice")
                                                 : Concat("ERR ", before, " and ", row->word,
                                                          " exclude each other in a rule"));
  before = row->word;
  if (!row->value.empty() && !reading.args.more())
    return reading.args.Fail(Concat("ERR ", row->word, " needs its ", row->value));
  if (row->group == Group::kAction) {
    reading.action = row->word;
    reading.action_at = reading.rule.canonical.size();
  }
  if (row->group != Group::kWhen) Keep(reading, row->word);
  row->read(reading);
}

// When it happens, in words too.
void Conclude(Reading& reading) {
  FaultAction& action = reading.rule.action;
  if (action.kind == Kind::kNone)
    return reading.args.Fail(
        "ERR a rule needs an action: ERROR, DELAY, CLOSE, DROP, TRUNCATE, HANG, SPLIT, STATE, "
        "MOVED, ASK or FAILOVER");
  const bool is_of_answer = action.kind == Kind::kTruncate || action.kind == Kind::kSplit;
  if (is_of_answer && reading.when == "BEFORE")
    return reading.args.Fail(
        Concat("ERR ", reading.action, " is about an answer: there is none BEFORE"));
  action.after = is_of_answer || reading.when == "AFTER";
  std::vector<std::string>& words = reading.rule.canonical;
  words.insert(words.begin() + static_cast<ptrdiff_t>(reading.action_at),
               action.after ? "AFTER" : "BEFORE");
}

}  // namespace

Fault FaultRule::Read(Args given, const CommandTable& commands) {
  ArgReader args(given, 0);
  Reading reading{.args = args, .rule = *this, .commands = commands};
  OfGroup of_group;
  while (args.more()) ReadWord(reading, of_group);
  if (!args.failed()) Conclude(reading);
  if (args.failed()) return std::string(args.error());
  if (nth != 0 && times == 0) times = 1;
  return {};
}

bool FaultRule::MayMatch(const Session& session, size_t given) const {
  if (words && *words != given) return false;
  if (client && *client != session.client_id) return false;
  return !name || name->Matches(session.name);
}

}  // namespace sluice
