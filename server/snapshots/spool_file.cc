// See spool_file.h. A job holds the Work no longer than it runs, so that the last one, which closes
// the file, is the worker's.
#include "server/snapshots/spool_file.h"

#include <cerrno>
#include <utility>

namespace sluice {

int SpoolFile::Work::Append(const std::vector<std::string>& blocks) {
  if (!file) {
    if (const int fault = disk.Open(path, Disk::Mode::kAppendOwn, file)) return fault;
    if (const int fault = disk.Remove(path)) return fault;
    if (const int fault = file->Truncate(0)) return fault;  // a crash may have left one
  }
  for (const std::string& block : blocks) {
    size_t written = 0;
    if (const int fault = file->Append(block, written)) return fault;
  }
  return 0;
}

// What was appended is there: less of it was taken away by somebody else.
int SpoolFile::Work::Read(uint64_t offset, std::string& bytes) const {
  size_t got = 0;
  if (const int fault = file->ReadAt(offset, bytes, got)) return fault;
  return got == bytes.size() ? 0 : EIO;
}

SpoolFile::SpoolFile(Disk& disk, Background& background, std::string path)
    : background_(background),
      work_(std::make_shared<Work>(Work{.disk = disk, .path = std::move(path), .file = nullptr})) {}

SpoolFile::~SpoolFile() {
  *life_ = false;
  background_.Run(
      WorkerLane::kSnapshot, [work = std::move(work_)]() mutable { work.reset(); }, [] {});
}

void SpoolFile::Append(std::vector<std::string> blocks, Appended appended) {
  struct Job {
    std::vector<std::string> blocks;
    int fault = 0;
  };
  const auto job = std::make_shared<Job>(Job{.blocks = std::move(blocks)});
  background_.Run(
      WorkerLane::kSnapshot,
      [work = work_, job]() mutable { job->fault = std::exchange(work, {})->Append(job->blocks); },
      [life = life_, job, appended = std::move(appended)] {
        if (*life) appended(job->fault, std::move(job->blocks));
      });
}

void SpoolFile::Read(uint64_t offset, size_t bytes, Got got) {
  struct Job {
    std::string bytes;
    int fault = 0;
  };
  const auto job = std::make_shared<Job>();
  background_.Run(
      WorkerLane::kSnapshot,
      [work = work_, job, offset, bytes]() mutable {
        job->bytes.resize(bytes);
        job->fault = std::exchange(work, {})->Read(offset, job->bytes);
      },
      [life = life_, job, got = std::move(got)] {
        if (*life) got(job->fault, std::move(job->bytes));
      });
}

}  // namespace sluice
