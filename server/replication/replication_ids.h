// ReplicationIds: which history of data a stream is of, and whether a replica that comes back may
// go on where it was.
//
// A stream has an id of 40 hex digits and offsets. A server that becomes a master goes on with its
// master's offsets under a new id, and keeps the old one as `second`, which is good up to the
// offset at which the histories part: so the other replicas of the old master need no full sync.
//
//   id      a7c2 ...   all of the backlog
//   second  19f0 ...   offsets up to second_end, the first byte that is not of it
//
// The answers are those of Redis's masterTryPartialResynchronization (7.0), hostile ids and offsets
// included.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/replication/backlog.h"
#include "storage/log/stream_position.h"

namespace sluice {

ReplicationId ReplicationIdOf(std::span<const uint8_t, ReplicationId::kBytes / 2> random);

class ReplicationIds {
 public:
  explicit ReplicationIds(const ReplicationId& id);

  const ReplicationId& id() const { return id_; }
  // Without a second one that is 40 zeros, as in INFO, and -1.
  const ReplicationId& second() const { return second_; }
  int64_t second_end() const { return second_end_; }

  // The history parts from what it was behind the byte `end`: the id becomes the second one. At a
  // promotion `end` is the stream's end; after a crash the last byte that was on disk. Requires:
  // end >= 0.
  void Part(const ReplicationId& new_id, int64_t end);
  // No replica of the second id is let in any more.
  void ForgetSecond();
  // Another history altogether: that of a master that is followed.
  void Replace(const ReplicationId& id);

 private:
  ReplicationId id_;
  ReplicationId second_;
  int64_t second_end_;
};

// What a replica is answered, and why it cannot go on, for the log.
enum class ResyncAnswer : uint8_t {
  kContinue,
  kAskedForAll,       // its id is "?": a full sync, which counts as no failure
  kOtherHistory,      // its id is none of the two
  kBeyondSecond,      // the histories have parted before its offset
  kNotInBacklog,      // what it lacks is kept no more
  kAheadOfTheStream,  // nor was it ever sent: its offset is beyond the end
};

// Answers PSYNC `id` `offset`, which is that of the first byte that the replica lacks. `backlog`:
// null where there is none; `end`: the stream's end.
ResyncAnswer AnswerResync(const ReplicationIds& ids, const Backlog* backlog, int64_t end,
                          std::string_view id, int64_t offset);

}  // namespace sluice
