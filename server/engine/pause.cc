#include "server/engine/pause.h"

#include <algorithm>
#include <utility>

#include "server/engine/command.h"
#include "server/engine/engine.h"

namespace sluice {

void Pause::Start(Mode mode, int64_t until_ms) {
  mode_ = std::max(mode_, mode);
  until_ms_ = std::max(until_ms_, until_ms);
}

void Pause::End(Engine& engine) {
  mode_ = Mode::kNone;
  until_ms_ = 0;
  for (const SessionId id : std::exchange(held_, {})) {
    if (Session* session = engine.Find(id)) {
      session->paused = false;
      engine.Resume(*session);
    }
  }
}

bool Pause::Holds(uint32_t flags, bool transaction_writes) const {
  return mode_ == Mode::kAll || (flags & (kWrite | kMayReplicate)) || transaction_writes;
}

void Pause::Hold(Session& session) {
  session.paused = true;
  held_.push_back(session.id);
}

}  // namespace sluice
