// SipHash against published hashes, and against a model that works byte by byte.
#include "storage/hashing/sip_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "storage/hashing/key_hash.h"

namespace sluice {
namespace {

constexpr SipKey kCountingKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};  // its bytes: 0, 1, ... 15

// The bytes 0, 1, 2 ...
std::string Counting(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(i));
  return text;
}

// As the paper describes it: words put together byte by byte.
uint64_t Model(std::string_view text, const SipKey& key, int word_rounds, int end_rounds) {
  uint64_t v[4] = {key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d,
                   key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
  const auto add_rotated = [&v](int a, int b, int bits) {
    v[a] += v[b];
    v[b] = (v[b] << bits | v[b] >> (64 - bits)) ^ v[a];
  };
  const auto turn = [&v](int a) { v[a] = v[a] << 32 | v[a] >> 32; };
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      add_rotated(0, 1, 13);
      turn(0);
      add_rotated(2, 3, 16);
      add_rotated(0, 3, 21);
      add_rotated(2, 1, 17);
      turn(2);
    }
  };
  std::string padded(text);
  padded.append(7 - text.size() % 8, '\0');
  padded.push_back(static_cast<char>(text.size()));
  for (size_t at = 0; at < padded.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = 8; i-- > 0;) word = word << 8 | static_cast<unsigned char>(padded[at + i]);
    v[3] ^= word;
    rounds(word_rounds);
    v[0] ^= word;
  }
  v[2] ^= 0xff;
  rounds(end_rounds);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// From the reference implementation (github.com/veorq/SipHash, vectors.h).
TEST(SipHash, GivesThePublishedHashes) {
  constexpr uint64_t kOf24[] = {
      0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
      0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
      0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
      0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
      0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd};
  for (size_t size = 0; size < std::size(kOf24); ++size)
    EXPECT_EQ(SipHash24(Counting(size), kCountingKey), kOf24[size]) << size;
  EXPECT_EQ(SipHash24(Counting(63), kCountingKey), 0x958a324ceb064572);
}

// From Rust's tests of its standard hasher, Ruby's digest-sip_hash, and CPython under
// PYTHONHASHSEED=0.
TEST(SipHash, OfOneAndThreeRoundsIsThatOfOthers) {
  EXPECT_EQ(SipHash13("", kCountingKey), 0xabac0158050fc4dc);
  EXPECT_EQ(SipHash13("", SipKey{}), 0xd1fba762150c532c);
  EXPECT_EQ(SipHash13("abc", SipKey{}), 0xc03bc3a0042630f2);
  EXPECT_EQ(SipHash13("siphash", SipKey{}), 0x8264ceeccb16bcbe);
  EXPECT_EQ(SipHash13("digest-sip_hash", SipKey{}), 0xce31007e34130c0a);
  EXPECT_EQ(SipHash13(std::string(1000, 'x'), SipKey{}), 0x1b47c0cc4dd21f05);
}

// Blocks of exactly the text's size, so that a sanitizer sees a read beyond them.
TEST(SipHash, IsThatOfTheModelAtEveryLength) {
  std::mt19937_64 random(1);
  for (size_t size = 0; size <= 200; ++size) {
    const auto block = std::make_unique<char[]>(size);
    for (size_t i = 0; i < size; ++i) block[i] = static_cast<char>(random());
    const std::string_view text(block.get(), size);
    const SipKey key{random(), random()};
    EXPECT_EQ(SipHash13(text, key), Model(text, key, 1, 3)) << size;
    EXPECT_EQ(SipHash24(text, key), Model(text, key, 2, 4)) << size;
  }
}

TEST(HashKeys, AreAllDifferentAndRepeatable) {
  HashKeys keys(SipKey{7}), same(SipKey{7}), other(SipKey{8});
  std::vector<SipKey> made;
  for (int i = 0; i < 100; ++i) {
    made.push_back(keys.Next());
    EXPECT_EQ(made.back(), same.Next());
    EXPECT_NE(made.back(), other.Next());
    EXPECT_EQ(std::count(made.begin(), made.end(), made.back()), 1);
  }
}

}  // namespace
}  // namespace sluice
