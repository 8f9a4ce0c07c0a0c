// SipHash (Aumasson and Bernstein 2012): a keyed hash whose outputs, without its key, look like
// chance, even beside outputs that are known. So a client that chooses what is hashed cannot make
// collisions, and learns nothing from how hashes fall: what XXH3 under a seed does not give, which
// is undone backwards.
//
// SipHash13, one round a word and three at the end, is for the tables of names, as in Rust, Ruby
// and CPython; for those of keys where the processor has no AES (aes_mac.h). SipHash24 is the
// original, for making keys.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice {

static_assert(std::endian::native == std::endian::little);

// 128 bits of chance, never shown to a client.
struct SipKey {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const SipKey&) const = default;
};

namespace sip {

template <typename Word>
Word Load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The bytes behind the last whole word. No byte is loaded alone, and none outside the text.
inline uint64_t RestOf(const char* bytes, size_t size) {
  const size_t rest = size % 8;
  if (size >= 8) {
    // The text's last 8 bytes, of which those before the rest are shifted out; in two steps for
    // there may be 8 of them.
    return Load<uint64_t>(bytes + size - 8) >> 8 >> (56 - 8 * rest);
  }
  if (rest >= 4) {
    const uint64_t high = Load<uint32_t>(bytes + rest - 4);
    return Load<uint32_t>(bytes) | high << (8 * (rest - 4));
  }
  if (rest == 0) return 0;
  // One to three bytes: the first, the middle one and the last cover them.
  const auto at = [bytes](size_t i) { return uint64_t{static_cast<unsigned char>(bytes[i])}; };
  return at(0) | at(rest / 2) << (8 * (rest / 2)) | at(rest - 1) << (8 * (rest - 1));
}

// With the length in the top byte.
inline uint64_t LastWord(const char* bytes, size_t size) {
  return static_cast<uint64_t>(size) << 56 | RestOf(bytes, size);
}

// Four words, which begin as the key xor the ASCII of "somepseudorandomlygeneratedbytes".
struct State {
  explicit State(const SipKey& key)
      : v0(key.low ^ 0x736f6d6570736575),
        v1(key.high ^ 0x646f72616e646f6d),
        v2(key.low ^ 0x6c7967656e657261),
        v3(key.high ^ 0x7465646279746573) {}

  // One SipRound: adds, rotations and xors of the four words, the same for words and for the end.
  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  template <int kRounds>
  void Take(uint64_t word) {
    v3 ^= word;
    for (int i = 0; i < kRounds; ++i) Round();
    v0 ^= word;
  }

  uint64_t v0, v1, v2, v3;
};

// SipHash-c-d of the paper: c rounds a word, 0xff into v2 to set the end apart, then d rounds.
template <int kWordRounds, int kEndRounds>
inline uint64_t Hash(std::string_view text, const SipKey& key) {
  State state(key);
  const char* const bytes = text.data();
  for (size_t at = 0; at + 8 <= text.size(); at += 8)
    state.Take<kWordRounds>(Load<uint64_t>(bytes + at));
  state.Take<kWordRounds>(LastWord(bytes, text.size()));
  state.v2 ^= 0xff;
#pragma GCC unroll 4
  for (int i = 0; i < kEndRounds; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace sip

inline uint64_t SipHash13(std::string_view text, const SipKey& key) {
  return sip::Hash<1, 3>(text, key);
}

inline uint64_t SipHash24(std::string_view text, const SipKey& key) {
  return sip::Hash<2, 4>(text, key);
}

}  // namespace sluice
