// See split_map.h. The hard part is drawing members at random from a table of any load: few are
// drawn one by one, many come from one walk in the order of hashes, and the figures below say where
// the one becomes dearer than the other.
#include "storage/types/split_map.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "storage/keyspace/segment_table_impl.h"
#include "storage/types/sampling.h"

namespace sluice {
namespace {

// A draw takes as long as the walk past so many members.
constexpr size_t kWalkedADraw = 40;

// So many members are asked for before the first of them is looked at.
constexpr size_t kAhead = 16;

}  // namespace

template class SegmentTableOf<Member>;

// --- reading

SplitMap::SplitMap(const SplitMap& other) : SplitMap(*other.hash_keys_) {
  other.ForEach([this](const Member& member) { Put(member.key(), member.content()); });
}

HashedKey SplitMap::Hash(std::string_view name) const { return {name, HashName(name, key_)}; }

const Member* SplitMap::Find(std::string_view name) const { return table_.Find(Hash(name)); }

void SplitMap::ForEach(absl::FunctionRef<void(const Member&)> visit) const {
  table_.ForEach([visit](Member& member) { visit(member); });
}

void SplitMap::Sample(size_t count, Random& random,
                      absl::FunctionRef<void(const Member&)> visit) const {
  if (count < size() / kWalkedADraw) {
    absl::flat_hash_set<const Member*> drawn;
    while (drawn.size() < count) {
      const Member* const member = RandomMember(random);
      if (drawn.insert(member).second) visit(*member);
    }
    return;
  }
  // Scan goes in the order of hashes, so that the choice depends on the seed alone.
  Selection selection(count, size(), random);
  Scan(0, SIZE_MAX, [&](const Member& member) {
    if (selection.Take()) visit(member);
  });
}

// One by one at first. Where that has taken as long as a walk, it goes on with a list made by one;
// so it does when most members are not wanted.
void SplitMap::Draw(Random& random, Test wanted, Test visit) const {
  constexpr int kMissesMax = 32;
  int misses = 0;
  for (size_t drawn = 0; drawn <= size() / kWalkedADraw && misses < kMissesMax;) {
    const Member& member = *RandomMember(random);
    if (!wanted(member)) {
      ++misses;
      continue;
    }
    misses = 0;
    ++drawn;
    if (!visit(member)) return;
  }
  std::vector<const Member*> members;
  Scan(0, SIZE_MAX, [&](const Member& member) {
    if (wanted(member)) members.push_back(&member);
  });
  while (true) {
    std::array<const Member*, kAhead> next;
    for (const Member*& member : next) {
      member = members[random() % members.size()];
      __builtin_prefetch(member);
    }
    for (const Member* const member : next) {
      if (!visit(*member)) return;
    }
  }
}

// --- changing

size_t SplitMap::PutTogether(std::span<const Named> members) {
  std::array<HashedKey, kTogetherMax> keys;
  std::array<const PackedPointer*, kTogetherMax> slots;
  assert(members.size() <= keys.size());
  for (size_t i = 0; i < members.size(); ++i) {
    keys[i] = Hash(members[i].name);
    table_.PrefetchSegment(keys[i].hash);
  }
  for (size_t i = 0; i < members.size(); ++i) table_.Prefetch(keys[i].hash);
  for (size_t i = 0; i < members.size(); ++i) slots[i] = table_.PrefetchSlot(keys[i].hash);
  for (size_t i = 0; i < members.size(); ++i) {
    if (slots[i] != nullptr) table_.PrefetchElement(*slots[i]);
  }
  size_t created = 0;
  for (size_t i = 0; i < members.size(); ++i) created += Put(keys[i], members[i].content);
  return created;
}

bool SplitMap::Put(HashedKey key, const MemberContent& content) {
  const std::string_view name = key.bytes;
  const Member::Shape shape(name, content);
  Member* const old = table_.Find(key);
  if (old && old->HasShape(shape)) {
    if (content.value) old->StoreValue(*content.value);
    if (!content.deadline.none()) old->StoreDeadline(content.deadline);
    return false;
  }
  Member* const fresh = Member::Make(shape, name, content);
  memory_bytes_ += shape.BlockBytes();
  if (!old) {
    table_.Insert(*fresh, key.hash);
    return true;
  }
  table_.Replace(*old, *fresh, key.hash);
  Free(*old);  // last: the content may point into it
  return false;
}

bool SplitMap::Erase(std::string_view name) { return Erase(Hash(name)); }

// In batches, so that the cache misses of one batch overlap (SegmentTable's three steps of
// prefetching).
void SplitMap::EraseAll(std::span<const std::string> names) {
  while (!names.empty()) {
    const std::span<const std::string> some = names.first(std::min(names.size(), kAhead));
    std::array<HashedKey, kAhead> keys;
    std::array<const PackedPointer*, kAhead> slots;
    for (size_t i = 0; i < some.size(); ++i) {
      keys[i] = Hash(some[i]);
      table_.Prefetch(keys[i].hash);
    }
    for (size_t i = 0; i < some.size(); ++i) slots[i] = table_.PrefetchSlot(keys[i].hash);
    for (size_t i = 0; i < some.size(); ++i) {
      if (slots[i] != nullptr) table_.PrefetchElement(*slots[i]);
    }
    for (size_t i = 0; i < some.size(); ++i) Erase(keys[i]);
    names = names.subspan(some.size());
  }
}

bool SplitMap::Erase(HashedKey key) {
  Member* const member = table_.Find(key);
  if (!member) return false;
  table_.Erase(*member, key.hash);
  Free(*member);
  return true;
}

void SplitMap::Free(Member& member) {
  memory_bytes_ -= member.BlockBytes();
  Member::Free(&member);
}

size_t SplitMap::FreeSome(size_t budget) {
  return table_.Drain(budget, [this](Member& member) { Free(member); });
}

std::string SplitMap::Audit() const {
  size_t bytes = table_.table_bytes();
  ForEach([&bytes](const Member& member) { bytes += member.BlockBytes(); });
  if (bytes != memory_bytes_) return "the memory of a map's members is miscounted";
  return table_.Audit();
}

}  // namespace sluice
