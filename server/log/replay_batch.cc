// See replay_batch.h. One level of the table is fetched for all commands before the next.
#include "server/log/replay_batch.h"

#include <algorithm>
#include <cassert>

#include "protocol/text/same_bytes.h"

namespace sluice {

// Logs repeat themselves: the row of the command before is tried first.
const Command* ReplayBatch::Look(std::string_view name) {
  if (last_command_ && SameBytes(name, last_name_)) return last_command_;
  last_command_ = commands_.FindLogged(name);
  last_name_ = name;
  return last_command_;
}

// The first key, and the database that it is likely to be of: a file may name one that is not
// there, and a command of the batch may swap two.
void ReplayBatch::LookUp(const LogReader& reader, size_t command, Item& item) {
  item = {.looked = {.command = Look(reader.Word(command, 0)), .key = {}}};
  if (!item.looked.command) return;
  const auto key = static_cast<size_t>(item.looked.command->first_key);
  if (key == 0 || key >= reader.words(command)) return;
  item.looked.key = keyspace_.Hash(reader.Word(command, key));
  const int db = reader.db(command);
  if (db < keyspace_.databases() && keyspace_.made(db)) item.db = &keyspace_.db(db);
}

void ReplayBatch::Fetch(const LogReader& reader, size_t first) {
  first_ = first;
  size_ = std::min(kCommands, reader.commands() - first);
  last_command_ = nullptr;  // the bytes of its name may be gone
  for (size_t i = 0; i < size_; ++i) LookUp(reader, first + i, items_[i]);
  moves_ = keyspace_.moves();
  if (size_ > 1) FetchEntries();
}

void ReplayBatch::FetchEntries() {
  std::array<const PackedPointer*, kCommands> slots{};
  const auto each = [this](auto visit) {
    for (size_t i = 0; i < size_; ++i) {
      if (items_[i].db) visit(items_[i], i);
    }
  };
  each([](Item& item, size_t) { item.db->PrefetchSegment(item.looked.key); });
  each([](Item& item, size_t) { item.db->Prefetch(item.looked.key); });
  each([&](Item& item, size_t i) { slots[i] = item.db->PrefetchSlot(item.looked.key); });
  each([&](Item& item, size_t i) {
    if (slots[i]) item.likely = Database::PrefetchEntry(*slots[i]);
  });
  each([](Item& item, size_t) {
    if (item.likely) item.likely->PrefetchValue();
  });
}

const ReplayBatch::Looked& ReplayBatch::Take(size_t index) {
  assert(index >= first_ && index < first_ + size_);
  const Item& item = items_[index - first_];
  if (item.likely && keyspace_.moves() == moves_) item.db->Suggest(item.looked.key, *item.likely);
  return item.looked;
}

}  // namespace sluice
