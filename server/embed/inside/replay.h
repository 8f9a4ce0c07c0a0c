// Replay: a reply that was read off bytes, told to a sink once more.
#pragma once

#include "protocol/reply_reader.h"
#include "protocol/reply_sink.h"

namespace sluice {

// RESP3 whole, but for attributes, which become maps.
void Replay(const Reply& reply, ReplySink& sink);

}  // namespace sluice
