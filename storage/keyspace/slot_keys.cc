// See slot_keys.h.
#include "storage/keyspace/slot_keys.h"

#include <algorithm>
#include <utility>

namespace sluice {

SegmentTable& SlotKeys::TableOf(KeySlot slot) {
  std::unique_ptr<SegmentTable>& table = tables_[slot];
  if (!table) {
    table = std::make_unique<SegmentTable>(*hash_key_, *memory_);
    *memory_ += sizeof(SegmentTable);
  }
  return *table;
}

void SlotKeys::Insert(Entry& entry, uint64_t hash) {
  TableOf(SlotOfKey(entry.key())).Insert(entry, hash);
}

void SlotKeys::Replace(const Entry& from, Entry& to, uint64_t hash) {
  tables_[SlotOfKey(to.key())]->Replace(from, to, hash);
}

// A slot that has no keys any more costs nothing.
void SlotKeys::Erase(const Entry& entry, uint64_t hash) {
  std::unique_ptr<SegmentTable>& table = tables_[SlotOfKey(entry.key())];
  table->Erase(entry, hash);
  if (table->size() > 0) return;
  table.reset();
  *memory_ -= sizeof(SegmentTable);
}

void SlotKeys::Walk(KeySlot slot, size_t count, absl::FunctionRef<void(const Entry&)> visit) const {
  const SegmentTable* const table = tables_[slot].get();
  if (table == nullptr || count == 0) return;
  size_t left = count;
  table->Walk(0, count, [&](const Entry& entry) {
    if (left == 0) return;
    --left;
    visit(entry);
  });
}

size_t SlotKeys::Drain(size_t budget) {
  size_t drained = 0;
  for (; drained_ < tables_.size() && drained < budget; ++drained_) {
    std::unique_ptr<SegmentTable>& table = tables_[drained_];
    if (!table) continue;
    drained += 1 + table->Drain(budget - drained - 1, [](Entry&) {});
    if (table->size() > 0) break;
    table.reset();
    *memory_ -= sizeof(SegmentTable);
  }
  return drained;
}

size_t SlotKeys::size() const {
  size_t size = 0;
  for (const auto& table : tables_) size += table ? table->size() : 0;
  return size;
}

size_t SlotKeys::bytes() const {
  size_t bytes = 0;
  for (const auto& table : tables_) {
    if (table) bytes += sizeof(SegmentTable) + table->table_bytes();
  }
  return bytes;
}

std::string SlotKeys::Audit() const {
  for (const auto& table : tables_) {
    if (!table) continue;
    if (table->size() == 0) return "a slot without keys has a table";
    if (std::string fault = table->Audit(); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace sluice
