// KeyListeners: the parts that hear of keys that were touched (watchers, waiters, tracking ...), in
// one array, in one order. SlowPathFlags::kKeys says whether any of them has something to hear of:
// a part raises it, this array alone lowers it, and Audit finds a part that listens while it is
// down.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/slow_path_flags.h"

namespace sluice {

class KeyListener {
 public:
  virtual ~KeyListener() = default;
  // Whether it has something to hear of; while it has not, KeyTouched needs not be called.
  virtual bool listens() const = 0;
  // A key was written, deleted, or (`died`) removed for being past its deadline.
  virtual void KeyTouched(int db, std::string_view key, bool died) = 0;
  // FLUSHDB (other = -1) or SWAPDB, before it takes place.
  virtual void DatabaseReplaced(int db, int other) {
    static_cast<void>(db), static_cast<void>(other);
  }
};

class KeyListeners {
 public:
  explicit KeyListeners(SlowPathFlags& flags) : flags_(flags) {}

  void Add(KeyListener& listener) { listeners_.push_back(&listener); }

  void KeyTouched(int db, std::string_view key, bool died) {
    for (KeyListener* listener : listeners_) {
      if (listener->listens()) listener->KeyTouched(db, key, died);
    }
    if (!any_listens()) flags_.Lower(SlowPathFlags::kKeys);
  }
  // To all of them, since a part may have to know of it though it listens to no key.
  void DatabaseReplaced(int db, int other) {
    for (KeyListener* listener : listeners_) listener->DatabaseReplaced(db, other);
  }

  // The first violated invariant as a sentence, or empty.
  std::string Audit() const {
    const bool deaf = any_listens() && !flags_.Raised(SlowPathFlags::kKeys);
    return deaf ? "a touched key is told to no listener" : "";
  }

 private:
  bool any_listens() const {
    return std::ranges::any_of(listeners_, [](const KeyListener* each) { return each->listens(); });
  }

  SlowPathFlags& flags_;
  std::vector<KeyListener*> listeners_;
};

}  // namespace sluice
