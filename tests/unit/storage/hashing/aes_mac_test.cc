// AES-XCBC-MAC against its published tags, and against a model that has its AES from OpenSSL.
#include "storage/hashing/aes_mac.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "storage/hashing/key_hash.h"

namespace sluice {
namespace {

using Bytes16 = std::array<uint8_t, 16>;

constexpr SipKey kRfcKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};  // its bytes: 0, 1, ... 15

// The bytes 0, 1, 2 ...
std::string RfcBytes(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(i));
  return text;
}

std::string HexOf(const AesMac::Tag& tag) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(&tag), sizeof(tag)});
}

Bytes16 Encrypt(const Bytes16& block, const Bytes16& key) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> cipher(EVP_CIPHER_CTX_new(),
                                                                          EVP_CIPHER_CTX_free);
  EVP_EncryptInit_ex(cipher.get(), EVP_aes_128_ecb(), nullptr, key.data(), nullptr);
  Bytes16 result;
  int size = 0;
  EVP_EncryptUpdate(cipher.get(), result.data(), &size, block.data(), 16);
  return result;
}

// As the RFC describes it.
std::string ModelTag(const std::string& text, const SipKey& key) {
  Bytes16 bytes;
  std::memcpy(bytes.data(), &key, 16);
  const auto made_of = [&](uint8_t constant) {
    Bytes16 block;
    block.fill(constant);
    return Encrypt(block, bytes);
  };
  const bool is_whole = !text.empty() && text.size() % 16 == 0;
  std::string padded = text;
  if (!is_whole) padded.push_back(static_cast<char>(0x80));
  while (padded.size() % 16 != 0) padded.push_back(0);
  const Bytes16 last = made_of(is_whole ? 2 : 3);
  Bytes16 state{};
  for (size_t at = 0; at < padded.size(); at += 16) {
    for (size_t i = 0; i < 16; ++i) {
      state[i] ^= static_cast<uint8_t>(padded[at + i]);
      if (at + 16 == padded.size()) state[i] ^= last[i];
    }
    state = Encrypt(state, made_of(1));
  }
  return absl::BytesToHexString({reinterpret_cast<const char*>(state.data()), 16});
}

class AesMacTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!AesMac::IsSupported()) GTEST_SKIP() << "this processor has no AES";
  }
};

// RFC 3566, 4.6.
TEST_F(AesMacTest, GivesThePublishedTags) {
  const AesMac mac(kRfcKey);
  EXPECT_EQ(HexOf(mac.Of("")), "75f0251d528ac01c4573dfd584d79f29");
  EXPECT_EQ(HexOf(mac.Of(RfcBytes(3))), "5b376580ae2f19afe7219ceef172756f");
  EXPECT_EQ(HexOf(mac.Of(RfcBytes(16))), "d2a246fa349b68a79998a4394ff7a263");
  EXPECT_EQ(HexOf(mac.Of(RfcBytes(20))), "47f51b4564966215b8985c63055ed308");
  EXPECT_EQ(HexOf(mac.Of(RfcBytes(32))), "f54f0ec8d2b9f3d36807734bd5283fd4");
  EXPECT_EQ(HexOf(mac.Of(RfcBytes(34))), "becbb3bccdb518a30677d5481fb6b4d8");
  EXPECT_EQ(HexOf(mac.Of(std::string(1000, '\0'))), "f0dafee895db30253761103b5d84528f");
}

// Blocks of exactly the text's size, so that a sanitizer sees a read beyond them.
TEST_F(AesMacTest, IsThatOfTheModelAtEveryLength) {
  std::mt19937_64 random(1);
  for (size_t size = 0; size <= 70; ++size) {
    const auto block = std::make_unique<char[]>(size);
    for (size_t i = 0; i < size; ++i) block[i] = static_cast<char>(random());
    const std::string_view text(block.get(), size);
    const SipKey key{random(), random()};
    const AesMac mac(key);
    EXPECT_EQ(HexOf(mac.Of(text)), ModelTag(std::string(text), key)) << size;
    EXPECT_EQ(mac.Hash(text), mac.Of(text).low) << size;
  }
}

TEST(KeyspaceKey, GoesOnWithSipHashWithoutAes) {
  const KeyspaceKey without(TableKey(kRfcKey), false);
  EXPECT_EQ(HashName("name", without), HashName("name", static_cast<const SipKey&>(without)));
  if (!AesMac::IsSupported()) return;
  const KeyspaceKey with(TableKey(kRfcKey), true);
  EXPECT_EQ(HashName("name", with), SpreadHash(AesMac(kRfcKey).Hash("name")));
  EXPECT_NE(HashName("name", with), HashName("name", without));
}

}  // namespace
}  // namespace sluice
