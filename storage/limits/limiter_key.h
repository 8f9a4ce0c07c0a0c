// LimiterKey: one limiter key during a request. It finds the limiter wherever it is kept (packed
// into its entry, or a larger log as an object beside it), asks it, and stores what came of it,
// there or where it fits now, with the deadline that follows from its state: a limiter that is
// whole again is no key.
//
//   LimiterKey limiter(db, key, now);
//   if (!limiter.IsOpenTo(request.config.algorithm)) ...  // an error
//   const LimitVerdict verdict = limiter.Take(request);
//
// A request that changes nothing (a plain refusal) does not touch the key: no watcher is told.
// Every method may be called once, and none after a change of the keyspace by others.
#pragma once

#include <memory>
#include <optional>

#include "storage/keyspace/database.h"
#include "storage/limits/limiter.h"

namespace sluice {

// Lives on the stack of one command. It owns copies of what is packed; an object stays the entry's.
class LimiterKey {
 public:
  // Looks the key up once, for all methods. `now` may be another moment than the server's: that at
  // which a logged request was made.
  LimiterKey(Database& db, const HashedKey& key, const Now& now);

  const HashedKey& key() const { return key_; }
  bool exists() const { return entry_ != nullptr; }
  // No other type's; a missing key is fine. Precondition of whatever follows.
  bool is_limiter() const { return !entry_ || packed_ || object_; }
  // Requires: exists().
  LimitAlgorithm algorithm() const {
    return packed_ ? packed_->config.algorithm : object_->algorithm();
  }
  // No other algorithm's, and no other type's; a missing key is fine.
  bool IsOpenTo(LimitAlgorithm algorithm) const {
    if (packed_) [[likely]]
      return packed_->config.algorithm == algorithm;
    return !entry_ || (object_ && object_->algorithm() == algorithm);
  }

  // Requires: IsOpenTo(the algorithm asked for). A deadline that EXPIRE has brought forward ends
  // the limiter, and so it shows in retry_ms, reset_ms and reset_at_ms.
  LimitVerdict Take(const LimitRequest& request);
  LimitVerdict Peek(const LimitConfig& config, int64_t cost) const;
  // Deletes the key if the limiter is whole afterwards. Requires: exists().
  int64_t Refund(int64_t units);
  LimitInfo Info() const;

  bool changed() const { return changed_; }  // by Take or Refund

 private:
  LimitVerdict TakeNew(const LimitRequest& request);
  LimitVerdict TakePacked(const LimitRequest& request);
  LimitVerdict TakeObject(const LimitRequest& request);
  void KeepWithin(const Deadline& deadline, LimitVerdict& verdict) const;
  Deadline EndOf(LimitAlgorithm algorithm, int64_t end_ms) const;
  Deadline Following(int64_t old_end_ms, int64_t end_ms) const;
  RequestLog* log() { return log_ ? &*log_ : nullptr; }
  const RequestLog* log() const { return log_ ? &*log_ : nullptr; }
  std::unique_ptr<Limiter> MakeObject() const;
  int64_t OldEndMs() const;
  enum class Change { kSurely, kPerhaps };
  Deadline StorePacked(int64_t end_ms, Change change);
  Deadline StoreObject(Entry& entry, int64_t old_end_ms);

  Database& db_;
  const HashedKey key_;
  const Now now_;
  const Entry* entry_;
  Limiter* object_ = nullptr;
  std::optional<LimiterState> packed_;  // if it is no object
  std::optional<RequestLog> log_;       // of a packed one that needs it
  int64_t old_end_ms_ = 0;              // of a packed one with a log
  bool changed_ = false;
};

}  // namespace sluice
