// See request_maker.h.
#include "tests/fuzz/request_maker.h"

#include <algorithm>
#include <utility>

#include "server/config/options.h"

namespace sluice {
namespace {

using namespace std::string_view_literals;

// Rows that are drawn as seldom as all others together would be drawn in some twenty requests: they
// empty the server, end connections or stop all clients.
constexpr std::string_view kRareRows[] = {
    "flushall",
    "flushdb",
    "shutdown",
    "client|pause",
    "client|kill",
    "quit",
    "monitor",
    "client|reply",
    "script|flush",
    "function|flush",
    "reset",
    "swapdb",
    "auth",
    "config|set",
    "config|rewrite",
    "function|delete",
    "hello",
    "debug",
    // Of a test double. A rule hits most of what follows it.
    "sluice.fault|add",
    "sluice.clock|set",
};
// Options that keep a run small, or that a run could not go on with.
constexpr std::string_view kKeptOptions[] = {
    "proto-max-bulk-len",  // bounds what SETRANGE and SETBIT make
    "requirepass",         // most of a run would be NOAUTH
    "maxclients",          // the engine alone does not look at it
    "client-query-buffer-limit",
    "client-output-buffer-limit",
};
// Counts that ask for so much: a million is a long reply, or many keys, not a fault.
constexpr std::string_view kKeptCounts[] = {"srandmember", "hrandfield", "zrandmember", "lolwut",
                                            "debug"};
// What DEBUG is asked. Not RELOAD, which needs a file; POPULATE with few keys.
constexpr std::string_view kDebug[] = {"OBJECT",
                                       "DIGEST",
                                       "DIGEST-VALUE",
                                       "ERROR",
                                       "SLEEP",
                                       "POPULATE",
                                       "PROTOCOL",
                                       "QUICKLIST-PACKED-THRESHOLD",
                                       "SET-ACTIVE-EXPIRE",
                                       "SET-DISABLE-DENY-SCRIPTS",
                                       "LOG",
                                       "HELP"};
constexpr std::string_view kProtocols[] = {"string", "integer", "double", "null", "array",
                                           "set",    "map",     "attrib", "push", "verbatim",
                                           "true",   "false",   "bignum"};

// Names of keys by the group of the command: the type that it mostly meets.
struct GroupKeys {
  std::string_view group, prefix;
};
constexpr GroupKeys kGroupKeys[] = {{"string", "s"},       {"bitmap", "s"}, {"hash", "h"},
                                    {"list", "l"},         {"set", "t"},    {"sorted-set", "z"},
                                    {"geo", "z"},          {"stream", "x"}, {"hyperloglog", "p"},
                                    {"limit", "m"},        {"lock", "k"},   {"limiter", "m"},
                                    {"leaky-bucket", "b"}, {"bucket", "b"}};
constexpr std::string_view kPrefixes = "shltzxpmkb";

constexpr std::string_view kOddWords[] = {
    ""sv,
    "0"sv,
    "-0"sv,
    "-1"sv,
    "+1"sv,
    "01"sv,
    " 1"sv,
    "1 "sv,
    "1.5"sv,
    "1e3"sv,
    "0x10"sv,
    "9223372036854775807"sv,
    "9223372036854775806"sv,
    "-9223372036854775808"sv,
    "-9223372036854775807"sv,
    "9223372036854775808"sv,
    "18446744073709551615"sv,
    "18446744073709551616"sv,
    "2147483647"sv,
    "2147483648"sv,
    "-2147483648"sv,
    "-2147483649"sv,
    "4294967295"sv,
    "4294967296"sv,
    "9007199254740991"sv,
    "9007199254740993"sv,
    "99999999999999999999999999999999"sv,
    "nan"sv,
    "inf"sv,
    "-inf"sv,
    "+inf"sv,
    "1e400"sv,
    "1e-400"sv,
    "-1e308"sv,
    "1.7976931348623157e308"sv,
    "4.9e-324"sv,
    "\0"sv,
    "a\0b"sv,
    "\r\n"sv,
    "\xff\xfe"sv,
    "\xf0\x9f\x98\x80"sv,
    "%s%n"sv,
    "["sv,
    "]"sv,
    "\\"sv,
    "*"sv,
    "[^a"sv,
    "[a"sv,
    "(a"sv,
    "(1"sv,
    "-"sv,
    "+"sv,
    "$"sv,
    ">"sv,
    "~"sv,
    "="sv,
    "0-0"sv,
    "0-1"sv,
    "1-*"sv,
    "18446744073709551615-18446744073709551615"sv,
    "18446744073709551615-0"sv,
    "5-"sv,
    "-5"sv,
    "*********a"sv,
    "{}"sv,
    "''"sv,
    "\""sv,
};
constexpr std::string_view kCommonWords[] = {
    "COUNT", "LIMIT",   "WITHSCORES", "NX", "XX",    "GET",  "STORE", "FIELDS", "WAIT",
    "BLOCK", "STREAMS", "EX",         "PX", "MATCH", "KEYS", "ID",    "DB",     "REPLACE"};
constexpr std::string_view kMembers[] = {"a",
                                         "b",
                                         "c",
                                         "1",
                                         "2",
                                         "3",
                                         "-7",
                                         "300",
                                         "70000",
                                         "5000000000",
                                         "a longer member of more than sixty-four "
                                         "bytes, so that nothing stays packed in little",
                                         "1.5"};
constexpr std::string_view kDoubles[] = {"0",   "1",    "-1",    "0.1",  "2.5", "-3.75",
                                         "100", "1e10", "1e-10", "0.01", "3"};
constexpr std::string_view kPatterns[] = {"*",     "s*",  "?1",    "[a-z]*", "h[12]", "news.*",
                                          "*[^0]", "\\*", "a*b*c", "z?",     "*1"};
constexpr std::string_view kStreamIds[] = {"1-1", "2-1", "3-0", "5", "7-9", "0",    "0-1",  "*",
                                           "$",   ">",   "-",   "+", "9-*", "(1-1", "100-5"};
constexpr std::string_view kScripts[] = {
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(ARGV))",
    "redis.setresp(3) return redis.pcall(unpack(ARGV))",
    "for i = 1, 5 do redis.pcall(unpack(ARGV)) end return redis.status_reply('DONE')",
    "redis.call('SET', KEYS[1] or 's1', 'x') return redis.pcall(unpack(ARGV))",
    "local r = redis.pcall('GET', KEYS[1] or 'h1') return {r, 1, 'two', {3, {4}}, false, 5.5}",
    "return cjson.encode(redis.pcall(unpack(ARGV)))",
    "return cmsgpack.pack(redis.pcall(unpack(ARGV)))",
    "return {pcall(cjson.decode, ARGV[1] or '')}",
    "return {pcall(cmsgpack.unpack, ARGV[1] or '')}",
    "return {pcall(struct.unpack, ARGV[1] or '', ARGV[2] or '')}",
    "return {pcall(struct.pack, ARGV[1] or '', 1, 2, 'x')}",
    "return {pcall(bit.bor, ARGV[1], ARGV[2])}",
    "redis.replicate_commands() redis.set_repl(redis.REPL_NONE) return redis.pcall(unpack(ARGV))",
    "#!lua flags=no-writes\nreturn redis.pcall(unpack(ARGV))",
    "#!lua flags=allow-stale,no-cluster\nreturn redis.call(unpack(ARGV))",
    "return redis.error_reply(ARGV[1] or 'My Err')",
    "error({err = ARGV[1]})",
    "return redis.sha1hex(ARGV[1] or '')",
    "return loadstring(ARGV[1] or '')",
    "local t = {} for i = 1, 300 do t[i] = i end return t",
    "return tostring(redis.pcall(unpack(ARGV)))",
    "return {map = {a = 1}, double = 3.5}",
    "return {double = 1e308}",
    "syntax error(",
    "return string.format('%q %5.1f %d', ARGV[1] or '', 1, 2)",
    "return redis.pcall('EVAL', 'return 1', 0)",
    "redis.breakpoint() redis.log(redis.LOG_WARNING, ARGV[1] or 'x') return ARGV",
};
constexpr std::string_view kFunctions[] = {
    "#!lua name=lib1\nredis.register_function('f1', function(k, a) return redis.pcall(unpack(a)) "
    "end)",
    "#!lua name=lib2\nredis.register_function{function_name='f2', callback=function(k, a) return "
    "k[1] end, flags={'no-writes'}}",
    "#!lua name=lib1\nredis.register_function('f1', function(k, a) return #k + #a end)\n"
    "redis.register_function('f2', function() error('x') end)",
    "#!lua name=bad\nredis.call('SET', 's1', 1)",
    "#!lua name=empty",
    "#!js name=other\n1",
};
constexpr std::string_view kSections[] = {
    "server", "clients",    "memory",  "stats",        "replication", "commandstats", "keyspace",
    "all",    "everything", "default", "latencystats", "errorstats",  "modules"};

constexpr size_t kLearnedMax = 24;
constexpr size_t kLearnedBytesMax = 8192;
constexpr size_t kLearnedBytesMin = 16;  // shorter texts teach nothing
constexpr int64_t kLearnedNumberMin = 1000;
constexpr size_t kWordsMax = 200;
constexpr int64_t kUnixStartMs = 1'700'000'000'000;  // where ManualClock begins

template <typename List>
bool Has(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string_view GroupOf(const Command& command) { return command.spec->Read(command.spec->group); }

void AddTokens(const std::vector<UsageNode>& nodes, FuzzRequest& tokens) {
  for (const UsageNode& node : nodes) {
    if (!node.token.empty()) tokens.emplace_back(node.token);
    AddTokens(node.children, tokens);
  }
}

}  // namespace

RequestMaker::RequestMaker(const CommandTable& table) {
  for (const Command* const command : table.all()) AddRow(*command);
}

void RequestMaker::AddRow(const Command& command) {
  for (const Command* const word : command.subcommands) AddRow(*word);
  if (!command.spec->run) return;
  Row row{.command = &command, .words = {}, .usage = ParseUsage(*command.spec)};
  AddTokens(row.usage, row.tokens);
  if (command.container) row.words.emplace_back(command.container->spec->name);
  row.words.emplace_back(command.spec->name);
  const bool rare = Has(kRareRows, command.full_name);
  (rare ? rare_ : rows_).push_back(std::move(row));
}

void RequestMaker::Begin(uint64_t seed) {
  random_.seed(seed);
  numbers_.clear();
  texts_.clear();
  row_ = nullptr;
  keys_ = Between(1, 3);
  PickFocus();
}

void RequestMaker::PickFocus() {
  focus_.clear();
  if (Chance(20)) return;
  const auto any = [this]() -> const Row& {
    return rows_[static_cast<size_t>(Between(0, static_cast<int64_t>(rows_.size()) - 1))];
  };
  if (Chance(50)) {
    for (int64_t left = Between(3, 20); left > 0; --left) focus_.push_back(&any());
    return;
  }
  for (int64_t left = Between(1, 2); left > 0; --left) {
    const std::string_view group = GroupOf(*any().command);
    for (const Row& row : rows_) {
      if (GroupOf(*row.command) == group) focus_.push_back(&row);
    }
  }
}

int64_t RequestMaker::Between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

void RequestMaker::Learn(const Reply& reply) {
  const auto keep = [](std::deque<std::string>& among, std::string text) {
    among.push_back(std::move(text));
    if (among.size() > kLearnedMax) among.pop_front();
  };
  if (reply.kind == Reply::Kind::kInteger && reply.integer >= kLearnedNumberMin)
    keep(numbers_, std::to_string(reply.integer));
  if (reply.kind == Reply::Kind::kBulk && reply.text.size() >= kLearnedBytesMin &&
      reply.text.size() <= kLearnedBytesMax)
    keep(texts_, reply.text);
  for (size_t i = 0; i < reply.elements.size() && i < 4; ++i) Learn(reply.elements[i]);
}

// --- whole requests

std::vector<FuzzRequest> RequestMaker::Make() {
  std::vector<FuzzRequest> requests;
  if (!Chance(4)) return {MakeOne()};
  if (Chance(30)) requests.push_back({"WATCH", Key()});
  requests.push_back({"MULTI"});
  for (int64_t left = Between(0, 8); left > 0; --left) requests.push_back(MakeOne());
  requests.push_back({Chance(90) ? "EXEC" : "DISCARD"});
  return requests;
}

const RequestMaker::Row& RequestMaker::PickRow() {
  const auto pick = [this](const std::vector<Row>& rows) -> const Row& {
    return rows[static_cast<size_t>(Between(0, static_cast<int64_t>(rows.size()) - 1))];
  };
  if (!focus_.empty() && Chance(85))
    return *focus_[static_cast<size_t>(Between(0, static_cast<int64_t>(focus_.size()) - 1))];
  // SHUTDOWN and its like: one request in twenty is of the rare rows.
  return pick(!rare_.empty() && Between(0, 19) == 0 ? rare_ : rows_);
}

FuzzRequest RequestMaker::MakeOne() {
  row_ = &PickRow();
  FuzzRequest request = row_->words;
  const std::string& name = row_->command->full_name;
  if (name == "debug") {
    request = MakeDebug();
  } else if (name == "config|set") {
    request = MakeConfigSet();
  } else if (name == "shutdown") {
    request.push_back(Chance(5) ? "NOSAVE" : "ABORT");
  } else {
    Sequence(row_->usage, request);
  }
  if (request.size() > row_->words.size() && !row_->tokens.empty() && Chance(3)) {
    const auto first = static_cast<int64_t>(row_->words.size());
    const int64_t at = Between(first, static_cast<int64_t>(request.size()) - 1);
    request[static_cast<size_t>(at)] = OneOf(row_->tokens);
  }
  if (Chance(12)) Break(request);
  if (Chance(6)) request = InFenced(std::move(request));
  if (Chance(8)) request = InScript(std::move(request));
  if (request.size() > kWordsMax) request.resize(kWordsMax);
  return request;
}

FuzzRequest RequestMaker::MakeDebug() {
  FuzzRequest request{"DEBUG", OneOf(kDebug)};
  const std::string& word = request[1];
  if (word == "POPULATE") return {"DEBUG", word, std::to_string(Between(0, 30)), "pop", "20"};
  if (word == "SLEEP") return {"DEBUG", word, Chance(80) ? "0.01" : "-1"};
  if (word == "PROTOCOL") {
    request.push_back(OneOf(kProtocols));
  } else if (word.starts_with("SET-")) {
    request.push_back(std::to_string(Between(0, 1)));
  } else if (word == "QUICKLIST-PACKED-THRESHOLD") {
    request.push_back(Chance(50) ? "100" : Odd());
  } else {
    for (int64_t left = Between(0, 2); left > 0; --left) request.push_back(Key());
  }
  return request;
}

FuzzRequest RequestMaker::MakeConfigSet() {
  const auto index = static_cast<size_t>(Between(0, static_cast<int64_t>(OptionCount()) - 1));
  const Option& option = OptionAt(index);
  if (Has(kKeptOptions, option.name)) return {"CONFIG", "GET", std::string(option.name)};
  const OptionShape& shape = option.shape;
  std::string value;
  if (Chance(15)) {
    value = Odd();
  } else if (shape.kind == OptionShape::Kind::kYesNo) {
    value = Chance(50) ? "yes" : "no";
  } else if (shape.kind == OptionShape::Kind::kWord) {
    value = OneOf(shape.words);
  } else if (option.name == "notify-keyspace-events") {
    value = Chance(70) ? "KEA" : "Kgxn";
  } else if (Chance(20)) {
    value = std::to_string(Chance(50) ? shape.low : shape.high);
  } else {
    value = std::to_string(Between(0, 200));
  }
  return {"CONFIG", "SET", std::string(option.name), value};
}

FuzzRequest RequestMaker::InScript(FuzzRequest inner) {
  FuzzRequest request{Chance(80) ? "EVAL" : "EVAL_RO", OneOf(kScripts)};
  const int64_t keys = Chance(60) ? 0 : Between(0, 2);
  request.push_back(std::to_string(keys));
  for (int64_t left = keys; left > 0; --left) request.push_back(Key());
  std::ranges::move(inner, std::back_inserter(request));
  return request;
}

FuzzRequest RequestMaker::InFenced(FuzzRequest inner) {
  FuzzRequest request{"FENCED", "k" + std::to_string(Between(0, 2)), Integer("token")};
  std::ranges::move(inner, std::back_inserter(request));
  return request;
}

// --- the grammar

void RequestMaker::Sequence(const std::vector<UsageNode>& nodes, FuzzRequest& out) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool counts = i + 1 < nodes.size() && nodes[i].type == UsageType::kInteger &&
                        nodes[i].name.starts_with("num") && nodes[i + 1].multiple;
    if (!counts) {
      Node(nodes[i], out);
      continue;
    }
    // What is counted is made first; mostly the count is right.
    FuzzRequest counted;
    const int times = Node(nodes[i + 1], counted);
    if (!nodes[i].token.empty()) out.emplace_back(nodes[i].token);
    out.push_back(Chance(92) ? std::to_string(times) : Odd());
    std::ranges::move(counted, std::back_inserter(out));
    ++i;
  }
}

int RequestMaker::Node(const UsageNode& node, FuzzRequest& out) {
  if (node.optional && Chance(55)) return 0;
  int times = 1;
  while (node.multiple && times < 8 && Chance(45)) ++times;
  for (int i = 0; i < times; ++i) Once(node, i == 0 || node.multiple_token, out);
  return times;
}

void RequestMaker::Once(const UsageNode& node, bool with_token, FuzzRequest& out) {
  // MIGRATE's usage has an empty word in quotes.
  if (with_token && !node.token.empty()) out.emplace_back(node.token == "\"\"" ? "" : node.token);
  switch (node.type) {
    case UsageType::kPureToken:
      return;
    case UsageType::kOneOf: {
      if (node.children.empty()) return;
      const int64_t last = static_cast<int64_t>(node.children.size()) - 1;
      Node(node.children[static_cast<size_t>(Between(0, last))], out);
      return;
    }
    case UsageType::kBlock:
      return Sequence(node.children, out);
    default:
      out.push_back(Value(node));
  }
}

std::string RequestMaker::Value(const UsageNode& node) {
  if (Chance(2)) return Odd();
  switch (node.type) {
    case UsageType::kKey:
      return Key();
    case UsageType::kInteger:
      return Integer(node.name);
    case UsageType::kDouble:
      return node.name == "timeout" ? (Chance(10) ? "0" : "0.0" + std::to_string(Between(1, 9)))
                                    : Double();
    case UsageType::kUnixTime:
      return UnixTime(node.name);
    case UsageType::kPattern:
      return OneOf(kPatterns);
    default:
      return Text(node.name);
  }
}

std::string RequestMaker::Key() {
  std::string_view prefix;
  if (Chance(80)) {
    for (const GroupKeys& row : kGroupKeys) {
      if (row_ && row.group == GroupOf(*row_->command)) prefix = row.prefix;
    }
  }
  if (prefix.empty()) prefix = kPrefixes.substr(static_cast<size_t>(Between(0, 9)), 1);
  if (Between(0, 999) == 0) return Odd();
  return std::string(prefix) + std::to_string(Between(0, keys_ - 1));
}

std::string RequestMaker::Integer(std::string_view name) {
  if ((name == "token" || name == "cursor" || name == "client-id") && !numbers_.empty() &&
      Chance(60))
    return OneOf(numbers_);
  if (name == "count" && row_ && Has(kKeptCounts, row_->command->full_name))
    return std::to_string(Between(-50, 50));
  if (name == "db" || name == "destination-db") return std::to_string(Between(0, 2));
  if (name == "protover") return Chance(50) ? "3" : "2";
  if (name == "bit") return std::to_string(Between(0, 1));
  if (name == "offset" && Chance(90)) return std::to_string(Between(0, 5000));
  if (name == "timeout") return Chance(10) ? "0" : "1";
  if (name == "port" && IsOf("migrate")) return "1";
  if (Chance(6)) return Odd();
  if (Chance(12)) return std::to_string(Between(-10, -1));
  if (name.find("ms") != name.npos || name.starts_with("milli"))
    return std::to_string(Between(1, 900));
  return std::to_string(Between(0, Chance(70) ? 5 : 400));
}

// The request that is being made.
bool RequestMaker::IsOf(std::string_view name) const {
  return row_ && row_->command->full_name == name;
}

std::string RequestMaker::Double() { return Chance(8) ? Odd() : OneOf(kDoubles); }

std::string RequestMaker::UnixTime(std::string_view name) {
  const int64_t ms = kUnixStartMs + Between(-2000, 20'000);
  if (name.find("us") != name.npos) return std::to_string(ms * 1000);
  return std::to_string(
      name.find("milli") != name.npos || name.find("ms") != name.npos ? ms : ms / 1000);
}

std::string RequestMaker::Text(std::string_view name) {
  if (name == "script") return OneOf(kScripts);
  if (name == "host" && IsOf("migrate")) return "peer";  // see sequence.h
  if (name == "function-code") return OneOf(kFunctions);
  if (name == "function") return Chance(50) ? "f1" : "f2";
  if (name == "library-name") return "lib1";
  if ((name == "serialized-value" || name == "sha1" || name == "cursor" || name == "token") &&
      !texts_.empty() && Chance(80))
    return OneOf(texts_);
  if (name == "cursor") return Chance(60) || numbers_.empty() ? "0" : OneOf(numbers_);
  if (name == "token") return Integer(name);
  if (name == "section") return OneOf(kSections);
  if (name == "parameter")
    return std::string(
        OptionAt(static_cast<size_t>(Between(0, static_cast<int64_t>(OptionCount()) - 1))).name);
  if (name == "encoding") return (Chance(50) ? "u" : "i") + std::to_string(Between(1, 64));
  if (name == "id" || name.find("-id") != name.npos ||
      (row_ && GroupOf(*row_->command) == "stream" && (name == "start" || name == "end")))
    return OneOf(kStreamIds);
  if (name.starts_with("group")) return "g" + std::to_string(Between(0, 1));
  if (name.starts_with("consumer")) return "c" + std::to_string(Between(0, 1));
  if (name == "owner") return "o" + std::to_string(Between(0, 2));
  if (name.find("channel") != name.npos) return "news." + std::to_string(Between(0, 2));
  if (name == "command" || name == "subcommand")
    return rows_[static_cast<size_t>(Between(0, static_cast<int64_t>(rows_.size()) - 1))]
        .words.back();
  if (name == "min" || name == "max" || name == "start" || name == "stop") {
    const std::string plain = Chance(50) ? OneOf(kDoubles) : OneOf(kMembers);
    return Chance(40)   ? plain
           : Chance(50) ? "[" + plain
           : Chance(50) ? "(" + plain
           : Chance(50) ? "-"
                        : "+";
  }
  if (!texts_.empty() && Chance(3)) return OneOf(texts_);
  if (Chance(4)) return Odd();
  return OneOf(kMembers);
}

// --- what is odd or broken

std::string RequestMaker::Odd() {
  const int64_t roll = Between(0, 99);
  if (roll < 1) return std::string(static_cast<size_t>(Between(20'000, 200'000)), 'y');
  if (roll < 8) return std::string(static_cast<size_t>(Between(60, 3000)), 'x');
  if (roll < 12) {
    std::string noise(static_cast<size_t>(Between(1, 40)), '\0');
    std::ranges::generate(noise, [this] { return static_cast<char>(random_()); });
    return noise;
  }
  return OneOf(kOddWords);
}

void RequestMaker::Break(FuzzRequest& request) {
  for (int64_t left = Between(1, 2); left > 0 && request.size() > 1; --left) {
    const auto at = static_cast<size_t>(Between(1, static_cast<int64_t>(request.size()) - 1));
    const auto place = request.begin() + static_cast<ptrdiff_t>(at);
    // A count that was kept small on purpose stays what it is.
    const bool counted = row_ && Has(kKeptCounts, row_->command->full_name);
    switch (Between(0, 6)) {
      case 0:
        request.erase(place);
        break;
      case 1:
        request.insert(place, *place);
        break;
      case 2:
        std::swap(*place, request.back());
        break;
      case 3:
        if (!counted) *place = Odd();
        break;
      case 4:
        request.resize(at);
        break;
      case 5:
        request.push_back(OneOf(kCommonWords));
        break;
      default:
        if (!counted) request.push_back(Odd());
    }
  }
}

}  // namespace sluice
