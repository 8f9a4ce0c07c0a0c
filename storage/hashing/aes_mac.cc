// See aes_mac.h. Functions with the attribute are compiled for processors with AES, as the rest of
// the program is not: they are called where IsSupported says so, and inlined into each other alone.
#include "storage/hashing/aes_mac.h"

#include <cassert>
#include <cstdlib>

#if defined(__x86_64__)

#include <immintrin.h>

#define SLUICE_WITH_AES __attribute__((target("aes")))

namespace sluice {

struct AesMac::Machine {
  SLUICE_WITH_AES static __m128i Load(const Block& block) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(&block));
  }

  SLUICE_WITH_AES static void Store(Block& block, __m128i bytes) {
    _mm_store_si128(reinterpret_cast<__m128i*>(&block), bytes);
  }

  // AES-128's key schedule (FIPS 197, 5.2). The instruction's own round constant has to be in the
  // code, so it is given none.
  SLUICE_WITH_AES static void Expand(__m128i key, Block (&keys)[kRounds + 1]) {
    int constant = 1;
    for (size_t round = 0;; ++round) {
      Store(keys[round], key);
      if (round == kRounds) return;
      const __m128i last_words = _mm_aeskeygenassist_si128(key, 0);
      const __m128i turned =
          _mm_xor_si128(_mm_shuffle_epi32(last_words, 0xff), _mm_set1_epi32(constant));
      // Each word is mixed with all before it.
      key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
      key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
      key = _mm_xor_si128(key, turned);
      constant = constant << 1 ^ (constant & 0x80 ? 0x11b : 0);
    }
  }

  SLUICE_WITH_AES static __m128i Encrypt(__m128i block, const Block (&keys)[kRounds + 1]) {
    block = _mm_xor_si128(block, Load(keys[0]));
#pragma GCC unroll 9
    for (size_t round = 1; round < kRounds; ++round)
      block = _mm_aesenc_si128(block, Load(keys[round]));
    return _mm_aesenclast_si128(block, Load(keys[kRounds]));
  }

  // Less than a block, 0x80, and zeros.
  SLUICE_WITH_AES static __m128i Padded(const char* bytes, size_t size) {
    const uint64_t word = sip::RestOf(bytes, size) | uint64_t{0x80} << (8 * (size % 8));
    if (size < 8) return _mm_cvtsi64_si128(static_cast<int64_t>(word));
    return _mm_set_epi64x(static_cast<int64_t>(word), sip::Load<int64_t>(bytes));
  }

  SLUICE_WITH_AES static __m128i Mac(const AesMac& keys, std::string_view text) {
    const auto whole = [](const char* at) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    };
    const char* at = text.data();
    size_t left = text.size();
    __m128i state = _mm_setzero_si128();
    for (; left > kBlockBytes; left -= kBlockBytes, at += kBlockBytes)
      state = Encrypt(_mm_xor_si128(state, whole(at)), keys.round_keys_);
    const __m128i last = left == kBlockBytes
                             ? _mm_xor_si128(whole(at), Load(keys.last_whole_))
                             : _mm_xor_si128(Padded(at, left), Load(keys.last_padded_));
    return Encrypt(_mm_xor_si128(state, last), keys.round_keys_);
  }

  // RFC 3566: what the key makes of three constants are the key of all blocks and the other two.
  SLUICE_WITH_AES static void Make(const SipKey& key, AesMac& keys) {
    Block own[kRounds + 1];
    Expand(_mm_set_epi64x(static_cast<int64_t>(key.high), static_cast<int64_t>(key.low)), own);
    Store(keys.last_whole_, Encrypt(_mm_set1_epi8(2), own));
    Store(keys.last_padded_, Encrypt(_mm_set1_epi8(3), own));
    Expand(Encrypt(_mm_set1_epi8(1), own), keys.round_keys_);
  }

  SLUICE_WITH_AES static Tag TagOf(const AesMac& keys, std::string_view text) {
    Block block;
    Store(block, Mac(keys, text));
    return {block.low, block.high};
  }

  SLUICE_WITH_AES static uint64_t HashOf(const AesMac& keys, std::string_view text) {
    return static_cast<uint64_t>(_mm_cvtsi128_si64(Mac(keys, text)));
  }
};

bool AesMac::IsSupported() { return __builtin_cpu_supports("aes"); }

AesMac::AesMac(const SipKey& key) {
  assert(IsSupported());
  Machine::Make(key, *this);
}

AesMac::Tag AesMac::Of(std::string_view text) const { return Machine::TagOf(*this, text); }

uint64_t AesMac::Hash(std::string_view text) const { return Machine::HashOf(*this, text); }

}  // namespace sluice

#undef SLUICE_WITH_AES

#else  // no other processor's instructions are known here

namespace sluice {

bool AesMac::IsSupported() { return false; }
AesMac::AesMac(const SipKey&) { std::abort(); }
AesMac::Tag AesMac::Of(std::string_view) const { std::abort(); }
uint64_t AesMac::Hash(std::string_view) const { std::abort(); }

}  // namespace sluice

#endif
