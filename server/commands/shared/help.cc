// See help.h.
#include "server/commands/shared/help.h"

#include <string>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"

namespace sluice {

// Every line is a simple string, as in Redis, and HELP itself stands last with its own two lines.
void ReplyHelp(CommandCall& call, std::span<const std::string_view> lines) {
  const std::string container = UpperCase(call.args[0]);
  call.reply.Array(lines.size() + 3);
  call.reply.Status(Concat(container, " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
  for (const std::string_view line : lines) call.reply.Status(line);
  call.reply.Status("HELP");
  call.reply.Status("    Prints this help.");
}

}  // namespace sluice
