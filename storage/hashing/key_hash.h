// The hash of names that clients choose: keys, members, channels, scripts, whatever a hash table
// finds by them. It is SipHash-1-3 under a secret key (sip_hash.h), or for the keyspace
// AES-XCBC-MAC (aes_mac.h), so that a client can neither make names that collide nor learn from
// answers how to.
//
// HashKeys gives every table a key of its own; where it is shared (the databases of a keyspace) the
// header says so. A map of absl's or Boost's takes KeyedHash as its hasher, which cannot be made
// without a key. (absl's own hash is seeded with an address alone, and was not made for this.)
//
// The hashes of a SegmentTable are spread unevenly on purpose. Were they even, all segments would
// fill up and split at about the same number of keys, and just after that every table would be half
// empty: 17 bytes a key instead of 9, at 1.9 M keys or at 3.8 M. With x -> x + x(1 - x)/3 on [0, 1)
// the upper end of the hashes is twice as dense as the lower (a cheap log2(1 + x)), so at any time
// some segments have just split while others are nearly full, and the tables cost 12 bytes a key
// whatever the number of keys. Order is kept: the slope goes from 4/3 at 0 to 2/3 at 1, and the sum
// stays below 1. Low bits stay even.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/base/attributes.h"
#include "storage/hashing/aes_mac.h"
#include "storage/hashing/sip_hash.h"

namespace sluice {

inline uint64_t SpreadHash(uint64_t even) {
  const auto curve = static_cast<uint64_t>((static_cast<unsigned __int128>(even) * ~even) >> 64);
  return even + curve / 3;
}

// Its inverse, with both in [0, 1]: which part of all names has a hash below `spread`.
inline double PartBelow(double spread) { return 2 - std::sqrt(4 - 3 * spread); }

inline uint64_t HashName(std::string_view name, const SipKey& key) {
  return SpreadHash(SipHash13(name, key));
}

// The hasher of a map from client's bytes: flat_hash_map<std::string, T, KeyedHash,
// std::equal_to<>>.
struct KeyedHash {
  using is_transparent = void;
  explicit KeyedHash(const SipKey& sip_key) : key(sip_key) {}
  size_t operator()(std::string_view bytes) const { return SipHash13(bytes, key); }
  SipKey key;
};

// The key that a table is hashed under.
struct TableKey : SipKey {
  // Explicit: a table keeps a reference to its key, which a conversion would not outlive.
  constexpr explicit TableKey(const SipKey& sip_key, bool orders = false)
      : SipKey(sip_key), orders_visits(orders) {}

  // Visits of the whole table go in the order of hashes, which the key alone decides: one seed
  // gives one run. It costs a sort; else the order depends on addresses, too.
  bool orders_visits;
  bool operator==(const TableKey&) const = default;
};

// The key of a keyspace. It is made once and hashes more than all others, so it may take 208 bytes
// for what takes a third of SipHash's instructions. A processor without AES goes on with SipHash,
// in an order of its own.
struct KeyspaceKey : TableKey {
  explicit KeyspaceKey(const TableKey& key, bool with_aes = AesMac::IsSupported()) : TableKey(key) {
    if (with_aes) aes.emplace(key);
  }
  std::optional<AesMac> aes;
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t HashName(std::string_view name,
                                                      const KeyspaceKey& key) {
  return SpreadHash(key.aes ? key.aes->Hash(name) : SipHash13(name, key));
}

// Makes keys from a master key that nothing else uses: some of them tell nothing of the
// others. Repeatable.
class HashKeys {
 public:
  explicit HashKeys(const TableKey& master) : state_{master} {}
  explicit HashKeys(const SipKey& master) : state_{TableKey(master)} {}
  HashKeys(const HashKeys&) = delete;
  HashKeys& operator=(const HashKeys&) = delete;

  // From which key it makes others, and how far it is.
  struct State {
    TableKey master;
    uint64_t words = 0;
    bool operator==(const State&) const = default;
  };
  State Save() const { return state_; }
  void Restore(const State& state) { state_ = state; }

  TableKey Next() {
    const uint64_t low = Word();
    return TableKey({low, Word()}, state_.master.orders_visits);
  }

 private:
  uint64_t Word() {
    const uint64_t number = state_.words++;
    return SipHash24({reinterpret_cast<const char*>(&number), sizeof number}, state_.master);
  }

  State state_;
};

}  // namespace sluice
