// A consumer group of a stream: up to which entry it was delivered, to which consumers, and which
// entries are not acknowledged yet.
//
// Every pending entry stands in the group's list, with its owner, and its id in the owner's own.
// Both are ordered by id. One that its consumer gave back (XNACK) has no owner: it waits for
// whoever claims it, before all others, in the order in which they were given back. Names compare
// as bytes. Times are Unix milliseconds, handed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
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
  StreamConsumer* consumer = nullptr;  // null: unowned
  int64_t delivered_ms = 0;            // of an unowned one: its place among those
  int64_t deliveries = 1;

  bool unowned() const { return consumer == nullptr; }
  // As replies, files and effects say it: one that nobody has is of no name, and a time before all.
  std::string_view owner() const { return consumer ? std::string_view(consumer->name) : ""; }
  int64_t shown_ms() const { return consumer ? delivered_ms : 0; }
};

// Owns its consumers. A change of one entry is O(log n); RemoveConsumer O(its pending x log n).
class StreamGroup {
 public:
  static constexpr int64_t kUnknown = -1;  // of entries_read

  using Consumers = absl::btree_map<std::string, std::unique_ptr<StreamConsumer>, std::less<>>;
  using PendingEntries = absl::btree_map<StreamId, PendingEntry>;
  using Unowned = absl::btree_map<int64_t, StreamId>;  // by their place

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
  PendingEntry& Give(StreamId id, StreamConsumer& consumer, int64_t delivered_ms,
                     int64_t deliveries);
  // Pending for nobody from now on, behind all that are so already.
  PendingEntry& Disown(StreamId id, int64_t deliveries);
  bool Release(StreamId id);  // false when it was not pending
  const Unowned& unowned() const { return unowned_; }
  // Puts what is pending in order of time, from now on: VisitOldest and OldestDeliveredMs require
  // it. O(pending x log n) at the first call, which takes memory.
  void Order();
  bool ordered() const { return by_time_ != nullptr; }
  // Visits those that may be claimed once they were delivered at `delivered_max_ms` or before: the
  // unowned, and then the others, those that wait longest first, until `visit` says false. It must
  // not change them.
  using Visit = absl::FunctionRef<bool(StreamId)>;
  void VisitOldest(int64_t delivered_max_ms, Visit visit) const;
  // When the one was delivered that waits longest; none is owned: null.
  std::optional<int64_t> OldestDeliveredMs() const;

  size_t MemoryBytes() const;  // itself included
  // Forgets up to `budget` pending entries; how many.
  size_t FreeSome(size_t budget);
  // Requires: there are neither consumers nor pending entries here yet.
  void CopyFrom(const StreamGroup& other);

 private:
  class Accounting;
  using ByTime = absl::btree_set<std::pair<int64_t, StreamId>>;

  void Unlist(StreamId id, const PendingEntry& entry);

  Consumers consumers_;
  PendingEntries pending_;
  Unowned unowned_;
  int64_t next_place_ = 0;
  std::unique_ptr<ByTime> by_time_;  // of the owned; null: not ordered
  size_t consumer_bytes_ = 0;
  size_t* bytes_of_all_;
};

}  // namespace sluice
