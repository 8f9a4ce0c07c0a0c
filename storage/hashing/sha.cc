// See sha.h. OpenSSL 3 deprecates these functions in favour of EVP's, and keeps them.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "storage/hashing/sha.h"

#include <openssl/sha.h>

namespace sluice {

std::array<uint8_t, 20> Sha1(std::string_view bytes) {
  std::array<uint8_t, 20> digest;
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, bytes.data(), bytes.size());
  SHA1_Final(digest.data(), &context);
  return digest;
}

std::array<uint8_t, 32> Sha256(std::string_view bytes) {
  std::array<uint8_t, 32> digest;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

}  // namespace sluice
