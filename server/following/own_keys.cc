// See own_keys.h.
#include "server/following/own_keys.h"

#include <string>
#include <vector>

#include "storage/keyspace/value.h"

namespace sluice {

bool OwnKeys::Slice(Keyspace& keyspace, const Visit& visit) {
  while (db_ < keyspace.databases() && !keyspace.made(db_)) ++db_;
  if (db_ == keyspace.databases()) {
    db_ = 0;
    return true;
  }
  std::vector<std::string> keys;
  const uint64_t next = keyspace.db(db_).Scan(cursor_, kSliceEntries, [&keys](const Entry& entry) {
    if (IsOurs(entry.type())) keys.emplace_back(entry.key());
  });
  for (const std::string& key : keys) {
    if (!visit(db_, key)) return false;
  }
  cursor_ = next;
  if (cursor_ == 0) ++db_;
  return false;
}

}  // namespace sluice
