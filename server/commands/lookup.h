// Looking a key up for a handler: the one place that knows which look-ups mark the access (not
// those of a client in CLIENT NO-TOUCH) and which count as keyspace hits and misses (those of
// reads).
#pragma once

#include "server/engine/command.h"
#include "server/engine/engine.h"

namespace sluice {

// For writers that must see what is there first: marks the access, counts nothing.
inline const Entry* LookUp(CommandCall& call, HashedKey key) {
  if (call.client.no_touch) [[unlikely]]
    return call.db.Find(key, call.now);
  return call.db.FindAndTouch(key, call.now);
}

// For readers: counts a hit or a miss as well.
inline const Entry* LookUpToRead(CommandCall& call, HashedKey key) {
  const Entry* const entry = LookUp(call, key);
  Statistics& statistics = call.engine.statistics();
  ++(entry ? statistics.keyspace_hits : statistics.keyspace_misses);
  return entry;
}

// For readers that only look (EXISTS, TTL, OBJECT): counts, but marks no access.
inline const Entry* PeekToRead(CommandCall& call, HashedKey key) {
  const Entry* const entry = call.db.Find(key, call.now);
  Statistics& statistics = call.engine.statistics();
  ++(entry ? statistics.keyspace_hits : statistics.keyspace_misses);
  return entry;
}

// False when the key holds something else than a string: then WRONGTYPE has been answered. A
// missing key is fine.
inline bool IsTextOrMissing(CommandCall& call, const Entry* entry) {
  if (!entry || entry->is_string()) [[likely]]
    return true;
  call.reply.Error(ErrorCode::kWrongType);
  return false;
}

// Answers with a string's bytes. Precondition: entry.is_string().
inline void ReplyText(CommandCall& call, const Entry& entry) {
  char scratch[Entry::kTextScratch];
  call.reply.Bulk(entry.Text(scratch));
}

}  // namespace sluice
