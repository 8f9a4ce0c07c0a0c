// See snapshot_file.h. The worker may still be writing when the snapshot is given up, or the server
// ends. So a job shares the things that it needs, and they go with the last of both.
#include "server/snapshots/snapshot_file.h"

#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// As rdb-save-incremental-fsync of Redis.
constexpr uint64_t kSyncEveryBytes = 4 * 1024 * 1024;
// Bytes handed to the worker at once, at least, while more comes.
constexpr size_t kJobBytes = PendingBlocks::kBlockBytes;

}  // namespace

// State of the jobs. The loop touches it only while no job runs. It removes a file that has not got
// its name when its last holder goes: the SnapshotFile, or a job that is dropped with the server.
struct SnapshotFile::Work {
  Work(Disk& disk, Names names, bool syncs_often)
      : disk(disk), names(std::move(names)), syncs_often(syncs_often) {}
  Work(const Work&) = delete;
  ~Work() {
    if (!file || is_named) return;
    file.reset();
    disk.Remove(names.temporary);
  }

  Disk& disk;
  const Names names;
  const bool syncs_often;
  std::unique_ptr<DiskFile> file;
  std::vector<std::string> blocks;
  bool is_last = false;
  bool is_named = false;
  int fault = 0;
  uint64_t unsynced = 0;
  SnapshotFile* owner = nullptr;  // the loop's; null: it is gone
  std::mutex mutex;
  bool is_given_up = false;  // guarded by it, so that no file gets its name later

  void Append() {
    for (const std::string& block : blocks) {
      size_t written = 0;
      if (fault == 0) fault = file->Append(block, written);
      unsynced += block.size();
    }
    if (fault == 0 && syncs_often && unsynced >= kSyncEveryBytes) {
      fault = file->Sync();
      unsynced = 0;
    }
  }
  void GiveName() {
    if (fault == 0) fault = file->Sync();
    if (fault == 0) fault = Rename();
    if (fault == 0) fault = disk.SyncFolder(FolderOf(names.path));
    is_named = fault == 0;
  }
  int Rename() {
    const std::lock_guard lock(mutex);
    if (is_given_up) return ECANCELED;
    return names.temporary == names.path ? 0 : disk.Rename(names.temporary, names.path);
  }
  void Run() {
    Append();
    if (is_last) GiveName();
  }
};

SnapshotFile::SnapshotFile(Disk& disk, Host* host, Names names, bool syncs_often)
    : host_(host), work_(std::make_shared<Work>(disk, std::move(names), syncs_often)) {
  work_->owner = this;
}

SnapshotFile::~SnapshotFile() {
  work_->owner = nullptr;
  const std::lock_guard lock(work_->mutex);
  work_->is_given_up = true;
}

int SnapshotFile::Open() {
  const std::string& path = work_->names.temporary;
  if (const int fault = work_->disk.Open(path, Disk::Mode::kAppend, work_->file)) return fault;
  return work_->file->Truncate(0);
}

int SnapshotFile::fault() const { return busy_ ? 0 : work_->fault; }

bool SnapshotFile::Write(std::string_view bytes) {
  pending_.Append(bytes);
  waiting_ += bytes.size();
  if (!busy_ && pending_.bytes() >= kJobBytes) StartJob();
  return fault() == 0;
}

void SnapshotFile::Finish(Finished finished) {
  finished_ = std::move(finished);
  is_whole_ = true;
  if (!busy_) StartJob();
}

void SnapshotFile::StartJob() {
  busy_ = true;
  work_->blocks = pending_.Take();
  work_->is_last = is_whole_;
  const std::shared_ptr<Work> work = work_;
  const auto done = [work] {
    if (work->owner) work->owner->JobDone();
  };
  // The worker keeps nothing of it: a file is removed on the loop, before another has its name.
  const auto run = [work = work_]() mutable { std::exchange(work, nullptr)->Run(); };
  if (host_) {
    host_->background().Run(WorkerLane::kSnapshot, run, done);
  } else {
    work->Run();
    done();
  }
}

void SnapshotFile::JobDone() {
  busy_ = false;
  waiting_ = pending_.bytes();
  pending_.Reuse(std::exchange(work_->blocks, {}));
  if (work_->is_last) {
    return std::exchange(finished_, {})(work_->fault);  // which may be the end of this
  }
  if (is_whole_ || pending_.bytes() >= kJobBytes) StartJob();
}

}  // namespace sluice
