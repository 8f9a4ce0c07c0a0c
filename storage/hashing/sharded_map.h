// ShardedMap: a hash map that never moves all of its entries at once. From kSplitAt entries on it
// is kShards maps, picked by the upper bits of the hash, and each grows by itself: with a million
// entries an insert moves 2,000 of them at most. For tables beside the keyspace that one command,
// or one closed connection, can fill.
//
//   ShardedMap<LockNameMap<int>> map{LockNameHash(key)};
//   auto [place, is_new] = map.TryEmplace(LockName(name), 17);
//   if (int* found = map.Find(name)) ++*found;
//   map.Erase(name);
//
// Pointers are valid until the next change. It does not shrink back into one.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "storage/memory/heap_bytes.h"

namespace sluice {

// Costs are those of the map inside: O(1), and the growth of one shard. An empty one has one empty
// map; a split one 512 maps, whose headers take some 20 KB.
template <typename Map>  // an absl::flat_hash_map
class ShardedMap {
 public:
  using Mapped = typename Map::mapped_type;
  static constexpr size_t kSplitAt = 1792;  // as many as a map of 2,048 slots takes
  static constexpr size_t kShards = 512;

  explicit ShardedMap(const typename Map::hasher& hash = {}) { shards_.emplace_back(0, hash); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The bytes of all tables, and of their slots that hold nothing. O(1).
  size_t table_bytes() const { return table_bytes_; }
  size_t free_bytes() const { return table_bytes_ - std::min(table_bytes_, size_ * kSlotBytes); }
  static constexpr size_t kSlotBytes = SlotBytes(sizeof(typename Map::value_type));

  template <typename Key>
  Mapped* Find(const Key& key) {
    if (size_ == 0) return nullptr;  // most are empty, and a hash costs more than all the rest
    const size_t hash = HashOf(key);
    Map& shard = shards_[IndexOf(hash)];
    const auto found = shard.find(key, hash);
    return found == shard.end() ? nullptr : &found->second;
  }
  template <typename Key>
  const Mapped* Find(const Key& key) const {
    return const_cast<ShardedMap*>(this)->Find(key);
  }
  // Finds or makes an entry, O(1) but for the one split. Returns it, and whether it was made.
  template <typename Key, typename... Args>
  std::pair<Mapped*, bool> TryEmplace(Key&& key, Args&&... args) {
    if (size_ == kSplitAt && shards_.size() == 1) Split();
    Map* shard = &shards_.front();
    if (shards_.size() > 1) {
      const size_t hash = HashOf(key);
      shard = &shards_[IndexOf(hash)];
      const auto found = shard->find(key, hash);
      if (found != shard->end()) return {&found->second, false};
    }
    const size_t capacity = shard->capacity();
    const auto [place, is_new] =
        shard->try_emplace(std::forward<Key>(key), std::forward<Args>(args)...);
    if (shard->capacity() != capacity) {
      table_bytes_ += TableBytesFor<Map>(shard->capacity()) - TableBytesFor<Map>(capacity);
    }
    size_ += is_new ? 1 : 0;
    return {&place->second, is_new};
  }
  // False when it is not there.
  template <typename Key>
  bool Erase(const Key& key) {
    const size_t hash = HashOf(key);
    Map& shard = shards_[IndexOf(hash)];
    const auto found = shard.find(key, hash);
    if (found == shard.end()) return false;
    shard.erase(found);
    --size_;
    return true;
  }

  // Leaves an empty map, and returns what was in this one, whose destructor takes O(size).
  ShardedMap TakeAll() { return std::exchange(*this, ShardedMap(shards_.front().hash_function())); }

 private:
  template <typename Key>
  size_t HashOf(const Key& key) const {
    return shards_.front().hash_function()(key);
  }
  // Not the lower bits: a map uses those itself.
  size_t IndexOf(size_t hash) const { return shards_.size() == 1 ? 0 : hash >> 55; }

  // The one step that moves all entries, 1,792 of them: once in the life of the map.
  void Split() {
    static_assert(sizeof(size_t) == 8 && size_t{1} << (64 - 55) == kShards);
    const auto hash = shards_.front().hash_function();
    Map all = std::move(shards_.front());
    shards_.clear();
    for (size_t i = 0; i < kShards; ++i) shards_.emplace_back(0, hash);
    for (auto& [key, value] : all) {
      shards_[IndexOf(hash(key))].try_emplace(key, std::move(value));
    }
    table_bytes_ = 0;
    for (const Map& shard : shards_) table_bytes_ += TableBytes(shard);
  }

  std::vector<Map> shards_;  // one, or kShards
  size_t size_ = 0;
  size_t table_bytes_ = 0;
};

}  // namespace sluice
