// ChangeRecorder: how all that changes while no handler says so is told: a wait that ends, a lease,
// a key whose time is over. It is to the parts of the server what CommandCall's Changed and
// ReplaceWith are to handlers, and no other code reaches events and effects
// (tests/style/changes.py).
//
//   const ChangeRecorder changes(parts);
//   changes.Changed(kNotifyModule, "limit.take", key);
//   if (changes.wants_effects()) changes.Add(key.db, {"LIMIT.TAKE", key.key, ...});
#pragma once

#include <initializer_list>
#include <string_view>

#include "server/core/parts.h"
#include "server/dispatch/effects/effects.h"
#include "server/notify/notifications.h"
#include "storage/hashing/key_name.h"

namespace sluice {

class ChangeRecorder {
 public:
  // Both outlive it, and its copies.
  ChangeRecorder(Effects& effects, Notifications& notifications)
      : effects_(effects), notifications_(notifications) {}
  explicit ChangeRecorder(const Parts& parts)
      : ChangeRecorder(parts.Get<Effects>(), parts.Get<Notifications>()) {}

  // The key was changed, which is called `event`: once for each change, after it.
  void Changed(NotifyClass event_class, std::string_view event, KeyNameView key) const {
    effects_.audit().Told(key.db, key.key);
    Announce(event_class, event, key);
  }
  // The event alone: of a change that ChangeAudit does not charge to the command that runs (a
  // lock's own, a key that has ended).
  void Announce(NotifyClass event_class, std::string_view event, KeyNameView key) const {
    notifications_.Notify(event_class, event, key.db, key.key);
  }
  bool wants_events(NotifyClass event_class) const { return notifications_.Wants(event_class); }

  // Whether Add has a listener: ask before you make texts for it.
  bool wants_effects() const { return effects_.wanted(); }
  // Records the command that does again what happened, in that database, outside of any command's
  // own effects.
  void Add(int db, Args command) const { effects_.Add(db, command); }
  void Add(int db, std::initializer_list<std::string_view> command) const {
    effects_.Add(db, command);
  }

 private:
  Effects& effects_;
  Notifications& notifications_;
};

}  // namespace sluice
