// What ties a lock's holders to the world around the lock, kept by the lock itself, so that it
// cannot drift, also when the lock is destroyed with all its holders.
//
// LockWatcher hears of the holders of locks that are watched (Lock::Watch): the search for circles
// needs to know what an owner holds, but only where others wait for it.
//
// LockSessions lists what each session is a binding of. A bond leaves its list by itself, so the
// end of a session costs what it holds, and a lock that goes away costs its own bonds.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "boost/intrusive/list.hpp"

namespace sluice {

class Lock;

class LockWatcher {
 public:
  virtual ~LockWatcher() = default;
  virtual void Held(const Lock& lock, std::string_view owner) = 0;
  virtual void Freed(const Lock& lock, std::string_view owner) = 0;
};

struct SessionBond
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  Lock* lock = nullptr;
  int64_t token = 0;  // of the holder
};

class LockSessions {
 public:
  // Null when it holds nothing.
  const SessionBond* First(uint64_t session) const {
    const auto found = bonds_.find(session);
    return found == bonds_.end() || found->second->empty() ? nullptr : &found->second->front();
  }
  void Add(uint64_t session, SessionBond& bond) {
    std::unique_ptr<Bonds>& bonds = bonds_[session];
    if (bonds == nullptr) bonds = std::make_unique<Bonds>();
    bonds->push_back(bond);
  }
  // Precondition: it holds nothing.
  void Forget(uint64_t session) { bonds_.erase(session); }

 private:
  using Bonds = boost::intrusive::list<SessionBond, boost::intrusive::constant_time_size<false>>;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Bonds>> bonds_;  // for their addresses
};

struct LockTies {
  LockWatcher& watcher;
  LockSessions& sessions;
};

}  // namespace sluice
