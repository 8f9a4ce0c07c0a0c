// SnapshotSpool: a snapshot for peers, who read it while it is made, each from a place of its own:
//
//   image ─ Write ─▶ [ in memory: at most half of snapshot-memory-max | in a temporary file ]
//                        ▲ place of a reader              ▲ place of another
//
// What all readers have passed leaves the memory. When that is full all that comes goes into the
// file (SpoolFile), until the end, and is read back from there. So the image goes at its own pace:
// it waits for the disk, as every snapshot does, and never for a peer.
//
//   auto spool = snapshots.NewSpool();
//   auto reader = spool->NewReader();
//   snapshots.Enqueue({.spool = std::move(spool)});
//   ... at the end of each turn:
//   while (peer_has_room() && !reader->Peek().empty()) { send(...); reader->Consume(sent); }
//   if (reader->is_at_end() || reader->fault() != 0) ...
//
// It ends whole, or with a fault: of the disk, or ECANCELED where the image is given up. When the
// last reader leaves, memory and file are free at once, and an image that is still made ends.
//
// All of it belongs to the loop. Whatever brings a reader bytes is a part of a turn, or a worker's
// job, which a turn follows: so it is enough to ask at the end of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/clients/background.h"
#include "server/config/settings.h"
#include "server/snapshots/snapshot_target.h"
#include "storage/disk.h"

namespace sluice {

class SpoolReader;

// What all spools together keep in memory: those of before may still have readers.
class SpoolMemory {
 public:
  // Which outlive it.
  explicit SpoolMemory(const Settings& settings) : settings_(settings) {}

  bool Take(size_t bytes) {  // false: there is no room
    if (taken_ + bytes > settings_.snapshot_memory_max / 2) return false;
    taken_ += bytes;
    return true;
  }
  void Give(size_t bytes) { taken_ -= bytes; }
  size_t taken() const { return taken_; }

 private:
  const Settings& settings_;
  size_t taken_ = 0;
};

class SnapshotSpool final : public SnapshotTarget {
 public:
  // All of it outlives spool and readers. Nobody else uses `path`, which is absolute.
  SnapshotSpool(Disk& disk, Background& background, std::string path, SpoolMemory& memory);
  // Not finished: to its readers that is a fault.
  ~SnapshotSpool() override;
  SnapshotSpool(const SnapshotSpool&) = delete;

  // One more, at the first byte. Requires: nothing was written yet.
  std::unique_ptr<SpoolReader> NewReader();
  // There were readers, and all have left.
  bool is_deserted() const;

  // --- SnapshotTarget
  int Open() override;
  bool Write(std::string_view bytes) override;
  void Finish(Finished finished) override;
  size_t waiting_bytes() const override;
  int fault() const override;

 private:
  friend class SpoolReader;
  struct Content;
  const std::shared_ptr<Content> content_;  // shared with the readers
};

class SpoolReader {
 public:
  ~SpoolReader();  // it leaves
  SpoolReader(const SpoolReader&) = delete;

  // Bytes from its place on, as many as are at hand: until the next call of either, and of Write.
  // Empty: none are there yet, or it has ended. What is in the file is fetched, some 256 KiB at a
  // time, which a later call finds.
  std::string_view Peek();
  // Requires: so many were seen.
  void Consume(size_t bytes);
  uint64_t place() const { return place_; }

  // How long all of it is; null: that is not known yet.
  std::optional<uint64_t> total() const;
  bool is_at_end() const { return total() == place_; }
  // Why no more comes: an errno value; 0: more comes, or it is whole.
  int fault() const;

 private:
  friend class SnapshotSpool;
  // What was fetched from the file, and not consumed.
  struct Window {
    std::string bytes;
    uint64_t at = 0;  // place of the first one
    bool is_coming = false;
    int fault = 0;
  };
  explicit SpoolReader(std::shared_ptr<SnapshotSpool::Content> content);
  std::string_view InWindow() const;
  void Fetch();

  const std::shared_ptr<SnapshotSpool::Content> content_;
  const std::shared_ptr<Window> window_ = std::make_shared<Window>();  // a job may end behind it
  uint64_t place_ = 0;
};

}  // namespace sluice
