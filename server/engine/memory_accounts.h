// MemoryAccounts: what takes memory beside keys and clients, a row each. All are kept as they
// change, so that their sum costs next to nothing: with a limit of memory it is asked for once a
// turn. MEMORY STATS shows them one by one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace sluice {

class LockService;
class PubSub;
class Replicas;
class RequestIds;
class ScriptEngine;
class SlowLog;
class TimerWheel;
class Tracking;
class Waiters;
class WatchTable;

class MemoryAccounts {
 public:
  // The parts whose memory it is; all of them outlive the accounts.
  struct Owners {
    const ScriptEngine& scripts;
    const LockService& locks;
    const RequestIds& requests;
    const Tracking& tracking;
    const PubSub& pubsub;
    const WatchTable& watches;
    const Waiters& waiters;
    const SlowLog& slow_log;
    const TimerWheel& wheel;
    const Replicas& replicas;
  };
  struct Row {
    std::string_view name;  // as MEMORY STATS calls it
    size_t (*bytes)(const Owners& of);
  };

  explicit MemoryAccounts(const Owners& owners) : owners_(owners) {}

  static std::span<const Row> Rows();
  size_t Of(const Row& row) const { return row.bytes(owners_); }
  size_t Total() const;
  // Of that, what eviction is not to make up for: as it tells replicas of each key, what waits for
  // a slow one would grow by it.
  size_t NotForEviction() const;

 private:
  const Owners owners_;
};

}  // namespace sluice
