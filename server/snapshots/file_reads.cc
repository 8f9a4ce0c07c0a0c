// See file_reads.h. As in flushed_file.cc, a host without workers has read by the time Run returns.
#include "server/snapshots/file_reads.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// A save may replace the file in the midst of it.
constexpr int kTriesMax = 3;

// By CLIENT UNBLOCK alone.
void NotRead(CommandCall& call) { call.reply.Error("UNBLOCKED the snapshot was not read"); }

}  // namespace

int FileReads::ReadOnce(Disk& disk, const Piece& piece, Outcome& outcome) {
  std::unique_ptr<DiskFile> file;
  if (const int fault = disk.Identify(piece.path, outcome.identity)) return fault;
  if (const int fault = disk.Open(piece.path, Disk::Mode::kRead, file)) return fault;
  if (const int fault = file->Size(outcome.size)) return fault;
  const uint64_t left = outcome.size - std::min(outcome.size, piece.offset);
  outcome.bytes.resize(std::min<uint64_t>(piece.bytes, left));
  size_t got = 0;
  if (outcome.bytes.empty()) return 0;
  if (const int fault = file->ReadAt(piece.offset, outcome.bytes, got)) return fault;
  outcome.bytes.resize(got);
  return 0;
}

FileReads::Outcome FileReads::ReadNow(Disk& disk, const Piece& piece) {
  Outcome outcome;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    outcome.fault = ReadOnce(disk, piece, outcome);
    if (outcome.fault != 0) return outcome;
    DiskIdentity identity;
    if (disk.Identify(piece.path, identity) == 0 && identity == outcome.identity) return outcome;
  }
  outcome.fault = EAGAIN;
  return outcome;
}

void FileReads::Answer(ReplySink& reply, const Piece& piece, const Outcome& outcome) {
  if (outcome.fault != 0)
    return reply.Error(
        Concat("ERR ", piece.path, " cannot be read: ", std::strerror(outcome.fault)));
  reply.Array(3);
  reply.Bulk(Concat(outcome.identity.device, '-', outcome.identity.number, '-', piece.saves));
  reply.Integer(static_cast<int64_t>(outcome.size));
  reply.Bulk(outcome.bytes);
}

void FileReads::Read(CommandCall& call, Disk& disk, Piece piece) {
  if (!call.may_wait()) return Answer(call.reply, piece, ReadNow(disk, piece));
  struct Job {
    Piece piece;
    Outcome outcome;
    bool is_over = false;
  };
  const auto job = std::make_shared<Job>(Job{.piece = std::move(piece), .outcome = {}});
  const uint64_t id = ++last_id_;
  auto work = [&disk, job] { job->outcome = ReadNow(disk, job->piece); };
  auto done = [life = life_, id, job] {
    if (!*life) return;
    job->is_over = true;
    (*life)->Done(id, job->piece, job->outcome);
  };
  host_.background().Run(WorkerLane::kSnapshot, std::move(work), std::move(done));
  if (job->is_over) return Answer(call.reply, job->piece, job->outcome);
  waits_[id] = call.client.id;
  blocked_clients_.Block(call, {.on_timeout = NotRead, .owner = this, .wait_id = id});
}

void FileReads::Done(uint64_t id, const Piece& piece, const Outcome& outcome) {
  const auto wait = waits_.find(id);
  if (wait == waits_.end()) return;
  Session* const session = clients_.Find(wait->second);
  waits_.erase(wait);
  if (session)
    blocked_clients_.Finish(*session, [&](ReplySink& reply) { Answer(reply, piece, outcome); });
}

}  // namespace sluice
