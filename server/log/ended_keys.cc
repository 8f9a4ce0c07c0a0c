// See ended_keys.h. What is found in a segment is changed when its walk has ended.
#include "server/log/ended_keys.h"

#include <string>
#include <string_view>
#include <vector>

#include "storage/rdb/rdb_collections.h"
#include "storage/types/hash.h"

namespace sluice {
namespace {

// Null: the entry holds another type.
const Hash* HashIn(const Entry& entry) {
  return entry.type() == ValueType::kHash ? &static_cast<const Hash&>(entry.value()) : nullptr;
}

class EndedSorter {
 public:
  EndedSorter(Keyspace& keyspace, const Now& now, EndedFate fate)
      : keyspace_(keyspace), now_(now), before_(BeforeAllDeadlines(now)), fate_(fate) {}

  void Sort(Database& db) {
    uint64_t position = 0;
    do {
      std::vector<std::string> names;
      position = db.WalkSegment(position, [&](const Entry& entry) {
        if (AnyEnded(entry)) names.emplace_back(entry.key());
      });
      for (const std::string& name : names) {
        fate_ == EndedFate::kKept ? Keep(db, keyspace_.Hash(name))
                                  : TakeOut(db, keyspace_.Hash(name));
      }
    } while (position != 0);
  }
  const EndedKeys& counted() const { return counted_; }

 private:
  bool AnyEnded(const Entry& entry) const {
    if (entry.is_kept_always()) return false;
    const Hash* const hash = HashIn(entry);
    return entry.Expired(now_) || (hash && hash->CountLive(now_) < hash->size());
  }

  void TakeOut(Database& db, HashedKey key) {
    const Entry* const found = db.Find(key, now_);  // which takes out a key that is over
    if (!found) {
      ++counted_.keys;
      return;
    }
    Entry& entry = db.ModifyUnseen(*found, now_);
    counted_.fields += static_cast<Hash&>(entry.value())
                           .TakeExpired(now_, SIZE_MAX, [](std::string_view, std::string_view) {});
    db.ValueChanged(entry);
  }

  void Keep(Database& db, HashedKey key) {
    Entry* entry = &db.ModifyUnseen(*db.FindEvenExpired(key), before_);
    if (entry->deadline().Passed(now_)) {
      ++counted_.keys;
      entry = &db.SetDeadline(*entry, Deadline::None());
    }
    if (!HashIn(*entry)) return;
    KeepFields(static_cast<Hash&>(entry->value()));
    db.ValueChanged(*entry);
  }

  void KeepFields(Hash& hash) {
    std::vector<std::string> names;
    hash.ForEach(before_, [&](std::string_view name, std::string_view) {
      FieldValue value;
      hash.Get(name, before_, value);
      if (value.deadline.Passed(now_)) names.emplace_back(name);
    });
    // One with deadlines is no small one any more, so limits play no part.
    for (const std::string& name : names) hash.SetDeadline(name, Deadline::None(), {});
    counted_.fields += names.size();
  }

  Keyspace& keyspace_;
  const Now now_;
  const Now before_;  // nothing is over then
  const EndedFate fate_;
  EndedKeys counted_;
};

}  // namespace

EndedKeys SortOutEnded(Keyspace& keyspace, const Now& now, EndedFate fate) {
  EndedSorter sorter(keyspace, now, fate);
  for (int index = 0; index < keyspace.databases(); ++index) {
    if (keyspace.made(index)) sorter.Sort(keyspace.db(index));
  }
  return sorter.counted();
}

}  // namespace sluice
