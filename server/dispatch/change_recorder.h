// ChangeRecorder: what CommandCall's Changed and ReplaceWith are for handlers, for what changes
// while no command runs: a wait that ends, a lease. Effects are added as they are.
//
//   const ChangeRecorder changes = ChangeRecorder::Of(parts);
//   changes.Changed(kNotifyModule, "limit.take", key);
//   if (changes.wants_effects()) changes.Add(key.db, {"LIMIT.TAKE", key.key, ...});
#pragma once

#include <string_view>

#include "server/core/parts.h"
#include "server/dispatch/effects.h"
#include "server/notify/notifications.h"
#include "storage/hashing/key_name.h"

namespace sluice {

class ChangeRecorder {
 public:
  explicit ChangeRecorder(const Parts& parts)
      : effects_(parts.Get<Effects>()), notifications_(parts.Get<Notifications>()) {}

  // The key was changed, which is called `event`: once for each change, after it.
  void Changed(NotifyClass event_class, std::string_view event, KeyNameView key) const {
    effects_.audit().Told(key.db, key.key);
    notifications_.Notify(event_class, event, key.db, key.key);
  }
  // Whether Add has a listener: ask before you make texts for it.
  bool wants_effects() const { return effects_.wanted(); }
  // The command that does again what happened.
  void Add(int db, Args command) const { effects_.Add(db, command); }

 private:
  Effects& effects_;
  Notifications& notifications_;
};

}  // namespace sluice
