// LockHolder: who holds a lock, on which terms, and since when; and what is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "boost/intrusive/list.hpp"
#include "storage/memory/boxed_text.h"
#include "storage/memory/int48.h"
#include "storage/memory/rare_part.h"
#include "storage/time/clock.h"

namespace sluice {

class Value;

enum class LockMode : uint8_t { kExclusive = 0, kShared = 1, kPermits = 2 };  // in files, too

inline constexpr int64_t kNoDeadline = INT64_MAX;
inline constexpr int64_t kLeaseMsMax = int64_t{1} << 46;  // also of MINHOLD and WAIT
inline constexpr int64_t kPermitsMax = int64_t{1} << 31;
inline constexpr int64_t kHoldsMax = Int48::kMax;  // of a re-entrant owner
// A session that no client here has: the holder's is that of another server, or of before a
// restart.
inline constexpr uint64_t kSessionElsewhere = UINT64_MAX - 1;

// The first whole ms that is not before now: what is to last n ms ends n ms after it.
inline int64_t NextMs(const Now& now) { return now.ms() + (now.steady_us % 1000 > 0 ? 1 : 0); }

// The mode and permits that are asked for. Exclusive and shared requests have permits = of = 1.
struct LockShape {
  LockMode mode = LockMode::kExclusive;
  int64_t permits = 1;  // kPermits: 1 .. of
  int64_t of = 1;       // kPermits: 1 .. kPermitsMax
  bool operator==(const LockShape&) const = default;
};

// On which terms it is held. Precondition of a grant: a lease or a session.
struct LockTerms {
  LockShape shape;
  int64_t lease_ms = 0;    // 0: none; <= kLeaseMsMax
  uint64_t session = 0;    // 0: none
  int64_t minhold_ms = 0;  // <= kLeaseMsMax
  uint64_t notify = 0;     // the connection to be told of a loss; 0: none
  bool again = false;      // it has been granted before: no hold more
  std::optional<std::string> label;
};

// Sessions, connections: each once.
using LockClients = absl::InlinedVector<uint64_t, 1>;

// Ties a holder to one of its sessions, from the session's list.
struct SessionBond
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  Value* lock = nullptr;  // a Lock
  int64_t token = 0;      // of the holder
};

// The bonds of a holder, in the order of its sessions; none where its lock is tied to nothing. They
// stay with the holder itself: a copy has none.
struct LockBonds {
  LockBonds() = default;
  LockBonds(const LockBonds&) {}
  LockBonds(LockBonds&&) = default;
  LockBonds& operator=(LockBonds&&) = default;

  absl::InlinedVector<std::unique_ptr<SessionBond>, 1> list;
};

// The parts that few holders have.
struct LockHolderExtra {
  int64_t permits = 1;
  int64_t minhold_until_ms = 0;
  LockClients sessions;
  LockClients notify;  // connections; may be gone
  BoxedText label;
  LockBonds bonds;  // changed by LockHolders alone, which counts them
};

// Kept by its lock under its token. Pointers to one are valid until another comes or it ends. A
// million locks have a million of these, so what few need stands outside.
struct LockHolder {
  BoxedText owner;  // none: there is no such holder
  int64_t token : 56 = 0;
  bool proved : 1 = false;  // after a restart, see server/locks/restart_grace.h
  Int48 holds = 1;          // 0: lingers
  Int48 since_ms = 0;
  Int48 lease_until_ms = kNoDeadline;
  // The whole lease, as it was last given: lease_until_ms was so far ahead then. 0: there is none.
  Int48 lease_ms = 0;
  RarePart<LockHolderExtra> extra;

  int64_t permits() const { return extra->permits; }
  int64_t minhold_until_ms() const { return extra->minhold_until_ms; }
  const LockClients& sessions() const { return extra->sessions; }
  const LockClients& notify() const { return extra->notify; }
  std::string_view label() const { return extra->label; }
  // The usual ones take no room.
  void set_permits(int64_t permits) {
    if (permits != this->permits()) extra.Make().permits = permits;
  }
  void set_minhold_until_ms(int64_t until_ms) {
    if (until_ms != minhold_until_ms()) extra.Make().minhold_until_ms = until_ms;
  }
  void set_label(std::string_view label) {
    if (label != this->label()) extra.Make().label = label;
  }

  bool is_minimum_hold() const { return holds == 0; }
  bool has_lease() const { return lease_until_ms != kNoDeadline; }
  // -1: bound to sessions alone.
  int64_t LeaseLeftMs(const Now& now) const {
    if (!has_lease()) return -1;
    const int64_t left_ms = lease_until_ms - NextMs(now);
    return left_ms > 0 ? left_ms : 0;  // one that is over may be there still
  }
  int64_t EndsAtMs() const {
    return is_minimum_hold() ? minhold_until_ms() : int64_t{lease_until_ms};
  }
  // It gives its holds back, and its place is kept.
  void BecomeMinimumHold();
  // Beside the holder itself; the lists of clients have bounds of their own.
  size_t OutsideBytes() const;
};
static_assert(sizeof(LockHolder) == 48);

}  // namespace sluice
