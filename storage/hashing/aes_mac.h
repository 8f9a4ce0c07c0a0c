// AES-XCBC-MAC (Frankel and Herbert, RFC 3566; Black and Rogaway, "CBC MACs for Arbitrary-Length
// Messages", Crypto 2000), of which a hash takes the first 64 bits. Where the processor has AES, a
// name of up to 16 bytes takes one encryption, ten instructions; each 16 more take as many.
//
// It is all of AES-128, no hash that borrows some of its rounds (ahash, Go's memhash): who does not
// know the key cannot tell its outputs from chance, be they as many as they like and the texts of
// their choice, as long as AES is a block cipher. That is proved for texts of different lengths
// too: the last block is mixed with one of two keys of its own, by whether it is a whole one. So it
// gives up nothing of what SipHash gives (sip_hash.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "storage/hashing/sip_hash.h"

namespace sluice {

// The keys that are made of one key, 208 bytes: for one that hashes much. Its hashes take the same
// time whatever they are of, but for the length.
class AesMac {
 public:
  // Whether this processor has AES. All else requires it.
  static bool IsSupported();

  explicit AesMac(const SipKey& key);

  struct Tag {
    uint64_t low, high;  // bytes 0 to 7, 8 to 15
  };
  Tag Of(std::string_view text) const;
  uint64_t Hash(std::string_view text) const;  // Of(text).low

 private:
  static constexpr size_t kBlockBytes = 16;
  static constexpr size_t kRounds = 10;
  struct alignas(kBlockBytes) Block {
    uint64_t low, high;
  };
  struct Machine;  // what the processor's instructions do

  Block round_keys_[kRounds + 1];
  Block last_whole_;   // mixed into a last block of 16 bytes
  Block last_padded_;  // or into one of less, behind which there are 0x80 and zeros
};

}  // namespace sluice
