// What tests of a server that follows another one share: a master's data as a file, and a server
// that takes them.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "server/core/standstill.h"
#include "server/engine/script_engine.h"
#include "server/following/full_sync_loader.h"
#include "server/limits/limit_service.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/notify/tracking.h"
#include "server/snapshots/snapshots.h"
#include "tests/unit/server/snapshots/snapshot_world.h"

namespace sluice {

inline constexpr char kSyncPath[] = "/temp-sync.rdb";

// All data of a server, as it sends them: with what only Sluice has, or for Redis.
inline std::string ImageOf(TestEngine& server, bool for_redis = false) {
  Snapshots& snapshots = server.engine().part<Snapshots>();
  std::unique_ptr<SnapshotSpool> spool = snapshots.NewSpool();
  const std::unique_ptr<SpoolReader> reader = spool->NewReader();
  snapshots.Enqueue({.spool = std::move(spool), .for_redis = for_redis, .begun = [] {}});
  server.Turn();
  server.Settle();
  std::string bytes;
  for (std::string_view seen; !(seen = reader->Peek()).empty(); reader->Consume(seen.size()))
    bytes += seen;
  EXPECT_TRUE(reader->is_at_end());
  return bytes;
}

// Takes full syncs as the link to a master does, which stands still by then.
class Follower {
 public:
  explicit Follower(TestEngine& server) : server_(server), loader_(UsesOf(server.engine())) {
    server.engine().part<Standstill>().Begin(Standstill::kFollowing,
                                             server.engine().part<TurnClock>().now());
  }

  // Begins to take these bytes, which the master has made by `made_ms`, by OwnMs.
  void Begin(const std::string& image, std::optional<int64_t> made_ms = {}) {
    server_.disk().files[kSyncPath] = image;
    outcome_.reset();
    loader_.Begin({.path = kSyncPath,
                   .made_ms = made_ms.value_or(loader_.OwnMs()),
                   .slice = [this] { ++slices_; },
                   .done = [this](const FullSyncOutcome& outcome) { outcome_ = outcome; }});
  }
  // And takes them. The fault, or empty.
  std::string Take(const std::string& image, std::optional<int64_t> made_ms = {}) {
    Begin(image, made_ms);
    server_.Settle();
    if (!outcome_) return "nobody was told of the end";
    return outcome_->fault;
  }

  FullSyncLoader& loader() { return loader_; }
  const std::optional<FullSyncOutcome>& outcome() const { return outcome_; }
  int slices() const { return slices_; }

 private:
  static FullSyncLoader::Uses UsesOf(Engine& engine) {
    return {.config = engine.part<Config>(),
            .host = engine.part<Host>(),
            .clock = engine.part<TurnClock>(),
            .keyspace = engine.part<Keyspace>(),
            .log = engine.part<LogService>(),
            .locks = engine.part<LockService>(),
            .limits = engine.part<LimitService>(),
            .functions = engine.part<ScriptEngine>().functions(),
            .tracking = engine.part<Tracking>()};
  }

  TestEngine& server_;
  FullSyncLoader loader_;
  std::optional<FullSyncOutcome> outcome_;
  int slices_ = 0;
};

}  // namespace sluice
