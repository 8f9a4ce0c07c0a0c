// References of groups to entries that go (KEEPREF, DELREF, ACKED): trimming with them, removing
// them, and what the log and replicas are told. That is told in the words of Redis 7.0: XTRIM, XDEL
// for entries, XACK for each group.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/dispatch/command.h"
#include "storage/types/streams/stream.h"

namespace sluice {

struct Trimmed {
  uint64_t entries = 0;
  std::vector<StreamId> ids;  // in order; of a trim that keeps references there are none
};

// Whether Redis 7.0 has a trim that leaves the same entries: an exact one takes the oldest.
inline bool TrimsAsRedis70(const StreamTrim& trim) {
  return trim.references != StreamReferences::kHonour;
}
// Asked before the stream is opened: a trim of nothing is no change.
bool TrimsAny(const StreamTrim& trim, const Stream& stream);
Trimmed TrimStream(const StreamTrim& trim, Stream& stream);
// Removes references, if the trim wants that, and records what its own effect does not say.
void SettleReferences(CommandCall& call, const StreamTrim& trim, const Trimmed& trimmed,
                      Stream& stream);

// The groups of the stream at args[1] forget that these entries are pending. True if any was.
bool RemoveReferences(CommandCall& call, Stream& stream, const std::vector<StreamId>& ids);
// Effects: entries of the stream at args[1] that are gone; those that a group has acknowledged.
void RecordDeleted(CommandCall& call, const std::vector<StreamId>& ids);
void RecordAcknowledged(CommandCall& call, std::string_view group,
                        const std::vector<StreamId>& ids);

}  // namespace sluice
