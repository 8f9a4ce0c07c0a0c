// See data_digest.h. The digests follow Redis's xorDigest and mixDigest: xor where order does not
// matter, a SHA1 over the sum where it does.
//
// Cost: SHA1 over every byte of every value, in one piece. DEBUG commands are for test suites.
#include "server/commands/admin/data_digest.h"

#include <arpa/inet.h>

#include <array>
#include <cstring>

#include "absl/base/attributes.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "storage/hashing/sha.h"
#include "storage/rdb/rdb_value.h"
#include "storage/types/hash.h"
#include "storage/types/list.h"
#include "storage/types/set.h"
#include "storage/types/sorted_set.h"
#include "storage/types/streams/stream.h"

namespace sluice {
namespace {

// A SHA1 that is built up: the sum starts at zeros, and equal steps lead to equal sums. Add is for
// parts without an order (members, fields, keys): xor, so any order leads to the same sum. Mix is
// for parts with an order (elements of a list, a key before its value): the sum so far is hashed
// anew, so a different order leads to another sum.
class Digest {
 public:
  // Order does not matter between what is added...
  void Add(std::string_view bytes) { Xor(Sha1(bytes)); }
  // ...and does around what is mixed.
  void Mix(std::string_view bytes) {
    Xor(Sha1(bytes));
    sum_ = Sha1(text());
  }
  // In network order, as Redis mixes numbers.
  void Mix(uint32_t number) {
    const uint32_t ordered = htonl(number);
    Mix({reinterpret_cast<const char*>(&ordered), sizeof ordered});
  }
  std::string_view text() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return {reinterpret_cast<const char*>(sum_.data()), sum_.size()};
  }
  // 40 digits in small letters.
  std::string Hex() const {
    std::string hex;
    for (const unsigned char byte : sum_) {
      hex.push_back("0123456789abcdef"[byte >> 4]);
      hex.push_back("0123456789abcdef"[byte & 15]);
    }
    return hex;
  }

 private:
  using Sum = std::array<unsigned char, 20>;
  void Xor(const Sum& sum) {
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] ^= sum[i];
  }

  Sum sum_{};
};

// Entries have an order, so ids, fields and values are mixed one after another.
void MixStream(Digest& digest, const Stream& stream) {
  stream.ForEach(StreamId::Min(), StreamId::Max(), [&](const StreamEntry& entry) {
    digest.Mix(Concat(entry.id().ms, '.', entry.id().seq));
    entry.ForEachPair([&digest](std::string_view field, std::string_view value) {
      digest.Mix(field);
      digest.Mix(value);
    });
    return true;
  });
}

// A member and its score belong together, so they are mixed into one sum, and these sums are added.
void AddElements(Digest& digest, const SortedSet& set) {
  set.ForEach(set.All(), SortedSet::Direction::kUp, [&](std::string_view name, double score) {
    Digest one;
    one.Mix(name);
    one.Mix(DoubleText(score));
    digest.Add(one.text());
    return true;
  });
}

// Redis's number of the type.
uint32_t TypeNumber(ValueType type) {
  constexpr uint32_t kModule = 5;
  constexpr uint32_t kStream = 6;
  if (type < ValueType::kStream) return static_cast<uint32_t>(type);
  return type == ValueType::kStream ? kStream : kModule;
}

// Fields past their deadline count as well.
void AddElements(Digest& digest, const Hash& hash) {
  hash.ForEach({}, [&digest](std::string_view name, std::string_view value) {
    Digest one;
    one.Mix(name);
    one.Mix(value);
    digest.Add(one.text());
  });
}

// The type, the content, and whether there is a deadline, but not when.
void MixValue(Digest& digest, const Entry& entry, const Now& now) {
  digest.Mix(TypeNumber(entry.type()));
  if (entry.type() == ValueType::kStream) {
    MixStream(digest, static_cast<const Stream&>(entry.value()));
  }
  if (entry.is_string()) {
    char scratch[Entry::kTextScratch];
    digest.Mix(entry.Text(scratch));
  }
  if (entry.type() == ValueType::kHash) {
    AddElements(digest, static_cast<const Hash&>(entry.value()));
  }
  if (entry.type() == ValueType::kSet) {
    static_cast<const Set&>(entry.value()).ForEach([&digest](auto member) { digest.Add(member); });
  }
  if (entry.type() == ValueType::kSortedSet) {
    AddElements(digest, static_cast<const SortedSet&>(entry.value()));
  }
  if (entry.type() == ValueType::kList) {
    static_cast<const List&>(entry.value()).Walk(0, ListEnd::kBack, [&](size_t, auto text) {
      digest.Mix(text);
      return true;
    });
  }
  if (entry.type() > ValueType::kStream) {
    // Ours: the bytes of a file, in which equal values are equal.
    std::string bytes;
    WriteRdbValue(entry, {.now = now}, bytes);
    digest.Mix(bytes);
  }
  // Redis's own mark of a deadline; when it is does not count.
  if (entry.is_volatile()) digest.Add("!!expire!!");
}

}  // namespace

// A missing key is a sum of zeros.
std::string DigestOfValue(const Entry* entry, const Now& now) {
  Digest digest;
  if (entry) MixValue(digest, *entry, now);
  return digest.Hex();
}

// Databases by their number, those with keys alone; the order of keys does not matter.
std::string DigestOfAll(Keyspace& keyspace, const Now& now) {
  Digest all;
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (!keyspace.made(i)) continue;
    bool numbered = false;
    keyspace.db(i).ForEach([&](const Entry& entry) {
      if (entry.Expired(now)) return;
      if (!numbered) all.Mix(static_cast<uint32_t>(i));
      numbered = true;
      Digest one;
      one.Mix(entry.key());
      MixValue(one, entry, now);
      all.Add(one.text());
    });
  }
  return all.Hex();
}

}  // namespace sluice
