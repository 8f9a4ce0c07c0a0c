// What happens when the time of a hash's fields has come: they are taken out, and the log, watchers
// and subscribers hear of it. Commands leave that to the timer; to them such fields are missing.
//
// The event is `hexpired`, once a slice, and the log gets an HDEL for each field; with the last
// field the key goes, with `del`.
#pragma once

#include "server/dispatch/change_recorder.h"
#include "server/observe/statistics.h"
#include "storage/keyspace/database.h"

namespace sluice {

struct FieldExpiry {
  Database& db;
  HashedKey key;
  const Now& now;
  const ChangeRecorder changes;
  Statistics& statistics;
};

// A slice of the fields that are due, the others in the next turn; without the last one the key is
// gone. Precondition: the entry, at that key, holds a Hash.
void TakeExpiredFields(const FieldExpiry& where, Entry& entry);

}  // namespace sluice
