// RestartGrace: after a start in which acknowledged grants may be missing, the time in which a lock
// that no owner is known to hold may still be held by one of before. Until it is over such a name
// is withheld: HeldLocks shows it as held by an owner without a name, so requests are refused or
// wait.
//
// A name is known again once its holder claims it: by renewing a hold that is known, or by the
// token of one that is missing (LOCK.RENEW ... TOKEN). Nothing else shows that no other owner has
// it. A lease that runs out may have been renewed in what is missing; a lock that its owner asks
// for again, or gives back once more, may have been given back there and granted to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "storage/hashing/key_name.h"
#include "storage/locks/lock_name.h"
#include "storage/time/clock.h"

namespace sluice {

class RestartGrace {
 public:
  explicit RestartGrace(const SipKey& hash_key) : known_(0, LockNameHash(hash_key)) {}

  // Tokens up to `last_token` may be those of grants that are missing.
  void Begin(int64_t now_ms, int64_t until_ms, int64_t last_token) {
    begun_ms_ = now_ms;
    until_ms_ = until_ms;
    last_token_ = last_token;
  }
  void Shorten(int64_t until_ms) { until_ms_ = until_ms; }  // precondition: is_on()
  int64_t begun_ms() const { return begun_ms_; }
  void End();

  bool is_on() const { return until_ms_ != 0; }
  int64_t LeftMs(const Now& now) const { return is_on() ? until_ms_ - now.ms() : 0; }
  bool Withholds(LockNameView name) const { return is_on() && !known_.contains(name); }
  bool MayBeHeldUnder(int64_t token) const { return token <= last_token_; }

  void Know(LockNameView name) {
    if (is_on()) [[unlikely]]
      Add(name);
  }

 private:
  static constexpr size_t kKnownBytesMax = 16 * 1024 * 1024;  // beyond that a name stays unknown

  void Add(LockNameView name);

  int64_t begun_ms_ = 0;  // engine time
  int64_t until_ms_ = 0;  // 0: it is over
  int64_t last_token_ = 0;
  size_t known_bytes_ = 0;
  absl::flat_hash_set<LockName, LockNameHash, LockNameEqual> known_;
};

}  // namespace sluice
