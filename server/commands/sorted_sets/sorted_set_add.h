// Putting members with scores into a sorted set, on conditions: what ZADD, ZINCRBY and GEOADD
// share.
#pragma once

#include <span>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"

namespace sluice {

// Which combinations exclude each other is for the command to check, as the errors differ.
struct AddOptions {
  bool nx = false;
  bool xx = false;
  bool gt = false;
  bool lt = false;
  bool changed = false;    // CH: the answer counts other scores, too
  bool increment = false;  // INCR: scores are added to what is there
};

// Takes one of "NX", "XX", "CH"; those of a set order or sum, GT, LT and INCR, only if `all`.
bool TakeAddOption(ArgReader& args, AddOptions& options, bool all);

// Puts the members into the set at args[1] and answers. The i-th name stands at args[first_name +
// stride * i]. Scores are no NaN; they may be changed.
void AddMembers(CommandCall& call, const AddOptions& options, std::span<double> scores,
                size_t first_name, size_t stride);

}  // namespace sluice
