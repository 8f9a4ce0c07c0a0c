// See entry_mover.h.
#include "storage/keyspace/entry_mover.h"

#include <cassert>
#include <memory>

namespace sluice {

bool EntryMover::Step() {
  assert(!keyspace_.takes_image());
  while (database_ < keyspace_.databases() &&
         (!keyspace_.made(database_) || keyspace_.db(database_).size() == 0)) {
    ++database_;
    position_ = 0;
  }
  if (database_ == keyspace_.databases()) return false;
  Database& db = keyspace_.db(database_);
  // The walk must not change the table, so what lies on such pages is gathered first.
  found_.clear();
  size_t looked_at = 0;
  position_ = db.WalkSegment(position_, [&](const Entry& entry) {
    ++looked_at;
    if (LiesSparsely(entry)) found_.push_back(&entry);
  });
  for (const Entry* const entry : found_) Move(db, *entry);
  keyspace_.FreeBlocks();
  counts_.keys += found_.size();
  counts_.keys_left += looked_at - found_.size();
  if (position_ == 0) ++database_;
  return true;
}

// Locks are named in the server's own tables, by address.
bool EntryMover::IsCopied(const Entry& entry) const {
  if (entry.is_kept_always()) return false;
  Value& value = entry.value();
  return value.timer() == nullptr && value.Elements() <= kPartsMax;
}

bool EntryMover::LiesSparsely(const Entry& entry) const {
  if (pages_.Holds(&entry)) return true;
  if (!entry.outside()) return false;
  if (!entry.is_string()) return pages_.Holds(entry.outside_value()) && IsCopied(entry);
  const TextBlock& text = *entry.outside_text();
  return pages_.Holds(&text) || pages_.Holds(text.view().data());
}

void EntryMover::Move(Database& db, const Entry& found) {
  Entry* entry = const_cast<Entry*>(&found);
  if (pages_.Holds(entry)) {
    const uint64_t hash = db.HashOf(*entry);
    const Entry* const before = entry;
    entry = &db.Rehouse(*entry, entry->shape(), entry->key(), entry->payload());
    db.Replace(*before, *entry, hash);
    pages_.Keeps(entry);
    ++counts_.blocks;
  }
  if (!entry->outside()) return;
  if (entry->is_string()) return MoveText(db, *entry);
  if (!pages_.Holds(entry->outside_value()) || !IsCopied(*entry)) return;
  std::unique_ptr<Value> copy = entry->outside_value()->Clone();
  pages_.Keeps(copy.get());
  db.ReplaceOutside(*entry, copy.release());
  ++counts_.blocks;
}

// With the room that it has to grow. One that has pages of its own stays.
void EntryMover::MoveText(Database& db, Entry& entry) {
  const TextBlock& text = *entry.outside_text();
  if (text.capacity() >= TextBlock::kMappedAt) return;
  if (!pages_.Holds(&text) && !pages_.Holds(text.view().data())) return;
  auto copy = std::make_unique<TextBlock>();
  copy->Reserve(text.capacity());
  copy->Append(text.view());
  pages_.Keeps(copy.get());
  pages_.Keeps(copy->view().data());
  db.ReplaceOutside(entry, copy.release());
  ++counts_.blocks;
}

}  // namespace sluice
