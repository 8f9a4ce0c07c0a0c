// The answer of COMMAND INFO about a command, and the words for its flags: all of it is derived
// from the row.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/reply_sink.h"
#include "server/dispatch/command_table.h"

namespace sluice {

// The ten elements of COMMAND INFO, subcommands included. The order of the words is the order of
// the bits' tables in the source, which is Redis's.
void ReplyEntry(ReplySink& reply, const Command& command);
// The flags of a key ("RW", "access" ...) as a set.
void ReplyKeyFlags(ReplySink& reply, uint16_t flags);
// Whether the command is in the ACL category of that name, any case, without its '@'.
bool IsInCategory(const CommandSpec& spec, std::string_view name);

}  // namespace sluice
