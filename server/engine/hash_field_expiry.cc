// See hash_field_expiry.h.
//
// A slice is 64 fields, one effect; the hash's timer is set anew for what is left.
#include "server/engine/hash_field_expiry.h"

#include <string>
#include <string_view>
#include <vector>

#include "storage/types/hash.h"

namespace sluice {
namespace {

constexpr size_t kFieldsASlice = 64;

}  // namespace

void TakeExpiredFields(const FieldExpiry& where, Entry& found) {
  Database& db = where.db;
  const HashedKey& key = where.key;
  const Now now = where.now;
  Entry& entry = db.Modify(found, now);
  Hash& hash = static_cast<Hash&>(entry.value());
  std::vector<std::string> names;
  const bool is_told = where.changes.wants_effects();
  const size_t taken =
      hash.TakeExpired(now, kFieldsASlice, [&](std::string_view name, std::string_view) {
        if (is_told) names.emplace_back(name);
      });
  db.ValueChanged(entry);  // sets the timer for what is left
  if (taken == 0) return;
  if (is_told) {
    std::vector<std::string_view> effect = {"HDEL", key.bytes};
    effect.insert(effect.end(), names.begin(), names.end());
    where.changes.Add(db.index(), effect);
  }
  where.statistics.expired_fields += taken;
  where.changes.Changed(kNotifyHash, "hexpired", {db.index(), key.bytes});
}

void TellHashIsOver(int db, const Entry& entry, const ChangeRecorder& changes,
                    Statistics& statistics) {
  statistics.expired_fields += static_cast<const Hash&>(entry.value()).size();
  if (changes.wants_effects()) changes.Add(db, {"DEL", entry.key()});
  changes.Announce(kNotifyHash, "hexpired", {db, entry.key()});
  changes.Announce(kNotifyGeneric, "del", {db, entry.key()});
}

}  // namespace sluice
