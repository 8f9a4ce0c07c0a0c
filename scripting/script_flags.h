// Declarations of a script or function about itself: the flags of a shebang line ("#!lua
// flags=no-writes,allow-oom") or of redis.register_function, and the line itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Bits: a script may have several. Redis's meaning of each stands below; the server acts on
// no-writes, and shows the others in FUNCTION LIST.
enum ScriptFlag : uint32_t {
  // no-writes              its writes are errors; it may run as EVAL_RO and FCALL_RO
  // allow-oom              may begin when memory is full
  // allow-stale            may run on a replica that has lost its master
  // no-cluster             not on a server in cluster mode
  // allow-cross-slot-keys  keys of several slots
  kScriptNoWrites = 1u << 0,
  kScriptAllowOom = 1u << 1,
  kScriptAllowStale = 1u << 2,
  kScriptNoCluster = 1u << 3,
  kScriptAllowCrossSlot = 1u << 4,
  // No shebang: what it does is found out as it does it.
  kScriptUndeclared = 1u << 8,
};

// Zero when there is no flag of that name.
uint32_t ScriptFlagNamed(std::string_view name);
// The names of all that are set, in Redis's order.
std::vector<std::string_view> ScriptFlagNames(uint32_t flags);

// "#!lua key=value ..." taken apart.
// "#!lua name=a\n..." -> bytes 12, words "#!lua", "name=a"
struct Shebang {
  size_t bytes = 0;                // of the line without its end; 0: there is none
  std::vector<std::string> words;  // "#!lua" first; none when quotes are unbalanced
};
// Null: a line that begins as one and has no end.
std::optional<Shebang> ReadShebang(std::string_view text);

// "#!lua flags=no-writes,allow-oom\nreturn 1" -> kScriptNoWrites | kScriptAllowOom
// "return 1"                                -> kScriptUndeclared
// The flags of a script for EVAL; on failure `error` holds Redis's sentence.
std::optional<uint32_t> ReadScriptFlags(const Shebang& shebang, std::string& error);

}  // namespace sluice
