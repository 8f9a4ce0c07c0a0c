#include "server/engine/field_expiry.h"

#include <string_view>

#include "server/engine/effects.h"
#include "storage/types/hash.h"

namespace sluice {
namespace {

constexpr size_t kFieldsASlice = 64;

}  // namespace

void TakeExpiredFields(const FieldExpiry& where, Entry& found) {
  Engine& engine = where.engine;
  Database& db = where.db;
  const HashedKey& key = where.key;
  const Now& now = engine.now();
  Entry& entry = db.Modify(found, now);
  Hash& hash = static_cast<Hash&>(entry.value());
  Effects& effects = engine.effects();
  const size_t taken =
      hash.TakeExpired(now, kFieldsASlice, [&](std::string_view name, std::string_view) {
        if (effects.wanted()) effects.Add(db.index(), {"HDEL", key.bytes, name});
      });
  db.ValueChanged(entry);  // sets the timer for what is left
  if (taken == 0) return;
  engine.statistics().expired_fields += taken;
  engine.notifications().Notify(kNotifyHash, "hexpired", db.index(), key.bytes);
  if (!hash.empty()) return;
  db.Delete(key, now);
  engine.notifications().Notify(kNotifyGeneric, "del", db.index(), key.bytes);
}

}  // namespace sluice
