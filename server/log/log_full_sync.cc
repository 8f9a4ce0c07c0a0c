// A full sync: a server that follows another one gets all of its data, and gives up its own.
//
// The log is closed before the data go, in the state in which a base is due: what it has on disk is
// of before, whole, and says of which history it is. So a crash in the midst of it costs a full
// sync at most. When all is loaded the base is written, as where the log is turned on beside data.
#include <cassert>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/standstill.h"
#include "server/locks/lock_service.h"
#include "server/log/log_loader.h"
#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"

namespace sluice {

void LogService::LoadFullSync(std::unique_ptr<FullSync> sync) {
  assert(!loading());
  full_sync_ = std::move(sync);
}

void LogService::SliceOfFullSync() {
  if (on_.host.Stopping()) return;
  if (!loader_) return BeginFullSync();
  on_.effects.set_muted(true);  // what it plays is no change of this server's
  const bool more = loader_->Slice();
  on_.effects.set_muted(false);
  if (on_.host.Stopping()) return;
  if (full_sync_->slice) full_sync_->slice();
  if (!more) EndFullSync();
}

void LogService::BeginFullSync() {
  PutLogAside();
  on_.timers.Disarm(grace_);  // sessions of before are the master's matter
  on_.effects.set_muted(true);
  full_sync_->drop();
  on_.effects.set_muted(false);
  on_.state.loaded_stream.reset();
  on_.clock.clock().ShowUnixOffset({});
  on_.clock.Refresh();  // a step that concerns no data
  on_.host.Log(LogLevel::kNotice, "MASTER <-> REPLICA sync: Loading DB in memory");
  // Keys whose time is over stay until the master says so.
  BeginLoading({full_sync_->path}, {.boot = Boot(),
                                    .is_snapshot = true,
                                    .merges = true,  // of a key that is there twice the last one
                                    .is_foreign = full_sync_->is_foreign,
                                    .keeps_ended = true,
                                    .made_ms = full_sync_->made_ms});
}

// An image that is being taken is of data that nobody wants any more.
void LogService::PutLogAside() {
  DropRewrite();
  on_.snapshots.Abandon();
  if (!folder_) return;
  commits_->Close();
  NoticeDoubts();
  folder_->Discard(std::exchange(open_, {}));
  base_bytes_ = old_bytes_ = bytes_at_base_ = 0;
  Outdate();
}

void LogService::EndFullSync() {
  const std::string fault = loader_->fault();
  const std::unique_ptr<FullSync> sync = std::move(full_sync_);
  if (fault.empty()) {
    on_.host.Log(LogLevel::kNotice,
                 Concat("MASTER <-> REPLICA sync: Finished with success; ", loader_->commands(),
                        " commands or keys, ", on_.state.progress.taken_ms, " ms"));
    loader_->BringTimeBack();
  } else {
    on_.effects.set_muted(true);
    sync->drop();
    on_.effects.set_muted(false);
  }
  on_.state.lacks_data = !fault.empty();
  on_.standstill.End(Standstill::kLoading);
  loader_.reset();
  on_.state.loading = false;
  if (!on_.state.denies_anything()) on_.flags.Lower(SlowPathFlags::kLog);
  on_.locks.AllReplaced();
  to_tell_ = [done = sync->done, fault] { done(fault); };
}

void LogService::Promoted() {
  on_.state.lacks_data = false;
  grace_begun_ms_ = on_.clock.now().ms();
  ArmGrace();
}

void LogService::TellLoaded() {
  if (to_tell_) std::exchange(to_tell_, nullptr)();
}

void LogService::TimeShifted(int64_t ms) {
  grace_begun_ms_ += ms;
  if (grace_.node.linked()) ArmGrace();
  next_base_ms_ += ms;
  next_try_ms_ += ms;
}

}  // namespace sluice
