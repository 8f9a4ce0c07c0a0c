// See lists.h.
#include "server/config/lists.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "protocol/text/utf8.h"
#include "protocol/text/words.h"
#include "server/config/event_classes.h"
#include "server/config/value.h"

namespace sluice {
namespace {

constexpr size_t kBindMax = 16;

// With single spaces: the form of CONFIG GET.
std::string Join(const std::vector<std::string>& pieces) {
  std::string joined;
  for (const std::string& piece : pieces) ConcatTo(joined, joined.empty() ? "" : " ", piece);
  return joined;
}

// --- bind

// Whether an address can be bound is known only when the server listens.
std::string ReadBind(OptionValues values, Settings& settings) {
  if (values.size() > kBindMax) return "Too many bind addresses specified.";
  settings.bind.assign(values.begin(), values.end());
  return {};
}

std::string WriteBind(const Settings& settings) { return Join(settings.bind); }

std::string ReadHttpBind(OptionValues values, Settings& settings) {
  if (values.size() > kBindMax) return "Too many bind addresses specified.";
  settings.http_bind.assign(values.begin(), values.end());
  return {};
}

std::string WriteHttpBind(const Settings& settings) { return Join(settings.http_bind); }

// --- http-hosts. An empty word is no name.

constexpr size_t kHttpHostsMax = 64;

std::string ReadHttpHosts(OptionValues values, Settings& settings) {
  if (values.size() > kHttpHostsMax) return "Too many names specified.";
  settings.http_hosts.clear();
  for (const std::string& name : values) {
    if (!name.empty()) settings.http_hosts.push_back(name);
  }
  return {};
}

std::string WriteHttpHosts(const Settings& settings) { return Join(settings.http_hosts); }

// --- port. CONFIG REWRITE keeps the word.

constexpr std::string_view kAnyPort = "any";

// `any` in letters of either case: the port is 0 until the system has chosen one.
std::string ReadPort(OptionValues values, Settings& settings) {
  if (IsSameInAnyCase(values[0], kAnyPort)) {
    settings.any_port = true;
    settings.port = 0;
    return {};
  }
  std::string fault;
  const std::optional<std::string> number = Canonical(Int(0, 65535), values, fault);
  if (!number) return fault;
  settings.any_port = false;
  settings.port = *ParseInt64(*number);
  return {};
}

std::string WritePort(const Settings& settings) { return Concat(settings.port); }

// For CONFIG REWRITE: `any` again, not the port that this run was given.
std::vector<std::string> PortLines(const Settings& settings) {
  return {settings.any_port ? std::string(kAnyPort) : WritePort(settings)};
}

// --- maxmemory: kept as a signed number, and never compared as one

std::string ReadMaxMemory(OptionValues values, Settings& settings) {
  const std::optional<uint64_t> bytes = ParseMemory(values[0]);
  if (!bytes) return "argument must be a memory value";
  settings.maxmemory = static_cast<int64_t>(*bytes);
  return {};
}

std::string WriteMaxMemory(const Settings& settings) {
  return Concat(static_cast<uint64_t>(settings.maxmemory));
}

// --- evict-never: globs

// Each is asked about each key that is to be evicted.
constexpr size_t kGlobsMax = 64;

std::string ReadNeverEvicted(OptionValues values, Settings& settings) {
  std::vector<std::string> globs;
  for (const std::string& value : values) {
    if (!value.empty()) globs.push_back(value);
  }
  if (globs.size() > kGlobsMax) return "there may be 64 patterns";
  settings.evict_never = std::move(globs);
  return {};
}

std::string WriteNeverEvicted(const Settings& settings) {
  std::string text;
  for (const std::string& glob : settings.evict_never)
    ConcatTo(text, text.empty() ? "" : " ", glob);
  return text;
}

// --- client-output-buffer-limit: groups of class, hard, soft, seconds

// A class of clients and its limit. CONFIG GET shows the older name, files get the newer one.
struct OutputClass {
  std::string_view name;   // as CONFIG GET shows it
  std::string_view other;  // its other name
  OutputLimit Settings::*limit;
};
constexpr OutputClass kOutputClasses[] = {
    {"normal", "normal", &Settings::output_normal},
    {"slave", "replica", &Settings::output_replica},
    {"pubsub", "pubsub", &Settings::output_pubsub},
};

// Both names of a class, in any case.
const OutputClass* FindOutputClass(std::string_view name) {
  const std::string lower = LowerCase(name);
  for (const OutputClass& row : kOutputClasses) {
    if (lower == row.name || lower == row.other) return &row;
  }
  return nullptr;
}

// Three values: hard and soft bytes with their units, and seconds.
std::optional<OutputLimit> ReadOutputLimit(OptionValues three) {
  const std::optional<uint64_t> hard = ParseMemory(three[0]);
  const std::optional<uint64_t> soft = ParseMemory(three[1]);
  int64_t seconds = 0;
  const char* const end = three[2].data() + three[2].size();
  const auto parsed = std::from_chars(three[2].data(), end, seconds);
  if (!hard || !soft || seconds < 0 || (!three[2].empty() && parsed.ptr != end))
    return std::nullopt;
  return OutputLimit{*hard, *soft, seconds};
}

// Classes that are not named keep their limits.
std::string ReadOutputLimits(OptionValues values, Settings& settings) {
  if (values.size() % 4 != 0) return "Wrong number of arguments in buffer limit configuration.";
  for (; !values.empty(); values = values.subspan(4)) {
    const OutputClass* row = FindOutputClass(values[0]);
    if (!row) return "Invalid client class specified in buffer limit configuration.";
    const std::optional<OutputLimit> limit = ReadOutputLimit(values.subspan(1, 3));
    if (!limit) return "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
    settings.*row->limit = *limit;
  }
  return {};
}

std::string WriteOutputLimits(const Settings& settings) {
  std::string text;
  for (const OutputClass& row : kOutputClasses) {
    const OutputLimit& limit = settings.*row.limit;
    ConcatTo(text, text.empty() ? "" : " ", row.name, ' ', limit.hard_bytes, ' ', limit.soft_bytes,
             ' ', limit.soft_seconds);
  }
  return text;
}

// A file has one line a class, with the newer name.
std::vector<std::string> OutputLimitLines(const Settings& settings) {
  std::vector<std::string> lines;
  for (const OutputClass& row : kOutputClasses) {
    const OutputLimit& limit = settings.*row.limit;
    lines.push_back(Concat(row.other, ' ', MemoryText(limit.hard_bytes), ' ',
                           MemoryText(limit.soft_bytes), ' ', limit.soft_seconds));
  }
  return lines;
}

// --- latency-tracking-info-percentiles

// No values at all turn them off.
std::string ReadPercentiles(OptionValues values, Settings& settings) {
  std::vector<double> percentiles;
  for (const std::string& value : values) {
    const std::optional<double> percent = ParseDouble(value);
    if (!percent) return "Invalid latency-tracking-info-percentiles parameters";
    if (*percent < 0 || *percent > 100) {
      return "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
    }
    percentiles.push_back(*percent);
  }
  settings.latency_tracking_percentiles = std::move(percentiles);
  return {};
}

// Ten digits at most, without zeros at the end: "99.9".
std::string WritePercentiles(const Settings& settings) {
  std::string text;
  for (const double percent : settings.latency_tracking_percentiles) {
    char number[64];
    const auto end =
        std::to_chars(number, number + sizeof number, percent, std::chars_format::general, 10).ptr;
    ConcatTo(text, text.empty() ? "" : " ", std::string_view(number, end - number));
  }
  return text;
}

// --- metrics-prefixes: each is a label of figures, for which it has to be UTF-8

// A scrape has 15 lines of each.
constexpr size_t kPrefixBytesMax = 64;

std::string FaultOfPrefix(const std::string& prefix) {
  if (prefix.size() > kPrefixBytesMax) return "a prefix has at most 64 bytes";
  if (prefix.find(' ') != std::string::npos) return "a prefix has no spaces";
  return IsUtf8(prefix) ? std::string() : "a prefix has to be UTF-8";
}

std::string ReadMetricsPrefixes(OptionValues values, Settings& settings) {
  std::vector<std::string> prefixes;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    if (std::string fault = FaultOfPrefix(value); !fault.empty()) return fault;
    if (std::ranges::find(prefixes, value) != prefixes.end()) return "a prefix is there twice";
    prefixes.push_back(value);
  }
  if (prefixes.size() > kMetricsPrefixesMax) return "there may be 32 prefixes";
  settings.metrics_prefixes = std::move(prefixes);
  return {};
}

std::string WriteMetricsPrefixes(const Settings& settings) {
  return Join(settings.metrics_prefixes);
}

// --- replicaof: host and port

std::string ReadMaster(OptionValues values, Settings& settings) {
  constexpr int64_t kPortMax = 65535;
  const bool is_none = std::ranges::all_of(values, [](std::string_view v) { return v.empty(); });
  if (is_none) return settings.replicaof = {}, std::string();
  if (values.size() != 2) return "wrong number of arguments";
  if (LowerCase(values[0]) == "no" && LowerCase(values[1]) == "one")
    return settings.replicaof = {}, std::string();
  const std::optional<int64_t> port = ParseInt64(values[1]);
  if (!port || *port < 0 || *port > kPortMax) return "Invalid master port";
  settings.replicaof = {.host = values[0], .port = *port};
  return {};
}

std::string WriteMaster(const Settings& settings) {
  if (settings.replicaof.host.empty()) return {};
  return Concat(settings.replicaof.host, ' ', settings.replicaof.port);
}

// --- notify-keyspace-events

std::string ReadEventClasses(OptionValues values, Settings& settings) {
  const std::optional<uint32_t> classes = ParseEventClasses(values[0]);
  if (!classes) return "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
  settings.notify_classes = *classes;
  return {};
}

std::string WriteEventClasses(const Settings& settings) {
  return EventClassLetters(settings.notify_classes);
}

// --- save

// The empty text is no save point at all, as in Redis. All or none of them are taken.
std::string ReadSavePoints(OptionValues values, Settings& settings) {
  std::vector<SavePoint> points;
  if (values.size() == 1 && values[0].empty()) values = {};
  if (values.size() % 2 != 0) return "Invalid save parameters";
  for (size_t i = 0; i < values.size(); i += 2) {
    const std::optional<int64_t> seconds = ParseInt64(values[i]);
    const std::optional<int64_t> changes = ParseInt64(values[i + 1]);
    if (!seconds || !changes || *seconds < 1 || *changes < 0) return "Invalid save parameters";
    points.push_back({*seconds, *changes});
  }
  settings.save = std::move(points);
  return {};
}

// "3600 1 300 100"; empty when none is set.
std::string WriteSavePoints(const Settings& settings) {
  std::string text;
  for (const SavePoint& point : settings.save)
    ConcatTo(text, text.empty() ? "" : " ", point.seconds, ' ', point.changes);
  return text;
}

// --- shutdown-on-sigint, -sigterm: in Redis's order

constexpr std::string_view kShutdownWordList[] = {"default", "save", "nosave", "now", "force"};
constexpr std::string_view kShutdownWordFault =
    "argument(s) must be one of the following: default, save, nosave, now, force";

// "default" adds nothing to other words and stands for none.
template <std::string Settings::*words>
std::string ReadShutdownWords(OptionValues values, Settings& settings) {
  bool said[std::size(kShutdownWordList)] = {};
  for (const std::string& value : values) {
    const auto found = std::ranges::find(kShutdownWordList, LowerCase(value));
    if (found == std::end(kShutdownWordList)) return std::string(kShutdownWordFault);
    said[found - kShutdownWordList] = true;
  }
  if (values.empty()) return std::string(kShutdownWordFault);
  if (said[1] && said[2]) return "shutdown options SAVE and NOSAVE can't be used simultaneously";
  std::string text;
  for (size_t i = 1; i < std::size(kShutdownWordList); ++i)
    if (said[i]) ConcatTo(text, text.empty() ? "" : " ", kShutdownWordList[i]);
  settings.*words = text.empty() ? "default" : text;
  return {};
}

template <std::string Settings::*words>
std::string WriteShutdownWords(const Settings& settings) {
  return settings.*words;
}

}  // namespace

const OptionCodec kMaxMemory{ReadMaxMemory, WriteMaxMemory};
const OptionCodec kNeverEvicted{ReadNeverEvicted, WriteNeverEvicted};
const OptionCodec kSavePointList{ReadSavePoints, WriteSavePoints};
const OptionCodec kSigintWords{ReadShutdownWords<&Settings::shutdown_on_sigint>,
                               WriteShutdownWords<&Settings::shutdown_on_sigint>};
const OptionCodec kSigtermWords{ReadShutdownWords<&Settings::shutdown_on_sigterm>,
                                WriteShutdownWords<&Settings::shutdown_on_sigterm>};
const OptionCodec kBindList{ReadBind, WriteBind};
const OptionCodec kHttpBindList{ReadHttpBind, WriteHttpBind};
const OptionCodec kHttpHostList{ReadHttpHosts, WriteHttpHosts};
const OptionCodec kPort = {ReadPort, WritePort, PortLines};
const OptionCodec kOutputLimitList{ReadOutputLimits, WriteOutputLimits, OutputLimitLines};
const OptionCodec kPercentileList{ReadPercentiles, WritePercentiles};
const OptionCodec kEventClasses{ReadEventClasses, WriteEventClasses};
const OptionCodec kMetricsPrefixList{ReadMetricsPrefixes, WriteMetricsPrefixes};
const OptionCodec kMaster{ReadMaster, WriteMaster};

// Three numbers of -2000 to 2000.
std::string CheckOomScores(OptionValues values) {
  if (values.size() != 3) return "wrong number of arguments";
  for (const std::string& value : values) {
    const std::optional<int64_t> score = ParseInt64(value);
    if (!score || *score < -2000 || *score > 2000) {
      return "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
    }
  }
  return {};
}

// Names in braces are variables; "{{" is a brace. A title has to say something: Redis tries the
// template with no {title}. Whether {unixsocket} and {server-mode} are empty depends on other
// options, and is left out here.
std::string CheckTitleTemplate(OptionValues values) {
  constexpr std::string_view kFault = "template format is invalid or contains unknown variables";
  constexpr std::string_view kVariables[] = {"listen-addr", "server-mode", "port",
                                             "tls-port",    "unixsocket",  "config-file"};
  std::string_view rest = std::string_view(values[0]).substr(0, values[0].find('\0'));
  bool says_something = false;
  for (size_t open = 0; open != std::string_view::npos;) {
    open = rest.find('{');
    says_something |= rest.substr(0, open).find_first_not_of(' ') != std::string_view::npos;
    if (open == std::string_view::npos) break;
    rest.remove_prefix(open + 1);
    if (rest.starts_with('{')) {
      rest.remove_prefix(1);
      says_something = true;
      continue;
    }
    const size_t end = rest.find('}');
    const std::string_view name = rest.substr(0, end);
    const bool is_known = std::ranges::count(kVariables, name) > 0;
    if (end == std::string_view::npos || !(is_known || name == "title")) return std::string(kFault);
    says_something |= is_known;
    rest.remove_prefix(end + 1);
  }
  return says_something ? std::string() : std::string(kFault);
}

// Only the letters are looked at, as in Redis.
std::string CheckHostname(OptionValues values) {
  for (const char c : values[0]) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '.') {
      return "Hostnames may only contain alphanumeric characters, hyphens or dots";
    }
  }
  return {};
}

namespace {

// A name with a '/' in it could leave the folder.
std::string CheckPlainName(OptionValues values, std::string_view option, std::string_view what) {
  if (values.size() != 1) return "wrong number of arguments";
  const std::string& name = values[0];
  if (name.empty()) return Concat(option, " can't be empty");
  const bool is_path = name.find('/') != std::string::npos || name == "." || name == "..";
  return is_path ? Concat(option, " can't be a path, just a ", what) : std::string();
}

}  // namespace

std::string CheckAppendFileName(OptionValues values) {
  return CheckPlainName(values, "appendfilename", "filename");
}

// Unlike the log's names, it may be empty.
std::string CheckSnapshotFileName(OptionValues values) {
  const bool is_path = values[0].find('/') != std::string::npos;
  return is_path ? "dbfilename can't be a path, just a filename" : std::string();
}

std::string CheckAppendFolderName(OptionValues values) {
  return CheckPlainName(values, "appenddirname", "dirname");
}

}  // namespace sluice
