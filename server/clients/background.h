// Background: work beside the engine, such as writing or syncing a file. As it stands it is done at
// once; hosts with threads (server/net/workers) do it on another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice {

// Queues of background work, by its purpose. Each has an order of its own, and a thread where the
// host has any: a snapshot's long sync keeps no answer from a client.
enum class WorkerLane : uint8_t {
  kLog,       // the log, and the fence mark: clients wait for it
  kSnapshot,  // snapshots and bases of the log
};
inline constexpr size_t kWorkerLanes = 2;

class Background {
 public:
  virtual ~Background() = default;
  // Runs `work` behind all of its lane, and then `done`: at once, between two turns, or in Await.
  // Returns a number for Await.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): hosts with workers keep both.
  virtual uint64_t Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) {
    static_cast<void>(lane);
    work();
    done();
    return 0;
  }
  // Waits for this piece, whose `done` runs here; that of other pieces waits for the turn's end.
  virtual void Await(uint64_t number) { static_cast<void>(number); }
  // Waits for all pieces.
  virtual void Finish() {}
};

}  // namespace sluice
