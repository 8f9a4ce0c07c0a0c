// The answer of COMMAND DOCS. The tree of a command's arguments is read from the row's usage.
#pragma once

#include "protocol/reply_sink.h"
#include "server/dispatch/command_table.h"

namespace sluice {

// Two replies: the full name and a map.
void ReplyDocs(ReplySink& reply, const Command& command);

}  // namespace sluice
