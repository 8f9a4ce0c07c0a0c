// DebugSettings: what DEBUG sets for tests, and no option does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

struct DebugSettings {
  // DEBUG QUICKLIST-PACKED-THRESHOLD: so long an element of a list has a chunk of its own.
  size_t list_alone_bytes = SIZE_MAX;
  // DEBUG PAUSE-CRON: what is done once a second waits.
  bool every_second_paused = false;
  // DEBUG REPLYBUFFER RESIZING 0: a client keeps the memory of what it has been sent.
  bool keeps_reply_buffers = false;
};

}  // namespace sluice
