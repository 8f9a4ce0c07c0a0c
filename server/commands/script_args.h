// The arguments that EVAL and FCALL share: a count, so many keys, and the rest.
#pragma once

#include <optional>

#include "protocol/number_text.h"
#include "server/engine/command.h"

namespace sluice {

struct ScriptKeys {
  Args keys;
  Args arguments;
};

// Null: the fault has been answered.
inline std::optional<ScriptKeys> ReadScriptKeys(CommandCall& call) {
  const std::optional<int64_t> count = ParseInt64(call.args[2]);
  const Args rest = call.args.subspan(3);
  if (!count) {
    call.reply.Error(ErrorCode::kNotInteger);
  } else if (*count > static_cast<int64_t>(rest.size())) {
    call.reply.Error("ERR Number of keys can't be greater than number of args");
  } else if (*count < 0) {
    call.reply.Error("ERR Number of keys can't be negative");
  } else {
    const auto keys = static_cast<size_t>(*count);
    return ScriptKeys{rest.first(keys), rest.subspan(keys)};
  }
  return std::nullopt;
}

}  // namespace sluice
