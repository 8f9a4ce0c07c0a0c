// The HELP subcommand of a container, in Redis's frame: a first line with the container's name, a
// line or two a subcommand, and HELP's own.
//
//   constexpr std::string_view kHelp[] = {
//       "COUNT",
//       "    Answer with the number of commands.",
//   };
//   void Help(CommandCall& call) { ReplyHelp(call, kHelp); }
#pragma once

#include <span>
#include <string_view>

#include "server/dispatch/command.h"

namespace sluice {

// The container's name is taken from call.args[0]; HELP's own lines are added.
void ReplyHelp(CommandCall& call, std::span<const std::string_view> lines);

}  // namespace sluice
