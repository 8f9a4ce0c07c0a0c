#include "server/engine/effects.h"

namespace sluice {

void Effects::Instead(std::initializer_list<std::string_view> command) {
  Instead(Args(command.begin(), command.size()));
}

void Effects::Instead(Args command) {
  replaced_ = true;
  Add(db_, command);
}

void Effects::Finish(int db, bool changed, Args verbatim) {
  if (changed && !replaced_) Add(db, verbatim);
  replaced_ = true;  // a command that contains others (EXEC) has no effect of its own besides theirs
}

void Effects::Add(int db, Args command) {
  if (!sink_ || muted_) return;
  if (group_depth_ > 0 && !group_open_) {
    group_open_ = true;
    sink_->GroupBegin();
  }
  sink_->Effect(db, command);
}

void Effects::GroupEnd() {
  if (--group_depth_ > 0 || !group_open_) return;
  group_open_ = false;
  sink_->GroupEnd();
}

}  // namespace sluice
