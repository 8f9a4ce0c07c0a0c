// The options that XADD and XTRIM share: what is to be trimmed, and XADD's id behind them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/dispatch/command.h"
#include "storage/types/streams/stream.h"

namespace sluice {

// `trim.by` is kNothing when XADD does not trim.
struct AddTrimArgs {
  StreamTrim trim;
  bool says_references = false;  // a word that Redis 7.0 does not know
  bool no_mkstream = false;
  std::optional<StreamId> id;  // XADD's; null: "*"
  bool any_sequence = false;   // "<ms>-*"
  size_t rest = 0;             // the first argument behind the id
};

// Null: the error has been answered.
std::optional<AddTrimArgs> ReadAddArgs(CommandCall& call);
std::optional<AddTrimArgs> ReadTrimArgs(CommandCall& call);

// How many entries and bytes a node may have, as the options say now.
StreamNodeLimits NodeLimits(const CommandCall& call);

// How a replay says exactly what a trim has left.
std::string_view TrimWord(const StreamTrim& trim);
std::string TrimBound(const StreamTrim& trim, const Stream& trimmed);

}  // namespace sluice
