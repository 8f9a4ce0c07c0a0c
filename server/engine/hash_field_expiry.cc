// See hash_field_expiry.h.
//
// A slice is 64 fields; the hash's timer is set anew for what is left.
#include "server/engine/hash_field_expiry.h"

#include <string_view>

#include "storage/types/hash.h"

namespace sluice {
namespace {

constexpr size_t kFieldsASlice = 64;

}  // namespace

void TakeExpiredFields(const FieldExpiry& where, Entry& found) {
  Database& db = where.db;
  const HashedKey& key = where.key;
  const Now& now = where.now;
  Entry& entry = db.Modify(found, now);
  Hash& hash = static_cast<Hash&>(entry.value());
  const size_t taken =
      hash.TakeExpired(now, kFieldsASlice, [&](std::string_view name, std::string_view) {
        if (where.changes.wants_effects()) where.changes.Add(db.index(), {"HDEL", key.bytes, name});
      });
  db.ValueChanged(entry);  // sets the timer for what is left
  if (taken == 0) return;
  where.statistics.expired_fields += taken;
  where.changes.Changed(kNotifyHash, "hexpired", {db.index(), key.bytes});
  if (!hash.empty()) return;
  db.Delete(key, now);
  where.changes.Changed(kNotifyGeneric, "del", {db.index(), key.bytes});
}

}  // namespace sluice
