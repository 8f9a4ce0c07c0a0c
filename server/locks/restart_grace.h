// RestartGrace: after a start in which acknowledged grants may be missing, the time in which a lock
// that no owner is known to hold may still be held by one of before, and one that is known may be
// another's by now. Until it is over a name is withheld: HeldLocks shows a free one as held by an
// owner without a name, and locks that were read from the log take no new holders
// (Lock::is_in_doubt), so requests are refused or wait.
//
// A name becomes known by a proof: its owner renews an exclusive hold that is known, or shows the
// token of a grant that is missing (LOCK.RENEW ... TOKEN). Nothing else shows that no other owner
// has it. A lease that runs out may have been renewed in what is missing; a lock that its owner
// asks for again, or gives back once more, may have been given back there and granted to another.
//
// Tokens are of three kinds, told apart by the name's `settled` token:
//   up to it   what the log says of them holds: they are held as is known, or over
//   above it   newer than what is known: whoever shows one was granted the lock in what is missing
//   given since this start: above all of these
// It is the newest token that the log knows; it rises by proofs, and falls below a token whose
// lease ran out unproved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "storage/hashing/key_name.h"
#include "storage/locks/lock_name.h"
#include "storage/time/clock.h"

namespace sluice {

class RestartGrace {
 public:
  explicit RestartGrace(const SipKey& hash_key) : names_(0, LockNameHash(hash_key)) {}

  // Tokens up to `last_token` may be those of grants that are missing. `goes_on`: a start before
  // this one has begun it. Holders that came back there in another order than that of their tokens
  // say nothing of those with lower ones, which may come yet. `is_of_held`: what may be missing is
  // over, but not the leases that were known then, which the time without a server has made longer.
  // Names that are free are given.
  struct Terms {
    int64_t last_token = 0;
    bool goes_on = false;
    bool is_of_held = false;
  };
  void Begin(int64_t now_ms, int64_t until_ms, const Terms& terms) {
    begun_ms_ = now_ms;
    until_ms_ = until_ms;
    terms_ = terms;
  }
  void Shorten(int64_t until_ms) { until_ms_ = until_ms; }  // requires: is_on()
  int64_t begun_ms() const { return begun_ms_; }
  void End();

  bool is_on() const { return until_ms_ != 0; }
  int64_t LeftMs(const Now& now) const {
    return is_on() ? std::max<int64_t>(1, until_ms_ - now.ms()) : 0;
  }
  bool Withholds(LockNameView name) const {
    if (!is_on()) [[likely]]
      return false;
    const About* const about = Find(name);
    return about == nullptr || !about->is_known;
  }
  bool WithholdsFree(LockNameView name) const { return !terms_.is_of_held && Withholds(name); }
  // Whether the token is of before this start, in the grace.
  bool IsOfBefore(int64_t token) const { return is_on() && token <= terms_.last_token; }
  int64_t last_token() const { return terms_.last_token; }
  bool goes_on() const { return terms_.goes_on; }

  // --- Precondition of the rest: is_on(). `newest` is the newest token that is known of the name,
  // and counts where nothing has been noted yet.

  // Whether the token may be that of a grant which is missing.
  bool MayBeMissing(LockNameView name, int64_t token, int64_t newest) const;
  // No other owner of before has the lock: the holder of this token has it alone, or (BREAK) none.
  void Know(LockNameView name, int64_t settled);
  // A holder is proved, maybe among others: what is known of tokens stays as it was. False: names
  // take too much memory already, and it counts for nothing.
  bool Note(LockNameView name, int64_t newest) { return Make(name, newest) != nullptr; }
  // The lock was granted to an owner alone, or its holders were all ended: tokens up to this one
  // are over.
  void Settle(LockNameView name, int64_t token);
  // The lease of a holder that has not proved itself is over, as far as is known.
  void RanOut(LockNameView name, int64_t token);
  // FENCED has shown a token that may be missing. Older ones do not pass until it is claimed.
  void Show(LockNameView name, int64_t token, int64_t newest);
  void Claimed(LockNameView name, int64_t token);
  bool IsNewerShown(LockNameView name, int64_t token) const;

 private:
  static constexpr size_t kNamesBytesMax = 16 * 1024 * 1024;  // beyond that a name stays unknown

  struct About {
    int64_t settled;
    int64_t shown = 0;  // by FENCED, and not claimed yet
    bool is_known = false;
  };
  const About* Find(LockNameView name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }
  About* Make(LockNameView name, int64_t newest);

  int64_t begun_ms_ = 0;  // engine time
  int64_t until_ms_ = 0;  // 0: it is over
  Terms terms_;
  size_t names_bytes_ = 0;
  LockNameMap<About> names_;
};

}  // namespace sluice
