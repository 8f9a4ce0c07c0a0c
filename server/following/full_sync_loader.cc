// See full_sync_loader.h.
#include "server/following/full_sync_loader.h"

#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "scripting/functions.h"
#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/limits/limit_service.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/notify/tracking.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

// The worker has this while it looks: the loader may be gone by then.
struct FullSyncLoader::Look {
  Look(std::unique_ptr<DiskFile> file, uint64_t bytes, const FullSyncCheck::Options& options,
       const TableKey& hash_key)
      : check(std::move(file), bytes, options, hash_key) {}
  FullSyncCheck check;
  bool has_more = true;
  std::atomic<bool> is_cancelled = false;
};

FullSyncLoader::~FullSyncLoader() { Cancel(); }

int64_t FullSyncLoader::OwnMs() const {
  Clock& clock = on_.clock.clock();
  return (clock.Sample().steady_us + 999) / 1000 - clock.shift_ms();
}

// --- the file is looked through

void FullSyncLoader::Begin(Request request) {
  assert(!busy());
  request_ = std::make_unique<Request>(std::move(request));
  Disk& disk = on_.config.disk();
  std::unique_ptr<DiskFile> file;
  uint64_t bytes = 0;
  int fault = disk.Open(request_->path, Disk::Mode::kRead, file);
  if (fault == 0) fault = file->Size(bytes);
  if (fault != 0) {
    return End({.fault = Concat(disk.Absolute(request_->path), ": ", WhyUnopened(fault)),
                .kept_old_data = true});
  }
  const FullSyncCheck::Options options = {
      .databases = static_cast<uint64_t>(on_.config.settings().databases),
      .skips_unknown = on_.config.settings().rdb_skip_unknown};
  auto look =
      std::make_shared<Look>(std::move(file), bytes, options, on_.keyspace.hash_keys().Next());
  look_ = look;
  LookOn(std::move(look));
}

// A piece at a time, as snapshots share the lane.
void FullSyncLoader::LookOn(std::shared_ptr<Look> look) {
  on_.host.background().Run(
      WorkerLane::kSnapshot,
      [look] { look->has_more = !look->is_cancelled && look->check.Piece(); },
      [this, look] {
        if (look->is_cancelled || on_.host.Stopping()) return;
        look->has_more ? LookOn(look) : LookedThrough(*look);
      });
}

void FullSyncLoader::LookedThrough(const Look& look) {
  look_.reset();
  facts_ = look.check.facts();
  if (look.check.fault().empty()) return Load();
  End({.fault = Concat(on_.config.disk().Absolute(request_->path), ": ", look.check.fault()),
       .kept_old_data = true,
       .facts = facts_});
}

bool FullSyncLoader::Cancel() {
  const std::shared_ptr<Look> look = look_.lock();
  if (!look) return !busy();
  look->is_cancelled = true;
  look_.reset();
  request_.reset();
  return true;
}

// --- and loaded

void FullSyncLoader::Load() {
  auto sync = std::make_unique<LogService::FullSync>();
  sync->path = request_->path;
  sync->is_foreign = !facts_.is_of_sluice;
  if (facts_.is_of_sluice) sync->made_ms = request_->made_ms;
  sync->drop = [this] { Drop(); };
  sync->slice = request_->slice;
  sync->done = [this](const std::string& fault) { End({.fault = fault, .facts = facts_}); };
  on_.log.LoadFullSync(std::move(sync));
}

// Waiters, watchers and those who track keys hear of it, as of FLUSHALL.
void FullSyncLoader::Drop() {
  const bool lazily = on_.config.settings().replica_lazy_flush;
  for (int db = 0; db < on_.keyspace.databases(); ++db) {
    if (on_.keyspace.made(db)) on_.keyspace.Flush(db, lazily);
  }
  on_.tracking.AllFlushed();
  on_.functions.Flush();
  on_.limits.policies().Clear();
  on_.locks.AllGone();
}

// Whoever is told may begin another one.
void FullSyncLoader::End(FullSyncOutcome outcome) {
  const std::unique_ptr<Request> request = std::move(request_);
  request->done(outcome);
}

}  // namespace sluice
