// Takes out the fields of a hash whose time has come, and tells the log, watchers and subscribers
// of it. Commands leave that to the timer; to them such fields are missing.
//
// The event is `hexpired`, once a slice, and the log gets an HDEL of its fields. Where all fields
// are over the key is gone at that moment (Entry::Expired), and goes as a whole, in O(1):
// `hexpired` and `del`, and one DEL for the log. Its fields are freed behind that, as members of
// any large value.
#pragma once

#include "server/dispatch/effects/change_recorder.h"
#include "server/observe/statistics.h"
#include "storage/keyspace/database.h"

namespace sluice {

struct FieldExpiry {
  Database& db;
  HashedKey key;
  const Now now;
  const ChangeRecorder changes;
  Statistics& statistics;
};

// A slice of the fields that are due, the others in the next turn. Requires: the entry, at that
// key, holds a Hash that is not over.
void TakeExpiredFields(const FieldExpiry& where, Entry& entry);

// Tells of a key that is about to go because its hash is over.
void TellHashIsOver(int db, const Entry& entry, const ChangeRecorder& changes,
                    Statistics& statistics);

}  // namespace sluice
