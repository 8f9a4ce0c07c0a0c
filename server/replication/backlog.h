// Backlog: the bytes of the stream, kept once, in blocks. Those that a replica has not been sent
// yet, and the last `size` ones besides, for replicas that come back with an offset.
//
//   begin                                            end
//   [ block 7 ] -> [ block 8 ] -> [ block 9 ] -> [ block 10 | room ]
//         ^ slow reader                ^ reader       ^ readers that have all
//
// A reader has a place: an offset, and so a block, which counts it. A block goes from the front
// once no reader lies in it and the others have `size` bytes: so a reader costs O(1) a block, and
// what is kept is the backlog's size or what the slowest reader lacks, by whole blocks.
//
// Offsets are Redis's: the first byte of a stream has offset 1, and end() is the last byte's
// (master_repl_offset). begin() is INFO's repl_backlog_first_byte_offset, bytes() its
// repl_backlog_histlen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

namespace sluice {

class Backlog {
 public:
  // Redis raises smaller ones to this, too.
  static constexpr size_t kSizeMin = 16 * 1024;
  // With the malloc's header a round number.
  static constexpr size_t kBlockBytes = 16 * 1024 - 16;
  // A reader that goes may leave a great deal behind: so many blocks are freed at a time.
  static constexpr size_t kBlocksFreedAtOnce = 64;

  // The stream has come to `end` so far, of which nothing is kept.
  Backlog(size_t size, int64_t end);
  // Requires: no reader is left.
  ~Backlog();
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // O(bytes).
  void Append(std::string_view bytes);

  int64_t begin() const { return blocks_.front().begin; }
  int64_t end() const { return end_; }
  size_t bytes() const { return static_cast<size_t>(end_ - begin()) + 1; }
  // Whether all from this byte on is here; end() + 1: none is wanted but those to come.
  bool Has(int64_t offset) const { return offset >= begin() && offset - end_ <= 1; }

  // repl-backlog-size. More is kept at once as it comes; what is too much goes by and by.
  void set_size(size_t size);
  size_t size() const { return size_; }
  // Frees blocks that are not needed, some at a time, as Append does; true: there are more.
  bool Trim();
  size_t memory() const;
  // What is kept because readers lack it, or was and goes by and by.
  size_t memory_beyond_size() const;
  // Walks the blocks: what is wrong, or null.
  const char* Audit() const;

 private:
  friend class BacklogReader;

  struct Block {
    int64_t begin;  // the offset of its first byte
    size_t bytes = 0;
    size_t readers = 0;
    std::unique_ptr<char[]> data;
  };

  // Blocks are numbered from the first one that there was.
  Block& BlockOf(uint64_t number) { return blocks_[number - first_number_]; }
  uint64_t last_number() const { return first_number_ + blocks_.size() - 1; }
  // The one with this byte; O(log blocks).
  uint64_t NumberAt(int64_t offset) const;
  bool FrontIsNeeded() const;
  void AddBlock();

  size_t size_;
  int64_t end_;
  uint64_t first_number_ = 0;
  std::deque<Block> blocks_;  // never empty; only the last has room
};

// A place in a backlog, which it keeps from there on.
class BacklogReader {
 public:
  // The next byte is that of `offset`. Requires: backlog.Has(offset), and it outlives the reader.
  BacklogReader(Backlog& backlog, int64_t offset);
  ~BacklogReader();
  BacklogReader(const BacklogReader&) = delete;
  BacklogReader& operator=(const BacklogReader&) = delete;

  // The next bytes, at most so many and of one block: call it again for more; empty: there are
  // none. They stay where they are until the next call, or until the reader goes. O(1).
  std::string_view Take(size_t bytes_max);
  int64_t next_offset() const { return next_; }
  // What was not taken yet.
  size_t behind() const { return static_cast<size_t>(backlog_.end() - next_) + 1; }

 private:
  Backlog& backlog_;
  int64_t next_;
  uint64_t number_;
};

}  // namespace sluice
