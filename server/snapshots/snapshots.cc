// See snapshots.h. A run ends in many ways: it is whole, or the disk is at fault, or its readers
// have left, or it is cancelled, overtaken by SAVE, or goes with the server. All pass Ended or
// Abandon.
//
// How the share of the thread is kept: at snapshot-cpu-percent 30 a slice of 50 µs is followed by
// 117 µs for others.
#include "server/snapshots/snapshots.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "server/commit/turn_gate.h"
#include "server/core/slow_path_flags.h"
#include "server/dispatch/log_state.h"
#include "server/dispatch/snapshot_barrier.h"
#include "server/locks/lock_service.h"
#include "storage/boot_id.h"

namespace sluice {
namespace {

constexpr int64_t kSliceNanos = 50'000;  // what a client that comes meanwhile waits
constexpr size_t kKeysPerStep = 128;     // at most, and then the clock is looked at
constexpr int kStepsMax = 256;           // for clocks that stand still
// Bytes that may wait for the disk before the walk does: a longer buffer that grows is copied for
// too long.
constexpr size_t kWaitingBytesMax = 1024 * 1024;
// As Redis after a save that has failed.
constexpr int64_t kRetrySeconds = 5;

}  // namespace

Snapshots::Run::Run(Snapshots& snapshots, std::unique_ptr<SnapshotTarget> target, Purpose purpose,
                    bool for_redis, ImageParts parts)
    : target(std::move(target)),
      writer(snapshots.on_.source, snapshots.on_.clock,
             snapshots.StyleOf(purpose, for_redis, parts), *this->target),
      purpose(purpose),
      for_redis(for_redis),
      changes(snapshots.changes()),
      begun_ns(snapshots.on_.clock.clock().TickNanos()) {}

Snapshots::Snapshots(const Uses& uses)
    : on_(uses),
      spool_memory_(uses.config.settings()),
      flushed_(uses.host, uses.clients, uses.blocked_clients),
      reads_(uses.host, uses.clients, uses.blocked_clients),
      saved_unix_s_(uses.clock.now().unix_s()) {
  on_.config.Follow(*this);
}

Snapshots::~Snapshots() {
  on_.config.Unfollow(*this);
  Abandon();
}

std::optional<std::string> Snapshots::OptionChanged(std::string_view option) {
  if (option != "save" && option != "stop-writes-on-bgsave-error") return std::nullopt;
  FollowFault();
  return std::string();
}

// Each has a name of its own: the worker may still have the one before, that was given up.
std::string Snapshots::TemporaryName() {
  return on_.config.disk().Absolute(Concat("temp-", on_.process_id, "-", ++files_, ".rdb"));
}

// `host` null: all is written before the call returns.
std::unique_ptr<SnapshotTarget> Snapshots::FileOfSave(Host* host) {
  Disk& disk = on_.config.disk();
  const Settings& settings = on_.config.settings();
  return std::make_unique<SnapshotFile>(
      disk, host, SnapshotFile::Names{TemporaryName(), disk.Absolute(settings.dbfilename)},
      settings.rdb_save_incremental_fsync);
}

std::unique_ptr<SnapshotTarget> Snapshots::FileOfBase(const std::string& path, Host* host) {
  Disk& disk = on_.config.disk();
  const std::string name = disk.Absolute(path);
  return std::make_unique<SnapshotFile>(disk, host, SnapshotFile::Names{name, name},
                                        on_.config.settings().rdb_save_incremental_fsync);
}

SnapshotWriter::Style Snapshots::StyleOf(Purpose purpose, bool for_redis, ImageParts parts) const {
  const Settings& settings = on_.config.settings();
  on_.turn_gate.Gather();  // of the stream, whose place is written down
  return {.compress = settings.rdbcompression,
          .checksum = settings.rdbchecksum,
          .is_base = purpose == Purpose::kBase,
          .for_redis = for_redis,
          .parts = parts,
          .boot = BootIdOf(on_.config.disk()),
          .used_memory = on_.source.keyspace.memory_bytes(),
          .stream = on_.state.stream,
          .writes_idle_times = EvictsByLastUse(settings),
          .large_bytes = large_bytes_,
          .piece_bytes = piece_bytes_};
}

// --- beginning and ending

int Snapshots::Begin(std::unique_ptr<Run>& run) {
  assert(can_begin());
  if (const int fault = run->target->Open()) return fault;
  run_ = std::move(run);
  on_.locks.ImageBegins();
  run_->writer.BeginImage();
  on_.snapshot_barrier.Begin();
  next_slice_ns_ = delayed_until_ms_ = 0;
  return 0;
}

int Snapshots::Save() {
  ++begun_;
  return SaveNow();
}

int Snapshots::SaveNow() {
  if (saving()) Abandon();
  flushed_.Finish();  // it must not replace this file
  Run run(*this, FileOfSave(nullptr), Purpose::kSave);
  const int fault = WriteNow(run);
  fault == 0 ? FileSaved(run.changes, run.writer.keys()) : FileFailed(fault);
  return fault;
}

int Snapshots::WriteBaseNow(const std::string& path) {
  Run run(*this, FileOfBase(path, nullptr), Purpose::kBase);
  return WriteNow(run);
}

int Snapshots::WriteNow(Run& run) {
  int outcome = run.target->Open();
  if (outcome != 0) return outcome;
  run.writer.WriteAll();
  run.target->Finish([&outcome](int fault) { outcome = fault; });
  return outcome;
}

bool Snapshots::WriteTo(ByteSink& sink, std::string_view boot) {
  if (!can_begin()) return false;
  SnapshotWriter writer(on_.source, on_.clock,
                        {.compress = false,
                         .checksum = false,
                         .boot = std::string(boot),
                         .used_memory = on_.source.keyspace.memory_bytes(),
                         .writes_idle_times = EvictsByLastUse(on_.config.settings())},
                        sink);
  writer.WriteAll();
  return writer.ok();
}

void Snapshots::SaveInBackground() {
  scheduled_ = 0;
  ++begun_;
  tried_unix_s_ = on_.clock.now().unix_s();
  on_.host.Log(LogLevel::kNotice, "Background saving started");
  auto run = std::make_unique<Run>(*this, FileOfSave(&on_.host), Purpose::kSave);
  if (const int fault = Begin(run)) SavedInBackground(*run, fault);
}

void Snapshots::WriteBase(const std::string& path, Finished finished) {
  auto run = std::make_unique<Run>(*this, FileOfBase(path, &on_.host), Purpose::kBase);
  run->finished = std::move(finished);
  if (const int fault = Begin(run)) run->finished(fault);
}

bool Snapshots::Cancel() {
  const bool any = saving() || is_scheduled();
  scheduled_ = 0;
  if (saving()) {
    on_.host.Log(LogLevel::kWarning, "Background saving will be aborted due to user request");
    Abandon();
  }
  return any;
}

void Snapshots::Abandon() {
  if (!run_) return;
  run_->writer.Abandon();
  run_.reset();
  on_.snapshot_barrier.End();
}

void Snapshots::MakeWayForBase() {
  if (!saving() && !syncing()) return;
  on_.host.Log(LogLevel::kWarning,
               saving() ? "Background saving begins anew: the log needs a base first"
                        : "A snapshot for replicas is given up: the log needs a base "
                          "first");
  if (saving()) Schedule();
  Abandon();
}

EndWords EndWords::Of(std::string_view words) {
  const auto has = [words](std::string_view word) {
    return Concat(" ", words, " ").find(Concat(" ", word, " ")) != std::string::npos;
  };
  return {.save = has("save"), .nosave = has("nosave"), .force = has("force"), .now = has("now")};
}

bool Snapshots::PrepareEnd(const EndWords& words) {
  if (saving()) Abandon();
  const bool saves = words.save || (!words.nosave && !on_.config.settings().save.empty());
  if (!saves || on_.state.loading || on_.state.lacks_data) return true;
  on_.host.Log(LogLevel::kNotice, "Saving the final RDB snapshot before exiting.");
  return SaveNow() == 0 || words.force;
}

// --- turns

bool Snapshots::Slice(bool quiet) {
  const int64_t begin_ns = on_.clock.clock().TickNanos();
  if (run_) on_.snapshot_barrier.Saved(waiting_bytes() > waiting_bytes_max());
  // A client that waits for a value to be saved has work, too.
  const bool hurries = quiet || is_awaited();
  if (!MayWalk() || (!hurries && begin_ns < next_slice_ns_)) return false;
  int64_t took_ns = 0;
  for (int i = 0; i < kStepsMax && took_ns < kSliceNanos && MayWalk(); ++i) {
    const uint64_t before = progress();
    Walk();
    if (run_) Delay(progress() - before);
    took_ns = on_.clock.clock().TickNanos() - begin_ns;
  }
  next_slice_ns_ = begin_ns + took_ns * 100 / on_.config.settings().snapshot_cpu_percent;
  return hurries && MayWalk();
}

// False: there is nothing to do, or it has to wait for the disk.
bool Snapshots::MayWalk() const {
  if (!run_) return busy();
  const size_t full = waiting_bytes_max();
  const size_t most = is_awaited() ? full : std::min(kWaitingBytesMax, full / 2);
  return !run_->is_walked && run_->target->waiting_bytes() <= most &&
         on_.clock.now().ms() >= delayed_until_ms_;
}

// What spools keep, which nobody waits for, comes first: at most half, unless the bound has just
// been lowered.
size_t Snapshots::waiting_bytes_max() const {
  const uint64_t all = on_.config.settings().snapshot_memory_max;
  return all - std::min<uint64_t>(all, spool_memory_.taken());
}

// By clients, or by what ends by itself: a lease, a key.
bool Snapshots::is_awaited() const {
  return on_.snapshot_barrier.any_held() || on_.source.keyspace.image().any_awaited();
}

// For tests that want a save to last.
void Snapshots::Delay(uint64_t saved) {
  const int64_t delay_us = on_.config.settings().rdb_key_save_delay;
  if (delay_us <= 0 || !run_ || saved == 0) return;
  delayed_until_ms_ = on_.clock.now().ms() + delay_us * static_cast<int64_t>(saved) / 1000 + 1;
}

void Snapshots::Walk() {
  if (!run_) {
    on_.source.keyspace.ImageSlice(on_.clock.now(), kKeysPerStep);
  } else if (!run_->writer.Slice(kKeysPerStep)) {
    WalkEnded();
  } else if (const int fault = run_->target->fault(); fault != 0 || !run_->writer.ok()) {
    Ended(fault != 0 ? fault : EIO);
  }
}

void Snapshots::WalkEnded() {
  run_->is_walked = true;
  on_.snapshot_barrier.End();
  run_->writer.End();
  run_->target->Finish([this](int fault) { Ended(fault); });
}

int64_t Snapshots::NextWork() const {
  if (MayWalk()) return on_.clock.now().ms() + 1;
  if (!run_ || run_->is_walked || delayed_until_ms_ <= on_.clock.now().ms())
    return TimerWheel::kNever;
  return delayed_until_ms_;
}

// The target tells this in the midst of its own doing: the run goes when that is over.
void Snapshots::Ended(int fault) {
  const std::unique_ptr<Run> run = std::move(run_);
  if (fault != 0) {
    run->writer.Abandon();
    on_.snapshot_barrier.End();
  }
  if (run->purpose == Purpose::kSave) SavedInBackground(*run, fault);
  if (run->purpose == Purpose::kSync) Synced(*run, fault);
  if (run->finished) run->finished(fault);
}

void Snapshots::SavedInBackground(const Run& run, int fault) {
  took_s_ = (on_.clock.clock().TickNanos() - run.begun_ns) / 1'000'000'000;
  if (fault == 0) return FileSaved(run.changes, run.writer.keys());
  FileFailed(fault);
  failed_ = true;
  FollowFault();
}

void Snapshots::FileSaved(uint64_t changes, uint64_t keys) {
  saved_changes_ = changes;
  saved_unix_s_ = on_.clock.now().unix_s();
  ++saves_;
  on_.host.Log(LogLevel::kNotice, Concat("DB saved on disk: ", keys, " keys"));
  failed_ = false;
  FollowFault();
}

void Snapshots::FileFailed(int fault) {
  on_.host.Log(
      LogLevel::kWarning,
      Concat("The snapshot could not be saved: ",
             on_.config.disk().Absolute(on_.config.settings().dbfilename), ": ",
             std::strerror(fault), "; the file of before, if there is one, stays as it was"));
}

void Snapshots::ReadSaved(CommandCall& call, uint64_t offset, size_t bytes) {
  Disk& disk = on_.config.disk();
  reads_.Read(call, disk,
              {.path = disk.Absolute(on_.config.settings().dbfilename),
               .saves = saves_,
               .offset = offset,
               .bytes = bytes});
}

// --- for replicas

std::unique_ptr<SnapshotSpool> Snapshots::NewSpool() {
  return std::make_unique<SnapshotSpool>(on_.config.disk(), on_.host.background(), TemporaryName(),
                                         spool_memory_);
}

void Snapshots::Enqueue(Sync sync) { syncs_.push_back({++last_wish_, std::move(sync)}); }

void Snapshots::BeginNextSync() {
  std::erase_if(syncs_,
                [](const WaitingSync& waiting) { return waiting.sync.spool->is_deserted(); });
  if (syncs_.empty() || !can_begin() || on_.state.loading) return;
  if (is_scheduled() && scheduled_ < syncs_.front().wish) return;
  Sync next = std::move(syncs_.front().sync);
  syncs_.pop_front();
  BeginSync(std::move(next));
}

void Snapshots::BeginSync(Sync sync) {
  auto run = std::make_unique<Run>(*this, std::move(sync.spool), Purpose::kSync, sync.for_redis,
                                   sync.parts);
  if (const int fault = Begin(run)) return Synced(*run, fault);
  on_.host.Log(LogLevel::kNotice, "A snapshot for replicas is being made");
  if (sync.begun) sync.begun();
}

void Snapshots::Synced(const Run& run, int fault) {
  if (fault == ECANCELED) {
    return on_.host.Log(LogLevel::kNotice, "A snapshot for replicas is given up: none reads it");
  }
  if (fault != 0) {
    return on_.host.Log(LogLevel::kWarning, Concat("A snapshot for replicas could not be made: ",
                                                   std::strerror(fault)));
  }
  on_.host.Log(LogLevel::kNotice,
               Concat("A snapshot for replicas is made: ", run.writer.keys(), " keys"));
  if (!run.for_redis) return;
  left_out_ = run.writer.left_out();
  std::string text;
  for (const std::string& what : LeftOutTexts(left_out_))
    ConcatTo(text, text.empty() ? "" : ", ", what);
  if (left_out_.timed_hashes > 0)
    ConcatTo(text, text.empty() ? "" : ", ", "deadlines of fields of ", left_out_.timed_hashes,
             left_out_.timed_hashes == 1 ? " hash" : " hashes");
  if (!text.empty())
    on_.host.Log(LogLevel::kNotice, Concat("It leaves out what Redis cannot hold: ", text));
}

// --- FLUSHALL

std::string Snapshots::BytesOfAll() const {
  struct Bytes final : ByteSink {
    bool Write(std::string_view more) override { return text.append(more), true; }
    std::string text;
  } bytes;
  SnapshotWriter::Style style = StyleOf(Purpose::kSave);
  style.stream.reset();  // which has not been told of the flush yet
  SnapshotWriter(on_.source, on_.clock, style, bytes).WriteAll();
  return std::move(bytes.text);
}

void Snapshots::AllIsFlushed(CommandCall& call) {
  if (on_.state.loading) return call.reply.Ok();
  if (saving()) {
    on_.host.Log(LogLevel::kNotice, "Background saving is given up: all data have been flushed");
    Abandon();
  }
  if (on_.config.settings().save.empty()) return call.reply.Ok();
  Disk& disk = on_.config.disk();
  const std::string path = disk.Absolute(on_.config.settings().dbfilename);
  flushed_.Replace(call, disk, path, BytesOfAll(),
                   [this, path, changes = changes()](const FlushedFile::Outcome& outcome) {
                     FileOfFlush(path, changes, outcome);
                   });
}

void Snapshots::FileOfFlush(const std::string& path, uint64_t changes,
                            const FlushedFile::Outcome& outcome) {
  if (outcome.unwritten == 0) return FileSaved(changes, /*keys=*/0);
  on_.host.Log(LogLevel::kWarning,
               Concat(path, ": no file without the flushed data could be written (",
                      std::strerror(outcome.unwritten), "); the one of before ",
                      outcome.is_safe() ? std::string("is removed")
                                        : Concat("stays, and a start would bring them back: ",
                                                 std::strerror(outcome.unremoved))));
}

// A server that is to save, and cannot, takes no changes.
void Snapshots::FollowFault() {
  const Settings& settings = on_.config.settings();
  on_.state.snapshot_fault =
      failed_ && settings.stop_writes_on_bgsave_error && !settings.save.empty();
  if (on_.state.snapshot_fault) on_.flags.Raise(SlowPathFlags::kLog);
  if (!on_.state.denies_anything()) on_.flags.Lower(SlowPathFlags::kLog);
}

void Snapshots::set_pieces(size_t large_bytes, size_t piece_bytes) {
  large_bytes_ = large_bytes;
  piece_bytes_ = piece_bytes;
}

// --- save points

const SavePoint* Snapshots::ReachedSavePoint() const {
  const int64_t now_s = on_.clock.now().unix_s();
  if (failed_ && now_s - tried_unix_s_ <= kRetrySeconds) return nullptr;
  for (const SavePoint& point : on_.config.settings().save) {
    if (changes_since_save() < static_cast<uint64_t>(point.changes)) continue;
    if (now_s - saved_unix_s_ > point.seconds) return &point;
  }
  return nullptr;
}

void Snapshots::EverySecond() {
  if (on_.state.loading || on_.state.lacks_data) return;
  const SavePoint* const point = ReachedSavePoint();
  if (point && syncing()) Schedule();  // ahead of syncs that come behind it
  if (!can_begin() || (!point && !is_scheduled())) return;
  if (!syncs_.empty() && (!is_scheduled() || syncs_.front().wish < scheduled_)) return;
  if (point)
    on_.host.Log(LogLevel::kNotice,
                 Concat(point->changes, " changes in ", point->seconds, " seconds. Saving..."));
  SaveInBackground();
}

int64_t Snapshots::running_s() const {
  if (!saving()) return -1;
  return (on_.clock.clock().TickNanos() - run_->begun_ns) / 1'000'000'000;
}

}  // namespace sluice
