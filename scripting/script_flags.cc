// See script_flags.h.
#include "scripting/script_flags.h"

#include <algorithm>
#include <span>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

struct NamedFlag {
  std::string_view name;
  uint32_t flag;
};

// In Redis's order, in which FUNCTION LIST shows them.
constexpr NamedFlag kFlags[] = {
    {"no-writes", kScriptNoWrites},
    {"allow-oom", kScriptAllowOom},
    {"allow-stale", kScriptAllowStale},
    {"no-cluster", kScriptNoCluster},
    {"allow-cross-slot-keys", kScriptAllowCrossSlot},
};

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

// A line that begins as a shebang ends with LF: without one, or with a zero byte before it, it is
// at fault.
std::optional<Shebang> ReadShebang(std::string_view text) {
  Shebang shebang;
  if (!text.starts_with("#!")) return shebang;
  shebang.bytes = text.find_first_of(std::string_view("\n\0", 2));
  if (shebang.bytes == text.npos || text[shebang.bytes] == '\0') return std::nullopt;
  if (!SplitWords(text.substr(0, shebang.bytes), shebang.words)) shebang.words.clear();
  return shebang;
}

// Redis's checks in Redis's order, as the first fault is the one that is told. "flags=" may be
// empty.
std::optional<uint32_t> ReadScriptFlags(const Shebang& shebang, std::string& error) {
  if (shebang.bytes == 0) return kScriptUndeclared;
  if (shebang.words.empty()) {
    error = "ERR Invalid engine in script shebang";
    return std::nullopt;
  }
  if (shebang.words[0] != "#!lua") {
    error = Concat("ERR Unexpected engine in script shebang: ", shebang.words[0]);
    return std::nullopt;
  }
  uint32_t flags = 0;
  for (const std::string& word : std::span(shebang.words).subspan(1)) {
    if (!word.starts_with("flags=")) {
      error = Concat("ERR Unknown lua shebang option: ", word);
      return std::nullopt;
    }
    std::string_view names = std::string_view(word).substr(6);
    for (bool more = !names.empty(); more;) {
      const size_t comma = std::min(names.find(','), names.size());
      const std::string_view name = names.substr(0, comma);
      const uint32_t flag = ScriptFlagNamed(name);
      if (flag == 0) {
        error = Concat("ERR Unexpected flag in script shebang: ", name);
        return std::nullopt;
      }
      flags |= flag;
      more = comma < names.size();
      names.remove_prefix(comma + (more ? 1 : 0));
    }
  }
  return flags;
}

}  // namespace sluice
