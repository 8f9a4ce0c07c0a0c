// A consumer group of a stream: up to which entry it was delivered, to which consumers, and which
// entries are not acknowledged yet.
//
// Every pending entry stands in the group's list, with its owner, and its id in the owner's own.
// Both are ordered by id. Names compare as bytes. Times are Unix milliseconds, handed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "storage/types/streams/stream_id.h"

namespace sluice {

// Counts that clients may set to anything: they stay at their end.
inline int64_t NextCount(int64_t count) { return count == INT64_MAX ? count : count + 1; }

struct StreamConsumer {
  std::string name;
  int64_t seen_ms = 0;  // when it last asked for something
  absl::btree_set<StreamId> pending;
};

// Delivered and not acknowledged: XPENDING's row.
struct PendingEntry {
  StreamConsumer* consumer = nullptr;
  int64_t delivered_ms = 0;
  int64_t deliveries = 1;
};

// Owns its consumers. A change of one entry is O(log n); RemoveConsumer O(its pending x log n).
class StreamGroup {
 public:
  static constexpr int64_t kUnknown = -1;  // of entries_read

  using Consumers = absl::btree_map<std::string, std::unique_ptr<StreamConsumer>, std::less<>>;
  using PendingEntries = absl::btree_map<StreamId, PendingEntry>;

  // The group's bytes are kept up to date in `*bytes_of_all`, which outlives it.
  StreamGroup(StreamId last_id, int64_t entries_read, size_t* bytes_of_all)
      : last_id(last_id), entries_read(entries_read), bytes_of_all_(bytes_of_all) {
    *bytes_of_all_ += MemoryBytes();
  }

  StreamId last_id;      // the last entry delivered
  int64_t entries_read;  // how many entries of the stream's whole life that is; or kUnknown

  // --- consumers
  StreamConsumer* FindConsumer(std::string_view name) const;  // null when there is none
  // Requires: there is none of this name.
  StreamConsumer& AddConsumer(std::string_view name, int64_t now_ms);
  // With all that it has pending.
  void RemoveConsumer(StreamConsumer& consumer);
  const Consumers& consumers() const { return consumers_; }

  // --- pending entries
  PendingEntry* FindPending(StreamId id);  // valid until the next change
  const PendingEntries& pending() const { return pending_; }
  // Pending for `consumer` from now on, whichever consumer had it before.
  PendingEntry& Give(StreamId id, StreamConsumer& consumer);
  bool Release(StreamId id);  // false when it was not pending

  size_t MemoryBytes() const;  // itself included
  // Forgets up to `budget` pending entries; how many.
  size_t FreeSome(size_t budget);
  // Requires: there are neither consumers nor pending entries here yet.
  void CopyFrom(const StreamGroup& other);

 private:
  class Accounting;

  Consumers consumers_;
  PendingEntries pending_;
  size_t consumer_bytes_ = 0;
  size_t* bytes_of_all_;
};

}  // namespace sluice
