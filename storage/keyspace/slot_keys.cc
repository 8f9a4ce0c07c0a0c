// See slot_keys.h. The bytes of a slot are taken out of the account before it changes its form, and
// put in again behind that.
#include "storage/keyspace/slot_keys.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "storage/hashing/key_hash.h"
#include "storage/memory/block_size.h"

namespace sluice {

size_t SlotKeys::BytesOf(const Keys& keys) {
  const size_t list_bytes = keys.few.capacity() * sizeof(PackedPointer);
  return sizeof(Keys) + (list_bytes == 0 ? 0 : BlockSize(list_bytes)) +
         (keys.many ? sizeof(SegmentTable) : 0);
}

SlotKeys::Keys& SlotKeys::KeysOf(KeySlot slot) {
  std::unique_ptr<Keys>& keys = slots_[slot];
  if (!keys) {
    keys = std::make_unique<Keys>();
    *memory_ += BytesOf(*keys);
  }
  return *keys;
}

void SlotKeys::Delete(std::unique_ptr<Keys>& keys) {
  *memory_ -= BytesOf(*keys);
  keys.reset();
}

std::vector<PackedPointer>::iterator SlotKeys::Find(Keys& keys, const Entry& entry) {
  const auto at = std::ranges::find_if(
      keys.few, [&entry](PackedPointer held) { return held.As<Entry>() == &entry; });
  assert(at != keys.few.end());
  return at;
}

// Each is looked at, for its hash: all are asked for before the first is needed.
void SlotKeys::Spread(Keys& keys) {
  *memory_ -= BytesOf(keys);
  keys.many = std::make_unique<SegmentTable>(*hash_key_, *memory_);
  const std::vector<PackedPointer> few = std::exchange(keys.few, {});
  for (const PackedPointer held : few) __builtin_prefetch(held.As<Entry>());
  for (const PackedPointer held : few) {
    Entry& entry = *held.As<Entry>();
    keys.many->Insert(entry, HashName(entry.key(), *hash_key_));
  }
  *memory_ += BytesOf(keys);
}

void SlotKeys::Gather(Keys& keys) {
  *memory_ -= BytesOf(keys);
  keys.few.reserve(keys.many->size());
  keys.many->ForEach([&keys](Entry& entry) { keys.few.emplace_back(&entry); });
  keys.many.reset();
  *memory_ += BytesOf(keys);
}

void SlotKeys::Insert(Entry& entry, uint64_t hash) {
  Keys& keys = KeysOf(SlotOfKey(entry.key()));
  if (!keys.many && keys.few.size() == kFewMax) Spread(keys);
  if (keys.many) return keys.many->Insert(entry, hash);
  const bool grows = keys.few.size() == keys.few.capacity();
  if (grows) *memory_ -= BytesOf(keys);
  keys.few.emplace_back(&entry);
  if (grows) *memory_ += BytesOf(keys);
}

void SlotKeys::Replace(const Entry& from, Entry& to, uint64_t hash) {
  Keys& keys = *slots_[SlotOfKey(to.key())];
  if (keys.many) return keys.many->Replace(from, to, hash);
  *Find(keys, from) = PackedPointer(&to);
}

void SlotKeys::EraseAmongFew(Keys& keys, const Entry& entry) {
  *Find(keys, entry) = keys.few.back();
  keys.few.pop_back();
  if (keys.few.size() >= keys.few.capacity() / 4) return;
  *memory_ -= BytesOf(keys);
  keys.few.shrink_to_fit();
  *memory_ += BytesOf(keys);
}

// A slot that has no keys any more costs nothing.
void SlotKeys::Erase(const Entry& entry, uint64_t hash) {
  std::unique_ptr<Keys>& keys = slots_[SlotOfKey(entry.key())];
  if (keys->many) {
    keys->many->Erase(entry, hash);
    if (keys->many->size() < kFewMax / 4) Gather(*keys);
  } else {
    EraseAmongFew(*keys, entry);
  }
  if (keys->size() == 0) Delete(keys);
}

void SlotKeys::Walk(KeySlot slot, size_t count, absl::FunctionRef<void(const Entry&)> visit) const {
  const Keys* const keys = slots_[slot].get();
  if (keys == nullptr || count == 0) return;
  size_t left = std::min(count, keys->size());
  if (!keys->many) {
    for (size_t i = 0; i < left; ++i) visit(*keys->few[i].As<Entry>());
    return;
  }
  keys->many->Walk(0, count, [&](const Entry& entry) {
    if (left == 0) return;
    --left;
    visit(entry);
  });
}

size_t SlotKeys::Drain(size_t budget) {
  size_t drained = 0;
  for (; drained_ < slots_.size() && drained < budget; ++drained_) {
    std::unique_ptr<Keys>& keys = slots_[drained_];
    if (!keys) continue;
    ++drained;
    if (keys->many) {
      drained += keys->many->Drain(budget - drained, [](Entry&) {});
      if (keys->many->size() > 0) break;
    }
    Delete(keys);
  }
  return drained;
}

size_t SlotKeys::size() const {
  size_t size = 0;
  for (const auto& keys : slots_) size += keys ? keys->size() : 0;
  return size;
}

size_t SlotKeys::bytes() const {
  size_t bytes = 0;
  for (const auto& keys : slots_) {
    if (keys) bytes += BytesOf(*keys) + (keys->many ? keys->many->table_bytes() : 0);
  }
  return bytes;
}

std::string SlotKeys::Audit() const {
  for (const auto& keys : slots_) {
    if (!keys) continue;
    if (keys->size() == 0) return "a slot without keys has a list";
    if (keys->few.size() > kFewMax) return "a slot has too many keys in its list";
    if (keys->many && !keys->few.empty()) return "a slot has two lists of keys";
    std::vector<const Entry*> sorted;
    for (const PackedPointer held : keys->few) sorted.push_back(held.As<Entry>());
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return "a slot has a key twice";
    if (!keys->many) continue;
    if (std::string fault = keys->many->Audit(); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace sluice
