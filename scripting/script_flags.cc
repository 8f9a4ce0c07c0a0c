#include "scripting/script_flags.h"

#include "protocol/concat.h"

namespace sluice {
namespace {

struct NamedFlag {
  std::string_view name;
  uint32_t flag;
};

constexpr NamedFlag kFlags[] = {
    {"no-writes", kScriptNoWrites},
    {"allow-oom", kScriptAllowOom},
    {"allow-stale", kScriptAllowStale},
    {"no-cluster", kScriptNoCluster},
    {"allow-cross-slot-keys", kScriptAllowCrossSlot},
};

constexpr std::string_view kBlanks = " \t\r\v\f";

}  // namespace

uint32_t ScriptFlagNamed(std::string_view name) {
  for (const NamedFlag& row : kFlags) {
    if (row.name == name) return row.flag;
  }
  return 0;
}

std::vector<std::string_view> ScriptFlagNames(uint32_t flags) {
  std::vector<std::string_view> names;
  for (const NamedFlag& row : kFlags) {
    if (flags & row.flag) names.push_back(row.name);
  }
  return names;
}

std::optional<Shebang> ReadShebang(std::string_view text) {
  Shebang shebang;
  if (!text.starts_with("#!")) return shebang;
  const size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  shebang.bytes = end;
  std::string_view line = text.substr(0, end);
  for (bool first = true; !line.empty(); first = false) {
    const size_t word = std::min(line.find_first_of(kBlanks), line.size());
    if (first) {
      shebang.engine = line.substr(0, word);
    } else if (word > 0) {
      shebang.options.push_back(line.substr(0, word));
    }
    line.remove_prefix(std::min(word + 1, line.size()));
  }
  return shebang;
}

std::optional<uint32_t> ReadScriptFlags(const Shebang& shebang, std::string& error) {
  if (shebang.bytes == 0) return kScriptUndeclared;
  if (shebang.engine != "#!lua") {
    error = Concat("ERR Unexpected engine in script shebang: ", shebang.engine);
    return std::nullopt;
  }
  uint32_t flags = 0;
  for (std::string_view option : shebang.options) {
    if (!option.starts_with("flags=")) {
      error = Concat("ERR Unknown lua shebang option: ", option);
      return std::nullopt;
    }
    option.remove_prefix(6);
    while (!option.empty()) {
      const size_t comma = std::min(option.find(','), option.size());
      const std::string_view name = option.substr(0, comma);
      const uint32_t flag = ScriptFlagNamed(name);
      if (flag == 0) {
        error = Concat("ERR Unexpected flag in script shebang: ", name);
        return std::nullopt;
      }
      flags |= flag;
      option.remove_prefix(std::min(comma + 1, option.size()));
    }
  }
  return flags;
}

}  // namespace sluice
