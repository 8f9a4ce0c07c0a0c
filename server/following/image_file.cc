// See image_file.h.
#include "server/following/image_file.h"

#include <cerrno>
#include <utility>

namespace sluice {

// Where the room is not known, the disk itself says so when it is full.
int ImageFile::Work::Open(uint64_t bytes_expected) {
  uint64_t room = 0;
  if (bytes_expected > 0 && disk.Room(FolderOf(path), room) == 0 && bytes_expected > room)
    return ENOSPC;
  return disk.Open(path, Disk::Mode::kAppendOwn, file);
}

int ImageFile::Work::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t written = 0;
    if (const int fault = file->Append(bytes, written)) return fault;
    bytes.remove_prefix(written);
  }
  return 0;
}

ImageFile::ImageFile(Disk& disk, Background& background, std::string path,
                     std::function<void()> on_progress)
    : background_(background),
      on_progress_(std::move(on_progress)),
      work_(std::make_shared<Work>(disk, std::move(path))) {}

// The worker closes it, as that may take long.
ImageFile::~ImageFile() {
  *life_ = false;
  background_.Run(
      WorkerLane::kSnapshot,
      [work = work_, is_kept = is_written()] {
        work->file.reset();
        if (!is_kept) work->disk.Remove(work->path);
      },
      [] {});
}

void ImageFile::Expect(uint64_t bytes) {
  expected_ = bytes;
  WriteWaiting();
}

void ImageFile::Append() {
  if (!is_writing_ && waiting_.size() >= kPieceBytes) WriteWaiting();
}

void ImageFile::End() {
  is_ended_ = true;
  if (!is_writing_) WriteWaiting();  // nothing, too, makes a file
}

void ImageFile::WriteWaiting() {
  is_writing_ = true;
  auto bytes = std::make_shared<std::string>(std::exchange(waiting_, {}));
  auto fault = std::make_shared<int>(0);
  background_.Run(
      WorkerLane::kSnapshot,
      [work = work_, bytes, fault, expected = expected_] {
        if (!work->file) *fault = work->Open(expected);
        if (*fault == 0) *fault = work->Append(*bytes);
      },
      [this, life = life_, fault] {
        if (*life) Written(*fault);
      });
}

void ImageFile::Written(int fault) {
  is_writing_ = false;
  if (fault_ == 0) fault_ = fault;
  const bool is_more = !waiting_.empty() && (is_ended_ || waiting_.size() >= kPieceBytes);
  if (fault_ == 0 && is_more) return WriteWaiting();
  on_progress_();
}

}  // namespace sluice
