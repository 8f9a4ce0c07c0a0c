// See flushed_file.h. A host without workers has done its job by the time RunInBackground returns:
// then nobody waits.
#include "server/snapshots/flushed_file.h"

#include <cerrno>
#include <utility>

namespace sluice {
namespace {

constexpr std::string_view kUnsafe =
    "MISCONF The keys are gone, but the snapshot of before could be neither replaced nor removed: "
    "a start would bring them back. Please check the logs for details about the RDB error.";

// By CLIENT UNBLOCK alone: the file is still being written.
void NotAwaited(CommandCall& call) {
  call.reply.Error(
      "UNBLOCKED the keys are gone; whether a crash brings them back is not known yet");
}

}  // namespace

FlushedFile::Outcome FlushedFile::Write(Disk& disk, const std::string& path,
                                        const std::string& bytes) {
  Outcome outcome;
  outcome.unwritten = disk.Replace(path, bytes);
  if (outcome.unwritten == 0) return outcome;
  outcome.unremoved = disk.Remove(path);
  if (outcome.unremoved == ENOENT) outcome.unremoved = 0;
  if (outcome.unremoved == 0) outcome.unremoved = disk.SyncFolder(FolderOf(path));
  return outcome;
}

void FlushedFile::Answer(ReplySink& reply, const Outcome& outcome) {
  outcome.is_safe() ? reply.Ok() : reply.Error(kUnsafe);
}

void FlushedFile::Replace(CommandCall& call, Disk& disk, std::string path, std::string bytes,
                          Written written) {
  if (!call.may_wait()) {
    Finish();
    const Outcome outcome = Write(disk, path, bytes);
    written(outcome);
    return Answer(call.reply, outcome);
  }
  struct Job {
    Outcome outcome;
    bool is_over = false;
  };
  const auto job = std::make_shared<Job>();
  const uint64_t id = ++last_id_;
  auto work = [&disk, path = std::move(path), bytes = std::move(bytes), job] {
    job->outcome = Write(disk, path, bytes);
  };
  auto done = [life = life_, id, job, written = std::move(written)] {
    if (!*life) return;
    job->is_over = true;
    written(job->outcome);
    (*life)->Done(id, job->outcome);
  };
  ++unfinished_;
  aside_ = host_.background().Run(WorkerLane::kSnapshot, std::move(work), std::move(done));
  if (job->is_over) return Answer(call.reply, job->outcome);
  waits_[id] = call.client.id;
  blocked_clients_.Block(call, {.on_timeout = NotAwaited, .owner = this, .wait_id = id});
}

void FlushedFile::Done(uint64_t id, const Outcome& outcome) {
  --unfinished_;
  const auto wait = waits_.find(id);
  if (wait == waits_.end()) return;
  Session* const session = clients_.Find(wait->second);
  waits_.erase(wait);
  if (session) blocked_clients_.Finish(*session, [&](ReplySink& reply) { Answer(reply, outcome); });
}

void FlushedFile::Finish() {
  if (unfinished_ > 0) host_.background().Await(aside_);
}

}  // namespace sluice
