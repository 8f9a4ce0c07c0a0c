// See snapshot_spool.h. The content is one run of bytes in three parts, in this order, any of which
// may be empty: blocks in memory, what is in the file, and what waits to be appended to it.
//
// A callback of the image (Finished) may be the end of the spool, and with it of its content: it is
// always the last that is done.
#include "server/snapshots/snapshot_spool.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include "protocol/text/free_memory.h"
#include "server/snapshots/pending_blocks.h"
#include "server/snapshots/spool_file.h"

namespace sluice {
namespace {

constexpr size_t kBlockBytes = PendingBlocks::kBlockBytes;
constexpr size_t kFetchedBytes = kBlockBytes;

}  // namespace

struct SnapshotSpool::Content {
  Content(Disk& disk, Background& background, std::string path, SpoolMemory& memory)
      : memory(memory), file(std::make_unique<SpoolFile>(disk, background, std::move(path))) {}
  Content(const Content&) = delete;
  ~Content() { DropBlocks(); }

  SpoolMemory& memory;
  std::deque<std::string> blocks;  // each kBlockBytes long, but for the last
  uint64_t blocks_at = 0;          // place of the first one
  uint64_t total = 0;              // that was written
  std::unique_ptr<SpoolFile> file;
  std::optional<uint64_t> file_at;  // place of its first byte; null: all is in memory
  uint64_t in_file = 0;             // bytes that can be read there
  PendingBlocks pending;
  size_t waiting = 0;  // with what the worker has
  bool is_busy = false;
  bool is_written = false;  // no more comes
  bool is_whole = false;
  int fault = 0;
  Finished finished;
  bool had_readers = false;
  std::vector<const SpoolReader*> readers;

  uint64_t blocks_end() const { return file_at.value_or(total); }
  uint64_t file_end() const { return file_at.value_or(0) + in_file; }

  // --- the image's end
  bool Write(std::string_view bytes) {
    if (fault != 0) return false;
    total += bytes.size();
    if (!file_at) bytes = Keep(bytes);
    if (bytes.empty()) return true;
    if (!file_at) file_at = total - bytes.size();
    pending.Append(bytes);
    waiting += bytes.size();
    if (!is_busy && pending.bytes() >= kBlockBytes) Append();
    return fault == 0;
  }

  void Finish(Finished told) {
    finished = std::move(told);
    is_written = true;
    if (!is_busy) GoOn();
  }

  // Nobody is to read on, for this reason. A job that runs is told of no more.
  void Fail(int why) {
    if (fault == 0) fault = why;
    DropBlocks();
    pending.Clear();
    waiting = 0;
    file.reset();
    is_busy = false;
  }

  // --- the readers' end
  std::string_view InBlocks(uint64_t place) const {
    const uint64_t offset = place - blocks_at;
    const std::string_view block = blocks[offset / kBlockBytes];
    return block.substr(offset % kBlockBytes);
  }

  // What all have passed is needed no more.
  void Passed() {
    uint64_t least = total;
    for (const SpoolReader* const reader : readers) least = std::min(least, reader->place());
    while (!blocks.empty() && blocks.front().size() == kBlockBytes &&
           least >= blocks_at + kBlockBytes) {
      blocks.pop_front();
      blocks_at += kBlockBytes;
      memory.Give(kBlockBytes);
    }
  }

  void Leave(const SpoolReader& reader) {
    std::erase(readers, &reader);
    if (!readers.empty()) return Passed();
    Fail(ECANCELED);
    GoOn();
  }

 private:
  // Puts into memory what has room there; returns the rest.
  std::string_view Keep(std::string_view bytes) {
    while (!bytes.empty()) {
      if (blocks.empty() || blocks.back().size() == kBlockBytes) {
        if (!memory.Take(kBlockBytes)) break;
        blocks.emplace_back().reserve(kBlockBytes);
      }
      const size_t room = kBlockBytes - blocks.back().size();
      blocks.back().append(bytes.substr(0, room));
      bytes.remove_prefix(std::min(room, bytes.size()));
    }
    return bytes;
  }

  void DropBlocks() {
    memory.Give(blocks.size() * kBlockBytes);
    blocks.clear();
  }

  void Append() {
    is_busy = true;
    const size_t bytes = pending.bytes();
    file->Append(pending.Take(), [this, bytes](int failed, std::vector<std::string> done) {
      is_busy = false;
      if (failed != 0) {
        Fail(failed);
      } else {
        in_file += bytes;
        waiting = pending.bytes();
        pending.Reuse(std::move(done));
      }
      GoOn();
    });
  }

  // Requires: the worker has nothing of it.
  void GoOn() {
    const bool is_over = fault != 0 || pending.bytes() == 0;
    if (!is_over && (is_written || pending.bytes() >= kBlockBytes)) return Append();
    if (!is_over || !finished) return;
    is_whole = fault == 0;
    pending.Clear();  // of memory that was to be used again, too
    std::exchange(finished, {})(fault);
  }
};

// --- the image's end

SnapshotSpool::SnapshotSpool(Disk& disk, Background& background, std::string path,
                             SpoolMemory& memory)
    : content_(std::make_shared<Content>(disk, background, std::move(path), memory)) {}

SnapshotSpool::~SnapshotSpool() {
  content_->finished = {};
  if (!content_->is_whole) content_->Fail(ECANCELED);
}

std::unique_ptr<SpoolReader> SnapshotSpool::NewReader() {
  assert(content_->total == 0);
  std::unique_ptr<SpoolReader> reader(new SpoolReader(content_));
  content_->readers.push_back(reader.get());
  content_->had_readers = true;
  return reader;
}

bool SnapshotSpool::is_deserted() const {
  return content_->had_readers && content_->readers.empty();
}

int SnapshotSpool::Open() { return content_->fault; }
bool SnapshotSpool::Write(std::string_view bytes) { return content_->Write(bytes); }
void SnapshotSpool::Finish(Finished finished) { content_->Finish(std::move(finished)); }
size_t SnapshotSpool::waiting_bytes() const { return content_->waiting; }
int SnapshotSpool::fault() const { return content_->fault; }

// --- the readers'

SpoolReader::SpoolReader(std::shared_ptr<SnapshotSpool::Content> content)
    : content_(std::move(content)) {}

SpoolReader::~SpoolReader() { content_->Leave(*this); }

std::optional<uint64_t> SpoolReader::total() const {
  return content_->is_whole ? std::optional(content_->total) : std::nullopt;
}

int SpoolReader::fault() const {
  return window_->fault != 0 ? window_->fault : content_->is_whole ? 0 : content_->fault;
}

std::string_view SpoolReader::Peek() {
  if (fault() != 0) return {};
  if (place_ < content_->blocks_end()) return content_->InBlocks(place_);
  if (InWindow().empty() && !window_->is_coming && place_ < content_->file_end()) Fetch();
  return InWindow();
}

std::string_view SpoolReader::InWindow() const {
  if (window_->is_coming || window_->bytes.empty()) return {};
  return std::string_view(window_->bytes).substr(place_ - window_->at);
}

void SpoolReader::Fetch() {
  const uint64_t left = content_->file_end() - place_;
  window_->is_coming = true;
  window_->at = place_;
  content_->file->Read(place_ - *content_->file_at, std::min<uint64_t>(left, kFetchedBytes),
                       [window = window_](int fault, std::string bytes) {
                         window->is_coming = false;
                         window->fault = fault;
                         if (fault == 0) window->bytes = std::move(bytes);
                       });
}

void SpoolReader::Consume(size_t bytes) {
  place_ += bytes;
  assert(place_ <= content_->total);
  if (place_ <= content_->blocks_end()) return content_->Passed();
  if (InWindow().empty()) FreeMemory(window_->bytes);
}

}  // namespace sluice
