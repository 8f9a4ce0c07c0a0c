// See effects.h. For each target the first effect of a command is held back until it is known
// whether a second one makes it a group.
#include "server/dispatch/effects/effects.h"

#include <utility>

#include "protocol/text/free_memory.h"

namespace sluice {
namespace {

// The memory of the held effect is used again up to this size; a single large value does not keep
// it.
constexpr size_t kHeldBytesKept = 64 * 1024;

}  // namespace

void Effects::set_sink(EffectTarget target, EffectSink* sink) {
  for (Outlet& outlet : outlets_) {
    if (outlet.target != target) continue;
    outlet.sink = sink;
    outlet.told = Told::kNothing;
  }
  sinks_ = static_cast<EffectTargets>(sink ? sinks_ | target : sinks_ & ~target);
}

void Effects::Give(const Telling& telling, EffectTargets targets) {
  const EffectTargets open = Open(targets);
  for (Outlet& outlet : outlets_) {
    if (!(open & outlet.target)) continue;
    if (depth_ > 0) {
      outlet.Add(telling);
    } else {
      outlet.Tell(telling);  // outside of commands each stands alone
    }
  }
}

// After each handler, the innermost first. Only the outermost ends what was begun.
void Effects::Tell(int db, bool changed, Args verbatim) {
  const bool is_outermost = depth_ == 1;
  // A command that contains others (EXEC) has no effect of its own besides theirs.
  const bool replaced = std::exchange(replaced_, true);
  const EffectTargets open = changed && !replaced ? Open(kToAll) : 0;
  for (Outlet& outlet : outlets_) {
    if (open & outlet.target) {
      if (is_outermost && outlet.told == Told::kNothing) {
        // Nothing follows: no need to hold it.
        outlet.sink->Effect(db, verbatim, EffectTime::kAsItIs);
      } else {
        outlet.Add({db, verbatim, EffectTime::kAsItIs, /*for_sluice=*/false});
      }
    }
    if (is_outermost) outlet.End();
  }
}

void Effects::TellSoFar() {
  for (Outlet& outlet : outlets_) outlet.End();
}

// --- one target

void Effects::Outlet::Tell(const Telling& telling) const {
  if (telling.for_sluice) {
    sink->EffectForSluice(telling.db, telling.command, telling.time);
  } else {
    sink->Effect(telling.db, telling.command, telling.time);
  }
}

// Three states: nothing told yet (hold it back), one held (now there is a group), a group that is
// open.
void Effects::Outlet::Add(const Telling& telling) {
  if (told == Told::kNothing) return Hold(telling);
  if (told == Told::kHeldOne) {
    told = Told::kGroup;
    sink->GroupBegin();
    TellHeld();
  }
  Tell(telling);
}

void Effects::Outlet::End() {
  const Told so_far = std::exchange(told, Told::kNothing);
  if (so_far == Told::kHeldOne) TellHeld();
  if (so_far == Told::kGroup) sink->GroupEnd();
}

// Copied, since the views of a handler end with it.
void Effects::Outlet::Hold(const Telling& telling) {
  told = Told::kHeldOne;
  held.db = telling.db;
  held.time = telling.time;
  held.for_sluice = telling.for_sluice;
  held.bytes.clear();
  held.ends.clear();
  for (const std::string_view word : telling.command) {
    held.bytes.append(word);
    held.ends.push_back(held.bytes.size());
  }
}

void Effects::Outlet::TellHeld() {
  std::vector<std::string_view> words;
  words.reserve(held.ends.size());
  size_t begin = 0;
  for (const size_t end : held.ends) {
    words.push_back(std::string_view(held.bytes).substr(begin, end - begin));
    begin = end;
  }
  Tell({held.db, words, held.time, held.for_sluice});
  if (held.bytes.capacity() > kHeldBytesKept) FreeMemory(held);
}

}  // namespace sluice
