// FullSyncLoader: all data of a master, which stand in a file, take the place of this server's own.
//
//   Begin ── looks through (worker) ──┬── fault: the old data are as they were
//                                     └── drops the old data ── loads ──┬── done
//                                         (a slice a turn, -LOADING)    └── fault: there are none
//
// The old data are given up only when the file has proved to be whole (FullSyncCheck). Then they go
// at once, as by FLUSHALL, with what stands beside them: libraries, policies, what is remembered of
// locks. From a Sluice all of that comes, and its engine time, which goes on here from the moment
// at which the file was made; a Redis has none of it, and engine time stays as it is. Keys whose
// time is over stay: their master says when they end.
//
// The file is the caller's: it makes it, and removes it when it is told of the end. LogService
// begins the log anew (LoadFullSync).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/following/full_sync_check.h"

namespace sluice {

class Config;
class FunctionLibraries;
class Host;
class Keyspace;
class LimitService;
class LockService;
class LogService;
class Tracking;
class TurnClock;

struct FullSyncOutcome {
  std::string fault;           // a sentence; empty: it is loaded
  bool kept_old_data = false;  // of a fault: nothing has changed
  FullSyncFacts facts;
};

class FullSyncLoader final {
 public:
  // The parts that it works with; all of them outlive it.
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    Keyspace& keyspace;
    LogService& log;
    LockService& locks;
    LimitService& limits;
    FunctionLibraries& functions;
    Tracking& tracking;
  };
  struct Request {
    std::string path;
    // When the master made the image, as near as is known and not before: when its word came that
    // says so (+FULLRESYNC), by OwnMs.
    int64_t made_ms = 0;
    std::function<void()>
        slice;  // may be empty; while it loads, once a turn, as no timer runs then
    std::function<void(const FullSyncOutcome& outcome)> done;  // between two turns, or in one
  };

  explicit FullSyncLoader(const Uses& uses) : on_(uses) {}
  ~FullSyncLoader();
  FullSyncLoader(const FullSyncLoader&) = delete;

  // This server's clock without its shift, for Request::made_ms, in whole ms and not before now: it
  // does not jump where engine time is made the master's.
  int64_t OwnMs() const;
  // Requires: !busy().
  void Begin(Request request);
  // Nobody wants it any more, and nobody is told. False: it has gone too far, and goes on to its
  // end.
  bool Cancel();
  bool busy() const { return request_ != nullptr; }

 private:
  struct Look;
  void LookOn(std::shared_ptr<Look> look);
  void LookedThrough(const Look& look);
  void Load();
  void Drop();
  void End(FullSyncOutcome outcome);

  const Uses on_;
  std::unique_ptr<Request> request_;  // null: there is nothing to do
  std::weak_ptr<Look> look_;          // while the worker has it
  FullSyncFacts facts_;
};

}  // namespace sluice
