// See effects.h. The first effect of a command is held back until it is known whether a second one
// makes it a group.
#include "server/dispatch/effects.h"

#include <utility>

namespace sluice {
namespace {

// The memory of the held effect is used again up to this size; a single large value does not keep
// it.
constexpr size_t kHeldBytesKept = 64 * 1024;

}  // namespace

void Effects::Replace(Args command, EffectTime time) {
  replaced_ = true;
  Add(db_, command, time);
}

void Effects::Add(int db, Args command, EffectTime time) {
  if (!sink_ || muted_) return;
  // Three states: nothing told yet (hold it back), one held (now there is a group), a group that is
  // open. Outside of commands each effect stands alone.
  if (depth_ > 0 && told_ == Told::kNothing) return Hold(db, command, time);
  if (told_ == Told::kHeldOne) {
    told_ = Told::kGroup;
    sink_->GroupBegin();
    TellHeld();
  }
  sink_->Effect(db, command, time);
}

// After each handler, the innermost first. Only the outermost ends what was begun.
void Effects::Tell(int db, bool changed, Args verbatim) {
  const bool is_outermost = depth_ == 1;
  // A command that contains others (EXEC) has no effect of its own besides theirs.
  const bool replaced = std::exchange(replaced_, true);
  if (changed && !replaced) {
    if (is_outermost && told_ == Told::kNothing && !muted_) {
      sink_->Effect(db, verbatim, EffectTime::kAsItIs);  // nothing follows: no need to hold it
    } else {
      Add(db, verbatim);
    }
  }
  if (!is_outermost) return;
  const Told told = std::exchange(told_, Told::kNothing);
  if (told == Told::kHeldOne) TellHeld();
  if (told == Told::kGroup) sink_->GroupEnd();
}

// --- the effect that is held back

// Copied, since the views of a handler end with it.
void Effects::Hold(int db, Args command, EffectTime time) {
  told_ = Told::kHeldOne;
  held_.db = db;
  held_.time = time;
  held_.bytes.clear();
  held_.ends.clear();
  for (const std::string_view word : command) {
    held_.bytes.append(word);
    held_.ends.push_back(held_.bytes.size());
  }
}

void Effects::TellHeld() {
  std::vector<std::string_view> words;
  words.reserve(held_.ends.size());
  size_t begin = 0;
  for (const size_t end : held_.ends) {
    words.push_back(std::string_view(held_.bytes).substr(begin, end - begin));
    begin = end;
  }
  sink_->Effect(held_.db, words, held_.time);
  if (held_.bytes.capacity() > kHeldBytesKept) held_ = {};
}

}  // namespace sluice
