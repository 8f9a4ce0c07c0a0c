// LockRecord: who holds which locks, judged from what clients have asked and been answered, and
// from nothing else. Every grant is checked against it:
//   no other holder excludes it; a new holding has a token above all before;
//   a re-entrant grant has the token of its holding.
// What does not fit is a failure of the test. Times are engine ms.
//
// In the very ms in which a lease ends the server may run what was sent before first. So a holding
// that ended in this ms goes on, with its token and all its holds, if that token is granted again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

inline constexpr int64_t kPermitsInRecord = 3;  // the m of every semaphore

// A request, as a client sends it.
struct LockAsk {
  enum class Mode : uint8_t { kExclusive, kShared, kPermits };
  std::string owner;
  std::vector<std::string> keys;
  int64_t lease_ms = 0;     // 0: none
  uint64_t connection = 0;  // of a session; 0: it asks for none
  Mode mode = Mode::kExclusive;
  int64_t permits = 1;
  bool several = false;     // MACQUIRE
  bool upgrades = false;    // UPGRADE
  bool downgrades = false;  // DOWNGRADE
};

class LockRecord {
 public:
  struct Holding {
    int64_t token = 0;
    int64_t holds = 0;
    int64_t lease_until_ms = -1;  // -1: none
    LockAsk::Mode mode = LockAsk::Mode::kExclusive;
    int64_t permits = 1;
    std::set<uint64_t> connections;
  };
  using Holders = std::map<std::string, Holding>;  // by owner
  struct Grant {
    int64_t token;
    std::string key;
    LockAsk ask;
  };

  // All that were answered since the last time, in whatever order. Their holdings begin now, their
  // leases count from the ms that begins next.
  void Granted(std::vector<Grant> grants, int64_t next_ms);
  // The holds that are left. Requires: Find.
  int64_t Released(const std::string& key, const std::string& owner, bool all);
  void Renewed(const std::string& key, const std::string& owner, int64_t until_ms);
  void Broken(const std::string& key, int64_t token);  // 0: all holders
  void Closed(uint64_t connection);
  void PassedTo(int64_t now_ms);
  void Flushed() {
    locks_.clear();
    ended_now_.clear();
  }

  const Holders& Of(const std::string& key) { return locks_[key]; }
  Holding* Find(const std::string& key, const std::string& owner);
  // Whether all its locks have room for a new holder.
  bool HasRoomFor(const LockAsk& ask);
  // The highest that was given so far.
  int64_t newest() const { return newest_; }

 private:
  void ModeChanged(const Grant& grant);
  bool HasRoomAt(const std::string& key, const LockAsk& ask);
  void EraseUnbound();
  // Whether a holding goes on that ended in this ms.
  bool GoesOn(const Grant& grant);

  std::map<std::string, Holders> locks_;
  std::map<std::string, Holders> ended_now_;  // in this ms, by their leases or connections
  int64_t newest_ = 0;
  std::map<std::string, std::pair<std::string, int64_t>> last_of_;  // by key: to whom, which token
};

}  // namespace sluice
